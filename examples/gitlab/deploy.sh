#!/bin/sh
# What a deployment job does: reports the start to Strandline, applies a manifest, and reports the result.
#
# GitLab sets the variables that begin with CI_, GITLAB_ and KUBE_; by hand, set those of the first two lines.
#   CI_PROJECT_PATH, CI_COMMIT_REF_NAME        whose job it is, and its branch or tag
#   ENVIRONMENT, AGENT, MANIFEST               where to, through which agent, and what
#   ENVIRONMENT_PROJECT                        the project of the environment, where that is another one
#   KUBE_NAMESPACE                             the namespace, where the agent's rules leave it to the job
#   SUFFIX                                     what names end with, where several stand in one namespace
#   CONTEXT                                    the context for kubectl; GitLab names contexts as their agents
#   UPSTREAM_PROJECT_PATH, _NAME               the project whose pipeline triggered this one
#   STRANDLINE_SERVER, STRANDLINE_TOKEN        the server, and a token that may write of both projects
set -eu

server=${STRANDLINE_SERVER:-http://127.0.0.1:7979}
project=$CI_PROJECT_PATH
environment=${ENVIRONMENT:-${CI_ENVIRONMENT_NAME:-}}
environment_project=${ENVIRONMENT_PROJECT:-$project}
agent=${AGENT:-${KUBE_CONTEXT:-}}
context=${CONTEXT:-$agent}

# A text as JSON has it.
text() {
  printf '"%s"' "$(printf '%s' "$1" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g')"
}

# The first value of a name in an answer; enough for the few names that are read here.
value() {
  printf '%s' "$2" | grep -oE "\"$1\":(\"[^\"]*\"|[a-z0-9]+)" | head -n 1 | sed -e "s/^\"$1\"://" -e 's/"//g'
}

# Asks Strandline: method, path and, where there is one, body. It may take a moment until what was written can be read.
ask() {
  set -- "$1" "$server/api/v1$2" ${3:+--header "Content-Type: application/json" --data "$3"}
  method=$1 url=$2
  shift 2
  if [ -n "${STRANDLINE_TOKEN:-}" ]; then
    # On standard input, so that lists of processes do not show it.
    printf 'header = "Authorization: Bearer %s"\n' "$STRANDLINE_TOKEN" |
      curl --config - --silent --show-error --fail-with-body --retry 5 --request "$method" "$@" "$url"
  else
    curl --silent --show-error --fail-with-body --retry 5 --request "$method" "$@" "$url"
  fi
}

ended() {
  ask PUT "/deployments/$1" "{\"status\": \"$2\"}" >/dev/null
}

asked=${KUBE_NAMESPACE:+", \"namespace\": $(text "$KUBE_NAMESPACE")"}
tag=false
if [ -n "${CI_COMMIT_TAG:-}" ]; then tag=true; fi
job_id=${CI_JOB_ID:+"\"id\": $CI_JOB_ID, "}
told=$(ask POST /deployments "{
  \"project\": $(text "$project"),
  \"environment\": {\"name\": $(text "$environment"), \"project\": $(text "$environment_project")},
  \"status\": \"running\",
  \"ref\": $(text "$CI_COMMIT_REF_NAME"), \"tag\": $tag,
  \"ref_protected\": ${CI_COMMIT_REF_PROTECTED:-false},
  \"sha\": $(text "${CI_COMMIT_SHA:-}"),
  \"job\": {$job_id\"name\": $(text "${CI_JOB_NAME:-deploy}")},
  \"user\": $(text "${GITLAB_USER_LOGIN:-}"),
  \"kubernetes\": {\"agent\": $(text "$agent")$asked},
  \"variables\": {
    \"UPSTREAM_PROJECT_PATH\": $(text "${UPSTREAM_PROJECT_PATH:-}"),
    \"UPSTREAM_PROJECT_NAME\": $(text "${UPSTREAM_PROJECT_NAME:-}")
  }
}") || { printf '%s\n' "$told" >&2; exit 1; }

id=$(value id "$told")
if [ "$(value allowed "$told")" != true ]; then
  ended "$id" failed
  echo "$project may not deploy to $environment with $agent: $(value message "$told")" >&2
  exit 1
fi

# The labels by which the environment finds its resources: GitLab's number of its project, and its slug.
namespace=$(value kubernetes_namespace "$told")
at=$(value offset "$told")
slug=$(value slug "$(ask GET "/environments/$(value environment "$told")?at=$at")")
number=$(value number "$(ask GET "/projects/$(printf '%s' "$environment_project" | sed 's,/,%2F,g')?at=$at")")

if kubectl --context "$context" create namespace "$namespace" --dry-run=client --output yaml |
  kubectl --context "$context" apply --filename - &&
  sed -e "s/\${PROJECT_ID}/$number/g" -e "s/\${ENVIRONMENT_SLUG}/$slug/g" -e "s/\${SUFFIX}/${SUFFIX:-}/g" "$MANIFEST" |
  kubectl --context "$context" --namespace "$namespace" apply --filename -; then
  ended "$id" success
  echo "deployed to $environment of $environment_project: namespace $namespace in $context"
else
  ended "$id" failed
  exit 1
fi
