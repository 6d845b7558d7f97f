//! Environments that a cluster declares by itself, and how they are monitored.

use super::EdgeKind::References;
use super::told::{Told, named};
use strandline_object::Object;
use strandline_object::gitlab_deployment::{DEPLOYMENT, GROUP};
use strandline_object::json::{Picked, Shape};

const DECLARED: Shape = Shape::Members(&[("spec", Shape::Members(&[("namespace", Shape::Text)]))]);

const MONITORED: Shape = Shape::Members(&[(
    "spec",
    Shape::Members(&[("gitLabDeploymentRef", Shape::Members(&[("name", Shape::Text)]))]),
)]);

/// A GitLabDeployment reserves a Namespace, of its own name where it says no other.
pub(super) fn deployment(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&DECLARED);
    let spec = picked.get("spec");
    let Picked::Members(_) = spec else { return };
    let name = match spec.get("namespace") {
        Picked::Absent => Some(&*object.metadata.name),
        written => written.text(),
    };
    told.to(References, named("", "Namespace", "", name));
}

/// A GitLabMonitoring names the GitLabDeployment whose environment it is for.
pub(super) fn monitoring(told: &mut Told, object: &Object<'_>) {
    let picked = object.pick(&MONITORED);
    let name = picked.get("spec").get("gitLabDeploymentRef").text_of("name");
    told.from(References, named(GROUP, DEPLOYMENT, "", name));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::told;

    fn object(kind: &str, spec: &Value) -> Vec<String> {
        told(&json!({"apiVersion": "gitlabdeploymentcontroller.gitlab.com/v1", "kind": kind,
            "metadata": {"name": "it"}, "spec": spec}))
    }

    #[test]
    fn a_deployment_reserves_a_namespace() {
        let spec = json!({"environment": "production", "namespace": "web"});
        assert_eq!(object("GitLabDeployment", &spec), ["-> references Namespace /web"]);
        let spec = json!({"environment": "production"});
        assert_eq!(object("GitLabDeployment", &spec), ["-> references Namespace /it"]);
        for spec in [json!({"namespace": ""}), json!({"namespace": 7}), json!(null), json!([])] {
            assert_eq!(object("GitLabDeployment", &spec), [""; 0], "{spec}");
        }
    }

    #[test]
    fn a_monitoring_references_a_deployment() {
        let spec = json!({"gitLabDeploymentRef": {"name": "web"}, "prometheus": {"url": "http://x"}});
        let expected = ["<- references GitLabDeployment.gitlabdeploymentcontroller.gitlab.com /web"];
        assert_eq!(object("GitLabMonitoring", &spec), expected);
        for spec in
            [json!({}), json!({"gitLabDeploymentRef": {"name": ""}}), json!({"gitLabDeploymentRef": "web"})]
        {
            assert_eq!(object("GitLabMonitoring", &spec), [""; 0], "{spec}");
        }
    }
}
