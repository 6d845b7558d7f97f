//! The marks by which GitOps tools know their own, as an object carries them.
//!
//! | tool | mark | where the tool says so |
//! |---|---|---|
//! | cli-utils | annotation `config.k8s.io/owning-inventory` | `kubernetes-sigs/cli-utils`, `pkg/inventory/policy.go` |
//! | Flux, kustomize-controller | labels `kustomize.toolkit.fluxcd.io/name`, `…/namespace` | `fluxcd/pkg`, `ssa/manager.go` |
//! | Flux, helm-controller | labels `helm.toolkit.fluxcd.io/name`, `…/namespace` | `fluxcd/helm-controller`, `internal/postrender` |
//! | Argo CD | annotation `argocd.argoproj.io/tracking-id`: `APP:GROUP/KIND:NAMESPACE/NAME` | `argoproj/argo-cd`, `util/argo/resource_tracking.go` |
//! | Argo CD | annotation `argocd.argoproj.io/installation-id`, beside it | the same file |
//! | Argo CD, tracking by label | label `argocd.argoproj.io/instance` or `app.kubernetes.io/instance` | its user guide, "Resource Tracking" |
//! | Helm | annotations `meta.helm.sh/release-name`, `…/release-namespace` with label `app.kubernetes.io/managed-by: Helm` | `helm/helm`, `pkg/action/validate.go` |
//!
//! A mark can be a copy. Controllers copy the annotations and labels of what they own to what they make: a ReplicaSet has
//! its Deployment's, and keeps them when the Deployment loses its own. So what a controller owns carries no mark;
//! it belongs where its owner does. A tracking id names the object that it was written on, and counts there only.
//!
//! `app.kubernetes.io/instance` is set by most charts, whoever installs them. It counts as Argo CD's where nothing
//! says that another did: neither a tracking id, because then Argo CD tracks by that, nor the mark of another tool.
//! So it takes an object that was put there by hand, and an Application with the very name of its release, to be mistaken.
//!
//! GitLab labels what it manages for an environment (its user guide, "Managed resource labels and annotations") with
//! `agent.gitlab.com/env-SLUG-PROJECT-AGENT`, once for each environment that shares it, and with nothing else by which one of
//! them could be told.
//!
//! Pure: no clock, no store.

use std::collections::BTreeSet;

use crate::Object;
use crate::json::Members;
use strandline_model::Inventory;

const OWNING_INVENTORY: &str = "config.k8s.io/owning-inventory";
const TRACKING_ID: &str = "argocd.argoproj.io/tracking-id";
const INSTALLATION_ID: &str = "argocd.argoproj.io/installation-id";
const ARGO_CD_INSTANCE: &str = "argocd.argoproj.io/instance";
const ANY_INSTANCE: &str = "app.kubernetes.io/instance";

/// What each controller of Flux keeps, with the labels that name it and its namespace.
const FLUX: [(&str, &str, &str); 2] = [
    ("flux-kustomization", "kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace"),
    ("flux-helmrelease", "helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace"),
];

/// The inventories whose marks an object carries: those of several tools where one works through another, as Flux does
/// through Helm.
///
/// What is no sound name is no mark.
pub fn marks(object: &Object<'_>) -> BTreeSet<Inventory> {
    let metadata = &object.metadata;
    let annotations = metadata.annotations.and_then(|text| Members::of_valid(text).ok()).unwrap_or_default();
    let mut marks = BTreeSet::new();
    let tracked = tracking(object, &annotations, &mut marks);
    if metadata.owner_references.iter().any(|owner| owner.controller) {
        return marks;
    }
    if let Some(id) = annotations.text(OWNING_INVENTORY) {
        marks.extend(format!("cli-utils:{id}").parse());
    }
    for (prefix, name, namespace) in FLUX {
        marks.extend(placed(prefix, metadata.label(namespace), metadata.label(name)));
    }
    if metadata.label("app.kubernetes.io/managed-by") == Some("Helm") {
        let namespace = annotations.text("meta.helm.sh/release-namespace");
        marks.extend(placed(
            "helm",
            namespace.as_deref(),
            annotations.text("meta.helm.sh/release-name").as_deref(),
        ));
    }
    if !tracked {
        let own = metadata.label(ARGO_CD_INSTANCE);
        let shared = metadata.label(ANY_INSTANCE).filter(|_| marks.is_empty());
        marks.extend(own.or(shared).and_then(|application| format!("argocd:{application}").parse().ok()));
    }
    marks
}

