//! The log on a real file: what is a change, what a relist means, and what survives.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod runs;

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use proptest::prelude::*;

use super::*;
use strandline_clock::{Clock, SystemClock};
use strandline_model::{
    CatalogFact, Change, ClusterSpec, CoverageMark, CoverageState, DeletionCause, EVENT_API_GROUPS, Kind,
    Offset, ResourceVersion, Source, Timestamp, Uid, WatchKey, reason,
};
use strandline_object::digest::Digest;

mod clock;
mod cut;
mod damage;
mod decisions;
mod displaced;
mod erase;
mod frames;
mod late;
mod order;
mod retention;
mod stored;
mod thinning;

/// A log with its writer's thread.
struct Running {
    appender: Appender,
    thread: JoinHandle<Result<(), LogError>>,
}

fn start(directory: &Path) -> Running {
    start_with(directory, Arc::new(SystemClock))
}

fn start_with(directory: &Path, clock: Arc<dyn Clock>) -> Running {
    let (writer, appender) = LogWriter::open(directory, clock).unwrap();
    Running { appender, thread: std::thread::spawn(move || writer.run()) }
}

impl Running {
    fn stop(self) {
        drop(self.appender);
        self.thread.join().unwrap().unwrap();
    }
}

fn pods() -> WatchKey {
    WatchKey { cluster: "one".into(), kind: Kind::new("", "Pod"), namespace: String::new() }
}

fn pod(name: &str, uid: &str, version: u64, body: &str) -> Observed {
    Observed::Applied(Observation {
        namespace: "shop".into(),
        name: name.into(),
        uid: Uid::new(uid),
        resource_version: ResourceVersion::new(version.to_string()),
        body: body.into(),
        digest: Digest(*blake3::hash(body.as_bytes()).as_bytes().first_chunk().unwrap()),
        changed_by: None,
    })
}

fn batch(epoch: Epoch, phase: Phase, observed: Vec<Observed>, cursor: &str) -> Batch {
    Batch { watch: pods(), epoch, phase, observed, cursor: Some(ResourceVersion::new(cursor)) }
}

/// Each change in a word: `+name`, `-name cause`, or its kind.
fn told(directory: &Path) -> Vec<String> {
    let mut reader = LogReader::open(directory).unwrap();
    let records = reader.after(Offset::ZERO, 10_000).unwrap();
    let word = |change: &Change| match change {
        Change::Applied { key, body, .. } => format!("+{} {body}", key.name),
        Change::Deleted { key, cause, .. } => {
            let cause = match cause {
                DeletionCause::Watched => "watched",
                DeletionCause::Relist { .. } => "relist",
                DeletionCause::Replaced { .. } => "replaced",
                DeletionCause::Unfollowed { .. } => "unfollowed",
                DeletionCause::KindRemoved { .. } => "kind removed",
                DeletionCause::Forgotten { .. } => "forgotten",
            };
            format!("-{} {cause}", key.name)
        }
        Change::Forgotten { key, .. } => format!("?{}", key.name),
        Change::Coverage(mark) => format!("{:?}", mark.state),
        Change::Clock(mark) => format!("clock {:?}", mark.event),
        Change::Erased(_) => "erased".to_owned(),
        Change::Declared { fact, .. } => format!("declared {}", fact.name()),
        Change::Withdrawn { name, .. } => format!("withdrawn {name}"),
    };
    records.iter().map(|record| word(&record.change)).collect()
}

#[tokio::test]
async fn only_what_differs_is_a_change() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let session = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    assert_eq!(session.cursor, None);
    let list = vec![pod("a", "1", 5, "{}"), pod("b", "2", 6, "{}")];
    let done = log.appender.append(batch(session.epoch, Phase::ListEnd, list, "7")).await.unwrap();
    assert_eq!((done.written, done.unchanged, done.head), (2, 0, Offset::new(2)));
    let seen = vec![
        pod("a", "1", 5, "{\"same\":\"token\"}"),
        pod("a", "1", 8, "{}"),
        pod("a", "1", 9, "{\"n\":1}"),
        pod("a", "1", 8, "{\"late\":1}"),
    ];
    let done = log.appender.append(batch(session.epoch, Phase::Watch, seen, "9")).await.unwrap();
    assert_eq!((done.written, done.unchanged, done.stale), (1, 2, 1));
    log.stop();
    assert_eq!(told(dir.path()), ["+a {}", "+b {}", "+a {\"n\":1}"]);
}

