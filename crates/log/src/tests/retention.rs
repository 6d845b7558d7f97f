//! What is left of a log when retention has let go of its beginning.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use strandline_model::{Record, ResourceId};

/// An object of some size, so that its versions are stored as deltas.
pub(super) fn body(n: u64) -> String {
    format!("{{\"n\":{n},\"text\":\"{}\"}}", "the same in every version of this object; ".repeat(8))
}

pub(super) fn gone(name: &str, uid: &str) -> Observed {
    Observed::Deleted {
        namespace: "shop".into(),
        name: name.into(),
        uid: Uid::new(uid),
        resource_version: ResourceVersion::new("9000"),
    }
}

/// Reads a log in small pages from the beginning to the end.
pub(super) fn all(directory: &Path) -> Vec<Record> {
    let mut reader = LogReader::open(directory).unwrap();
    let (mut records, mut at) = (Vec::new(), Offset::ZERO);
    loop {
        let page = reader.after(at, 7).unwrap();
        let Some(last) = page.last() else { return records };
        at = last.offset;
        records.extend(page);
    }
}

pub(super) fn rows(directory: &Path, sql: &str) -> i64 {
    let log = rusqlite::Connection::open(directory.join("log.db")).unwrap();
    log.query_row(sql, [], |row| row.get(0)).unwrap()
}

pub(super) async fn sweep_all(appender: &Appender, limit: usize) -> Swept {
    let mut sum = Swept::default();
    while !sum.done {
        let swept = appender.sweep(limit).await.unwrap();
        sum = Swept { changes: sum.changes + swept.changes, bytes: sum.bytes + swept.bytes, ..swept };
    }
    sum
}

/// What a log amounts to at an offset: the change that holds of each subject.
fn holding(records: &[Record], at: Offset) -> BTreeSet<u64> {
    let mut last = BTreeMap::new();
    for record in records.iter().filter(|record| record.offset <= at) {
        let subject = match &record.change {
            Change::Applied { id, .. } | Change::Deleted { id, .. } | Change::Forgotten { id, .. } => {
                format!("{id:?}")
            }
            Change::Declared { id, .. } | Change::Withdrawn { id, .. } => format!("{id:?}"),
            Change::Coverage(mark) => format!("{:?} {}", mark.watch, mark.until.is_some()),
            Change::Clock(_) => "clock".into(),
            Change::Erased(_) => format!("erased {}", record.offset),
        };
        match &record.change {
            Change::Deleted { .. } | Change::Withdrawn { .. } => last.remove(&subject),
            _ => last.insert(subject, record.offset.get()),
        };
    }
    last.into_values().collect()
}

#[tokio::test]
async fn what_holds_is_left_and_all_that_came_later() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let epoch = log.appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch;
    let append = async |observed| {
        log.appender.append(batch(epoch, Phase::Watch, vec![observed], "1")).await.unwrap().head
    };
    append(pod("a", "ua", 1, &body(1))).await;
    append(pod("b", "ub", 2, &body(2))).await;
    append(pod("a", "ua", 3, &body(3))).await;
    append(gone("b", "ub")).await;
    append(pod("a", "ua", 5, &body(5))).await;
    let before = all(dir.path());
    let compacted = log.appender.compact(Offset::new(4)).await.unwrap();
    assert_eq!((compacted.offset, compacted.observed_at), (Offset::new(4), Some(before[3].observed_at)));
    assert_eq!(all(dir.path()), before, "it moves first, and nothing is gone yet");
    let swept = sweep_all(&log.appender, 100).await;
    assert_eq!((swept.swept, swept.changes), (Offset::new(4), 2), "what is said of b, and its end");
    assert!(swept.bytes > 0);
    assert_eq!(rows(dir.path(), "SELECT count(*) FROM change"), 3, "the keyframe of what is kept stays too");
    let mut reader = LogReader::open(dir.path()).unwrap();
    assert_eq!(all(dir.path()), [before[2].clone(), before[4].clone()]);
    assert_eq!(reader.observed_at(Offset::new(4)).unwrap(), Some(before[3].observed_at));
    assert_eq!(reader.offset_at(before[3].observed_at, Offset::new(4)).unwrap(), Offset::new(4));
    let earlier = Timestamp::from_micros(before[3].observed_at.as_micros() - 1);
    assert_eq!(reader.offset_at(earlier, Offset::new(5)).unwrap(), Offset::ZERO);
    let asked = reader.at(Offset::new(2)).unwrap_err();
    assert!(matches!(asked, LogError::Compacted { compacted, .. } if compacted == Offset::new(4)), "{asked}");
    append(pod("a", "ua", 6, &body(6))).await;
    assert_eq!(all(dir.path()).len(), 3, "what comes is stored against the keyframe that was kept");
    log.stop();
    let log = start(dir.path());
    assert_eq!(
        log.appender.compact(Offset::new(2)).await.unwrap().offset,
        Offset::new(4),
        "it never moves back"
    );
    assert_eq!(
        log.appender.compact(Offset::new(99)).await.unwrap().offset,
        Offset::new(5),
        "the newest stays"
    );
    log.stop();
}

