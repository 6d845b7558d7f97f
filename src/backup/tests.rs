//! Backups of a real log: whole or none, and put back without losing anything.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::*;
use strandline_clock::SystemClock;
use strandline_log::{LogReader, LogWriter};
use strandline_model::{CatalogFact, ClusterSpec, Offset, Source};
use strandline_query::testing::{block_on, record};
use strandline_sqlite::redaction_key;

const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

/// Lets a log hold this many more facts.
fn grow(data: &Path, count: usize) {
    record(data, Arc::new(SystemClock), |appender| async move {
        for n in 0..count {
            let fact = CatalogFact::Cluster(ClusterSpec { name: format!("c{n}"), region: "eu".into() });
            appender.declare(Source::Config, vec![fact]).await.unwrap();
        }
    });
}

/// A data directory with a history, and room for copies.
fn world() -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let (data, copy) = (folder.path().join("data"), folder.path().join("copies/first"));
    fs::create_dir(&data).unwrap();
    grow(&data, 40);
    redaction_key(&data).unwrap();
    (folder, data, copy)
}

fn head(data: &Path) -> ([u8; 16], Offset) {
    let log = LogReader::open(data).unwrap();
    let head = log.head().unwrap();
    (log.hash_at(head).unwrap(), head)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn what_comes_back_is_what_was_there_with_its_key_and_goes_on() {
    let (folder, data, copy) = world();
    let manifest = backup(&data, &copy, NOW).unwrap();
    assert_eq!((manifest.head, manifest.has_key()), (head(&data).1, true));
    assert_eq!(names(&copy), ["backup.json", "log.db", "log.head", "redaction.key"]);
    assert_eq!(names(&folder.path().join("copies")), ["first"], "nothing is left beside it");
    let restored = folder.path().join("restored");
    assert_eq!(restore(&copy, &restored, false, NOW).unwrap(), Restored { manifest, aside: None });
    assert_eq!(head(&restored), head(&data));
    assert_eq!(redaction_key(&restored).unwrap(), redaction_key(&data).unwrap());
    grow(&restored, 1);
    assert!(head(&restored).1 > head(&data).1);
}

#[test]
fn a_backup_is_one_moment_of_a_log_that_goes_on() {
    let (_folder, data, copy) = world();
    let (writer, appender) = LogWriter::open(&data, Arc::new(SystemClock)).unwrap();
    let thread = std::thread::spawn(move || writer.run());
    let declare = |n: usize| {
        let fact = CatalogFact::Cluster(ClusterSpec { name: format!("later{n}"), region: "eu".into() });
        block_on(appender.declare(Source::Config, vec![fact])).unwrap().head
    };
    let before = declare(0);
    let made = std::thread::scope(|scope| {
        let made = scope.spawn(|| backup(&data, &copy, NOW).unwrap());
        let last = (1..).map(declare).find(|_| made.is_finished()).unwrap();
        (made.join().unwrap().head, last)
    });
    assert!(before <= made.0 && made.0 <= made.1, "{before} {made:?}");
    drop(appender);
    thread.join().unwrap().unwrap();
    let restored = data.with_file_name("restored");
    restore(&copy, &restored, false, NOW).unwrap();
    assert_eq!(head(&restored).0, LogReader::open(&data).unwrap().hash_at(made.0).unwrap());
}

#[test]
fn nothing_is_overwritten_unless_it_is_moved_aside() {
    let (folder, data, copy) = world();
    backup(&data, &copy, NOW).unwrap();
    assert!(matches!(backup(&data, &copy, NOW), Err(BackupError::Exists { .. })));
    let refused = restore(&copy, &data, false, NOW).unwrap_err();
    assert!(refused.to_string().contains("log.db"), "{refused}");
    grow(&data, 3);
    let newer = head(&data);
    let restored = restore(&copy, &data, true, NOW).unwrap();
    assert_eq!(head(&data).1, restored.manifest.head);
    assert_eq!(head(&restored.aside.unwrap()), newer);
    let held = DirectoryLock::acquire(&data).unwrap();
    assert!(matches!(restore(&copy, &data, true, NOW), Err(BackupError::Lock(_))));
    drop(held);
    let empty = folder.path().join("empty");
    assert!(matches!(backup(&empty, &copy.with_extension("2"), NOW), Err(BackupError::NoLog { .. })));
}

#[test]
fn half_a_backup_is_none_and_is_made_anew() {
    let (folder, data, copy) = world();
    let partial = folder.path().join("copies/first.partial");
    fs::create_dir_all(&partial).unwrap();
    fs::write(partial.join("log.db"), "begun, then killed").unwrap();
    let restored = folder.path().join("restored");
    assert!(matches!(restore(&partial, &restored, false, NOW), Err(BackupError::NoBackup { .. })));
    assert!(!restored.exists());
    backup(&data, &copy, NOW).unwrap();
    assert_eq!(names(&folder.path().join("copies")), ["first"]);
}

#[test]
fn a_backup_that_is_not_as_it_was_made_is_not_restored() {
    let (folder, data, copy) = world();
    backup(&data, &copy, NOW).unwrap();
    let restored = folder.path().join("restored");
    type Damage<'a> = (&'a str, &'a dyn Fn(&Path));
    let damages: [Damage<'_>; 5] = [
        ("digest", &|copy| {
            let file = fs::OpenOptions::new().write(true).open(copy.join("log.db")).unwrap();
            file.write_all_at(b"\xff", 5000).unwrap();
        }),
        ("bytes", &|copy| {
            fs::OpenOptions::new().write(true).open(copy.join("log.db")).unwrap().set_len(8192).unwrap();
        }),
        ("No such file", &|copy| fs::remove_file(copy.join("redaction.key")).unwrap()),
        ("its format is", &|copy| {
            let path = copy.join("backup.json");
            let text = fs::read_to_string(&path).unwrap().replace("\"version\": 1", "\"version\": 9");
            fs::write(path, text).unwrap();
        }),
        ("is invalid", &|copy| fs::write(copy.join("backup.json"), "{").unwrap()),
    ];
    for (n, (word, damage)) in damages.iter().enumerate() {
        let copy = folder.path().join(format!("copies/{n}"));
        backup(&data, &copy, NOW).unwrap();
        damage(&copy);
        let refused = restore(&copy, &restored, false, NOW).unwrap_err();
        assert!(
            refused.to_string().contains(word) && refused.hint().is_some() || n == 2,
            "{word}: {refused}"
        );
        assert!(!restored.exists(), "{word}");
    }
}

#[test]
fn a_damaged_log_makes_no_backup() {
    let (_folder, data, copy) = world();
    let log = rusqlite::Connection::open(data.join("log.db")).unwrap();
    log.execute(r#"UPDATE change SET observed_at = observed_at + 1 WHERE "offset" = 7"#, []).unwrap();
    drop(log);
    let refused = backup(&data, &copy, NOW).unwrap_err();
    assert!(refused.to_string().contains("offset 7"), "{refused}");
    assert!(!copy.exists());
}

#[test]
fn what_retention_has_left_is_kept_and_told() {
    let (folder, data, copy) = world();
    record(&data, Arc::new(SystemClock), |appender| async move {
        appender.compact(Offset::new(20)).await.unwrap();
        while !appender.sweep(1000).await.unwrap().done {}
    });
    let manifest = backup(&data, &copy, NOW).unwrap();
    assert_eq!(manifest.complete_from, Offset::new(20));
    let restored = folder.path().join("restored");
    restore(&copy, &restored, false, NOW).unwrap();
    assert_eq!(head(&restored), head(&data));
    let left = |data: &Path| LogReader::open(data).unwrap().after(Offset::ZERO, 1000).unwrap();
    assert_eq!(left(&restored), left(&data));
    grow(&restored, 1);
}
