//! The schema with its limits.

use std::sync::LazyLock;

use juniper::{EmptyMutation, EmptySubscription, RootNode};

use super::asker::Asker;
use super::objects::Query;

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