/// What the labels by which GitLab knows the resources that it manages begin with; then follow the environment's slug, the
/// number of its project, and that of the agent.
const MANAGED: &str = "agent.gitlab.com/env-";

/// The marks of the environments for which GitLab manages an object: the labels themselves, which say it by their names, and
/// the same without the agent, whose number need not be known.
pub fn managed_marks(object: &Object<'_>) -> BTreeSet<String> {
    let metadata = &object.metadata;
    if metadata.owner_references.iter().any(|owner| owner.controller) {
        return BTreeSet::new();
    }
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let labels = metadata.labels.keys().filter_map(|name| {
        let (environment, agent) = name.strip_prefix(MANAGED)?.rsplit_once('-')?;
        let (slug, project) = environment.rsplit_once('-')?;
        (number(agent) && number(project) && !slug.is_empty()).then_some((name, environment))
    });
    labels.flat_map(|(name, environment)| [name.to_string(), format!("{MANAGED}{environment}")]).collect()
}

/// The mark of what GitLab manages for an environment, by an agent where its number is known.
pub fn managed_mark(slug: &str, project: i64, agent: Option<i64>) -> String {
    let agent = agent.map(|agent| format!("-{agent}")).unwrap_or_default();
    format!("{MANAGED}{slug}-{project}{agent}")
}

fn placed(prefix: &str, namespace: Option<&str>, name: Option<&str>) -> Option<Inventory> {
    format!("{prefix}:{}/{}", namespace?, name?).parse().ok()
}

/// The Application that a tracking id names, with and without the installation; tells whether there is an id at all.
fn tracking(object: &Object<'_>, annotations: &Members<'_>, marks: &mut BTreeSet<Inventory>) -> bool {
    let Some(id) = annotations.text(TRACKING_ID) else { return false };
    if let Some(application) = tracked(object, &id) {
        marks.extend(format!("argocd:{application}").parse());
        if let Some(installation) = annotations.text(INSTALLATION_ID) {
            marks.extend(format!("argocd:{application}@{installation}").parse());
        }
    }
    true
}

/// The Application of a tracking id, if it was written on this object.
fn tracked<'i>(object: &Object<'_>, id: &'i str) -> Option<&'i str> {
    let (application, rest) = id.split_once(':')?;
    let (kind, place) = rest.split_once(':')?;
    let (group, kind) = kind.split_once('/')?;
    let (namespace, name) = place.split_once('/')?;
    let metadata = &object.metadata;
    // What is in no namespace is marked with the one its Application deploys to.
    let here = metadata.namespace.is_empty() || metadata.namespace == namespace;
    let this = here && metadata.name == name && object.kind == kind && is_group(group, object.group());
    this.then_some(application)
}

