//! What is erased is in no byte of the log, all else is as it was, and nothing that was not erased may differ.

use std::collections::HashMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::frames::{packing, settled, shaped};
use super::retention::sweep_all;
use super::thinning::thin_all;
use super::*;
use crate::delta::{Codec, Dictionary};
use strandline_model::{Erasure, Record};
use strandline_redact::Values;

const SECRET: &str = "Tr0ub4dor&\"3/hunter";
/// The same in Base64, wherever it begins.
const IN_BASE64: &str = "VHIwdWI0ZG9yJiIzL2h1bnRlcg==";

fn values() -> Values {
    Values::new(&[SECRET.to_owned()], &[9; 32]).unwrap()
}

fn erase_from(directory: &Path, watch: &mut dyn FnMut(EraseStep)) -> Found {
    let erasing = Erasing { values: &values(), uid: None, by: "ana@here", reason: "a ticket" };
    super::erase(directory, &erasing, &SystemClock, watch).unwrap()
}

fn erased(directory: &Path) -> Found {
    erase_from(directory, &mut |_| {})
}

/// What the log tells, by offset; of what retention let go without its text.
fn records(directory: &Path) -> Vec<Record> {
    super::retention::all(directory)
}

fn marks(records: &[Record]) -> Vec<&Erasure> {
    let mark = |record: &'_ Record| matches!(record.change, Change::Erased(_));
    records
        .iter()
        .filter(|record| mark(record))
        .filter_map(|record| match &record.change {
            Change::Erased(erasure) => Some(erasure),
            _ => None,
        })
        .collect()
}

/// A record without the secret, as it has to be afterwards.
fn without(record: &Record) -> Record {
    let mut record = record.clone();
    match &mut record.change {
        Change::Applied { body, .. } => {
            if let Some(erased) = values().erase(body) {
                *body = erased.text;
            }
        }
        Change::Coverage(mark) => mark.message = values().hide(&mark.message),
        Change::Declared { fact: CatalogFact::Cluster(cluster), .. } => {
            cluster.region = values().hide(&cluster.region);
        }
        _ => {}
    }
    record
}

/// Everything in the log's file that holds text, unpacked.
fn unpacked(directory: &Path) -> Vec<u8> {
    let log = rusqlite::Connection::open(directory.join("log.db")).unwrap();
    let blobs = |sql: &str| -> Vec<(Option<i64>, Vec<u8>)> {
        let mut statement = log.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<rusqlite::Result<_>>().unwrap()
    };
    let mut all = Vec::new();
    let mut dictionaries = HashMap::new();
    for (id, bytes) in blobs("SELECT id, bytes FROM dictionary") {
        all.extend(&bytes);
        dictionaries.insert(id, Dictionary::from_bytes(bytes));
    }
    let mut codec = Codec::default();
    let packed = "SELECT dictionary_id, bytes FROM frame UNION ALL
        SELECT dictionary_id, body FROM change WHERE base IS NULL AND body IS NOT NULL";
    for (dictionary, bytes) in blobs(packed) {
        all.extend(codec.unpack(&bytes, dictionary.map(|id| &dictionaries[&Some(id)])).unwrap());
    }
    for record in LogReader::open(directory).unwrap().entries_after(Offset::ZERO, 100_000).unwrap() {
        all.extend(record.body.as_bytes());
    }
    all
}

fn clean(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        assert!(path.is_file(), "{}", path.display());
        assert!(!values().are_in(&fs::read(&path).unwrap()), "{} holds it", path.display());
    }
    assert!(!values().are_in(&unpacked(directory)));
    assert_eq!(examine(directory, &mut |_, _| {}).unwrap().unwrap().findings, []);
    verify_whole(directory).unwrap();
}

/// A body of some size that holds the secret in one of its forms, or not at all.
fn body(object: u64, version: u64, form: u64) -> String {
    let text = match form {
        0 => SECRET.to_owned(),
        1 => serde_json::json!({ "password": SECRET }).to_string(),
        2 => IN_BASE64.to_owned(),
        _ => format!("nothing of the kind {form}"),
    };
    let shaped = shaped("pod", object, version);
    format!("{},\"said\":{}}}", shaped.trim_end_matches('}'), serde_json::Value::from(text))
}

fn pick(seed: &mut u64, below: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % below
}

