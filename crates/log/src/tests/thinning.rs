//! What is left of kinds of which retention lets go before the rest.

use std::collections::BTreeMap;

use super::retention::{all, body, gone, rows};
use super::*;
use strandline_model::{KindPattern, Record};

fn pattern(text: &str) -> KindPattern {
    text.parse().unwrap()
}

pub(super) async fn thin_all(appender: &Appender, limit: usize) -> Thinned {
    let mut sum = Thinned::default();
    while !sum.done {
        let thinned = appender.thin(limit).await.unwrap();
        sum = Thinned { changes: sum.changes + thinned.changes, bytes: sum.bytes + thinned.bytes, ..thinned };
    }
    sum
}

/// The offsets of records without a body.
fn forgotten(records: &[Record]) -> Vec<u64> {
    let hollow = records.iter().filter(|record| matches!(record.change, Change::Forgotten { .. }));
    hollow.map(|record| record.offset.get()).collect()
}

/// A log of one object with forty states and of another with one, of a kind whose floor is 30.
async fn thinned(directory: &Path) {
    let log = start(directory);
    let epoch = log.appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch;
    let append = async |observed| {
        log.appender.append(batch(epoch, Phase::Watch, vec![observed], "1")).await.unwrap();
    };
    append(pod("b", "ub", 1, &body(1))).await;
    for n in 2..=41 {
        append(pod("a", "ua", n, &body(n))).await;
    }
    let floors = log.appender.raise_floors(vec![(pattern("Pod"), Offset::new(30))]).await.unwrap();
    assert_eq!(floors.iter().map(|floor| floor.offset).collect::<Vec<_>>(), [Offset::new(30)]);
    thin_all(&log.appender, 7).await;
    log.stop();
}

#[tokio::test]
async fn what_holds_keeps_its_body_and_the_rest_keeps_its_row() {
    let dir = tempfile::tempdir().unwrap();
    thinned(dir.path()).await;
    let records = all(dir.path());
    assert_eq!(records.len(), 41, "each change is still told of");
    // What holds of the second object stands against the keyframe at 18, of which nobody is told.
    assert_eq!(forgotten(&records), (2..=29).collect::<Vec<_>>());
    let hollow = "SELECT count(*) FROM change WHERE body IS NULL AND frame_id IS NULL";
    assert_eq!(rows(dir.path(), hollow), 27, "all of these but the keyframe");
    let mut reader = LogReader::open(dir.path()).unwrap();
    let asked = reader.at(Offset::new(5)).unwrap_err();
    assert!(
        matches!(asked, LogError::Compacted { compacted, .. } if compacted == Offset::new(30)),
        "{asked}"
    );
    for (offset, n) in [(1, 1), (30, 30), (31, 31), (41, 41)] {
        let record = reader.at(Offset::new(offset)).unwrap();
        assert!(matches!(record.change, Change::Applied { body: told, .. } if told == body(n)), "{offset}");
    }
    assert_eq!(reader.swept().unwrap(), Offset::new(30), "a view that stands before has to be built anew");
    let entries = reader.entries_after(Offset::ZERO, 3).unwrap();
    let offsets: Vec<u64> = entries.iter().map(|entry| entry.offset.get()).collect();
    assert_eq!(offsets, [1], "the rest of the first three have nothing to say");
    let next = reader.entries_after(Offset::new(1), 3).unwrap();
    assert_eq!(next.first().map(|entry| entry.offset.get()), Some(30));
    assert_eq!(examine(dir.path(), &mut |_, _| {}).unwrap().unwrap().findings, []);
    let log = start(dir.path());
    let again = log.appender.raise_floors(vec![(pattern("*"), Offset::new(20))]).await.unwrap();
    assert_eq!(again[0].offset, Offset::new(30), "no floor moves back");
    let raised = log.appender.raise_floors(vec![(pattern("Pod"), Offset::new(99))]).await.unwrap();
    assert_eq!(raised[0].offset, Offset::new(40), "the newest change stays above");
    assert!(thin_all(&log.appender, 100).await.bytes > 0);
    log.appender.compact(Offset::new(35)).await.unwrap();
    while !log.appender.sweep(10).await.unwrap().done {}
    let left: Vec<u64> = all(dir.path()).iter().map(|record| record.offset.get()).collect();
    assert_eq!(left, [1, 35, 36, 37, 38, 39, 40, 41], "the rest of retention goes on as before");
    log.stop();
    verify_whole(dir.path()).unwrap();
}