#[tokio::test]
async fn an_event_goes_with_its_end_and_its_number_is_never_given_twice() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let watch = WatchKey { kind: Kind::new("", "Event"), ..pods() };
    let epoch = log.appender.begin(Begin::new(&watch, true)).await.unwrap().epoch;
    let append = async |observed| {
        let batch = Batch { watch: watch.clone(), ..batch(epoch, Phase::Watch, vec![observed], "1") };
        log.appender.append(batch).await.unwrap()
    };
    append(pod("a", "ua", 1, &body(1))).await;
    append(pod("b", "ub", 2, &body(2))).await;
    append(pod("a", "ua", 3, &body(3))).await;
    append(gone("a", "ua")).await;
    append(pod("b", "ub", 4, &body(4))).await;
    append(gone("b", "ub")).await;
    log.appender.compact(Offset::new(2)).await.unwrap();
    sweep_all(&log.appender, 1).await;
    assert_eq!(all(dir.path()).len(), 4, "what came later is stored against what is left");
    append(pod("c", "uc", 5, &body(5))).await;
    log.appender.compact(Offset::new(4)).await.unwrap();
    let swept = sweep_all(&log.appender, 10).await;
    assert_eq!(swept.changes, 4);
    assert_eq!(rows(dir.path(), "SELECT count(*) FROM change"), 1);
    assert_eq!(rows(dir.path(), "SELECT count(*) FROM subject"), 1, "nothing refers to the others any more");
    append(gone("c", "uc")).await;
    append(pod("d", "ud", 6, &body(6))).await;
    log.appender.compact(Offset::new(5)).await.unwrap();
    sweep_all(&log.appender, 10).await;
    let told: Vec<_> = all(dir.path())
        .iter()
        .map(|record| match &record.change {
            Change::Applied { id, key, .. } => (*id, key.name.clone()),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told, [(ResourceId(4), "d".to_owned())]);
    log.stop();
}

#[tokio::test]
async fn a_reader_keeps_the_state_it_began_with() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    let mut reader = LogReader::open(dir.path()).unwrap();
    let mut snapshot = reader.begin().unwrap();
    let log = start(dir.path());
    log.appender.compact(Offset::new(30)).await.unwrap();
    assert_eq!(sweep_all(&log.appender, 9).await.swept, Offset::new(30));
    assert_eq!(snapshot.compacted().unwrap().offset, Offset::ZERO);
    assert_eq!(snapshot.after(Offset::ZERO, 100).unwrap().len(), 40);
    drop(snapshot);
    assert_eq!(reader.after(Offset::ZERO, 100).unwrap().len(), 1, "what is kept comes by itself");
    assert_eq!(reader.after(Offset::new(30), 100).unwrap().len(), 10);
    log.stop();
}

