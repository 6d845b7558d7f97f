//! Answers from a data directory without a server: from a copy, a restored backup, or beside whoever keeps it.
//!
//! Nothing is written there, not even a lock, and nothing is brought up to date: what cannot be read as it is is refused,
//! with what mends it. Whoever may read the files sees everything in them, and may change nothing.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use crate::api;
use crate::app::watch::Watch;
use crate::app::{
    Announcement, AppState, CurrentPresentation, Metrics, Readiness, Rebuilding, RelistFilter, Relisting,
};
use crate::catalog::CatalogWriter;
use crate::http::Authenticator;
use crate::http::answer_cache::AnswerCache;
use crate::http::auth::{AccessConfig, LocalAccess};
use crate::http::respond::Response;
use crate::http::router::Router;
use strandline_clock::{Clock, ClockReading};
use strandline_log::{Appender, LogError, LogReader};
use strandline_model::{Offset, Timestamp};
use strandline_protocol::{Check, RebuildReport, RelistReport};
use strandline_query::Queries;
use strandline_sqlite::{DirectoryLock, OpenError, Resting, Watermark, is_denied, lacks_wal_index};
use strandline_view::{ViewState, ViewStatus};

/// Questions read at a time: one command asks.
const READERS: usize = 2;

/// Why a data directory cannot be read directly.
#[derive(Debug, Error)]
pub enum DirectoryError {
    /// There is no log in it.
    #[error("{} is not a data directory: it contains no log.db", .0.display())]
    NoLog(PathBuf),
    /// The system refuses to show it.
    #[error("{} cannot be read: {source}", path.display())]
    Denied {
        /// The directory or file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// There is no view of the log yet.
    #[error("{} contains no view.db, from which queries are answered", .0.display())]
    NoView(PathBuf),
    /// The view is damaged, or of another version.
    #[error("view.db in {} was built by another version of the program, or is damaged", .0.display())]
    OutdatedView(PathBuf),
    /// A part of what a server wrote last was not copied.
    #[error("{} has a -wal file beside it, and no -shm file: it is an incomplete copy", .0.display())]
    Incomplete(PathBuf),
    /// Somebody began to write what was read as it was.
    #[error("a server, or another command, began to write {} meanwhile", .0.display())]
    Disturbed(PathBuf),
}

const READ_AS: &str = "run the command as the user that runs the server, or with a copy that you may read";

impl DirectoryError {
    /// What to do about it, in a sentence.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            DirectoryError::NoLog(_) => "name the directory that `serve --data` or `restore --data` names",
            DirectoryError::Denied { .. } => READ_AS,
            DirectoryError::Log(LogError::Open(OpenError::Sqlite { source, .. })) if is_denied(source) => {
                READ_AS
            }
            DirectoryError::Log(error @ LogError::Schema { .. }) if !error.is_damage() => {
                "run the version of the program that wrote it, or start a server with it, which migrates it"
            }
            DirectoryError::Log(error) => error.hint()?,
            DirectoryError::NoView(data) | DirectoryError::OutdatedView(data) => {
                return Some(format!(
                    "build it with `strandline rebuild --data {}`, or start a server with it",
                    data.display()
                ));
            }
            DirectoryError::Incomplete(_) => {
                "copy all files of the directory while no server runs, or use `strandline backup`"
            }
            DirectoryError::Disturbed(_) => "run the command again",
        };
        Some(text.to_owned())
    }
}

/// Where a record ends that nobody goes on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordEnd {
    /// The newest offset of the log.
    pub offset: Offset,
    /// Up to when changes were recorded, whether there were any or not; none in an empty log.
    pub time: Option<Timestamp>,
    /// How many of the newest changes the view lacks.
    pub lag: u64,
}

/// Up to when a data directory is a record; none while a server goes on with it, or where nothing is recorded.
///
/// # Errors
/// When it is no data directory, or its log cannot be read as it is.
pub fn recorded_until(data: &Path) -> Result<Option<Timestamp>, DirectoryError> {
    let log = data.join("log.db");
    look(&log, || DirectoryError::NoLog(data.to_owned()))?;
    if DirectoryLock::is_held(data) {
        return Ok(None);
    }
    if lacks_wal_index(&log) {
        return Err(DirectoryError::Incomplete(log));
    }
    Ok(LogReader::open_outside(data)?.recorded_until()?)
}

/// Answers requests of the API from a data directory.
pub struct DirectoryReader {
    router: Router,
    resting: Resting,
    end: Option<RecordEnd>,
}

impl std::fmt::Debug for DirectoryReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirectoryReader").field("end", &self.end).finish_non_exhaustive()
    }
}

