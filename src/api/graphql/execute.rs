//! Executes a query within the limits.

use juniper::Variables;
use serde::Deserialize;

use super::answer::GraphqlResponse;
use super::asker::Asker;
use super::schema::SCHEMA;
use super::{cost, texts};

/// A request, in the shape in which GraphQL is asked over HTTP.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GraphqlRequest {
    query: String,
    #[serde(rename = "operationName", default)]
    operation_name: Option<String>,
    #[serde(default)]
    variables: Option<Variables>,
    /// What clients send along for extensions of the protocol, of which we have none.
    #[serde(rename = "extensions", default)]
    _extensions: Option<serde_json::Map<String, serde_json::Value>>,
}

/// Carries out a query.
pub(super) async fn execute(asked: &GraphqlRequest, asker: &Asker) -> GraphqlResponse {
    let operation =
        match juniper::ValidatedOperation::new(&asked.query, asked.operation_name.as_deref(), &SCHEMA) {
            Ok(operation) => operation,
            Err(error) => return GraphqlResponse::refused(&error),
        };
    let none = juniper::Variables::new();
    let variables = asked.variables.as_ref().unwrap_or(&none);
    let cost = cost::of(&asked.query, variables, &SCHEMA);
    if cost > cost::MAX {
        return GraphqlResponse::too_costly(cost);
    }
    let longest = texts::longest(&asked.query, variables, &SCHEMA);
    if longest > texts::BYTES_MAX {
        return GraphqlResponse::too_long(longest);
    }
    match operation.execute(variables, asker).await {
        Ok((data, errors)) => GraphqlResponse::carried_out(data, &errors),
        Err(error) => GraphqlResponse::refused(&error),
    }
}
