//! What is damaged is noticed, located, and never papered over.

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::chain::HeadFile;

/// A log with everything in it: objects that change and end, coverage, the catalog, cursors.
async fn furnished(directory: &Path) {
    let log = start(directory);
    let watched = CoverageMark::watched(pods(), Timestamp::from_micros(1));
    let cluster = CatalogFact::Cluster(ClusterSpec { name: "one".into(), region: "eu".into() });
    log.appender.declare(Source::Config, vec![cluster]).await.unwrap();
    log.appender.identify("one", "uid-of-one").await.unwrap();
    let session = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    log.appender.append(batch(session.epoch, Phase::ListEnd, vec![], "1")).await.unwrap();
    log.appender.mark(watched).await.unwrap();
    for n in 1..=60 {
        let (name, body) = (["a", "b", "c"][n as usize % 3], body_of(n));
        let seen = vec![pod(name, &format!("uid-{name}"), n, &body)];
        log.appender.append(batch(session.epoch, Phase::UpToDate, seen, &n.to_string())).await.unwrap();
    }
    let gone = Observed::Deleted {
        namespace: "shop".into(),
        name: "c".into(),
        uid: Uid::new("uid-c"),
        resource_version: ResourceVersion::new("61"),
    };
    log.appender.append(batch(session.epoch, Phase::UpToDate, vec![gone], "61")).await.unwrap();
    log.stop();
}

fn body_of(n: u64) -> String {
    let text = "the same in every version of each object, or nearly so; ".repeat(8);
    format!("{{\"n\":{n},\"text\":\"{text}\"}}")
}

fn tamper(directory: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(directory.join("log.db")).unwrap();
    connection.execute_batch("PRAGMA foreign_keys = OFF").unwrap();
    connection.execute_batch(sql).unwrap();
}

fn examined(directory: &Path) -> Examination {
    examine(directory, &mut |_, _| {}).unwrap().unwrap()
}

/// What was found, in short: place, harm and offsets.
type Found = (String, Harm, Option<(u64, u64)>);

fn found(directory: &Path) -> Vec<Found> {
    let short = |finding: Finding| {
        (finding.place, finding.harm, finding.offsets.map(|(first, last)| (first.get(), last.get())))
    };
    examined(directory).findings.into_iter().map(short).collect()
}

/// Every file of a folder.
fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    files.sort();
    files
}

fn copy_into(files: &[(PathBuf, Vec<u8>)], directory: &Path) {
    for (path, bytes) in files {
        fs::write(directory.join(path.file_name().unwrap()), bytes).unwrap();
    }
}

#[tokio::test]
async fn a_sound_log_is_read_in_full_and_left_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(examine(dir.path(), &mut |_, _| {}).unwrap(), None);
    furnished(dir.path()).await;
    let before = files(dir.path());
    let mut told = Vec::new();
    let sound = examine(dir.path(), &mut |done, all| told.push((done, all))).unwrap().unwrap();
    assert_eq!((sound.head, sound.changes, sound.findings), (Offset::new(64), 64, vec![]));
    assert_eq!(told.last(), Some(&(64, 64)));
    assert!(files(dir.path()) == before, "nothing is written");
}

#[tokio::test]
async fn damage_is_located_by_table_offset_time_and_resource() {
    use Harm::{Beside, Body, Link, Missing};
    let (one, range) = (|at: u64| Some((at, at)), |first: u64, last: u64| Some((first, last)));
    let cases = [
        ("DELETE FROM change WHERE \"offset\" BETWEEN 12 AND 14", "change", Missing, range(12, 14)),
        ("UPDATE change SET observed_at = observed_at + 1 WHERE \"offset\" = 30", "change", Link, one(30)),
        ("UPDATE change SET hash = zeroblob(16) WHERE \"offset\" = 30", "change", Link, one(30)),
        ("UPDATE change SET body = zeroblob(9) WHERE \"offset\" = 62", "change", Body, one(62)),
        ("UPDATE change SET body_hash = zeroblob(16) WHERE \"offset\" = 62", "change", Link, one(62)),
        (
            "UPDATE live SET keyframe = 5 WHERE subject_id = (SELECT id FROM subject WHERE name = 'b')",
            "live",
            Beside,
            None,
        ),
        (
            "DELETE FROM live WHERE subject_id = (SELECT id FROM subject WHERE name = 'b')",
            "live",
            Beside,
            None,
        ),
        ("UPDATE cursor SET kind_id = 77", "cursor", Beside, None),
        ("ALTER TABLE manager RENAME COLUMN subresource TO other", "sqlite_schema", Beside, None),
    ];
    for (damage, place, harm, offsets) in cases {
        let dir = tempfile::tempdir().unwrap();
        furnished(dir.path()).await;
        tamper(dir.path(), damage);
        let found = found(dir.path());
        assert!(found.contains(&(place.to_owned(), harm, offsets)), "{damage}: {found:?}");
    }
}