impl DirectoryReader {
    /// Opens a data directory. The time of a record that nobody goes on with is its end: what came later is not known, and
    /// must not pass for time in which nothing happened.
    ///
    /// # Errors
    /// When it is none, or its files cannot be read as they are.
    pub fn open(data: &Path, clock: &Arc<dyn Clock>) -> Result<Self, DirectoryError> {
        let (of_log, of_view) = (data.join("log.db"), strandline_view::path(data));
        look(&of_log, || DirectoryError::NoLog(data.to_owned()))?;
        let served = DirectoryLock::is_held(data);
        if let Some(path) = [&of_log, &of_view].into_iter().find(|path| !served && lacks_wal_index(path)) {
            return Err(DirectoryError::Incomplete(path.clone()));
        }
        let resting = Resting::of([of_log, of_view.clone()], !served);
        let log = LogReader::open_outside(data)?;
        look(&of_view, || DirectoryError::NoView(data.to_owned()))?;
        let ViewState::Current(checkpoint) = strandline_view::glance_outside(data) else {
            return Err(DirectoryError::OutdatedView(data.to_owned()));
        };
        let newest = log.head()?;
        // The view may hold more than a log that lost its end.
        let head = newest.max(checkpoint);
        let lag = head.get() - checkpoint.get();
        let end = match served {
            true => None,
            false => Some(RecordEnd { offset: head, time: log.recorded_until()?, lag }),
        };
        let stopped = end.and_then(|end| end.time).map(|time| Arc::new(ClockReading(time)) as Arc<dyn Clock>);
        let clock = stopped.as_ref().unwrap_or(clock);
        let status = ViewStatus::new(Watermark::new(head));
        status.checkpoint().set(checkpoint);
        status.set_usable(true);
        let queries = Queries::outside(data, READERS, status, Arc::clone(clock));
        let router = api::routes(&state(queries, clock));
        Ok(DirectoryReader { router, resting, end })
    }

    /// Where the record ends; none while a server goes on with it, or where that is not known.
    pub fn end(&self) -> Option<RecordEnd> {
        self.end
    }

    /// Answers a request.
    ///
    /// # Errors
    /// When the files were written meanwhile that were read as they were.
    pub async fn answer(&self, request: Request<Full<Bytes>>) -> Result<Response, DirectoryError> {
        let answer = warp::service(self.router.clone()).call(request).await;
        let answer = answer.unwrap_or_else(|never| match never {});
        match self.resting.disturbed() {
            Some(path) => Err(DirectoryError::Disturbed(path.to_owned())),
            None => Ok(answer),
        }
    }
}

/// Refuses a file that is missing, or that the system does not let us read.
fn look(path: &Path, missing: impl FnOnce() -> DirectoryError) -> Result<(), DirectoryError> {
    match File::open(path) {
        Ok(_) => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(missing())
        }
        Err(source) => Err(DirectoryError::Denied { path: path.to_owned(), source }),
    }
}

/// What handlers work with where no server runs.
fn state(queries: Queries, clock: &Arc<dyn Clock>) -> AppState {
    let access = AccessConfig { local: Some(LocalAccess::Read), ..AccessConfig::default() };
    let current_presentation = CurrentPresentation::default();
    AppState {
        queries,
        readiness: Arc::new(NoServer),
        metrics: Arc::new(NoServer),
        rebuilding: Arc::new(NoServer),
        relisting: Arc::new(NoServer),
        presentation: current_presentation.get(),
        current_presentation,
        clock: Arc::clone(clock),
        access: Arc::new(Authenticator::new(access, true, Arc::clone(clock))),
        answers: AnswerCache::default(),
        watch: Watch::new(CancellationToken::new()),
        catalog: CatalogWriter::new(&Appender::refusing("no server runs")),
        announcement: Announcement::default(),
    }
}

/// What of a server can be asked where none runs: nothing.
struct NoServer;

impl Readiness for NoServer {
    fn checks(&self) -> Vec<Check> {
        Vec::new()
    }
}

impl Metrics for NoServer {
    fn text(&self) -> Result<String, std::fmt::Error> {
        Ok("# EOF\n".to_owned())
    }
}

impl Rebuilding for NoServer {
    fn begin(&self) {}

    fn report(&self) -> RebuildReport {
        RebuildReport::default()
    }
}

impl Relisting for NoServer {
    fn begin(&self, _: &RelistFilter) {}

