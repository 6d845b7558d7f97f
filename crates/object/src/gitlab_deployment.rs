//! Environments that a cluster declares by itself: custom resources of kind `GitLabDeployment`.
//!
//! What they look like stands in `api/crds`. An API server holds objects against that only while they are written, and
//! only where this very definition is installed; so they are checked here again. Pure: no clock, no store.

use std::fmt;

use serde_json::Value;

use crate::Object;
use strandline_model::Kind;
use strandline_syntax::is_dns_label;

/// The API group of what declares environments from inside of a cluster.
pub const GROUP: &str = "gitlabdeploymentcontroller.gitlab.com";

/// The kind that declares an environment; it is cluster-scoped.
pub const DEPLOYMENT: &str = "GitLabDeployment";

/// The kind that says how such an environment is monitored; it is cluster-scoped.
pub const MONITORING: &str = "GitLabMonitoring";

/// As long as GitLab lets the name of an environment be.
const ENVIRONMENT_LENGTH_MAX: usize = 255;

/// An environment as a `GitLabDeployment` declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Name of the environment in its projects.
    pub environment: String,
    /// The namespace that is reserved for it in the object's cluster.
    pub namespace: String,
    /// Name of the account in that namespace by which it is deployed to.
    pub service_account: String,
    /// Full paths of the projects whose environment it is, each once, in the order in which they stand.
    pub projects: Vec<String>,
    /// Full paths of the groups whose projects have it, likewise.
    pub groups: Vec<String>,
}

/// What is wrong with a declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeclarationMistake {
    /// Where in the object, such as `spec.projects[1]`.
    pub path: String,
    /// Stable word for it: `missing_key`, `bad_type`, `bad_name` or `bad_path`.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: &'static str,
}

impl fmt::Display for DeclarationMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl Declaration {
    /// Whether an object of this kind declares an environment.
    pub fn is_made_by(kind: &Kind) -> bool {
        kind.group == GROUP && kind.kind == DEPLOYMENT
    }

    /// Reads a `GitLabDeployment`; with neither projects nor groups it is nobody's as yet.
    ///
    /// # Errors
    /// With every mistake in it.
    pub fn read(object: &Object<'_>) -> Result<Self, Vec<DeclarationMistake>> {
        let mut reader = Reader { spec: object.spec(), mistakes: Vec::new() };
        if !reader.spec.is_object() {
            let hint = "add a `spec` with the `environment`";
            return Err(vec![mistake("spec", "missing_key", "`spec` is missing".to_owned(), hint)]);
        }
        let name = &*object.metadata.name;
        let declaration = Declaration {
            environment: reader.environment(),
            namespace: reader.namespace(name),
            service_account: reader.service_account(name),
            projects: reader.paths("projects", is_project),
            groups: reader.paths("groups", is_path),
        };
        if reader.mistakes.is_empty() { Ok(declaration) } else { Err(reader.mistakes) }
    }
}

fn mistake(path: &str, code: &'static str, message: String, hint: &'static str) -> DeclarationMistake {
    DeclarationMistake { path: path.to_owned(), code, message, hint }
}

struct Reader<'a> {
    spec: &'a Value,
    mistakes: Vec<DeclarationMistake>,
}

impl<'a> Reader<'a> {
    fn say(&mut self, path: &str, code: &'static str, message: String, hint: &'static str) {
        self.mistakes.push(mistake(path, code, message, hint));
    }

