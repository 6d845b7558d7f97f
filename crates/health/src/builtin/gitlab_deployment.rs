//! GitLabDeployment: whether what it declares can be understood, since it has no status of its own.

use crate::fields::Malformed;
use crate::finding::Finding;
use strandline_model::Health;
use strandline_object::Object;
use strandline_object::gitlab_deployment::Declaration;

pub(super) fn judge(object: &Object<'_>) -> Result<Finding, Malformed> {
    Ok(match Declaration::read(object) {
        Ok(declared) if declared.projects.is_empty() && declared.groups.is_empty() => {
            Finding::unknown("NobodysEnvironment", "it names neither projects nor groups")
        }
        Ok(_) => Finding::healthy(),
        Err(mistakes) => {
            let lines: Vec<String> =
                mistakes.iter().map(|mistake| format!("{mistake}; {}", mistake.hint)).collect();
            Finding::new(Health::Degraded, "InvalidDeclaration", lines.join(". "))
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::line;

    #[test]
    fn what_cannot_be_understood_is_told() {
        let of = |spec: serde_json::Value| {
            line(&json!({
                "apiVersion": "gitlabdeploymentcontroller.gitlab.com/v1", "kind": "GitLabDeployment",
                "metadata": {"name": "my-compute-environment", "uid": "1"}, "spec": spec,
            }))
        };
        let sound = of(json!({"environment": "production", "projects": ["my-team/project"]}));
        assert_eq!(sound, "builtin/GitLabDeployment: Healthy []");
        let nobodys = of(json!({"environment": "production"}));
        assert!(nobodys.contains("Unknown [NobodysEnvironment]"), "{nobodys}");
        let wrong = of(json!({"environment": "production", "namespace": "Not A Namespace"}));
        assert!(
            wrong.contains("Degraded [InvalidDeclaration]") && wrong.contains("spec.namespace"),
            "{wrong}"
        );
    }

    #[test]
    fn nobody_judges_how_an_environment_is_monitored() {
        let monitoring = line(&json!({
            "apiVersion": "gitlabdeploymentcontroller.gitlab.com/v1", "kind": "GitLabMonitoring",
            "metadata": {"name": "my-compute-environment", "uid": "1"}, "spec": {"environment": "production"},
        }));
        assert_eq!(monitoring, "none: none []");
    }
}
