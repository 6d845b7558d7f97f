//! A log whose files were really cut short while nothing had them open: told with what is missing and what to do, and
//! nothing that is left is taken for all there was.

use std::fs;

use super::*;
use crate::{Harm, examine, inspect, salvage};

/// How many changes the log of a test has.
const CHANGES: u64 = 400;

/// Writes objects until the log has so many changes, and tells each by its number.
async fn written(directory: &Path) {
    let log = start(directory);
    let session = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    for n in 1..=CHANGES {
        let text = format!("{{\"n\":{n},\"noise\":\"{}\"}}", noise(n));
        let seen = vec![pod(&format!("p{n}"), &format!("u{n}"), n, &text)];
        log.appender.append(batch(session.epoch, Phase::Watch, seen, "1")).await.unwrap();
    }
    log.stop();
}

/// A text that nothing packs well, so that the log has many pages.
fn noise(n: u64) -> String {
    (0..8)
        .map(|part| blake3::hash(&[n.to_le_bytes(), u64::to_le_bytes(part)].concat()).to_hex().to_string())
        .collect()
}

fn shorten(path: &Path, bytes: u64) {
    fs::File::options().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

/// The numbers of the objects that a log tells, up to the first that cannot be read.
fn told(directory: &Path) -> Vec<u64> {
    let mut reader = LogReader::open(directory).unwrap();
    let (mut numbers, mut at) = (Vec::new(), Offset::ZERO);
    while let Ok(records) = reader.after(at, 50) {
        let Some(last) = records.last() else { break };
        at = last.offset;
        numbers.extend(records.iter().filter_map(|record| match &record.change {
            Change::Applied { key, .. } => key.name.strip_prefix('p')?.parse::<u64>().ok(),
            _ => None,
        }));
    }
    numbers
}

#[tokio::test]
async fn a_file_that_was_cut_short_is_told_with_what_is_missing_and_nothing_is_written() {
    let source = tempfile::tempdir().unwrap();
    written(source.path()).await;
    let (file, head) = (source.path().join("log.db"), source.path().join("log.head"));
    let whole = fs::metadata(&file).unwrap().len();
    assert!(whole > 50 * 4096, "{whole}");
    let mut salvaged_some = false;
    for left in
        [whole - 1, whole - 4096, whole * 9 / 10, whole / 2, whole / 2 + 77, 4096, 4095, 512, 99, 7, 0]
    {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log.db");
        fs::copy(&file, &path).unwrap();
        fs::copy(&head, dir.path().join("log.head")).unwrap();
        shorten(&path, left);
        let before = fs::read(&path).unwrap();

        for refused in [
            inspect(dir.path()).map(|_| ()).unwrap_err(),
            LogWriter::open(dir.path(), Arc::new(SystemClock)).map(|_| ()).unwrap_err(),
        ] {
            assert!(refused.is_damage(), "{left} of {whole}: {refused}");
            let (said, hint) = (refused.to_string(), refused.hint().unwrap());
            assert!(hint.contains("backup") && hint.contains("doctor --data DIR"), "{said}; {hint}");
            match left {
                // As if the file had been made anew.
                0 => assert!(said.contains(&format!("offset {CHANGES} was acknowledged")), "{said}"),
                1..100 => assert!(said.contains("log.db") && said.contains("has no SQLite header"), "{said}"),
                _ => assert!(
                    said.contains("log.db")
                        && said.contains(&format!("has {left} bytes"))
                        && said.contains(&format!("{whole} were written")),
                    "{said}"
                ),
            }
            let raw = ["malformed", "not a database", "disk image"];
            assert!(!raw.iter().any(|words| said.contains(words)), "{said}");
        }
        if let Ok(Some(examination)) = examine(dir.path(), &mut |_, _| {}) {
            assert!(!examination.findings.is_empty(), "{left} of {whole}: what is not all is never sound");
            let lost = examination.findings.iter().any(|finding| {
                finding.harm == Harm::Unreadable || finding.harm == Harm::End || finding.place != "change"
            });
            assert!(lost, "{:#?}", examination.findings);
        }
        let target = tempfile::tempdir().unwrap();
        if let Ok(salvaged) = salvage(dir.path(), target.path(), &mut |_, _| {}) {
            assert!(!salvaged.findings.is_empty(), "{left} of {whole}");
            let kept = told(target.path());
            assert!(kept.is_sorted() && kept.len() < CHANGES as usize || left > whole - 4097, "{kept:?}");
            salvaged_some |= left == whole * 9 / 10 && kept.len() > CHANGES as usize / 2;
        }
        assert!(fs::read(&path).unwrap() == before, "{left} of {whole}: the damaged file was left as it was");
    }
    assert!(salvaged_some, "of a file that lost a tenth most can be copied");
}

#[tokio::test]
async fn a_wal_that_lost_its_tail_is_told_with_the_offsets_that_are_missing() {
    let (source, quiet) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let log = start(source.path());
    let session = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    for n in 1..=60 {
        let seen = vec![pod(&format!("p{n}"), &format!("u{n}"), n, &format!("{{\"n\":{n}}}"))];
        log.appender.append(batch(session.epoch, Phase::Watch, seen, "1")).await.unwrap();
    }
    // As the files stand when the power goes.
    for name in ["log.db", "log.db-wal", "log.head"] {
        fs::copy(source.path().join(name), quiet.path().join(name)).unwrap();
    }
    log.stop();
    let wal = quiet.path().join("log.db-wal");
    let whole = fs::metadata(&wal).unwrap().len();
    let all: Vec<u64> = (1..=60).collect();
    let mut kept_some = false;
    for tenth in (0..10).rev() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["log.db", "log.db-wal", "log.head"] {
            fs::copy(quiet.path().join(name), dir.path().join(name)).unwrap();
        }
        shorten(&dir.path().join("log.db-wal"), whole * tenth / 10);
        let refused = LogWriter::open(dir.path(), Arc::new(SystemClock)).map(|_| ()).unwrap_err();
        let LogError::Truncated { found, recorded } = refused else { panic!("{tenth}: {refused}") };
        assert!(recorded == Offset::new(60) && found < recorded, "{tenth}: {found} of {recorded}");
        let hint = LogError::Truncated { found, recorded }.hint().unwrap();
        assert!(hint.contains("backup") && hint.contains("--accept-loss"), "{hint}");
        if found > Offset::ZERO {
            kept_some = true;
            let findings = examine(dir.path(), &mut |_, _| {}).unwrap().unwrap().findings;
            let ends = findings.iter().any(|finding| {
                finding.harm == Harm::End && finding.offsets == Some((found.next(), recorded))
            });
            assert!(ends, "{findings:#?}");
            assert_eq!(
                told(dir.path()),
                all[..found.get() as usize],
                "what is left is the beginning, as it was"
            );
        }
    }
    assert!(kept_some, "some of it is left where the WAL lost a tenth");
}
