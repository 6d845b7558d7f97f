//! Whose tokens are, and who may do what: answered as TokenReview and SubjectAccessReview.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::ApiServer;
use super::shared::Shared;
use super::status::Status;
use strandline_model::Kind;

/// What the server knows of people and programs.
#[derive(Debug, Default)]
pub(super) struct Reviews {
    tokens: BTreeMap<String, Login>,
    /// Who may do what: a user or group, a verb, a resource with its group, and where, be it everywhere.
    allowed: BTreeSet<[String; 4]>,
    /// Reviews of tokens so far.
    asked: u64,
    /// What was asked of the access of users so far: about whom, and where.
    access_asked: Vec<[String; 2]>,
}

#[derive(Clone, Debug)]
struct Login {
    username: String,
    groups: Vec<String>,
    audience: String,
}

const TOKEN_REVIEWS: &str = "/apis/authentication.k8s.io/v1/tokenreviews";
const ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Whether a review is created at a path.
pub(super) fn is_review(path: &str) -> bool {
    [TOKEN_REVIEWS, ACCESS_REVIEWS].contains(&path)
}

/// Answers a review.
pub(super) fn answer(shared: &Shared, path: &str, body: &[u8]) -> Result<Value, Status> {
    let asked: Value =
        serde_json::from_slice(body).map_err(|_| Status::bad_request("the body is no JSON"))?;
    let mut reviews = shared.reviews();
    if path == ACCESS_REVIEWS {
        let kind = Kind::new("authorization.k8s.io", "SubjectAccessReview");
        let spec = &asked["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        reviews.access_asked.push([text(&spec["user"]), text(&spec["resourceAttributes"]["namespace"])]);
        if let Some(code) = shared.faults.refusal(Some(&kind)) {
            return Err(Status::refused(code, None));
        }
        return Ok(json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "metadata": {}, "spec": spec, "status": {"allowed": reviews.allows(spec)}}));
    }
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
    fn allows(&self, spec: &Value) -> bool {
        let of = &spec["resourceAttributes"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let resource = format!("{}/{}", text(&of["group"]), text(&of["resource"]));
        let (verb, namespace) = (text(&of["verb"]), text(&of["namespace"]));
        let groups = spec["groups"].as_array().into_iter().flatten();
        groups.chain([&spec["user"]]).map(text).any(|subject| {
            let mut at = [namespace.clone(), String::new()].into_iter();
            at.any(|at| self.allowed.contains(&[subject.clone(), verb.clone(), resource.clone(), at]))
        })
    }

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

    /// Lets a user or group do something with a resource such as `apps/deployments` or `/pods`, in a namespace or, with an empty
    /// one, everywhere.
    pub fn allow(&self, subject: &str, verb: &str, resource: &str, namespace: &str) {
        let right = [subject, verb, resource, namespace].map(str::to_owned);
        self.shared.reviews().allowed.insert(right);
    }

    /// Takes away all rights of a user or group.
    pub fn disallow(&self, subject: &str) {
        self.shared.reviews().allowed.retain(|right| right[0] != subject);
    }

    /// About whose access it was asked so far, and in which namespaces.
    pub fn access_reviews(&self) -> Vec<[String; 2]> {
        self.shared.reviews().access_asked.clone()
    }

    /// How many tokens it was to review so far.
    pub fn token_reviews(&self) -> u64 {
        self.shared.reviews().asked
    }
}