#[tokio::test]
async fn an_event_goes_with_its_end() {
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
    append(gone("a", "ua")).await;
    append(pod("c", "uc", 3, &body(3))).await;
    append(pod("c", "uc", 4, &body(4))).await;
    log.appender.raise_floors(vec![(pattern("Event"), Offset::new(3))]).await.unwrap();
    assert_eq!(thin_all(&log.appender, 1).await.changes, 1);
    assert_eq!(forgotten(&all(dir.path())), [1]);
    append(gone("b", "ub")).await;
    append(pod("c", "uc", 5, &body(5))).await;
    log.appender.raise_floors(vec![(pattern("Event"), Offset::new(4))]).await.unwrap();
    assert_eq!(thin_all(&log.appender, 1).await.changes, 1, "what ended later goes later");
    assert_eq!(
        forgotten(&all(dir.path())),
        [1, 2, 3],
        "the keyframe of what holds stays, and nobody is told of it"
    );
    log.stop();
}

#[tokio::test]
async fn a_body_that_is_to_be_kept_is_missed() {
    let damages = [
        (r#"UPDATE change SET body = NULL WHERE "offset" = 30"#, true),
        (r#"UPDATE change SET body = NULL WHERE "offset" = 18"#, true),
        (r#"UPDATE change SET body = NULL WHERE "offset" = 1"#, true),
        (r#"UPDATE change SET body = NULL WHERE "offset" = 35"#, true),
        (r#"UPDATE change SET managed_at = 7 WHERE "offset" = 12"#, true),
        (r#"DELETE FROM change WHERE "offset" = 12"#, true),
        ("UPDATE thinning SET floor = 12", true),
        (r#"UPDATE change SET observed_at = observed_at WHERE "offset" = 12"#, false),
    ];
    for (damage, is_one) in damages {
        let dir = tempfile::tempdir().unwrap();
        thinned(dir.path()).await;
        let connection = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
        connection.execute_batch(damage).unwrap();
        drop(connection);
        let opened = LogWriter::open(dir.path(), Arc::new(SystemClock));
        assert_eq!(matches!(opened, Err(LogError::Damaged { .. })), is_one, "{damage}");
        let findings = examine(dir.path(), &mut |_, _| {}).unwrap().unwrap().findings;
        assert_eq!(!findings.is_empty(), is_one, "{damage}: {findings:?}");
    }
}

#[tokio::test]
async fn what_is_salvaged_says_from_where_on_it_is_known() {
    let (dir, new) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    thinned(dir.path()).await;
    let salvaged = salvage(dir.path(), new.path(), &mut |_, _| {}).unwrap();
    assert_eq!(salvaged.findings, []);
    let reader = LogReader::open(new.path()).unwrap();
    let floors = reader.floors().unwrap();
    assert_eq!(floors.len(), 1);
    assert_eq!(floors[0].observed_at, LogReader::open(dir.path()).unwrap().floors().unwrap()[0].observed_at);
    assert_eq!(floors[0].offset, Offset::new(2), "both objects as they held at the floor");
    assert_eq!(rows(new.path(), "SELECT count(*) FROM held"), 2);
    let log = start(new.path());
    log.appender.raise_floors(vec![(pattern("Pod"), Offset::new(9))]).await.unwrap();
    assert!(thin_all(&log.appender, 100).await.changes > 0, "it is thinned on from there");
    log.stop();
    verify_whole(new.path()).unwrap();
}

#[derive(Clone, Debug)]
enum Deed {
    /// An object, an Event or a Pod, is in another state.
    Apply(bool, u8),
    Delete(bool, u8),
    /// The floor of Events, or of Pods, moves to this part of the log, and so many steps of this size are made.
    Thin(bool, u8, u8, usize),
    Compact(u8),
    Restart,
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed = prop_oneof![
        8 => (any::<bool>(), 0..4_u8).prop_map(|(event, object)| Deed::Apply(event, object)),
        2 => (any::<bool>(), 0..4_u8).prop_map(|(event, object)| Deed::Delete(event, object)),
        1 => (any::<bool>(), 0..101_u8, 0..5_u8, 1..20_usize)
            .prop_map(|(event, to, steps, size)| Deed::Thin(event, to, steps, size)),
        1 => (0..60_u8).prop_map(Deed::Compact),
        1 => Just(Deed::Restart),
    ];
    prop::collection::vec(deed, 1..120)
}

async fn carry_out(log: &Running, n: u64, deed: &Deed) {
    let watch = |event: bool| match event {
        true => WatchKey { kind: Kind::new("", "Event"), ..pods() },
        false => pods(),
    };
    let append = async |event: bool, observed: Vec<Observed>| {
        let epoch = log.appender.begin(Begin::new(&watch(event), false)).await.unwrap().epoch;
        let batch = Batch { watch: watch(event), ..batch(epoch, Phase::Watch, observed, "1") };
        log.appender.append(batch).await.unwrap().head
    };
    match deed {
        Deed::Apply(event, o) => {
            append(*event, vec![pod(&format!("o{o}"), &format!("u{o}"), n + 1, &body(n))]).await;
        }
        Deed::Delete(event, o) => {
            append(*event, vec![gone(&format!("o{o}"), &format!("u{o}"))]).await;
        }
        Deed::Thin(event, to, steps, size) => {
            let head = append(*event, Vec::new()).await;
            let floor = Offset::new(head.get() * u64::from(*to) / 100);
            let kind = pattern(if *event { "Event" } else { "Pod" });
            log.appender.raise_floors(vec![(kind, floor)]).await.unwrap();
            for _ in 0..*steps {
                log.appender.thin(*size).await.unwrap();
            }
        }
        Deed::Compact(to) => {
            let head = append(false, Vec::new()).await;
            log.appender.compact(Offset::new(head.get() * u64::from(*to) / 100)).await.unwrap();
            log.appender.sweep(11).await.unwrap();
        }
        Deed::Restart => {}
    }
}

/// What holds of each object of a kind at an offset: its uid and how its body begins.
fn holding(records: &[Record], event: bool, at: Offset) -> BTreeMap<String, String> {
    let mut held = BTreeMap::new();
    for record in records.iter().filter(|record| record.offset <= at) {
        match &record.change {
            Change::Applied { key, uid, body, .. } if key.kind.is_event() == event => {
                held.insert(uid.to_string(), format!("{body:.9}"));
            }
            Change::Deleted { key, uid, .. } if key.kind.is_event() == event => {
                held.remove(uid.as_str());
            }
            _ => {}
        }
    }
    held
}

proptest! {
    #![proptest_config(strandline_testkit::cases(24))]

    /// The same deeds on a log that thins its kinds and on one that keeps all: at every offset from a kind's floor on the
    /// same holds of it.
    #[test]
    fn a_log_that_thins_tells_what_one_that_keeps_all_tells(deeds in deeds()) {
        let (whole, part) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
            let (keeping, mut letting) = (start(whole.path()), start(part.path()));
            for (n, deed) in (0..).zip(&deeds) {
                if !matches!(deed, Deed::Thin(..) | Deed::Compact(..)) {
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
        let (every, left) = (all(whole.path()), all(part.path()));
        let reader = LogReader::open(part.path()).unwrap();
        let (floors, compacted) = (reader.floors().unwrap(), reader.compacted().unwrap().offset);
        let head = every.last().map_or(0, |last| last.offset.get());
        for event in [false, true] {
            let floor = floors.iter().find(|floor| floor.kind.is_event() == event);
            let from = floor.map_or(compacted, |floor| floor.offset.max(compacted)).get();
            for at in (from..=head).map(Offset::new) {
                let (found, mut wanted) = (holding(&left, event, at), holding(&every, event, at));
                if event {
                    // Events end without a word, so that those that are left are some of those that would be.
                    wanted.retain(|uid, _| found.contains_key(uid));
                }
                prop_assert_eq!(found, wanted, "at {} of {}, event: {}", at, head, event);
            }
        }
        verify_whole(part.path()).unwrap();
        prop_assert_eq!(examine(part.path(), &mut |_, _| {}).unwrap().map(|found| found.findings).unwrap_or_default(), []);
        LogWriter::open(part.path(), Arc::new(SystemClock)).unwrap();
    }
}