/// A history in which everything happens that decides how a body is stored.
async fn history(directory: &Path, mut seed: u64, steps: u64) {
    let log = packing(directory);
    let cluster = CatalogFact::Cluster(ClusterSpec { name: "one".into(), region: format!("eu {SECRET}") });
    log.appender.declare(Source::Config, vec![cluster]).await.unwrap();
    let epoch = log.appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch;
    let said = format!("failed: {SECRET}");
    log.appender
        .mark(CoverageMark::gap(pods(), Timestamp::from_micros(1), "unavailable", said))
        .await
        .unwrap();
    let append = async |observed| {
        log.appender.append(batch(epoch, Phase::Watch, vec![observed], "1")).await.unwrap().head
    };
    for step in 1..=steps {
        let object = pick(&mut seed, 6);
        let (name, uid) = (format!("o-{object}"), format!("u-{object}"));
        let head = match pick(&mut seed, 30) {
            0 => append(super::retention::gone(&name, &uid)).await,
            _ => append(pod(&name, &uid, step, &body(object, step, pick(&mut seed, 9)))).await,
        };
        match pick(&mut seed, 60) {
            0 => {
                let to = Offset::new(pick(&mut seed, head.get()));
                log.appender.compact(to).await.unwrap();
                sweep_all(&log.appender, 13).await;
            }
            1 => {
                let to = Offset::new(pick(&mut seed, head.get()));
                log.appender.raise_floors(vec![("Pod".parse().unwrap(), to)]).await.unwrap();
                thin_all(&log.appender, 13).await;
            }
            _ => {}
        }
    }
    settled(directory);
    log.stop();
}

#[tokio::test]
async fn what_is_erased_is_in_no_byte_and_all_else_is_as_it_was() {
    for seed in 0..12 {
        let dir = tempfile::tempdir().unwrap();
        history(dir.path(), seed, 180).await;
        let (before, head) = (records(dir.path()), LogReader::open(dir.path()).unwrap().head().unwrap());
        let hash = LogReader::open(dir.path()).unwrap().hash_at(head).unwrap();
        assert!(values().are_in(&unpacked(dir.path())), "{seed}");
        let looked = find(dir.path(), &values(), None, &mut |_| {}).unwrap().unwrap();
        let found = erased(dir.path());
        assert_eq!(looked, found, "{seed}");
        clean(dir.path());
        let after = records(dir.path());
        let expected: Vec<Record> = before.iter().map(without).collect();
        assert!(expected == after[..before.len()], "{seed}");
        let marks = marks(&after);
        assert_eq!(marks.len(), after.len() - before.len());
        assert_eq!((marks[0].by.as_str(), marks[0].reason.as_str()), ("ana@here", "a ticket"));
        assert_eq!(LogReader::open(dir.path()).unwrap().hash_at(head).unwrap(), hash, "the chain stays");
        // And again, with nothing left to do but what retention and the writer do.
        assert_eq!(erased(dir.path()).changes, 0);
        assert_eq!(records(dir.path()), after);
        let log = packing(dir.path());
        let cluster = CatalogFact::Cluster(ClusterSpec { name: "one".into(), region: "eu".into() });
        log.appender.declare(Source::Config, vec![cluster]).await.unwrap();
        let epoch = log.appender.begin(Begin::new(&pods(), false)).await.unwrap().epoch;
        for version in 500..520 {
            let seen =
                (0..6).map(|n| pod(&format!("o-{n}"), &format!("u-{n}"), version, &body(n, version, 9)));
            log.appender.append(batch(epoch, Phase::Watch, seen.collect(), "1")).await.unwrap();
        }
        log.appender.compact(head).await.unwrap();
        sweep_all(&log.appender, 50).await;
        settled(dir.path());
        log.stop();
        clean(dir.path());
    }
}

#[tokio::test]
async fn a_dictionary_loses_what_it_learnt_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let log = packing(dir.path());
    let epoch = log.appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch;
    for n in 0..300 {
        // Plain text, which a dictionary takes over as it is.
        let plain = body(n, n, 9).replace("nothing of the kind", &SECRET.replace('"', "\\\""));
        let seen = vec![pod(&format!("p-{n}"), &format!("u-{n}"), n + 1, &plain)];
        log.appender.append(batch(epoch, Phase::Watch, seen, "1")).await.unwrap();
    }
    log.stop();
    let holds = |directory: &Path| {
        let log = rusqlite::Connection::open(directory.join("log.db")).unwrap();
        let mut statement = log.prepare("SELECT bytes FROM dictionary").unwrap();
        let all = statement.query_map([], |row| row.get::<_, Vec<u8>>(0)).unwrap();
        all.map(|bytes| bytes.unwrap()).any(|bytes| values().are_in(&bytes))
    };
    assert!(holds(dir.path()), "or this tests nothing");
    assert_eq!(erased(dir.path()).changes, 300);
    assert!(!holds(dir.path()));
    clean(dir.path());
}