/// A log of which the first 30 changes were let go; what is kept of them is at 30, stored against 17.
async fn compacted(directory: &Path) {
    let log = start(directory);
    let epoch = log.appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch;
    for n in 1..=40 {
        let seen = vec![pod("a", "1", n, &body(n))];
        log.appender.append(batch(epoch, Phase::Watch, seen, "1")).await.unwrap();
    }
    log.appender.compact(Offset::new(30)).await.unwrap();
    sweep_all(&log.appender, 100).await;
    log.stop();
}

#[tokio::test]
async fn a_reader_that_knows_where_the_log_ends_tells_the_same_times() {
    let dir = tempfile::tempdir().unwrap();
    compacted(dir.path()).await;
    let mut reader = LogReader::open(dir.path()).unwrap();
    let times = |reader: &LogReader| -> Vec<_> {
        (0..=41).map(|offset| reader.observed_at(Offset::new(offset)).unwrap()).collect()
    };
    let alone = times(&reader);
    let snapshot = reader.begin().unwrap();
    assert_eq!(snapshot.head().unwrap(), Offset::new(40));
    assert_eq!(times(&snapshot), alone);
    assert!(alone[30].is_some() && alone[40].is_some() && alone[41].is_none());
}

#[tokio::test]
async fn what_retention_left_is_missed_when_it_vanishes_or_changes() {
    let damages = [
        r#"DELETE FROM change WHERE "offset" = 30"#,
        r#"DELETE FROM change WHERE "offset" = 17"#,
        r#"DELETE FROM change WHERE "offset" = 30; DELETE FROM kept"#,
        r#"UPDATE change SET observed_at = observed_at - 1 WHERE "offset" = 30"#,
        r#"UPDATE change SET body = zeroblob(9) WHERE "offset" = 17"#,
        r#"UPDATE change SET managed_at = 1 WHERE "offset" = 17"#,
        r#"DELETE FROM change WHERE "offset" = 31"#,
        r#"DELETE FROM change WHERE "offset" > 30"#,
        "UPDATE compaction SET hash = zeroblob(16)",
    ];
    for damage in damages {
        let dir = tempfile::tempdir().unwrap();
        compacted(dir.path()).await;
        let bases = rows(dir.path(), "SELECT base FROM kept");
        assert_eq!(bases, 17, "the damages are where they should be");
        let connection = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
        connection.execute_batch(damage).unwrap();
        drop(connection);
        let refused = LogWriter::open(dir.path(), Arc::new(SystemClock)).unwrap_err();
        let found = matches!(refused, LogError::Damaged { .. } | LogError::Truncated { .. });
        assert!(found, "{damage}: {refused}");
    }
}

#[tokio::test]
async fn what_is_damaged_is_told_and_not_let_go() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    let log = start(dir.path());
    log.appender.compact(Offset::new(20)).await.unwrap();
    let connection = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
    connection.execute_batch(r#"UPDATE change SET managed_at = 5 WHERE "offset" = 12"#).unwrap();
    let refused = log.appender.sweep(100).await.unwrap_err();
    assert!(refused.to_string().contains("offset 12"), "{refused}");
    assert_eq!(rows(dir.path(), "SELECT count(*) FROM change"), 40);
    let epoch = log.appender.begin(Begin::new(&pods(), false)).await.unwrap().epoch;
    let seen = vec![pod("b", "ub", 1, "{}")];
    let done = log.appender.append(batch(epoch, Phase::Watch, seen, "1")).await.unwrap();
    assert_eq!(done.head, Offset::new(41), "recording goes on");
    log.stop();
}

/// Bytes of a file of the log.
fn bytes(directory: &Path, name: &str) -> u64 {
    std::fs::metadata(directory.join(name)).map_or(0, |file| file.len())
}

