//! What a caller may see.

use super::problem::Problem;
use super::request::Request;
use crate::query::Scope;

/// The caller's scope: the one place that decides it. Everyone sees everything until callers have names.
pub fn scope(_request: &Request) -> Result<Scope, Problem> {
    Ok(Scope::everything())
}