    fn report(&self, _: &RelistFilter) -> RelistReport {
        RelistReport { now: Timestamp::default(), differences: 0, watches: Vec::new() }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use http::StatusCode;
    use std::time::Duration;

    use strandline_clock::SystemClock;
    use strandline_clock::testing::ManualClock;
    use strandline_log::{Batch, Begin, LogWriter, Phase};
    use strandline_model::{Kind, WatchKey};
    use strandline_view::Projector;
    use strandline_view::ruleset::RuleSet;

    use super::*;

    fn clock() -> Arc<dyn Clock> {
        Arc::new(SystemClock)
    }

    /// A data directory that nobody uses.
    fn directory() -> tempfile::TempDir {
        let data = tempfile::tempdir().unwrap();
        LogWriter::open(data.path(), clock()).unwrap();
        at_rest(data)
    }

    /// The same directory with a view, once nobody uses it.
    fn at_rest(data: tempfile::TempDir) -> tempfile::TempDir {
        Projector::open(data.path(), RuleSet::default()).unwrap();
        // What reads ahead of the projector ends after it, and who only reads removes no WAL.
        for _ in 0..2_000 {
            if !data.path().join("log.db-wal").exists() {
                return data;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
            LogWriter::open(data.path(), clock()).unwrap();
        }
        panic!("the log does not come to rest");
    }

    async fn ask(reader: &DirectoryReader, method: &str, path: &str) -> Result<StatusCode, DirectoryError> {
        let request = Request::builder().method(method).uri(format!("/api/v1{path}"));
        let request = request.header("content-type", "application/json").body(Full::from("{}")).unwrap();
        reader.answer(request).await.map(|answer| answer.status())
    }

    #[tokio::test]
    async fn what_is_read_directly_cannot_be_changed() {
        let data = directory();
        let reader = DirectoryReader::open(data.path(), &clock()).unwrap();
        let end = RecordEnd { offset: Offset::ZERO, time: None, lag: 0 };
        assert_eq!(reader.end(), Some(end));
        assert_eq!(ask(&reader, "GET", "/environments").await.unwrap(), 200);
        for (method, path) in [
            ("POST", "/projects"),
            ("POST", "/deployments"),
            ("POST", "/rebuild"),
            ("POST", "/relist"),
            ("POST", "/forget"),
            ("DELETE", "/environments/shop.web.production"),
        ] {
            let status = ask(&reader, method, path).await.unwrap();
            assert!([403, 404, 405].contains(&status.as_u16()), "{method} {path}: {status}");
        }
        assert_eq!(ask(&reader, "POST", "/rebuild").await.unwrap(), 403);
    }

    /// The time of a copy from last year is not that of whoever reads it.
    #[tokio::test]
    async fn the_clock_of_a_record_stands_where_it_ends() {
        let data = tempfile::tempdir().unwrap();
        let manual = Arc::new(ManualClock::default());
        let begun: Timestamp = "2025-11-20T12:00:00Z".parse().unwrap();
        manual.set(begun);
        let (writer, appender) = LogWriter::open(data.path(), manual.clone() as Arc<dyn Clock>).unwrap();
        let thread = std::thread::spawn(move || writer.run());
        let watch = WatchKey { cluster: "one".into(), kind: Kind::new("", "Pod"), namespace: String::new() };
        let epoch = appender.begin(Begin::new(&watch, true)).await.unwrap().epoch;
        let batch = |phase| Batch { watch: watch.clone(), epoch, phase, observed: Vec::new(), cursor: None };
        appender.append(batch(Phase::ListEnd)).await.unwrap();
        // Nothing changes in the time after, which is recorded all the same.
        manual.pass(Duration::from_secs(600));
        appender.append(batch(Phase::UpToDate)).await.unwrap();
        drop(appender);
        thread.join().unwrap().unwrap();
        let data = at_rest(data);
        let end = begun.plus(Duration::from_secs(600));
        let reader = DirectoryReader::open(data.path(), &clock()).unwrap();
        assert_eq!(reader.end().unwrap().time, Some(end));
        assert_eq!(recorded_until(data.path()).unwrap(), Some(end));
        for (ahead, status) in [(0, 200), (60, 400)] {
            let at = end.plus(Duration::from_secs(ahead));
            assert_eq!(ask(&reader, "GET", &format!("/environments?at={at}")).await.unwrap(), status, "{at}");
        }
    }

    #[tokio::test]
    async fn an_answer_that_somebody_wrote_into_is_refused() {
        let data = directory();
        let reader = DirectoryReader::open(data.path(), &clock()).unwrap();
        assert!(ask(&reader, "GET", "/environments").await.is_ok());
        let writer = LogWriter::open(data.path(), clock()).unwrap();
        let refused = ask(&reader, "GET", "/environments").await.unwrap_err();
        assert!(matches!(refused, DirectoryError::Disturbed(_)), "{refused}");
        drop(writer);
    }
}
