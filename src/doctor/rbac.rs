//! The permissions that are missing, as YAML for whoever may grant them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::report::Manifest;
use strandline_watch::{KindList, Refusal};

/// What may not be seen in one place.
#[derive(Clone, Debug)]
pub(super) struct Missing<'a> {
    /// The namespace; empty for the whole cluster.
    pub(super) namespace: &'a str,
    /// The account as the cluster names it, where it does.
    pub(super) user: Option<String>,
    /// The kinds, in their order.
    pub(super) refusals: Vec<&'a Refusal>,
}

/// Gathers what was forbidden, place by place.
pub(super) fn missing<'a>(forbidden: &[&'a Refusal]) -> Vec<Missing<'a>> {
    let mut places: BTreeMap<&str, Vec<&Refusal>> = BTreeMap::new();
    for refusal in forbidden {
        places.entry(&refusal.namespace).or_default().push(refusal);
    }
    let of = |(namespace, refusals): (&'a str, Vec<&'a Refusal>)| {
        let user = refusals.iter().find_map(|refusal| user(&refusal.trouble.to_string()));
        Missing { namespace, user, refusals }
    };
    places.into_iter().map(of).collect()
}

/// The account in `User "system:serviceaccount:ns:name" cannot list resource …`, which Go quoted.
fn user(message: &str) -> Option<String> {
    let (_, quoted) = message.split_once("User \"")?;
    let mut user = String::new();
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Some(user).filter(|user| !user.is_empty()),
            '\\' => user.push(letters.next()?),
            letter => user.push(letter),
        }
    }
    None
}

/// The roles that would let the accounts see what they may not, narrow and wide.
pub(super) fn manifests<'a>(
    cluster: &str,
    missing: impl Iterator<Item = &'a Missing<'a>> + Clone,
    kinds: &KindList,
) -> Manifest {
    let roles = |rules: &dyn Fn(&Missing<'_>) -> String| -> String {
        missing.clone().map(|missing| manifest(cluster, missing, &rules(missing))).collect()
    };
    let groups = rules_of_groups(kinds);
    Manifest {
        cluster: cluster.to_owned(),
        yaml: roles(&|missing| rules(&missing.refusals)),
        yaml_groups: roles(&|_| groups.clone()),
        yaml_wildcard: roles(&|_| rule("\"*\"", "\"*\"")),
    }
}

/// A role with these rules and its binding to the account.
fn manifest(cluster: &str, missing: &Missing<'_>, rules: &str) -> String {
    let subject = missing.user.as_deref().map(subject);
    let (prefix, place) = match missing.namespace {
        "" => ("Cluster", String::new()),
        namespace => ("", format!("  namespace: {}\n", quoted(namespace))),
    };
    // Applied under a fixed name, the next such role would take away what this one gave.
    let name = name(&[rules, subject.as_deref().unwrap_or_default()]);
    let (kind, purpose) = (format!("{prefix}Role"), purpose(cluster, missing.namespace));
    let mut yaml = String::new();
    let head = |kind: &str| {
        format!(
            "---\n# {purpose}\napiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n  \
             name: {name}\n{place}"
        )
    };
    // Writing to a String cannot fail.
    let _ = write!(yaml, "{}rules:\n{rules}", head(&kind));
    match subject {
        Some(subject) => {
            let _ = write!(
                yaml,
                "{}roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: {kind}\n  name: {name}\nsubjects:\n{subject}",
                head(&format!("{kind}Binding")),
            );
        }
        None => {
            let _ = writeln!(yaml, "# The account is unknown: bind the role to it.");
        }
    }
    yaml
}

fn purpose(cluster: &str, namespace: &str) -> String {
    let place = if namespace.is_empty() { String::new() } else { format!(", namespace {namespace}") };
    format!("Grants Strandline list and watch for the kinds it lacks in cluster {cluster}{place}.")
}

/// A name that is the same for the same content only.
fn name(content: &[&str]) -> String {
    let digest = blake3::hash(content.concat().as_bytes()).to_hex();
    format!("strandline-{}", digest.get(..10).unwrap_or_default())
}

/// One rule for each group, with its resources in order.
fn rules(refusals: &[&Refusal]) -> String {
    let mut groups: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for refusal in refusals {
        groups.entry(refusal.served.kind.group.as_str()).or_default().insert(&refusal.served.plural);
    }
    let mut rules = String::new();
    for (group, resources) in groups {
        let resources: Vec<String> = resources.into_iter().map(quoted).collect();
        rules += &rule(&quoted(group), &resources.join(", "));
    }
    rules
}