#[tokio::test]
async fn only_the_resource_that_is_meant_loses_it() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let epoch = log.appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch;
    let seen = vec![pod("a", "ua", 1, &body(1, 1, 0)), pod("b", "ub", 2, &body(2, 1, 0))];
    log.appender.append(batch(epoch, Phase::Watch, seen, "1")).await.unwrap();
    log.stop();
    let before = records(dir.path());
    let (values, uid) = (values(), Uid::new("ub"));
    let erasing = Erasing { values: &values, uid: Some(&uid), by: "ana", reason: "" };
    let found = super::erase(dir.path(), &erasing, &SystemClock, &mut |_| {}).unwrap();
    assert_eq!((found.changes, found.holders[0].uid.as_str()), (1, "ub"));
    assert_eq!(found.holders[0].fields.iter().collect::<Vec<_>>(), ["said"]);
    let after = records(dir.path());
    assert_eq!((&after[0], &after[1]), (&before[0], &without(&before[1])));
    assert_eq!(examine(dir.path(), &mut |_, _| {}).unwrap().unwrap().findings, []);
}

#[tokio::test]
async fn what_no_mark_names_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let epoch = log.appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch;
    for n in 1..=3 {
        let seen = vec![pod(&format!("p-{n}"), &format!("u-{n}"), n, &body(n, n, (n - 1) * 5))];
        log.appender.append(batch(epoch, Phase::Watch, seen, "1")).await.unwrap();
    }
    log.stop();
    assert_eq!(erased(dir.path()).changes, 1);
    let tampered = |sql: &str| {
        let copy = tempfile::tempdir().unwrap();
        for name in ["log.db", "log.head"] {
            fs::copy(dir.path().join(name), copy.path().join(name)).unwrap();
        }
        let log = rusqlite::Connection::open(copy.path().join("log.db")).unwrap();
        log.execute_batch(sql).unwrap();
        drop(log);
        let findings = examine(copy.path(), &mut |_, _| {}).unwrap().unwrap().findings;
        findings
            .iter()
            .filter_map(|finding| finding.offsets.map(|(first, _)| first.get()))
            .collect::<Vec<_>>()
    };
    assert_eq!(tampered(""), Vec::<u64>::new());
    let other = r#"UPDATE change SET body = (SELECT body FROM change WHERE "offset" = 3) WHERE "offset" = "#;
    assert_eq!(tampered(&format!("{other} 1")), [1], "another body in place of what was left");
    assert_eq!(tampered(&format!("{other} 2")), [2], "another body of what was not erased");
    let claimed = format!("{other} 2; INSERT INTO erased VALUES (2, 4)");
    assert_eq!(tampered(&claimed), [2], "nor where a mark is said to name it");
    assert_eq!(tampered("DELETE FROM erased"), [1], "what was left without its mark");
    let forged =
        "UPDATE change SET body = (SELECT body FROM change WHERE \"offset\" = 1) WHERE \"offset\" = 4";
    assert_eq!(tampered(forged), [1, 4], "another mark");
}

#[tokio::test]
async fn broken_off_anywhere_it_changed_nothing_or_is_brought_to_its_end() {
    let made = tempfile::tempdir().unwrap();
    history(made.path(), 77, 120).await;
    let before = records(made.path());
    let expected: Vec<Record> = before.iter().map(without).collect();
    for last in [EraseStep::Written, EraseStep::Erased, EraseStep::Copied, EraseStep::Replaced] {
        let dir = tempfile::tempdir().unwrap();
        copy(made.path(), dir.path()).unwrap();
        let stop = &mut |step| assert!(step != last, "broken off");
        catch_unwind(AssertUnwindSafe(|| erase_from(dir.path(), stop))).unwrap_err();
        assert!(dir.path().join("erasing").exists());
        // Whoever opens it next brings it to its end.
        start(dir.path()).stop();
        assert!(!dir.path().join("erasing").exists(), "{last:?}");
        match last {
            EraseStep::Written => assert!(records(dir.path()) == before),
            _ => {
                assert!(records(dir.path())[..before.len()] == expected, "{last:?}");
                clean(dir.path());
            }
        }
        erased(dir.path());
        clean(dir.path());
        assert!(records(dir.path())[..before.len()] == expected, "{last:?}");
    }
}
