//! Tests of the API as a whole: against its document, and over real sockets.

mod access;
mod answers;
mod browsers;
mod catalog;
mod contract;
mod graphql;
mod hostile;
mod live;
mod negotiated;
mod schema;
mod server;
mod streams;

use std::sync::{Arc, OnceLock};

use crate::app::watch::Watch;
use crate::app::{AppState, ClusterLists, Metrics, Readiness, Rebuilding, RelistFilter, Relisting};
use crate::catalog::CatalogWriter;
use crate::http::auth::{AccessConfig, Gate, TokenConfig};
use crate::http::context::Context;
use crate::http::problem::Problem;
use crate::http::{Authenticator, Caller};
use strandline_clock::SystemClock;
use strandline_log::LogWriter;
use strandline_model::Timestamp;
use strandline_protocol::{Check, RebuildReport, RebuildState, RelistReport};
use strandline_query::Queries;
use tokio_util::sync::CancellationToken;

use strandline_view::ruleset::RuleSet;
use strandline_view::{Projector, ViewStatus};

/// Says of itself whether it is ready.
struct Ready(bool);

impl Readiness for Ready {
    fn checks(&self) -> Vec<Check> {
        vec![Check { name: "log".into(), ok: self.0, detail: String::new() }]
    }

    fn clusters(&self) -> Vec<ClusterLists> {
        let (listed, unlisted) = if self.0 { (2, vec![]) } else { (1, vec!["Pod".to_owned()]) };
        let gaps = vec![("Secret".to_owned(), "forbidden")];
        vec![ClusterLists { cluster: "east".into(), kinds: 2, listed, unlisted, complete: self.0, gaps }]
    }
}

/// A service with nothing to count.
pub(crate) struct Uncounted;

impl Metrics for Uncounted {
    fn text(&self) -> Result<String, std::fmt::Error> {
        Ok("# EOF\n".to_owned())
    }
}

/// A service that never builds.
pub(crate) struct Built;

impl Rebuilding for Built {
    fn begin(&self) {}

    fn report(&self) -> RebuildReport {
        RebuildReport { state: RebuildState::Done, serving: true, ..RebuildReport::default() }
    }
}

/// A service without clusters.
pub(crate) struct Alone;

impl Relisting for Alone {
    fn begin(&self, _: &RelistFilter) {}

    fn report(&self, _: &RelistFilter) -> RelistReport {
        RelistReport { now: Timestamp::from_micros(0), differences: 0, watches: Vec::new() }
    }
}

/// Nobody has a token, and only this machine can ask.
pub(crate) fn local() -> Arc<Authenticator> {
    access(&[], true)
}

/// By these tokens, of a server that only this machine can reach or others, too; without tokens these may read.
pub(crate) fn access(tokens: &[TokenConfig], loopback: bool) -> Arc<Authenticator> {
    let config =
        AccessConfig { tokens: tokens.to_vec(), allow_anonymous_read: true, ..AccessConfig::default() };
    Arc::new(Authenticator::new(config, loopback, Arc::new(SystemClock)))
}

/// A state that tells nothing of who asks.
impl Gate for () {
    async fn caller(&self, _: &Context) -> Result<Arc<Caller>, Problem> {
        Ok(Arc::new(Caller::local()))
    }

    fn now(&self) -> Timestamp {
        Timestamp::default()
    }
}

/// A state whose queries find an empty log and view.
pub(crate) fn state(ready: bool) -> AppState {
    static DATA: OnceLock<(tempfile::TempDir, CatalogWriter)> = OnceLock::new();
    let (data, catalog) = DATA.get_or_init(|| {
        let data = tempfile::tempdir().expect("a temporary directory");
        let (_, appender) = LogWriter::open(data.path(), Arc::new(SystemClock)).expect("an empty log");
        Projector::open(data.path(), RuleSet::default()).expect("an empty view");
        (data, CatalogWriter::new(&appender))
    });
    let status = ViewStatus::default();
    status.set_usable(true);
    let queries = Queries::new(data.path(), 2, status, Arc::new(SystemClock));
    let (readiness, metrics) = (Arc::new(Ready(ready)), Arc::new(Uncounted));
    AppState {
        queries,
        readiness,
        metrics,
        rebuilding: Arc::new(Built),
        relisting: Arc::new(Alone),
        presentation: Arc::default(),
        current_presentation: crate::app::CurrentPresentation::default(),
        clock: Arc::new(SystemClock),
        access: local(),
        watch: Watch::new(CancellationToken::new()),
        catalog: catalog.clone(),
        announcement: crate::app::Announcement::default(),
        answers: crate::http::answer_cache::AnswerCache::default(),
    }
}