fn rule(groups: &str, resources: &str) -> String {
    format!("  - apiGroups: [{groups}]\n    resources: [{resources}]\n    verbs: [get, list, watch]\n")
}

/// Every kind of every group that there is now, and each kind of these groups that is yet to come; of the core group, which
/// gets no new ones, all but Secrets by name, for RBAC can take nothing away from a wildcard.
fn rules_of_groups(kinds: &KindList) -> String {
    let served = || kinds.kinds.iter().map(|kind| &kind.served);
    let core = served().filter(|served| served.kind.group.is_empty() && served.kind.kind != "Secret");
    let core: BTreeSet<String> = core.map(|served| quoted(&served.plural)).collect();
    let told = served().map(|served| served.kind.group.as_str());
    let silent = kinds.failed.iter().map(|failed| failed.group.as_str());
    let groups: BTreeSet<String> = told.chain(silent).filter(|group| !group.is_empty()).map(quoted).collect();
    let list = |names: BTreeSet<String>| names.into_iter().collect::<Vec<_>>().join(", ");
    let mut rules = String::new();
    if !core.is_empty() {
        rules += &rule(&quoted(""), &list(core));
    }
    if !groups.is_empty() {
        rules += &rule(&list(groups), &quoted("*"));
    }
    rules
}

/// The account as a binding names it.
fn subject(user: &str) -> String {
    let account = user.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':'));
    match account {
        Some((namespace, name)) => {
            format!(
                "  - kind: ServiceAccount\n    name: {}\n    namespace: {}\n",
                quoted(name),
                quoted(namespace)
            )
        }
        None => {
            let user = quoted(user);
            format!("  - kind: User\n    apiGroup: rbac.authorization.k8s.io\n    name: {user}\n")
        }
    }
}

