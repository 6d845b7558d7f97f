//! Who may do what: accounts, and the bindings that give them roles.
//!
//! A binding is the cause of an account's rights. Groups of accounts tell nothing: an edge to every account of a
//! cluster would drown those that say something.

use super::EdgeKind::References;
use super::told::{Told, named};
use crate::json::{Picked, Shape};
use crate::object::Object;

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
