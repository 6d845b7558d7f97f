//! The audit log: writes always, reads where the configuration asks for it. Lines have the target `audit`.

use super::caller::Caller;
use super::context::Context;
use super::problem::Problem;
use super::respond::Response;

/// Logs a request with its caller and its status. Bodies and tokens are left out; no address contains a token.
pub(super) fn record(
    caller: &Caller,
    route: &str,
    context: &Context,
    reads: bool,
    answer: &Result<Response, Problem>,
) {
    let (status, code) = match answer {
        Ok(response) => (response.status(), None),
        Err(problem) => (problem.status(), Some(problem.code.as_str())),
    };
    tracing::info!(
        target: "audit",
        caller = caller.name,
        user = caller.user.as_deref(),
        peer = context.peer.map(|peer| peer.to_string()),
        method = context.method.as_str(),
        route,
        path = context.path,
        query = (!context.query.is_empty()).then_some(context.query.as_str()),
        status = status.as_u16(),
        code,
        trace_id = context.trace.as_str(),
        "{}",
        if reads { "read request" } else { "write request" }
    );
}