#[tokio::test]
async fn a_damaged_keyframe_is_told_with_what_is_stored_against_it() {
    let dir = tempfile::tempdir().unwrap();
    furnished(dir.path()).await;
    let keyframe = "SELECT min(\"offset\") FROM change WHERE subject_id = (SELECT id FROM subject WHERE name = 'b') AND base IS NULL";
    tamper(dir.path(), &format!("UPDATE change SET body = zeroblob(40) WHERE \"offset\" = ({keyframe})"));
    let findings = examined(dir.path()).findings;
    let touched: Vec<&str> =
        findings.iter().flat_map(|finding| &finding.touched).map(|key| key.name.as_str()).collect();
    assert!(touched.len() == 16 && touched.iter().all(|name| *name == "b"), "{findings:#?}");
    assert!(findings[1].what.contains("the keyframe it is stored against"), "{}", findings[1]);
    let (after, before) = findings[1].time;
    assert!(after.unwrap() <= before.unwrap());
    let told = findings[0].to_string();
    assert!(told.starts_with("change, offset ") && told.contains("; affected: "), "{told}");
}

/// Bits by chance, the same at each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// All that a log tells, or that it refuses to.
fn all(directory: &Path) -> Option<(Vec<strandline_model::Record>, Vec<Cursor>)> {
    let mut reader = LogReader::open(directory).ok()?;
    let records = reader.after(Offset::ZERO, 1000).ok()?;
    Some((records, reader.cursors("one").ok()?))
}

#[tokio::test]
async fn a_flipped_bit_anywhere_is_noticed_or_changes_nothing() {
    let (still, live) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    furnished(still.path()).await;
    // The same while it is written: most of it stands in the WAL alone.
    furnished(live.path()).await;
    let running = start(live.path());
    let session = running.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    for n in 100..140 {
        let seen = vec![pod("d", "uid-d", n, &body_of(n))];
        running.appender.append(batch(session.epoch, Phase::Watch, seen, "9")).await.unwrap();
    }
    let sources = [files(still.path()), files(live.path())];
    running.stop();
    let mut chance = Chance(11);
    let mut noticed = 0;
    for source in &sources {
        let whole = tempfile::tempdir().unwrap();
        copy_into(source, whole.path());
        let expected = all(whole.path()).unwrap();
        let names = ["log.db", "log.db-wal", "log.head"];
        let damaged: Vec<usize> = (0..source.len())
            .filter(|n| names.iter().any(|name| source[*n].0.ends_with(name)) && !source[*n].1.is_empty())
            .collect();
        for _ in 0..120 {
            let mut files = source.clone();
            // The index of the WAL is made anew where it is missing.
            files.retain(|(path, _)| !path.ends_with("log.db-shm"));
            let file = damaged[chance.below(damaged.len())];
            let path = source[file].0.clone();
            let bytes = &mut files.iter_mut().find(|(name, _)| *name == path).unwrap().1;
            let (byte, bit) = (chance.below(bytes.len()), chance.below(8));
            bytes[byte] ^= 1 << bit;
            let dir = tempfile::tempdir().unwrap();
            copy_into(&files, dir.path());
            match examine(dir.path(), &mut |_, _| {}) {
                Ok(Some(examination)) if examination.findings.is_empty() => {
                    let told = all(dir.path());
                    let place = format!("bit {bit} of byte {byte} of {}", path.display());
                    assert!(
                        told.as_ref() == Some(&expected),
                        "{place} changed what is told, and was not noticed"
                    );
                }
                _ => noticed += 1,
            }
        }
    }
    assert!(noticed > 60, "most bits mean something; {noticed} were noticed");
}

/// A log whose newest changes were in a WAL that is gone.
async fn beheaded(directory: &Path) {
    furnished(directory).await;
    let (base, head) = (tempfile::tempdir().unwrap(), directory.join("log.head"));
    copy_into(&files(directory), base.path());
    let log = start(directory);
    let session = log.appender.begin(Begin::new(&pods(), false)).await.unwrap();
    for n in 100..105 {
        let seen = vec![pod("d", "uid-d", n, &body_of(n))];
        log.appender.append(batch(session.epoch, Phase::Watch, seen, &n.to_string())).await.unwrap();
    }
    log.stop();
    let acknowledged = fs::read(&head).unwrap();
    copy_into(&files(base.path()), directory);
    fs::write(head, acknowledged).unwrap();
}

