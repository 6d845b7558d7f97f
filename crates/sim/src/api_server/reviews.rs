//! Whose tokens are: answered as TokenReview.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::ApiServer;
use super::shared::Shared;
use super::status::Status;
use strandline_model::Kind;

/// What the server knows of people and programs.
#[derive(Debug, Default)]
pub(super) struct Reviews {
    tokens: BTreeMap<String, Login>,
    /// Reviews so far.
    asked: u64,
}

#[derive(Clone, Debug)]
struct Login {
    username: String,
    groups: Vec<String>,
    audience: String,
}

/// Whether a review is created at a path.
pub(super) fn is_review(path: &str) -> bool {
    path == "/apis/authentication.k8s.io/v1/tokenreviews"
}

/// Answers a review.
pub(super) fn answer(shared: &Shared, body: &[u8]) -> Result<Value, Status> {
    let asked: Value =
        serde_json::from_slice(body).map_err(|_| Status::bad_request("the body is no JSON"))?;
    let mut reviews = shared.reviews();
    reviews.asked += 1;
    if let Some(code) = shared.faults.refusal(Some(&Kind::new("authentication.k8s.io", "TokenReview"))) {
        return Err(Status::refused(code, None));
    }
    Ok(
        json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "metadata": {}, "spec": asked["spec"],
        "status": reviews.token(&asked["spec"])}),
    )
}

impl Reviews {
    fn token(&self, spec: &Value) -> Value {
        let login = spec["token"].as_str().and_then(|token| self.tokens.get(token));
        let for_it = |login: &&Login| {
            let audiences = spec["audiences"].as_array().map_or(&[][..], Vec::as_slice);
            audiences.iter().any(|audience| *audience == login.audience.as_str())
        };
        match login.filter(for_it) {
            Some(Login { username, groups, audience }) => json!({"authenticated": true,
                "user": {"username": username, "uid": "1", "groups": groups}, "audiences": [audience]}),
            None => json!({"user": {}, "error": "[invalid bearer token, unknown]"}),
        }
    }
}

impl ApiServer {
    /// Makes a token that of a user, for an audience.
    pub fn add_token(&self, token: &str, username: &str, groups: &[&str], audience: &str) {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        let login = Login { username: username.to_owned(), groups, audience: audience.to_owned() };
        self.shared.reviews().tokens.insert(token.to_owned(), login);
    }

    /// Makes a token nobody's.
    pub fn remove_token(&self, token: &str) {
        self.shared.reviews().tokens.remove(token);
    }

    /// How many tokens it was to review so far.
    pub fn token_reviews(&self) -> u64 {
        self.shared.reviews().asked
    }
}
