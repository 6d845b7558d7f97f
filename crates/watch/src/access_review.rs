//! Asks a cluster what somebody may do in it (SubjectAccessReview).

use serde::Deserialize;
use serde_json::json;

use super::connect::ClusterConnection;

const ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// What somebody may be allowed to do, in Kubernetes' words.
#[derive(Clone, Copy, Debug)]
pub struct AccessRequest<'a> {
    /// The user name.
    pub user: &'a str,
    /// All groups of the user.
    pub groups: &'a [String],
    /// The verb.
    pub verb: &'a str,
    /// The API group of the resource; empty for the core group.
    pub group: &'a str,
    /// The resource, in the plural.
    pub resource: &'a str,
    /// The namespace; empty for all of them.
    pub namespace: &'a str,
}

#[derive(Deserialize)]
struct Review {
    status: ReviewStatus,
}

#[derive(Deserialize)]
struct ReviewStatus {
    allowed: bool,
    #[serde(default)]
    denied: bool,
}

impl ClusterConnection {
    /// Whether somebody may do this in the cluster.
    ///
    /// # Errors
    /// Why the cluster did not decide, in one line.
    pub async fn review_access(&self, of: AccessRequest<'_>) -> Result<bool, String> {
        let AccessRequest { user, groups, verb, group, resource, namespace } = of;
        let asked = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": user, "groups": groups, "resourceAttributes":
                {"verb": verb, "group": group, "resource": resource, "namespace": namespace}}});
        let answered = self.ask(ACCESS_REVIEWS, asked.to_string().into_bytes()).await;
        allowed(&answered.map_err(|failure| failure.to_string())?)
    }
}

/// A cluster that allows and denies at once denies.
fn allowed(answer: &str) -> Result<bool, String> {
    let review: Review =
        serde_json::from_str(answer).map_err(|_| "the answer is no SubjectAccessReview".to_owned())?;
    Ok(review.status.allowed && !review.status.denied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_is_allowed_where_the_cluster_says_so_and_undecided_where_it_says_nothing() {
        for (status, expected) in [
            (r#"{"allowed": true, "reason": "RBAC: allowed by RoleBinding"}"#, Ok(true)),
            (r#"{"allowed": false}"#, Ok(false)),
            (r#"{"allowed": false, "denied": true}"#, Ok(false)),
            (r#"{"allowed": true, "denied": true}"#, Ok(false)),
            (r#"{"allowed": false, "evaluationError": "role not found"}"#, Ok(false)),
            (r#"{"denied": false}"#, Err(())),
            (r#"{"allowed": "true"}"#, Err(())),
            ("{}", Err(())),
        ] {
            let found = allowed(&format!(r#"{{"kind": "SubjectAccessReview", "status": {status}}}"#));
            assert_eq!(found.map_err(|_| ()), expected, "{status}");
        }
        for text in ["", "[]", "{}", "true", r#"{"kind": "Status", "status": "Failure"}"#] {
            assert!(allowed(text).is_err(), "{text}");
        }
    }
}