/// How many incarnations the log holds for alive.
fn alive(directory: &Path) -> i64 {
    let log = rusqlite::Connection::open(directory.join("log.db")).unwrap();
    log.query_row("SELECT count(*) FROM live", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn the_end_of_an_event_is_no_change_and_leaves_nothing_alive() {
    for group in EVENT_API_GROUPS {
        let dir = tempfile::tempdir().unwrap();
        let log = start(dir.path());
        let watch = WatchKey { kind: Kind::new(group, "Event"), ..pods() };
        let batch =
            |epoch, phase, observed| Batch { watch: watch.clone(), ..batch(epoch, phase, observed, "9") };
        let first = log.appender.begin(Begin::new(&watch, true)).await.unwrap().epoch;
        let list = ["a", "b", "c"].map(|name| pod(name, name, 1, "{}"));
        log.appender.append(batch(first, Phase::ListEnd, list.to_vec())).await.unwrap();
        let gone = Observed::Deleted {
            namespace: "shop".into(),
            name: "a".into(),
            uid: Uid::new("a"),
            resource_version: ResourceVersion::new("5"),
        };
        let seen = vec![gone, pod("b", "another", 6, "{}")];
        let done = log.appender.append(batch(first, Phase::Watch, seen)).await.unwrap();
        assert_eq!(done.written, 1, "neither the watched end nor the one of the Event that was replaced");
        let second = log.appender.begin(Begin::new(&watch, true)).await.unwrap().epoch;
        let done = log.appender.append(batch(second, Phase::ListEnd, vec![])).await.unwrap();
        assert_eq!((done.written, done.head), (0, Offset::new(4)), "nor absence at the end of a list");
        log.stop();
        assert_eq!(told(dir.path()), ["+a {}", "+b {}", "+c {}", "+b {}"]);
        assert_eq!(alive(dir.path()), 0);
    }
}

#[tokio::test]
async fn a_relist_writes_the_missing_deletions_and_a_new_uid_ends_the_old_one() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let first = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    let list = vec![pod("a", "1", 1, "{}"), pod("b", "2", 2, "{}"), pod("c", "3", 3, "{}")];
    log.appender.append(batch(first.epoch, Phase::ListEnd, list, "3")).await.unwrap();
    let second = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    assert_eq!(second.cursor, None, "a fresh run lists");
    assert!(second.last_seen.is_some());
    let page = vec![pod("a", "1", 1, "{}")];
    log.appender.append(batch(second.epoch, Phase::ListPage, page, "9")).await.unwrap();
    let page = vec![pod("b", "20", 8, "{}")];
    log.appender.append(batch(second.epoch, Phase::ListEnd, page, "9")).await.unwrap();
    let late = log.appender.append(batch(first.epoch, Phase::Watch, vec![], "99")).await;
    assert!(matches!(late, Err(AppendError::Superseded(_))), "{late:?}");
    log.stop();
    assert_eq!(told(dir.path()), ["+a {}", "+b {}", "+c {}", "-b replaced", "+b {}", "-c relist"]);

    let log = start(dir.path());
    let third = log.appender.begin(Begin::new(&pods(), false)).await.unwrap();
    assert_eq!(third.cursor, Some(ResourceVersion::new("9")), "a restart resumes where the log ends");
    let gone = Observed::Deleted {
        namespace: "shop".into(),
        name: "a".into(),
        uid: Uid::new("1"),
        resource_version: ResourceVersion::new("10"),
    };
    let twice = vec![gone.clone(), gone];
    let done = log.appender.append(batch(third.epoch, Phase::Watch, twice, "10")).await.unwrap();
    assert_eq!((done.written, done.head), (1, Offset::new(7)));
    log.stop();
}

#[tokio::test]
async fn an_unfinished_list_leaves_no_cursor_and_deletes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let first = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    log.appender.append(batch(first.epoch, Phase::ListEnd, vec![pod("a", "1", 1, "{}")], "1")).await.unwrap();
    let second = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    log.appender
        .append(batch(second.epoch, Phase::ListPage, vec![pod("b", "2", 2, "{}")], "3"))
        .await
        .unwrap();
    log.stop();
    let log = start(dir.path());
    let third = log.appender.begin(Begin::new(&pods(), false)).await.unwrap();
    assert_eq!(third.cursor, None);
    log.stop();
    assert_eq!(told(dir.path()), ["+a {}", "+b {}"]);
}

