//! Tests of the API as a whole: against its document, and over real sockets.

mod contract;
mod hostile;
mod live;
mod schema;
mod server;

use std::sync::{Arc, OnceLock};

use super::{ApiState, Check, Metrics, Readiness};
use crate::clock::SystemClock;
use crate::log::LogWriter;
use crate::projection::{Projector, ViewStatus};
use crate::query::Queries;
use crate::ruleset::RuleSet;

/// Says of itself whether it is ready.
struct Ready(bool);

impl Readiness for Ready {
    fn checks(&self) -> Vec<Check> {
        vec![Check { name: "log".into(), ok: self.0, detail: String::new() }]
    }
}

/// A service with nothing to count.
pub(crate) struct Uncounted;

impl Metrics for Uncounted {
    fn text(&self) -> Result<String, std::fmt::Error> {
        Ok("# EOF\n".to_owned())
    }
}

/// A state whose queries find an empty log and view.
pub(crate) fn state(ready: bool) -> ApiState {
    static DATA: OnceLock<tempfile::TempDir> = OnceLock::new();
    let data = DATA.get_or_init(|| {
        let data = tempfile::tempdir().expect("a temporary directory");
        LogWriter::open(data.path(), Arc::new(SystemClock)).expect("an empty log");
        Projector::open(data.path(), RuleSet::default()).expect("an empty view");
        data
    });
    let status = ViewStatus::default();
    status.set_usable(true);
    let queries = Queries::new(data.path(), 2, status, Arc::new(SystemClock));
    let (readiness, metrics) = (Arc::new(Ready(ready)), Arc::new(Uncounted));
    ApiState { queries, readiness, metrics, views: Arc::default(), clock: Arc::new(SystemClock) }
}