/// A text in YAML's double quotes, in which any text from a cluster stays a text.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            ' '..='~' => out.push(letter),
            other => {
                let _ = write!(out, "\\U{:08X}", u32::from(other));
            }
        }
    }
    out + "\""
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use strandline_model::Kind;
    use strandline_watch::{FailedGroup, ListedKind, ServedKind, Trouble};

    const ACCOUNT: &str = "system:serviceaccount:tools:watcher";

    fn refusal(group: &str, plural: &str, namespace: &str, user: &str) -> Refusal {
        let kind = Kind::new(group, "Any");
        let (version, plural) = ("v1".to_owned(), plural.to_owned());
        let message = format!(
            "403 Forbidden: {plural}.{group} is forbidden: User {user:?} cannot list resource \"{plural}\" in API \
             group \"{group}\" at the cluster scope"
        );
        Refusal {
            served: ServedKind { kind, version, plural, namespaced: true },
            namespace: namespace.to_owned(),
            verb: "list",
            trouble: Trouble::Forbidden(message),
        }
    }

    fn manifests(refusals: &[Refusal]) -> Vec<Value> {
        documents(&made(refusals, &KindList::default()).yaml)
    }

    fn made(refusals: &[Refusal], kinds: &KindList) -> Manifest {
        let refusals: Vec<&Refusal> = refusals.iter().collect();
        super::manifests("eu-1", missing(&refusals).iter(), kinds)
    }

    fn documents(yaml: &str) -> Vec<Value> {
        assert!(yaml.lines().filter(|line| line.starts_with("# Grants Strandline")).count() > 0, "{yaml}");
        let documents = yaml.split("---\n").filter(|document| !document.trim().is_empty());
        documents.map(|document| serde_saphyr::from_str(document).unwrap()).collect()
    }

    #[test]
    fn a_cluster_role_has_a_rule_for_each_group_and_is_bound_to_the_account() {
        let refusals = ["pods", "configmaps", "pods"].map(|plural| refusal("", plural, "", ACCOUNT));
        let more = refusal("apps", "deployments", "", ACCOUNT);
        let made = manifests(&[&refusals[..], &[more]].concat());
        let name = &made[0]["metadata"]["name"];
        assert!(name.as_str().unwrap().starts_with("strandline-"), "{name}");
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name},
            "rules": [
                {"apiGroups": [""], "resources": ["configmaps", "pods"], "verbs": ["get", "list", "watch"]},
                {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get", "list", "watch"]},
            ],
        });
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": "watcher", "namespace": "tools"}],
        });
        assert_eq!(made, [role, binding]);
    }

    #[test]
    fn wider_roles_cover_kinds_to_come_and_leave_secrets_out_where_rbac_can() {
        let refused = [refusal("apps", "deployments", "", ACCOUNT), refusal("", "pods", "shop", ACCOUNT)];
        let listed = |group: &str, kind: &str, plural: &str| ListedKind {
            served: ServedKind { kind: Kind::new(group, kind), ..refusal(group, plural, "", "").served },
            unfollowed: None,
        };
        let kinds = KindList {
            kinds: vec![
                listed("", "Pod", "pods"),
                listed("", "Secret", "secrets"),
                listed("", "Node", "nodes"),
                listed("apps", "Deployment", "deployments"),
                listed("apps", "ReplicaSet", "replicasets"),
            ],
            failed: vec![FailedGroup { group: "metrics.k8s.io".into(), message: String::new() }],
        };
        let made = made(&refused, &kinds);
        let verbs = json!(["get", "list", "watch"]);
        let groups = json!([
            {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": verbs},
            {"apiGroups": ["apps", "metrics.k8s.io"], "resources": ["*"], "verbs": verbs},
        ]);
        let everything = json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": verbs}]);
        for (yaml, rules) in [(&made.yaml_groups, groups), (&made.yaml_wildcard, everything)] {
            let documents = documents(yaml);
            let found: Vec<_> = documents.iter().map(|one| one["kind"].as_str().unwrap()).collect();
            assert_eq!(found, ["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"]);
            assert_eq!((&documents[0]["rules"], &documents[2]["rules"]), (&rules, &rules));
            assert_eq!(documents[2]["metadata"]["namespace"], "shop");
            for (role, binding) in [(0, 1), (2, 3)] {
                assert_eq!(documents[binding]["roleRef"]["name"], documents[role]["metadata"]["name"]);
            }
        }
        assert_ne!(made.yaml, made.yaml_groups);
    }

    #[test]
    fn each_namespace_has_a_role_of_its_own() {
        let made = manifests(&[refusal("", "pods", "a", "jane"), refusal("", "pods", "b", "jane")]);
        let told: Vec<_> = made
            .iter()
            .map(|made| {
                format!(
                    "{} {}",
                    made["kind"].as_str().unwrap(),
                    made["metadata"]["namespace"].as_str().unwrap()
                )
            })
            .collect();
        assert_eq!(told, ["Role a", "RoleBinding a", "Role b", "RoleBinding b"]);
        assert_eq!(made[1]["roleRef"]["kind"], "Role");
        let subject = json!([{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "jane"}]);
        assert_eq!(made[1]["subjects"], subject);
    }

    #[test]
    fn other_content_has_another_name() {
        let name = |refusals: &[Refusal]| manifests(refusals)[0]["metadata"]["name"].clone();
        let pods = || refusal("", "pods", "", ACCOUNT);
        assert_eq!(name(&[pods()]), name(&[pods()]));
        assert_ne!(name(&[pods()]), name(&[refusal("", "secrets", "", ACCOUNT)]));
        assert_ne!(name(&[pods()]), name(&[refusal("", "pods", "", "jane")]));
    }

    #[test]
    fn what_a_cluster_says_stays_a_text() {
        for user in ["no", "42", "o'neil \"x\" \\ é", "a: b # c\n- d", "{}", "\u{1b}[31m\u{202e}"] {
            let quoted = format!("\"User\\n{}", user.len());
            let mut refusal = refusal("", &quoted, "", "x");
            let escaped = user.replace('\\', "\\\\").replace('"', "\\\"");
            refusal.trouble = Trouble::Forbidden(format!("User \"{escaped}\" cannot"));
            let made = manifests(&[refusal]);
            assert_eq!(made[1]["subjects"][0]["name"], user);
            assert_eq!(made[0]["rules"][0]["resources"][0], quoted.as_str());
        }
    }

    #[test]
    fn without_an_account_there_is_no_binding() {
        for message in ["", "403 Forbidden", "User \"\" cannot", "User \"never ends"] {
            let mut refusal = refusal("", "pods", "", "x");
            refusal.trouble = Trouble::Forbidden(message.to_owned());
            let made = manifests(&[refusal]);
            assert_eq!(
                made.iter().map(|made| &made["kind"]).collect::<Vec<_>>(),
                ["ClusterRole"],
                "{message}"
            );
        }
    }
}
