//! Answers, with the codes of their errors.

use juniper::parser::ParseError;
use juniper::{DefaultScalarValue, ExecutionError, GraphQLError};
use serde::Serialize;
use serde_json::{Value, json};

use super::{cost, texts};

/// The most errors in one response.
const ERRORS_MAX: usize = 100;

/// The longest message, in characters; an error may repeat parts of the query.
const MESSAGE_CHARS_MAX: usize = 500;

/// The query cannot be read, or is not one of the schema.
const INVALID: &str = "invalid_query";

/// The query asks for more than is answered at once.
const TOO_LARGE: &str = "query_too_large";

/// An answer, in GraphQL's shape.
#[derive(Serialize)]
pub(super) struct GraphqlResponse {
    /// None where nothing was carried out.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<juniper::Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Value>,
}

impl GraphqlResponse {
    /// What a query answers with.
    pub(super) fn carried_out(data: juniper::Value, errors: &[ExecutionError<DefaultScalarValue>]) -> Self {
        let errors = errors.iter().take(ERRORS_MAX).map(|error| coded(json!(error), INVALID)).collect();
        GraphqlResponse { data: Some(data), errors }
    }

    /// Why a query is not carried out.
    pub(super) fn refused(error: &GraphQLError) -> Self {
        let limited = |error: &ParseError| {
            use ParseError::{DepthLimitExceeded, FieldLimitExceeded, TokenLimitExceeded};
            matches!(error, DepthLimitExceeded(_) | TokenLimitExceeded(_) | FieldLimitExceeded(_))
        };
        let code = match error {
            GraphQLError::ParseError(error) if limited(&error.item) => TOO_LARGE,
            _ => INVALID,
        };
        let errors = match json!(error) {
            Value::Array(errors) => errors,
            other => vec![other],
        };
        let errors = errors.into_iter().take(ERRORS_MAX).map(|error| coded(error, code)).collect();
        GraphqlResponse { data: None, errors }
    }

    /// That a text among the arguments is longer than any name.
    pub(super) fn too_long(length: usize) -> Self {
        let most = texts::BYTES_MAX;
        let message = format!("an argument has {length} bytes; the limit is {most}");
        GraphqlResponse { data: None, errors: vec![coded(json!({ "message": message }), INVALID)] }
    }

    /// The query can return too much.
    pub(super) fn too_costly(cost: u64) -> Self {
        let message = format!(
            "the query can return {cost} values; the limit is {}; use smaller `first`, or fewer fields",
            cost::MAX
        );
        GraphqlResponse { data: None, errors: vec![coded(json!({ "message": message }), TOO_LARGE)] }
    }
}

/// An error with a code, which those of resolvers have already, and a message of bounded length.
fn coded(mut error: Value, code: &str) -> Value {
    let message = error["message"].as_str().unwrap_or_default();
    if let Some((end, _)) = message.char_indices().nth(MESSAGE_CHARS_MAX) {
        error["message"] = json!(format!("{}…", message.get(..end).unwrap_or_default()));
    }
    if error["extensions"]["code"].is_null() {
        error["extensions"] = json!({ "code": code });
    }
    error
}