    /// A text of the spec; none where it is left out, or is no text, which is told.
    fn text(&mut self, path: &str, value: Option<&'a Value>) -> Option<&'a str> {
        match value? {
            Value::Null => None,
            Value::String(text) => Some(text),
            other => {
                let message = format!("expected a string, found {}", type_of(other));
                self.say(path, "bad_type", message, "quote it if it is a string");
                None
            }
        }
    }

    fn environment(&mut self) -> String {
        let said = self.mistakes.len();
        let Some(name) = self.text("spec.environment", self.spec.get("environment")) else {
            if self.mistakes.len() == said {
                let message = "`environment` is missing".to_owned();
                self.say(
                    "spec.environment",
                    "missing_key",
                    message,
                    "add it, such as `environment: production`",
                );
            }
            return String::new();
        };
        if !is_environment(name) {
            let message = format!("invalid environment name `{name}`");
            let hint =
                "use up to 255 letters, digits, spaces and `-`, `_`, `/`, `.`, without `/` at either end";
            self.say("spec.environment", "bad_name", message, hint);
        }
        name.to_owned()
    }

    fn namespace(&mut self, own: &str) -> String {
        let written = self.text("spec.namespace", self.spec.get("namespace"));
        let namespace = written.unwrap_or(own);
        if !is_dns_label(namespace) {
            let (path, hint) = if written.is_some() {
                ("spec.namespace", "use up to 63 lower-case letters, digits and `-`, not at either end")
            } else {
                (
                    "metadata.name",
                    "set `spec.namespace`, because the resource's name is not a valid namespace",
                )
            };
            self.say(path, "bad_name", format!("invalid namespace `{namespace}`"), hint);
        }
        namespace.to_owned()
    }

    fn service_account(&mut self, own: &str) -> String {
        let name = match self.spec.get("serviceAccount") {
            None | Some(Value::Null) => None,
            Some(Value::Object(account)) => self.text("spec.serviceAccount.name", account.get("name")),
            Some(other) => {
                let message = format!("expected a service account, found {}", type_of(other));
                let hint = "write `serviceAccount: {name: …}`, or omit it";
                self.say("spec.serviceAccount", "bad_type", message, hint);
                None
            }
        };
        name.filter(|name| !name.is_empty()).unwrap_or(own).to_owned()
    }

    fn paths(&mut self, key: &str, sound: fn(&str) -> bool) -> Vec<String> {
        let at = format!("spec.{key}");
        let items = match self.spec.get(key) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => {
                let message = format!("expected a list of paths, found {}", type_of(other));
                self.say(&at, "bad_type", message, "start each with `-` on its own line");
                return Vec::new();
            }
        };
        let mut paths: Vec<String> = Vec::new();
        for (place, item) in items.iter().enumerate() {
            let at = format!("{at}[{place}]");
            match item {
                Value::String(path) if sound(path) && paths.contains(path) => {}
                Value::String(path) if sound(path) => paths.push(path.clone()),
                Value::String(path) => {
                    let what = if key == "projects" { "project" } else { "group" };
                    let message = format!("`{path}` is not the full path of a {what}");
                    self.say(&at, "bad_path", message, "use the path of its URL, such as my-team/project");
                }
                other => {
                    let message = format!("expected a path, found {}", type_of(other));
                    self.say(&at, "bad_type", message, "write the full path, such as my-team/project");
                }
            }
        }
        paths
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Whether GitLab takes this for the name of an environment, by its documentation of `environment:name`; what holds a
/// `$` was meant to be expanded by a job, and no job runs here.
fn is_environment(name: &str) -> bool {
    let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '_' | '/' | '.');
    !name.trim().is_empty()
        && name.len() <= ENVIRONMENT_LENGTH_MAX
        && name.chars().all(letter)
        && !name.starts_with('/')
        && !name.ends_with('/')
}

/// Whether a text can be the full path of a group: names with slashes between, by GitLab's rules for paths.
fn is_path(path: &str) -> bool {
    path.split('/').all(|name| {
        let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        name.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric() || first == b'_')
            && name.bytes().all(letter)
            && !name.ends_with('.')
    })
}

