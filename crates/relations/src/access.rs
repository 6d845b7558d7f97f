//! Who may do what: accounts, and the bindings that give them roles.
//!
//! A binding is the cause of an account's rights, and a role of what it lets be done to what it names. Groups of accounts
//! tell nothing: an edge to every account of a cluster would drown those that say something.

use super::EdgeKind::{Owns, References};
use super::Far;
use super::resource_names::of_role;
use super::selector::{SELECTOR, selector};
use super::told::{Told, is_name, named, selected};
use strandline_model::Uid;
use strandline_object::Object;
use strandline_object::json::{Picked, Shape};

const RBAC: &str = "rbac.authorization.k8s.io";

/// What the name of a user begins with where it stands for an account.
const ACCOUNT_USER: &str = "system:serviceaccount:";

const NAMED: Shape = Shape::Each(&Shape::Members(&[("name", Shape::Text)]));
const ACCOUNT: Shape = Shape::Members(&[("secrets", NAMED), ("imagePullSecrets", NAMED)]);

const BINDING: Shape = Shape::Members(&[
    ("roleRef", Shape::Members(&[("kind", Shape::Text), ("name", Shape::Text)])),
    (
        "subjects",
        Shape::Each(&Shape::Members(&[
            ("kind", Shape::Text),
            ("namespace", Shape::Text),
            ("name", Shape::Text),
        ])),
    ),
]);

/// In which a Secret with a token names its account.
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";
pub(super) const TOKEN_ANNOTATIONS: [&str; 2] = [ACCOUNT_NAME, ACCOUNT_UID];

const TYPE: Shape = Shape::Members(&[("type", Shape::Text)]);

const TEXTS: Shape = Shape::Each(&Shape::Text);
const ROLE: Shape = Shape::Members(&[
    ("aggregationRule", Shape::Members(&[("clusterRoleSelectors", Shape::Each(&SELECTOR))])),
    (
        "rules",
        Shape::Each(&Shape::Members(&[("apiGroups", TEXTS), ("resources", TEXTS), ("resourceNames", TEXTS)])),
    ),
]);

/// A Secret with the token of an account is made for it, and goes with it.
pub(super) fn token(told: &mut Told, object: &Object<'_>) {
    if object.pick(&TYPE).text_of("type") != Some("kubernetes.io/service-account-token") {
        return;
    }
    let account = object.metadata.annotation(ACCOUNT_NAME);
    let account = named("", "ServiceAccount", &object.metadata.namespace, account.as_deref());
    let uid = object.metadata.annotation(ACCOUNT_UID).filter(|uid| is_name(uid));
    told.from(
        Owns,
        match (account, uid) {
            (Some(Far::Key { kind, name, .. }), Some(uid)) => {
                Some(Far::Uid { uid: Uid::new(uid.as_ref()), kind, name })
            }
            (account, _) => account,
        },
    );
}

/// A Role or ClusterRole: the objects it names, and the roles of which it is put together.
pub(super) fn role(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&ROLE);
    for written in picked.get("aggregationRule").items_of("clusterRoleSelectors") {
        told.from(References, selected(RBAC, "ClusterRole", "", selector(written)));
    }
    for rule in picked.items_of("rules") {
        let names = texts(rule, "resourceNames");
        for (group, resource) in pairs(&texts(rule, "apiGroups"), &texts(rule, "resources")) {
            for name in &names {
                if told.is_full() {
                    return;
                }
                told.to(References, of_role(group, resource, &object.metadata.namespace, name));
            }
        }
    }
}

fn texts<'p>(rule: &'p Picked<'_>, field: &str) -> Vec<&'p str> {
    rule.items_of(field).iter().filter_map(Picked::text).collect()
}

fn pairs<'p>(groups: &[&'p str], resources: &[&'p str]) -> Vec<(&'p str, &'p str)> {
    groups.iter().flat_map(|group| resources.iter().map(|resource| (*group, *resource))).collect()
}

/// A ServiceAccount names its Secrets.
pub(super) fn account(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&ACCOUNT);
    for field in ["secrets", "imagePullSecrets"] {
        for secret in picked.items_of(field) {
            told.from(References, named("", "Secret", &object.metadata.namespace, secret.text_of("name")));
        }
    }
}

/// A RoleBinding or ClusterRoleBinding stands on its role and gives it to accounts.
pub(super) fn binding(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&BINDING);
    let role = picked.get("roleRef");
    let namespace = &*object.metadata.namespace;
    told.from(
        References,
        match role.text_of("kind") {
            Some("Role") => named(RBAC, "Role", namespace, role.text_of("name")),
            Some("ClusterRole") => named(RBAC, "ClusterRole", "", role.text_of("name")),
            _ => None,
        },
    );
    for subject in picked.items_of("subjects") {
        if let Some((namespace, name)) = account_of(subject, namespace) {
            told.to(References, named("", "ServiceAccount", namespace, Some(name)));
        }
    }
}

