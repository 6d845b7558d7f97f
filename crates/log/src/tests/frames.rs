//! Closed versions in solid frames, and dictionaries that follow what is recorded: stored otherwise, told the same.

use std::sync::Mutex;
use std::time::Duration;

use super::*;
use crate::learning::Measure;
use strandline_model::Record;

/// A log that packs as soon as anything is closed, and learns from little.
pub(super) fn packing(directory: &Path) -> Running {
    let (writer, appender) = LogWriter::open(directory, Arc::new(SystemClock)).unwrap();
    let writer = writer.eager(Measure {
        sample_bytes: 128 * 1024,
        samples_min: 50,
        again_bytes: 256 * 1024,
        again_bytes_max: 1024 * 1024,
    });
    Running { appender, thread: std::thread::spawn(move || writer.run()) }
}

fn number(directory: &Path, sql: &str) -> i64 {
    let log = rusqlite::Connection::open(directory.join("log.db")).unwrap();
    log.query_row(sql, [], |row| row.get(0)).unwrap()
}

fn waiting(directory: &Path) -> i64 {
    number(directory, "SELECT count(*) FROM closed_group")
}

/// Waits until nothing is left to pack.
pub(super) fn settled(directory: &Path) {
    for _ in 0..12_000 {
        if waiting(directory) == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} groups still wait", waiting(directory));
}

/// Some object of a shape, in a version: what its shape says, what it says itself, and what this version says.
pub(super) fn shaped(shape: &str, object: u64, version: u64) -> String {
    let says = |n: u64| blake3::hash(format!("{shape} {n}").as_bytes()).to_hex();
    let fields: Vec<String> =
        (0..40).map(|n| format!("\"field-{n}\":\"{} {:x}\"", &says(n)[..24], (object + n) % 251)).collect();
    format!("{{\"version\":{version},\"kind\":\"{shape}\",{}}}", fields.join(","))
}

fn records(directory: &Path) -> Vec<Record> {
    LogReader::open(directory).unwrap().after(Offset::ZERO, 100_000).unwrap()
}

/// Objects with versions, every other one of which ends.
async fn lives(log: &Running, shape: &str, objects: std::ops::Range<u64>, versions: u64) {
    let session = log.appender.begin(Begin::new(&pods(), false)).await.unwrap();
    let id = |object: u64| (format!("{shape}-{object}"), format!("uid-{shape}-{object}"));
    for version in 1..=versions {
        let seen = |object: u64| pod(&id(object).0, &id(object).1, version, &shaped(shape, object, version));
        let all = objects.clone().map(seen).collect();
        log.appender.append(batch(session.epoch, Phase::Watch, all, "1")).await.unwrap();
    }
    let gone = |object: u64| Observed::Deleted {
        namespace: "shop".into(),
        name: id(object).0,
        uid: Uid::new(id(object).1),
        resource_version: ResourceVersion::new((versions + 1).to_string()),
    };
    let gone = objects.filter(|object| object % 2 == 0).map(gone).collect();
    log.appender.append(batch(session.epoch, Phase::Watch, gone, "1")).await.unwrap();
}

