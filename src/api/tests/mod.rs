//! Tests of the API as a whole: against its document, and over real sockets.

mod contract;
mod schema;
mod server;

use std::sync::Arc;

use super::{ApiState, Check, Readiness};
use crate::clock::SystemClock;
use crate::query::Queries;

/// Says of itself whether it is ready.
struct Ready(bool);

impl Readiness for Ready {
    fn checks(&self) -> Vec<Check> {
        vec![Check { name: "log".into(), ok: self.0, detail: String::new() }]
    }
}

/// A state whose queries find no storage; the one place here that makes [`Queries`].
pub(crate) fn state(ready: bool) -> ApiState {
    ApiState { queries: Queries {}, readiness: Arc::new(Ready(ready)), clock: Arc::new(SystemClock) }
}
