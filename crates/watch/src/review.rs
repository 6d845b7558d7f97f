//! Asks a cluster whose a token is (TokenReview).

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use super::connect::ClusterConnection;
use super::limits::Limits;
use super::request::{Failure, post};

/// How long the cluster may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest answer that is read: who somebody is, with all their groups.
const ANSWER_BYTES: usize = 1 << 20;

const TOKEN_REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";

#[derive(Deserialize)]
struct Review {
    status: ReviewStatus,
}

#[derive(Deserialize)]
struct ReviewStatus {
    #[serde(default)]
    authenticated: bool,
    user: Option<User>,
    #[serde(default)]
    audiences: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct User {
    #[serde(default)]
    username: String,
}

impl ClusterConnection {
    /// The user name, such as `system:serviceaccount:shop:deployer`, of whoever a token is of that is for this audience; none where
    /// the cluster does not know it.
    ///
    /// # Errors
    /// Why the cluster did not decide, in one line without the token.
    pub async fn review_token(&self, token: &str, audience: &str) -> Result<Option<String>, String> {
        let asked = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
            "spec": {"token": token, "audiences": [audience]}});
        let answered = self.ask(TOKEN_REVIEWS, asked.to_string().into_bytes()).await;
        // Whatever stands between us and the cluster may repeat what it was sent.
        let text = answered.map_err(|failure| failure.to_string().replace(token, "(the token)"))?;
        let review: Review =
            serde_json::from_str(&text).map_err(|_| "the answer is no TokenReview".to_owned())?;
        Ok(review.status.user(audience))
    }

    /// Sends JSON to a cluster, with credentials that are read again where it refuses those that we have.
    pub(super) async fn ask(&self, path: &str, json: Vec<u8>) -> Result<String, Failure> {
        let limits = Limits { response: PATIENCE, idle: PATIENCE, ..Limits::default() };
        let asked = async {
            // Where they cannot be read, the request fails with the reason.
            let _ = self.ensure_connected().await;
            match post(&self.client(), path, json.clone(), ANSWER_BYTES, &limits).await {
                Err(Failure::Unauthorized(_)) => {
                    self.renew().await.map_err(|error| Failure::Credentials(error.to_string()))?;
                    post(&self.client(), path, json, ANSWER_BYTES, &limits).await
                }
                answer => answer,
            }
        };
        let answer = tokio::time::timeout(PATIENCE, asked).await;
        answer.unwrap_or_else(|_| Err(Failure::Unreachable("no answer in time".to_owned())))
    }
}

impl ReviewStatus {
    /// A server that knows nothing of audiences names none, and takes tokens that are for itself.
    fn user(self, audience: &str) -> Option<String> {
        let for_us = self.audiences.is_some_and(|all| all.iter().any(|one| one == audience));
        let user = self.user.filter(|user| self.authenticated && for_us && !user.username.is_empty());
        user.map(|user| user.username)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reviewed(status: &str) -> Result<Option<String>, ()> {
        let review: Review = serde_json::from_str(&format!("{{\"status\": {status}}}")).map_err(|_| ())?;
        Ok(review.status.user("us"))
    }

    #[test]
    fn a_token_is_somebodys_where_the_cluster_says_so_for_our_audience() {
        let user = r#""user": {"username": "alice", "uid": "1", "groups": ["a"], "extra": {"x": ["y"]}}"#;
        for (status, expected) in [
            (format!(r#"{{"authenticated": true, {user}, "audiences": ["them", "us"]}}"#), Some("alice")),
            (format!(r#"{{"authenticated": true, {user}, "audiences": ["them"]}}"#), None),
            (format!(r#"{{"authenticated": true, {user}, "audiences": null}}"#), None),
            (format!(r#"{{"authenticated": true, {user}}}"#), None),
            (format!(r#"{{"authenticated": false, {user}, "audiences": ["us"]}}"#), None),
            (format!(r#"{{{user}, "audiences": ["us"]}}"#), None),
            (r#"{"authenticated": true, "audiences": ["us"]}"#.to_owned(), None),
            (r#"{"authenticated": true, "user": {}, "audiences": ["us"]}"#.to_owned(), None),
            (r#"{"user": {}, "error": "invalid bearer token"}"#.to_owned(), None),
            ("{}".to_owned(), None),
        ] {
            assert_eq!(reviewed(&status), Ok(expected.map(str::to_owned)), "{status}");
        }
    }
}