#[tokio::test]
async fn a_lost_end_is_refused_until_it_is_accepted_and_stays_a_gap() {
    let dir = tempfile::tempdir().unwrap();
    beheaded(dir.path()).await;
    assert_eq!(found(dir.path()), [("change".to_owned(), Harm::End, Some((65, 69)))]);
    let refused = LogWriter::open(dir.path(), Arc::new(SystemClock)).unwrap_err();
    assert!(refused.is_damage() && matches!(refused, LogError::Truncated { .. }), "{refused}");

    let accepted = accept_loss(dir.path(), &SystemClock).unwrap().unwrap();
    let expected =
        AcceptedLoss { found: Offset::new(64), recorded: Offset::new(69), watches: 1, head: Offset::new(65) };
    assert_eq!(accepted, expected);
    assert_eq!(examined(dir.path()).findings, []);
    let mut reader = LogReader::open(dir.path()).unwrap();
    let last_seen = reader.cursors("one").unwrap()[0].last_seen.unwrap();
    let Change::Coverage(gap) = reader.at(Offset::new(65)).unwrap().change else { panic!("no mark") };
    assert_eq!((gap.state, gap.reason.as_str(), gap.since), (CoverageState::Gap, "lost", last_seen));
    assert!(gap.message.contains("65 to 69"), "{}", gap.message);

    let log = start(dir.path());
    let session = log.appender.begin(Begin::new(&pods(), false)).await.unwrap();
    assert_eq!((session.cursor, session.last_seen), (None, Some(last_seen)), "it lists before it goes on");
    log.stop();
    assert_eq!(accept_loss(dir.path(), &SystemClock).unwrap(), None, "there is nothing more to accept");
}

#[tokio::test]
async fn only_a_lost_end_can_be_accepted() {
    let dir = tempfile::tempdir().unwrap();
    beheaded(dir.path()).await;
    tamper(dir.path(), "UPDATE change SET observed_at = 7 WHERE \"offset\" = 40");
    let before = files(dir.path());
    let refused = accept_loss(dir.path(), &SystemClock).unwrap_err();
    assert!(matches!(refused, LogError::Damaged { .. }), "{refused}");
    let dir = tempfile::tempdir().unwrap();
    copy_into(&before, dir.path());
    let head = HeadFile::new(dir.path());
    head.write(Offset::new(50), &[7; 16]).unwrap();
    tamper(dir.path(), "DELETE FROM change WHERE \"offset\" <= 40");
    assert!(accept_loss(dir.path(), &SystemClock).is_err(), "another history is no lost end");
}

#[tokio::test]
async fn what_can_be_read_is_salvaged_with_gaps_for_what_cannot() {
    let (dir, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    furnished(dir.path()).await;
    let whole = told(dir.path());
    tamper(
        dir.path(),
        "DELETE FROM change WHERE \"offset\" BETWEEN 20 AND 22; UPDATE change SET type = 2 WHERE \"offset\" = 40",
    );
    let damaged = files(dir.path());
    let salvaged = salvage(dir.path(), target.path(), &mut |_, _| {}).unwrap();
    assert!(files(dir.path()) == damaged, "the damaged log stays as it is");
    assert_eq!(examined(target.path()).findings, []);
    let lost: Vec<usize> = salvaged
        .findings
        .iter()
        .filter_map(|finding| finding.offsets)
        .flat_map(|(first, last)| first.get() as usize..=last.get() as usize)
        .collect();
    assert!([20, 21, 22, 40].iter().all(|offset| lost.contains(offset)), "{lost:?}");
    let sound: Vec<&String> =
        whole.iter().enumerate().filter(|(n, _)| !lost.contains(&(n + 1))).map(|(_, told)| told).collect();
    let copy = told(target.path());
    assert_eq!(copy.len() as u64, salvaged.head.get());
    let is_mark = |told: &&String| ["Gap", "Watched"].contains(&told.as_str());
    let copied: Vec<&String> = copy.iter().filter(|told| !is_mark(told)).collect();
    let expected: Vec<&String> = sound.into_iter().filter(|told| !is_mark(told)).collect();
    assert_eq!(copied, expected);
    let gaps = copy.iter().filter(|told| *told == "Gap").count();
    // One is that of the cluster's declaration.
    assert_eq!((gaps, copy.last().map(String::as_str)), (4, Some("Gap")), "{copy:#?}");

    let refused = salvage(dir.path(), target.path(), &mut |_, _| {}).unwrap_err();
    assert!(matches!(refused, LogError::Taken { .. }), "{refused}");
    let log = start(target.path());
    let session = log.appender.begin(Begin::new(&pods(), false)).await.unwrap();
    assert_eq!(session.cursor, None, "every watch lists anew");
    let list = vec![pod("a", "uid-a", 60, &body_of(60)), pod("b", "uid-b", 58, &body_of(58))];
    let done = log.appender.append(batch(session.epoch, Phase::ListEnd, list, "70")).await.unwrap();
    assert_eq!(
        done.written, 2,
        "what is alive is recorded once more, for its last state may be among the lost ones"
    );
    log.stop();
}