/// Whether a group is an object's own, or the one from which its kind moved there long after it was marked.
fn is_group(told: &str, own: &str) -> bool {
    told == own || (told == "extensions" && matches!(own, "apps" | "networking.k8s.io" | "policy"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn told(object: &Value) -> Vec<String> {
        let text = object.to_string();
        marks(&Object::parse(&text).unwrap()).iter().map(Inventory::to_string).collect()
    }

    #[test]
    fn what_gitlab_manages_names_its_environments() {
        let marks = |labels: &Value, owners: &Value| -> Vec<String> {
            let text = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {
                "name": "web", "labels": labels, "ownerReferences": owners}});
            managed_marks(&Object::parse(&text.to_string()).unwrap()).into_iter().collect()
        };
        let labels = json!({"agent.gitlab.com/env-review-a-1-42-7": "", "agent.gitlab.com/id-7": "",
            "agent.gitlab.com/project_id-42": "", "agent.gitlab.com/environment_slug-review-a-1": ""});
        let found = ["agent.gitlab.com/env-review-a-1-42", "agent.gitlab.com/env-review-a-1-42-7"];
        assert_eq!(marks(&labels, &json!([])), found);
        assert_eq!(managed_mark("review-a-1", 42, None), found[0]);
        assert_eq!(managed_mark("review-a-1", 42, Some(7)), found[1]);
        let owner = json!([{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "a", "controller": true}]);
        assert!(marks(&labels, &owner).is_empty());
        for label in
            ["env-", "env-web", "env-web-42", "env-web-a-7", "env-web-42-", "env-42-7", "ENV-web-42-7"]
        {
            assert!(
                marks(&json!({format!("agent.gitlab.com/{label}"): ""}), &json!([])).is_empty(),
                "{label}"
            );
        }
    }

    /// The Deployment `web` in `shop` with these labels and annotations.
    fn web(labels: &Value, annotations: &Value) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {
            "name": "web", "namespace": "shop", "labels": labels, "annotations": annotations}})
    }

    #[test]
    fn each_tool_has_its_marks() {
        let none = json!({});
        for (labels, annotations, expected) in [
            (none.clone(), json!({"config.k8s.io/owning-inventory": "shop-1"}), vec!["cli-utils:shop-1"]),
            (
                json!({"kustomize.toolkit.fluxcd.io/name": "app", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}),
                none.clone(),
                vec!["flux-kustomization:flux-system/app"],
            ),
            (
                json!({"helm.toolkit.fluxcd.io/name": "app", "helm.toolkit.fluxcd.io/namespace": "shop"}),
                none.clone(),
                vec!["flux-helmrelease:shop/app"],
            ),
            (none.clone(), json!({TRACKING_ID: "shop:apps/Deployment:shop/web"}), vec!["argocd:shop"]),
            (
                none.clone(),
                json!({TRACKING_ID: "team_shop:apps/Deployment:shop/web"}),
                vec!["argocd:team_shop"],
            ),
            (
                none.clone(),
                json!({TRACKING_ID: "shop:apps/Deployment:shop/web", "argocd.argoproj.io/installation-id": "west"}),
                vec!["argocd:shop", "argocd:shop@west"],
            ),
            (json!({"argocd.argoproj.io/instance": "shop"}), none.clone(), vec!["argocd:shop"]),
            (json!({"app.kubernetes.io/instance": "shop"}), none.clone(), vec!["argocd:shop"]),
            (
                json!({"app.kubernetes.io/managed-by": "Helm"}),
                json!({"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"}),
                vec!["helm:shop/web"],
            ),
            (none.clone(), none, vec![]),
        ] {
            assert_eq!(told(&web(&labels, &annotations)), expected, "{labels} {annotations}");
        }
    }

    #[test]
    fn half_a_mark_and_what_is_no_name_are_none() {
        for (labels, annotations) in [
            (json!({"kustomize.toolkit.fluxcd.io/name": "app"}), json!({})),
            (json!({"helm.toolkit.fluxcd.io/namespace": "app"}), json!({})),
            (json!({"helm.toolkit.fluxcd.io/namespace": "", "helm.toolkit.fluxcd.io/name": ""}), json!({})),
            (json!({}), json!({"config.k8s.io/owning-inventory": ""})),
            (json!({}), json!({"config.k8s.io/owning-inventory": 7})),
            // Helm takes as its own what carries all three.
            (
                json!({}),
                json!({"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"}),
            ),
            (json!({"app.kubernetes.io/managed-by": "Helm"}), json!({"meta.helm.sh/release-name": "web"})),
            (
                json!({"app.kubernetes.io/managed-by": "helm"}),
                json!({"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "shop"}),
            ),
            (json!({"app.kubernetes.io/instance": "Not_A.Name"}), json!({})),
            (json!({}), json!({TRACKING_ID: "shop"})),
            (json!({}), json!({TRACKING_ID: "shop:apps/Deployment"})),
            (json!({}), json!({TRACKING_ID: ":apps/Deployment:shop/web"})),
        ] {
            assert_eq!(told(&web(&labels, &annotations)), [""; 0], "{labels} {annotations}");
        }
    }

    #[test]
    fn a_tracking_id_counts_only_where_it_was_written() {
        for id in [
            "shop:apps/ReplicaSet:shop/web",
            "shop:apps/Deployment:shop/web-2",
            "shop:apps/Deployment:bank/web",
            "shop:/Deployment:shop/web",
            "shop:apps/Deployment:shop/web/more",
        ] {
            // The label beside it only informs.
            let object = web(&json!({"app.kubernetes.io/instance": "shop"}), &json!({TRACKING_ID: id}));
            assert_eq!(told(&object), [""; 0], "{id}");
        }
        assert_eq!(
            told(&web(&json!({}), &json!({TRACKING_ID: "shop:extensions/Deployment:shop/web"}))),
            ["argocd:shop"],
            "a kind may have moved since"
        );
        let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "it",
            "annotations": {TRACKING_ID: "shop:rbac.authorization.k8s.io/ClusterRole:shop/it"}}});
        assert_eq!(told(&role), ["argocd:shop"], "what is in no namespace carries that of its Application");
    }

    #[test]
    fn what_a_controller_owns_carries_copies() {
        let marked = web(
            &json!({"kustomize.toolkit.fluxcd.io/name": "a", "kustomize.toolkit.fluxcd.io/namespace": "b",
                "app.kubernetes.io/instance": "shop"}),
            &json!({"config.k8s.io/owning-inventory": "x"}),
        );
        for (controller, count) in [(true, 0), (false, 2)] {
            let mut owned = marked.clone();
            owned["metadata"]["ownerReferences"] =
                json!([{"apiVersion": "v1", "kind": "A", "name": "a", "uid": "u", "controller": controller}]);
            assert_eq!(told(&owned).len(), count);
            owned["metadata"]["annotations"][TRACKING_ID] = json!("shop:apps/Deployment:shop/web");
            assert!(told(&owned).contains(&"argocd:shop".to_owned()), "this one is no copy");
        }
    }

    #[test]
    fn the_label_of_charts_is_argo_cds_unless_another_tool_installed_them() {
        let labels = json!({"app.kubernetes.io/instance": "shop", "app.kubernetes.io/managed-by": "Helm"});
        assert_eq!(
            told(&web(&labels, &json!({}))),
            ["argocd:shop"],
            "Argo CD renders charts and does without Helm"
        );
        let release = json!({"meta.helm.sh/release-name": "shop", "meta.helm.sh/release-namespace": "shop"});
        assert_eq!(told(&web(&labels, &release)), ["helm:shop/shop"]);
        let mut by_flux = labels;
        by_flux["helm.toolkit.fluxcd.io/name"] = json!("shop");
        by_flux["helm.toolkit.fluxcd.io/namespace"] = json!("apps");
        assert_eq!(told(&web(&by_flux, &release)), ["flux-helmrelease:apps/shop", "helm:shop/shop"]);
        let own = json!({"app.kubernetes.io/instance": "chart", "argocd.argoproj.io/instance": "shop"});
        assert_eq!(told(&web(&own, &json!({}))), ["argocd:shop"]);
    }

    proptest! {
        #[test]
        fn no_mark_makes_it_panic(values in prop::collection::vec("[a-z:/_@ ]{0,20}", 9)) {
            let labels = json!({"kustomize.toolkit.fluxcd.io/name": values[0], "kustomize.toolkit.fluxcd.io/namespace": values[1],
                "app.kubernetes.io/instance": values[2], "app.kubernetes.io/managed-by": "Helm"});
            let annotations = json!({"config.k8s.io/owning-inventory": values[3], TRACKING_ID: values[4],
                "argocd.argoproj.io/installation-id": values[5], "meta.helm.sh/release-name": values[6],
                "meta.helm.sh/release-namespace": values[7]});
            for mark in told(&web(&labels, &annotations)) {
                prop_assert_eq!(mark.parse::<Inventory>().unwrap().to_string(), mark);
            }
        }
    }
}