#[tokio::test]
async fn closed_versions_lie_in_solid_frames_and_are_told_as_before() {
    let (plain, packed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (directory, log) in [(plain.path(), start(plain.path())), (packed.path(), packing(packed.path()))] {
        lives(&log, "pod", 0..40, 40).await;
        if directory == packed.path() {
            settled(directory);
        }
        log.stop();
    }
    let bodies = |directory: &Path| -> Vec<Change> {
        records(directory).into_iter().map(|record| record.change).collect()
    };
    assert!(bodies(packed.path()) == bodies(plain.path()), "the same is told");
    assert_eq!(examine(packed.path(), &mut |_, _| {}).unwrap().unwrap().findings, []);
    let framed = number(packed.path(), "SELECT count(*) FROM change WHERE frame_id IS NOT NULL");
    // Of each object two groups of sixteen are closed; the third is where half of them ended.
    assert_eq!(framed, 40 * 32 + 20 * 8);
    assert_eq!(
        number(packed.path(), "SELECT count(*) FROM change WHERE frame_id IS NOT NULL AND body IS NOT NULL"),
        0
    );
    let stored = "SELECT (SELECT coalesce(sum(length(body)), 0) FROM change) + (SELECT coalesce(sum(length(bytes)), 0) FROM frame)";
    let (before, after) = (number(plain.path(), stored), number(packed.path(), stored));
    assert!(after * 3 < before * 2, "{after} bytes against {before}");
    let open = || LogReader::open(packed.path()).unwrap();
    for mut reader in [open(), open().with_cache(0).unwrap()] {
        for record in records(plain.path()).iter().rev() {
            assert_eq!(reader.at(record.offset).unwrap().change, record.change);
        }
    }
}

#[tokio::test]
async fn the_room_of_bodies_that_moved_is_filled_and_nothing_else_changes() {
    let (plain, packed) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let unused = "SELECT sum(unused) * 100 / sum(pgsize) FROM dbstat WHERE name = 'change'";
    for (directory, log) in [(plain.path(), start(plain.path())), (packed.path(), packing(packed.path()))] {
        lives(&log, "pod", 0..40, 60).await;
        if directory == packed.path() {
            settled(directory);
            // Bodies alone that leave make it half at least.
            for n in 0.. {
                assert!(n < 6_000, "{} % of the table are holes", number(directory, unused));
                if number(directory, unused) < 20 {
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        log.stop();
    }
    assert_eq!(number(packed.path(), "SELECT count(*) FROM rewriting"), 0);
    let framed = "SELECT count(*) FROM change WHERE frame_id IS NOT NULL";
    assert_eq!(number(packed.path(), framed), number(packed.path(), "SELECT sum(changes) FROM frame"));
    assert!(number(packed.path(), framed) > 512);
    assert_eq!(examine(packed.path(), &mut |_, _| {}).unwrap().unwrap().findings, []);
    let told = |directory: &Path| -> Vec<Change> {
        records(directory).into_iter().map(|record| record.change).collect()
    };
    assert!(told(packed.path()) == told(plain.path()), "the same is told");
}

#[tokio::test]
async fn what_was_erased_stays_marked_while_its_change_is_written_anew() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    lives(&log, "pod", 0..2, 1).await;
    log.stop();
    let mut connection = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
    connection.execute("INSERT INTO erased VALUES (1, 2)", []).unwrap();
    let all = r#"SELECT group_concat(hex(hash)) FROM (SELECT hash FROM change ORDER BY "offset")"#;
    let hashes = |connection: &rusqlite::Connection| -> String {
        connection.query_row(all, [], |row| row.get(0)).unwrap()
    };
    let before = hashes(&connection);
    crate::holes::rewrite(&mut connection, Offset::new(1), Offset::new(2)).unwrap();
    assert_eq!(hashes(&connection), before);
    drop(connection);
    assert_eq!(number(dir.path(), "SELECT mark FROM erased"), 2);
}

#[tokio::test]
async fn versions_are_packed_though_something_always_waits_to_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let epoch = log.appender.begin(Begin::new(&pods(), false)).await.unwrap().epoch;
    log.stop();
    let (writer, appender) = LogWriter::open(dir.path(), Arc::new(SystemClock)).unwrap();
    let (path, frames) = (dir.path().to_owned(), Arc::new(Mutex::new(Vec::new())));
    let seen = Arc::clone(&frames);
    let writer = writer.eager(Measure::default()).with_room(move || {
        seen.lock().unwrap().push(number(&path, "SELECT count(*) FROM frame"));
        true
    });
    // All of it waits before the writer begins: two groups.
    let appends: Vec<_> = (1..=256)
        .map(|version| {
            let (appender, seen) = (appender.clone(), pod("a", "1", version, &shaped("pod", 1, version)));
            tokio::spawn(async move { appender.append(batch(epoch, Phase::Watch, vec![seen], "1")).await })
        })
        .collect();
    // A yield runs some tens of them, and there is no other thread that could take what they queue.
    for _ in 0..appends.len() {
        tokio::task::yield_now().await;
    }
    let thread = std::thread::spawn(move || writer.run());
    for append in appends {
        append.await.unwrap().unwrap();
    }
    drop(appender);
    thread.join().unwrap().unwrap();
    let frames = frames.lock().unwrap();
    assert!(frames.len() == 2 && frames[1] > 0, "{frames:?}");
}

#[tokio::test]
async fn a_log_goes_on_after_its_versions_were_packed() {
    let dir = tempfile::tempdir().unwrap();
    for _ in 0..3 {
        let log = packing(dir.path());
        let before = records(dir.path()).len();
        let session = log.appender.begin(Begin::new(&pods(), false)).await.unwrap();
        for n in 0..50 {
            let version = before as u64 + n + 1;
            let seen = vec![pod("a", "1", version, &shaped("pod", 1, version))];
            log.appender.append(batch(session.epoch, Phase::Watch, seen, "1")).await.unwrap();
        }
        settled(dir.path());
        log.stop();
        let told: Vec<u64> = records(dir.path())
            .iter()
            .map(|record| match &record.change {
                Change::Applied { body, .. } => {
                    serde_json::from_str::<serde_json::Value>(body).unwrap()["version"].as_u64().unwrap()
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(told, (1..=before as u64 + 50).collect::<Vec<_>>());
    }
    assert_eq!(examine(dir.path(), &mut |_, _| {}).unwrap().unwrap().findings, []);
}

#[tokio::test]
async fn a_frame_goes_with_the_last_of_its_changes() {
    let dir = tempfile::tempdir().unwrap();
    let log = packing(dir.path());
    lives(&log, "pod", 0..40, 40).await;
    settled(dir.path());
    let frames = || number(dir.path(), "SELECT count(*) FROM frame");
    let before = frames();
    let head = LogReader::open(dir.path()).unwrap().head().unwrap();
    log.appender.compact(Offset::new(head.get() - 1)).await.unwrap();
    while !log.appender.sweep(100).await.unwrap().done {}
    log.stop();
    let held = number(dir.path(), "SELECT count(DISTINCT frame_id) FROM change");
    assert!(
        frames() == held && held < before,
        "{held} of {before} frames are needed, {} are there",
        frames()
    );
    assert_eq!(examine(dir.path(), &mut |_, _| {}).unwrap().unwrap().findings, []);
    let alive =
        records(dir.path()).iter().filter(|record| matches!(record.change, Change::Applied { .. })).count();
    // One of those that end does so with the newest change, which is always there.
    assert_eq!(alive, 21);
}

#[tokio::test]
async fn a_damaged_frame_is_told_and_read_by_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let log = packing(dir.path());
    lives(&log, "pod", 0..4, 40).await;
    settled(dir.path());
    log.stop();
    let connection = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
    let frame: i64 = connection.query_row("SELECT min(id) FROM frame", [], |row| row.get(0)).unwrap();
    let first = format!("SELECT min(\"offset\") FROM change WHERE frame_id = {frame}");
    let offset = Offset::from_i64(connection.query_row(&first, [], |row| row.get(0)).unwrap());
    for damage in [
        format!("UPDATE frame SET bytes = zeroblob(length(bytes)) WHERE id = {frame}"),
        format!("DELETE FROM frame WHERE id = {frame}"),
    ] {
        connection.execute_batch(&damage).unwrap();
        let refused = LogReader::open(dir.path()).unwrap().at(offset).unwrap_err();
        assert!(matches!(refused, LogError::Damaged { offset: found, .. } if found == offset), "{refused}");
        let findings = examine(dir.path(), &mut |_, _| {}).unwrap().unwrap().findings;
        assert!(
            findings.iter().any(|finding| finding.offsets.is_some_and(|(first, _)| first == offset)),
            "{damage}"
        );
    }
}

#[tokio::test]
async fn a_dictionary_that_stops_fitting_is_followed_by_another_and_by_no_more_than_needed() {
    let dir = tempfile::tempdir().unwrap();
    let dictionaries = || number(dir.path(), "SELECT count(*) FROM dictionary");
    let log = packing(dir.path());
    lives(&log, "pod", 0..300, 1).await;
    assert_eq!(dictionaries(), 1);
    lives(&log, "pod", 300..1200, 1).await;
    assert_eq!(dictionaries(), 1, "it still fits");
    lives(&log, "something-else-altogether", 0..4000, 1).await;
    let there = dictionaries();
    // The first to follow is learnt while some of the newest bodies are still of the former shape.
    assert!((2..=4).contains(&there), "it stopped fitting: {there}");
    lives(&log, "something-else-altogether", 4000..7000, 1).await;
    assert_eq!(dictionaries(), there, "the new one fits");
    log.stop();
    // What was packed with the first one is read on, and what follows it is stored against it.
    let log = packing(dir.path());
    lives(&log, "pod", 1001..1002, 8).await;
    settled(dir.path());
    log.stop();
    let deltas =
        "SELECT count(*) FROM change c JOIN change k ON k.\"offset\" = c.base WHERE k.dictionary_id = 1";
    assert!(number(dir.path(), deltas) > 0, "a keyframe of the first dictionary is still a base");
    assert_eq!(examine(dir.path(), &mut |_, _| {}).unwrap().unwrap().findings, []);
}

#[tokio::test]
async fn a_log_from_before_there_were_frames_is_looked_at_and_brought_up() {
    let dir = tempfile::tempdir().unwrap();
    filled(dir.path()).await;
    let connection = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
    let back = "DROP TRIGGER erased_goes; DROP TABLE erased; DROP TABLE rewriting; DROP TRIGGER change_goes; DROP TRIGGER body_goes; DROP TABLE frame; DROP TABLE closed_group;
        ALTER TABLE change DROP COLUMN frame_id; ALTER TABLE change DROP COLUMN frame_at;
        ALTER TABLE live DROP COLUMN deltas_at; DROP TABLE thinning; DROP TABLE held; DROP TABLE clock_mark;
        ALTER TABLE cursor DROP COLUMN verified_at;
        ALTER TABLE cursor DROP COLUMN unverified_since; ALTER TABLE cursor DROP COLUMN served_version;
        ALTER TABLE cursor DROP COLUMN definition; ALTER TABLE cursor DROP COLUMN reshaped;
        DROP INDEX live_by_alias; ALTER TABLE live DROP COLUMN alias;
        DELETE FROM refinery_schema_history WHERE version >= 5";
    connection.execute_batch(back).unwrap();
    drop(connection);
    assert_eq!(
        inspect(dir.path()).unwrap(),
        Some(LogState {
            schema: 4,
            head: Offset::new(40),
            compacted: Compacted::default(),
            floors: Vec::new()
        })
    );
    let log = packing(dir.path());
    lives(&log, "pod", 0..4, 40).await;
    settled(dir.path());
    log.stop();
    assert_eq!(examine(dir.path(), &mut |_, _| {}).unwrap().unwrap().findings, []);
}