#[tokio::test]
async fn what_cannot_be_read_is_not_taken_for_gone() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let first = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    let list = vec![pod("a", "1", 1, "{}"), pod("b", "2", 2, "{}")];
    log.appender.append(batch(first.epoch, Phase::ListEnd, list, "2")).await.unwrap();
    let second = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    let page = vec![pod("b", "2", 2, "{}")];
    log.appender.append(batch(second.epoch, Phase::PartialListEnd, page, "3")).await.unwrap();
    let third = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    let unreadable = Observed::Unreadable { namespace: "shop".into(), name: "a".into(), uid: Uid::new("1") };
    log.appender.append(batch(third.epoch, Phase::ListEnd, vec![unreadable], "4")).await.unwrap();
    log.stop();
    assert_eq!(told(dir.path()), ["+a {}", "+b {}", "-b relist"]);
}

#[tokio::test]
async fn the_catalog_and_coverage_are_changes_and_repeat_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let cluster = |name: &str, region: &str| {
        CatalogFact::Cluster(ClusterSpec { name: name.into(), region: region.into() })
    };
    let mark = |state, reason: &str| CoverageMark::new(pods(), state, Timestamp::from_micros(1), reason, "");
    log.appender.declare(Source::Config, vec![cluster("one", "eu"), cluster("two", "us")]).await.unwrap();
    let again =
        log.appender.declare(Source::Config, vec![cluster("two", "us"), cluster("one", "eu")]).await.unwrap();
    assert_eq!((again.written, again.unchanged), (0, 2));
    log.appender.declare(Source::Config, vec![cluster("one", "us")]).await.unwrap();
    log.appender.mark(mark(CoverageState::Watched, "")).await.unwrap();
    log.appender.mark(mark(CoverageState::Watched, "")).await.unwrap();
    log.appender.mark(mark(CoverageState::Gap, "forbidden")).await.unwrap();
    // A relist of the kind leaves its coverage alone.
    let session = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    log.appender.append(batch(session.epoch, Phase::ListEnd, vec![], "3")).await.unwrap();
    log.stop();
    // A cluster that nobody watches is a gap from its declaration on.
    let expected =
        ["Gap", "declared one", "Gap", "declared two", "withdrawn two", "declared one", "Watched", "Gap"];
    assert_eq!(told(dir.path()), expected);
}

/// A clock that jumps about.
struct Jumping(std::sync::atomic::AtomicI64);

impl Clock for Jumping {
    fn now(&self) -> Timestamp {
        let n = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Timestamp::from_micros(if n % 2 == 0 { 1000 + n } else { n })
    }
}

#[tokio::test]
async fn recorded_time_never_goes_backwards_for_little_and_finds_offsets() {
    let dir = tempfile::tempdir().unwrap();
    let log = start_with(dir.path(), Arc::new(Jumping(0.into())));
    let session = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    for n in 1..20 {
        let body = format!("{{\"n\":{n}}}");
        log.appender
            .append(batch(session.epoch, Phase::Watch, vec![pod("a", "1", n, &body)], "1"))
            .await
            .unwrap();
    }
    log.stop();
    let mut reader = LogReader::open(dir.path()).unwrap();
    let records = reader.after(Offset::ZERO, 100).unwrap();
    assert!(records.is_sorted_by_key(|record| record.observed_at));
    let head = reader.head().unwrap();
    for record in &records {
        let last = records.iter().rfind(|other| other.observed_at <= record.observed_at).unwrap();
        assert_eq!(reader.offset_at(record.observed_at, head).unwrap(), last.offset);
    }
    assert_eq!(reader.offset_at(Timestamp::from_micros(-1), head).unwrap(), Offset::ZERO);
}

async fn filled(directory: &Path) {
    let log = start(directory);
    let session = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    for n in 1..=40 {
        let body = format!("{{\"n\":{n},\"text\":\"the same in every version of this object\"}}");
        let seen = vec![pod("a", "1", n, &body)];
        log.appender.append(batch(session.epoch, Phase::Watch, seen, "1")).await.unwrap();
    }
    log.stop();
}