/// Whether a text can be the full path of a project, which stands in a group or below a user.
fn is_project(path: &str) -> bool {
    path.contains('/') && is_path(path)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// The proposal's own example, of both kinds.
    const PROPOSED: [&str; 2] = [
        "apiVersion: gitlabdeploymentcontroller.gitlab.com/v1
kind: GitLabDeployment
metadata:
  name: my-compute-environment
spec:
  environment: production
  namespace: my-compute-environment # default `metadata.name`
  serviceAccount: {} # default name `metadata.name`
  projects:
    - my-team/project
  groups:
    - other-team
",
        "apiVersion: gitlabdeploymentcontroller.gitlab.com/v1
kind: GitLabMonitoring
metadata:
  name: my-compute-environment-metrics
spec:
  # somehow specify Prometheus manual integration
  # configure monitoring associated with a particular GL deployment config
  gitLabDeploymentRef:
    name: my-compute-environment
",
    ];

    fn yaml(text: &str) -> Value {
        serde_saphyr::from_str(text).unwrap()
    }

    fn read(object: &Value) -> Result<Declaration, Vec<DeclarationMistake>> {
        Declaration::read(&Object::parse(&object.to_string()).unwrap())
    }

    fn deployment(name: &str, spec: &Value) -> Value {
        json!({"apiVersion": "gitlabdeploymentcontroller.gitlab.com/v1", "kind": "GitLabDeployment",
            "metadata": {"name": name}, "spec": spec})
    }

    /// Mistakes as people read them, with their codes.
    fn told(object: &Value) -> Vec<String> {
        let mistakes = read(object).unwrap_err();
        assert!(mistakes.iter().all(|mistake| !mistake.hint.is_empty()));
        mistakes.iter().map(|mistake| format!("{mistake} ({})", mistake.code)).collect()
    }

    #[test]
    fn the_proposed_example_is_read() {
        let object = yaml(PROPOSED[0]);
        let expected = Declaration {
            environment: "production".into(),
            namespace: "my-compute-environment".into(),
            service_account: "my-compute-environment".into(),
            projects: vec!["my-team/project".into()],
            groups: vec!["other-team".into()],
        };
        assert_eq!(read(&object), Ok(expected));
        let text = object.to_string();
        assert!(Declaration::is_made_by(&Object::parse(&text).unwrap().group_kind()));
        let monitoring = yaml(PROPOSED[1]).to_string();
        assert!(!Declaration::is_made_by(&Object::parse(&monitoring).unwrap().group_kind()));
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let least = read(&deployment("web", &json!({"environment": "review/fix login"}))).unwrap();
        assert_eq!((&*least.namespace, &*least.service_account), ("web", "web"));
        assert!(least.projects.is_empty() && least.groups.is_empty());
        let spec = json!({"environment": "a", "namespace": null, "serviceAccount": {"name": "deployer"},
            "projects": ["a/b", "a/b", "a/b/c.d"], "groups": null});
        let more = read(&deployment("web", &spec)).unwrap();
        assert_eq!((&*more.namespace, &*more.service_account), ("web", "deployer"));
        assert_eq!(more.projects, ["a/b", "a/b/c.d"]);
    }

    #[test]
    fn every_mistake_is_told_with_its_place() {
        assert_eq!(told(&deployment("web", &json!(null))), ["spec: `spec` is missing (missing_key)"]);
        for environment in [json!({}), json!({"environment": null})] {
            assert_eq!(
                told(&deployment("web", &environment)),
                ["spec.environment: `environment` is missing (missing_key)"]
            );
        }
        let spec = json!({"environment": 7, "namespace": "Not_One", "serviceAccount": "x",
            "projects": ["my-team", 7, "a//b"], "groups": "other-team"});
        assert_eq!(
            told(&deployment("web", &spec)),
            [
                "spec.environment: expected a string, found a number (bad_type)",
                "spec.namespace: invalid namespace `Not_One` (bad_name)",
                "spec.serviceAccount: expected a service account, found a text (bad_type)",
                "spec.projects[0]: `my-team` is not the full path of a project (bad_path)",
                "spec.projects[1]: expected a path, found a number (bad_type)",
                "spec.projects[2]: `a//b` is not the full path of a project (bad_path)",
                "spec.groups: expected a list of paths, found a text (bad_type)",
            ]
        );
        assert_eq!(
            told(&deployment("web.example.org", &json!({"environment": "a"}))),
            ["metadata.name: invalid namespace `web.example.org` (bad_name)"]
        );
        for name in ["", "  ", "/a", "a/", "a$b", "a\nb", &"n".repeat(256)] {
            let expected = format!("spec.environment: invalid environment name `{name}` (bad_name)");
            assert_eq!(told(&deployment("web", &json!({"environment": name}))), [expected]);
        }
        let long = "n".repeat(300);
        let spec = json!({"environment": "a", "namespace": long});
        assert_eq!(
            told(&deployment("web", &spec)),
            [format!("spec.namespace: invalid namespace `{long}` (bad_name)")]
        );
    }

    #[test]
    fn the_definitions_are_of_these_kinds() {
        for (text, kind) in [
            (include_str!("../../../api/crds/gitlabdeployments.yaml"), DEPLOYMENT),
            (include_str!("../../../api/crds/gitlabmonitorings.yaml"), MONITORING),
        ] {
            let definition = yaml(text);
            let spec = &definition["spec"];
            assert_eq!((&spec["group"], &spec["names"]["kind"]), (&json!(GROUP), &json!(kind)));
            assert_eq!((&spec["scope"], &spec["versions"][0]["name"]), (&json!("Cluster"), &json!("v1")));
            let name = format!("{}.{GROUP}", spec["names"]["plural"].as_str().unwrap());
            assert_eq!(definition["metadata"]["name"], json!(name));
        }
    }

    fn tree() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![Just(json!(null)), Just(json!(7)), "[a-zA-Z/. -]{0,8}".prop_map(Value::from),];
        leaf.prop_recursive(2, 8, 3, |inner| prop::collection::vec(inner, 0..3).prop_map(Value::from))
    }

    proptest! {
        #[test]
        fn what_is_read_is_sound(values in prop::collection::vec(tree(), 5), name in "[a-z.-]{1,8}") {
            let spec = json!({"environment": values[0], "namespace": values[1], "serviceAccount": values[2],
                "projects": values[3], "groups": values[4]});
            match read(&deployment(&name, &spec)) {
                Ok(read) => {
                    prop_assert!(is_environment(&read.environment) && is_dns_label(&read.namespace));
                    prop_assert!(read.projects.iter().all(|path| is_project(path)));
                    prop_assert!(read.groups.iter().all(|path| is_path(path)));
                }
                Err(mistakes) => prop_assert!(!mistakes.is_empty()),
            }
        }
    }
}
