//! The schema with its limits, and how a query is carried out.

use std::sync::LazyLock;

use juniper::{EmptyMutation, EmptySubscription, RootNode, Value};

use super::answer::GraphqlResponse;
use super::asker::Asker;
use super::objects::Query;
use super::{Asked, cost, texts};

pub(super) type Schema = RootNode<Query, EmptyMutation<Asker>, EmptySubscription<Asker>>;

/// How deep a query may nest, fragments counted: what tools send to learn the schema goes to 18, and our own objects end
/// far above that.
pub(super) const DEPTH_MAX: usize = 20;

/// The most tokens of a query; with it the time to read and check one is bounded.
pub(super) const TOKENS_MAX: usize = 5_000;

/// The most fields of a query after its fragments are put in.
pub(super) const FIELDS_MAX: usize = 500;

pub(super) static SCHEMA: LazyLock<Schema> = LazyLock::new(|| {
    Schema::new(Query, EmptyMutation::new(), EmptySubscription::new())
        .limit_depth(DEPTH_MAX)
        .limit_tokens(TOKENS_MAX)
        .limit_fields(FIELDS_MAX)
});

/// Carries out a query.
pub(super) async fn answer(asked: &Asked, asker: &Asker) -> GraphqlResponse {
    let operation =
        match juniper::ValidatedOperation::new(&asked.query, asked.operation_name.as_deref(), &SCHEMA) {
            Ok(operation) => operation,
            Err(error) => return GraphqlResponse::refused(&error),
        };
    let cost = cost::of(&asked.query, &SCHEMA);
    if cost > cost::MAX {
        return GraphqlResponse::too_costly(cost);
    }
    let none = juniper::Variables::new();
    let variables = asked.variables.as_ref().unwrap_or(&none);
    let longest = texts::longest(&asked.query, variables, &SCHEMA);
    if longest > texts::BYTES_MAX {
        return GraphqlResponse::too_long(longest);
    }
    match operation.execute(variables, asker).await {
        Ok((data, errors)) => GraphqlResponse::carried_out(data, &errors),
        Err(error) => GraphqlResponse::refused(&error),
    }
}

/// What a query answers with.
pub(super) type Data = Value;