#[tokio::test]
async fn damage_is_found_and_refused() {
    let damages = [
        ("UPDATE change SET observed_at = observed_at + 1 WHERE \"offset\" = 30", 30),
        ("DELETE FROM change WHERE \"offset\" = 12", 12),
        ("UPDATE change SET body = zeroblob(9) WHERE \"offset\" = 7", 7),
        ("UPDATE subject SET name = 'b'", 1),
    ];
    for (damage, offset) in damages {
        let dir = tempfile::tempdir().unwrap();
        filled(dir.path()).await;
        let connection = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
        connection.execute_batch(damage).unwrap();
        drop(connection);
        match LogWriter::open(dir.path(), Arc::new(SystemClock)) {
            Err(LogError::Damaged { offset: found, .. }) => {
                assert_eq!(found, Offset::new(offset), "{damage}")
            }
            other => panic!("{damage}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_log_is_looked_at_while_it_is_written_and_after() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(inspect(dir.path()).unwrap(), None);
    let running = start(dir.path());
    let written = running.appender.declare(Source::Config, Vec::new()).await;
    assert!(written.is_ok());
    assert_eq!(
        inspect(dir.path()).unwrap(),
        Some(LogState {
            schema: 14,
            head: Offset::ZERO,
            compacted: Compacted::default(),
            floors: Vec::new()
        })
    );
    running.stop();
    filled(dir.path()).await;
    let before = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(
        inspect(dir.path()).unwrap(),
        Some(LogState {
            schema: 14,
            head: Offset::new(40),
            compacted: Compacted::default(),
            floors: Vec::new()
        })
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), before, "a look leaves nothing behind");
    std::fs::remove_file(dir.path().join("log.db")).unwrap();
    let lost = inspect(dir.path()).unwrap_err();
    assert!(matches!(lost, LogError::Truncated { found: Offset::ZERO, .. }), "{lost}");
}

#[tokio::test]
async fn a_log_that_lost_its_end_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    let connection = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
    connection.execute_batch("DELETE FROM change WHERE \"offset\" > 35").unwrap();
    drop(connection);
    let seen = inspect(dir.path()).unwrap_err();
    assert!(matches!(seen, LogError::Truncated { .. }), "{seen}");
    let refused = LogWriter::open(dir.path(), Arc::new(SystemClock)).unwrap_err();
    assert!(matches!(refused, LogError::Truncated { .. }), "{refused}");
}

#[tokio::test]
async fn a_newer_or_untrustworthy_schema_is_refused() {
    let damages = [
        (
            "UPDATE refinery_schema_history SET version = 99 WHERE version = 2",
            "has schema 99; this program supports 14",
        ),
        ("UPDATE refinery_schema_history SET applied_on = 'yesterday'", "schema history is damaged"),
        ("UPDATE refinery_schema_history SET checksum = 'x'", "schema history is damaged"),
    ];
    for (damage, expected) in damages {
        let dir = tempfile::tempdir().unwrap();
        filled(dir.path()).await;
        let connection = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
        connection.execute_batch(damage).unwrap();
        drop(connection);
        let refused = LogWriter::open(dir.path(), Arc::new(SystemClock)).unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
    }
}

#[tokio::test]
async fn files_that_are_no_log_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("log.db"), "something else entirely, and long enough to be looked at")
        .unwrap();
    assert!(LogWriter::open(dir.path(), Arc::new(SystemClock)).is_err());
    let dir = tempfile::tempdir().unwrap();
    let other = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
    other.execute_batch("PRAGMA application_id = 5; CREATE TABLE t (a)").unwrap();
    drop(other);
    let refused = LogWriter::open(dir.path(), Arc::new(SystemClock)).unwrap_err();
    assert!(refused.to_string().contains("not a Strandline database"), "{refused}");
}

proptest! {
    #![proptest_config(strandline_testkit::cases(16))]
    #[test]
    fn every_version_is_read_back_as_it_was(edits in prop::collection::vec((0..4usize, any::<u32>()), 1..120)) {
        let dir = tempfile::tempdir().unwrap();
        let filler = "a line that all versions of all objects share, more or less; ".repeat(20);
        let body = |(object, n): &(usize, u32)| format!("{{\"object\":{object},\"n\":{n},\"text\":\"{filler}\"}}");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let log = start(dir.path());
            let session = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
            for (version, edit) in (1..).zip(&edits) {
                let seen = vec![pod(&format!("o{}", edit.0), &format!("u{}", edit.0), version, &body(edit))];
                log.appender.append(batch(session.epoch, Phase::Watch, seen, "1")).await.unwrap();
            }
            log.stop();
        });
        let mut last = [None; 4];
        let mut expected = Vec::new();
        for edit in &edits {
            if last[edit.0].replace(edit.1) != Some(edit.1) {
                expected.push(body(edit));
            }
        }
        let mut reader = LogReader::open(dir.path()).unwrap();
        for (n, body) in expected.iter().enumerate().rev() {
            let record = reader.at(Offset::new(n as u64 + 1)).unwrap();
            let Change::Applied { body: read, .. } = record.change else { panic!("{record:?}") };
            prop_assert_eq!(&read, body);
        }
        prop_assert_eq!(reader.head().unwrap(), Offset::new(expected.len() as u64));
    }
}