#[tokio::test]
async fn the_file_shrinks_and_the_wal_stays_small_beside_appends() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let epoch = log.appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch;
    // Text that no codec makes much smaller.
    let noise = |n: u64| {
        let words = (0..64).map(|word| blake3::hash(format!("{n} {word}").as_bytes()).to_hex().to_string());
        words.collect::<String>()
    };
    let append = async |version: u64| {
        let seen: Vec<_> = (0..10)
            .map(|o| pod(&format!("o{o}"), &format!("u{o}"), version, &noise(version * 10 + o)))
            .collect();
        log.appender.append(batch(epoch, Phase::Watch, seen, "1")).await.unwrap().head
    };
    for version in 1..=150 {
        append(version).await;
    }
    log.appender.shrink(1).await.unwrap();
    let (full, mut wal) = (bytes(dir.path(), "log.db"), 0);
    assert!(full > 2_000_000, "{full}");
    log.appender.compact(Offset::new(1400)).await.unwrap();
    let mut done = false;
    for version in 151..=180 {
        done |= log.appender.sweep(100).await.unwrap().done;
        append(version).await;
        log.appender.shrink(50).await.unwrap();
        wal = wal.max(bytes(dir.path(), "log.db-wal"));
    }
    assert!(done);
    while log.appender.shrink(200).await.unwrap().free_pages > 0 {}
    log.stop();
    let small = bytes(dir.path(), "log.db");
    // How full it was depends on how much of it had been packed by then; what is left does not.
    assert!(small < full / 5 * 3, "{full} bytes, then {small}");
    assert!(wal < 1_000_000, "{wal}");
}

#[tokio::test]
async fn a_log_of_an_earlier_version_is_rewritten_so_that_it_can_shrink() {
    let dir = tempfile::tempdir().unwrap();
    let earlier = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
    earlier
        .execute_batch("PRAGMA auto_vacuum = none; PRAGMA journal_mode = wal; PRAGMA user_version = 1")
        .unwrap();
    drop(earlier);
    let shrinkable = || {
        let log = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
        strandline_sqlite::is_shrinkable(&log).unwrap()
    };
    assert!(!shrinkable());
    filled(dir.path()).await;
    assert!(shrinkable());
    assert_eq!(all(dir.path()).len(), 40);
}

#[derive(Clone, Debug)]
enum Deed {
    /// An object, an Event or a Pod, is in another state.
    Apply(bool, u8),
    Delete(bool, u8),
    Declare(u8),
    /// The oldest offset moves to this part of the log, and this many steps of this size are made.
    Compact(u8, u8, usize),
    /// The program ends and begins again.
    Restart,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        6 => (any::<bool>(), 0..5_u8).prop_map(|(event, object)| Deed::Apply(event, object)),
        2 => (any::<bool>(), 0..5_u8).prop_map(|(event, object)| Deed::Delete(event, object)),
        1 => (0..8_u8).prop_map(Deed::Declare),
        1 => (0..101_u8, 0..5_u8, 1..20_usize).prop_map(|(to, steps, size)| Deed::Compact(to, steps, size)),
        1 => Just(Deed::Restart),
    ];
    prop::collection::vec(deed, 1..120)
}