/// The namespace and name of the account that a subject is.
fn account_of<'p>(subject: &'p Picked<'_>, own: &'p str) -> Option<(&'p str, &'p str)> {
    let name = subject.text_of("name")?;
    match subject.text_of("kind")? {
        "ServiceAccount" if subject.get("namespace").is_absent() => Some((own, name)),
        "ServiceAccount" => Some((subject.text_of("namespace")?, name)),
        "User" => name.strip_prefix(ACCOUNT_USER)?.split_once(':'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::told;

    #[test]
    fn a_token_belongs_to_its_account() {
        let secret = |r#type: &str, annotations: serde_json::Value| {
            told(&json!({"apiVersion": "v1", "kind": "Secret", "type": r#type,
                "metadata": {"namespace": "shop", "name": "web-token", "annotations": annotations}}))
        };
        let token = "kubernetes.io/service-account-token";
        let (name, uid) = ("kubernetes.io/service-account.name", "kubernetes.io/service-account.uid");
        assert_eq!(secret(token, json!({name: "web"})), ["<- owns ServiceAccount shop/web"]);
        assert_eq!(secret(token, json!({name: "web", uid: ""})), ["<- owns ServiceAccount shop/web"]);
        assert_eq!(secret(token, json!({name: "web", uid: "u-1"})), ["<- owns ServiceAccount web u-1"]);
        for (r#type, annotations) in [
            ("Opaque", json!({name: "web"})),
            (token, json!({uid: "u-1"})),
            (token, json!({name: "a/b"})),
            (token, json!(null)),
        ] {
            assert!(secret(r#type, annotations.clone()).is_empty(), "{annotations}");
        }
    }

    #[test]
    fn a_cluster_role_is_put_together_of_others() {
        let role = |selectors: serde_json::Value| {
            told(
                &json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "view"},
                "aggregationRule": {"clusterRoleSelectors": selectors}, "rules": []}),
            )
        };
        let to_view = json!({"matchLabels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}});
        assert_eq!(
            role(json!([to_view, {"matchLabels": {"a": "b"}}])),
            [
                "<- references ClusterRole.rbac.authorization.k8s.io /[rbac.authorization.k8s.io/aggregate-to-view=true]",
                "<- references ClusterRole.rbac.authorization.k8s.io /[a=b]",
            ]
        );
        assert_eq!(role(json!([{}])), ["<- references ClusterRole.rbac.authorization.k8s.io *"]);
        assert!(role(json!([7])).is_empty());
    }

    #[test]
    fn a_role_is_put_on_what_it_names() {
        let role = |kind: &str, namespace: &str, rule: serde_json::Value| {
            told(&json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
                "metadata": {"namespace": namespace, "name": "it"}, "rules": [rule]}))
        };
        let names = json!({"apiGroups": ["", "apps"], "resources": ["secrets", "deployments/scale", "namespaces", "widgets"],
            "resourceNames": ["one", "a/b"]});
        assert_eq!(
            role("Role", "shop", names.clone()),
            [
                "-> references Secret shop/one",
                "-> references Namespace /one",
                "-> references Deployment.apps shop/one"
            ]
        );
        assert_eq!(role("ClusterRole", "", names), ["-> references Namespace /one"]);
        for rule in [
            json!({"apiGroups": [""], "resources": ["secrets"]}),
            json!({"apiGroups": ["*"], "resources": ["*"], "resourceNames": ["one"]}),
            json!({"apiGroups": "", "resources": ["secrets"], "resourceNames": ["one"]}),
            json!(7),
        ] {
            assert!(role("Role", "shop", rule.clone()).is_empty(), "{rule}");
        }
    }

    #[test]
    fn an_account_names_its_secrets() {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"namespace": "shop", "name": "web"},
            "secrets": [{"name": "token"}, {"kind": "Secret"}], "imagePullSecrets": [{"name": "registry"}, {"name": "token"}]});
        assert_eq!(told(&account), ["<- references Secret shop/token", "<- references Secret shop/registry"]);
    }

    #[test]
    fn a_binding_gives_a_role_to_accounts() {
        let subjects = json!([
            {"kind": "ServiceAccount", "name": "web", "namespace": "other"},
            {"kind": "ServiceAccount", "name": "web"},
            {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "system:serviceaccount:ci:deployer"},
            {"kind": "ServiceAccount", "name": "odd", "namespace": 7},
            {"kind": "User", "name": "jane"},
            {"kind": "User", "name": "system:serviceaccount:ci"},
            {"kind": "Group", "name": "system:serviceaccounts:ci"},
        ]);
        let mut binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"namespace": "shop", "name": "web"}, "subjects": subjects,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}});
        let accounts = [
            "-> references ServiceAccount other/web",
            "-> references ServiceAccount shop/web",
            "-> references ServiceAccount ci/deployer",
        ];
        let all = told(&binding);
        assert_eq!(all[0], "<- references Role.rbac.authorization.k8s.io shop/reader");
        assert_eq!(all[1..], accounts);
        binding["roleRef"]["kind"] = json!("ClusterRole");
        assert_eq!(told(&binding)[0], "<- references ClusterRole.rbac.authorization.k8s.io /reader");
        binding["kind"] = json!("ClusterRoleBinding");
        binding["subjects"] = json!([{"kind": "ServiceAccount", "name": "web", "namespace": "other"}]);
        assert_eq!(
            told(&binding),
            [
                "<- references ClusterRole.rbac.authorization.k8s.io /reader",
                "-> references ServiceAccount other/web"
            ]
        );
        binding["roleRef"]["kind"] = json!("Other");
        binding["subjects"] = json!(null);
        assert!(told(&binding).is_empty());
    }
}
