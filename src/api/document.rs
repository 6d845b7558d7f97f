//! The API's own description, as YAML and as JSON.

use std::sync::LazyLock;

use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_syntax::diagnostics::of_syntax;

/// The contract that this module implements, as written by hand.
pub const YAML: &str = include_str!("../../api/openapi.yaml");

/// The same as JSON; why not, should the document not be YAML, which a test rules out.
pub static JSON: LazyLock<Result<serde_json::Value, String>> =
    LazyLock::new(|| serde_saphyr::from_str(YAML).map_err(|error| of_syntax(&error).to_string()));

/// `/openapi.yaml`.
pub(super) async fn yaml(request: Request) -> Result<Response, Problem> {
    Ok(respond::tagged(&request.context, "application/yaml", YAML.as_bytes().to_vec()))
}

/// `/api/v1/openapi.json`.
pub(super) async fn json(request: Request) -> Result<Response, Problem> {
    match &*JSON {
        Ok(document) => respond::json(&request, document),
        Err(cause) => Err(Problem::internal(cause)),
    }
}