async fn carry_out(log: &Running, n: usize, deed: &Deed) {
    let watch = |event: bool| match event {
        true => WatchKey { kind: Kind::new("", "Event"), ..pods() },
        false => pods(),
    };
    let append = async |event: bool, observed: Observed| {
        let epoch = log.appender.begin(Begin::new(&watch(event), false)).await.unwrap().epoch;
        let batch = Batch { watch: watch(event), ..batch(epoch, Phase::Watch, vec![observed], "1") };
        log.appender.append(batch).await.unwrap();
    };
    match deed {
        Deed::Apply(event, o) => {
            append(*event, pod(&format!("o{o}"), &format!("u{o}"), n as u64 + 1, &body(n as u64))).await;
        }
        Deed::Delete(event, o) => append(*event, gone(&format!("o{o}"), &format!("u{o}"))).await,
        Deed::Declare(cluster) => {
            let spec = ClusterSpec { name: format!("c{}", cluster / 3), region: format!("r{}", cluster % 3) };
            log.appender.declare(Source::Config, vec![CatalogFact::Cluster(spec)]).await.unwrap();
        }
        Deed::Compact(to, steps, size) => {
            let head = log.appender.declare(Source::Folder, vec![]).await.unwrap().head;
            let to = Offset::new(head.get() * u64::from(*to) / 100);
            log.appender.compact(to).await.unwrap();
            for _ in 0..*steps {
                log.appender.sweep(*size).await.unwrap();
            }
        }
        Deed::Restart => {}
    }
}

/// A change in words, without the number of its subject: who comes back after all of it was let go gets another.
fn words(record: &Record) -> String {
    let change = match &record.change {
        // That the body is the one that was recorded is the reader's to verify.
        Change::Applied { key, uid, body, .. } => format!("{key:?} {uid:?} {:.9}", body),
        Change::Deleted { key, uid, cause, .. } => format!("{key:?} {uid:?} {cause:?}"),
        Change::Forgotten { key, uid, .. } => format!("{key:?} {uid:?}"),
        Change::Coverage(mark) => format!("{:?} {:?} {}", mark.watch, mark.state, mark.reason),
        Change::Clock(mark) => format!("{mark:?}"),
        Change::Declared { fact, .. } => format!("{fact:?}"),
        Change::Withdrawn { kind, name, .. } => format!("{kind:?} {name}"),
        Change::Erased(_) => "erased".to_owned(),
    };
    format!("{} {change}", record.offset)
}

proptest! {
    #![proptest_config(strandline_testkit::cases(24))]

    /// The same deeds on a log that lets go and on one that keeps all: from any offset that can be asked for on, they
    /// tell the same, and before it what holds there.
    #[test]
    fn a_log_that_lets_go_tells_what_one_that_keeps_all_tells(deeds in deeds()) {
        let (whole, part) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (keeping, mut letting) = (start(whole.path()), start(part.path()));
            for (n, deed) in deeds.iter().enumerate() {
                if !matches!(deed, Deed::Compact(..)) {
                    carry_out(&keeping, n, deed).await;
                }
                carry_out(&letting, n, deed).await;
                if matches!(deed, Deed::Restart) {
                    letting.stop();
                    letting = start(part.path());
                }
            }
            keeping.stop();
            letting.stop();
        });
        let (all_of_it, left) = (all(whole.path()), all(part.path()));
        let reader = LogReader::open(part.path()).unwrap();
        let swept = Offset::from_i64(rows(part.path(), "SELECT swept FROM compaction"));
        prop_assert!(swept <= reader.compacted().unwrap().offset);
        let told = |records: &[Record], from: Offset| -> Vec<String> {
            let later = records.iter().filter(|record| record.offset > from);
            later.map(words).collect()
        };
        prop_assert_eq!(told(&left, swept), told(&all_of_it, swept));
        let is_event = |record: &&Record| match &record.change {
            Change::Applied { key, .. } => key.kind.is_event(),
            _ => false,
        };
        // Events end without a word, so that those that are left are some of those that would be.
        let wanted = holding(&all_of_it, swept);
        let found: BTreeSet<u64> =
            left.iter().filter(|record| record.offset <= swept).map(|record| record.offset.get()).collect();
        prop_assert!(found.is_subset(&wanted), "{:?} of {:?}", found, wanted);
        let events: BTreeSet<u64> = all_of_it.iter().filter(is_event).map(|record| record.offset.get()).collect();
        prop_assert!(wanted.difference(&found).all(|offset| events.contains(offset)));
        LogWriter::open(part.path(), Arc::new(SystemClock)).unwrap();
    }
}
