//! What is erased is in no file, no answer and no export, and backups that hold it are named.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::fs;
use std::sync::Arc;

use serde_json::Value;

use super::*;
use crate::transfer::{self, Selection};
use strandline_clock::SystemClock;
use strandline_clock::testing::ManualClock;
use strandline_log::LogReader;
use strandline_model::{At, Change, EnvironmentFilter, Offset, Timestamp};
use strandline_query::testing::{self, Event, Thing, World, block_on, environment};
use strandline_query::{ListEnvironmentResources, ListEnvironments, PageRequest, ResourceFilter, Scope};
use strandline_view::ruleset::RuleSet;
use strandline_view::{Projector, ProjectorOptions};

const NOW: Timestamp = Timestamp::from_micros(1_790_900_000_000_000);
const SECRET: &str = "hunter-two-and-a-half";

fn request() -> Request {
    Request {
        values: vec![SECRET.into()],
        uid: None,
        by: "ana".into(),
        reason: "leaked".into(),
        backups: Vec::new(),
    }
}

/// A data directory in which a label held a secret for a while, and the folder in which it lies with a backup.
fn leaked() -> (tempfile::TempDir, PathBuf) {
    let thing = |app: &str, n: usize| {
        let pod = Thing::pod("east", "shop", &format!("web-{n}"));
        Event::Apply(Thing { app: app.to_owned(), ..pod })
    };
    let events = (0..12).map(|n| thing(if n % 5 < 2 { SECRET } else { "web" }, n % 3));
    let targets = [("east", "shop", "web")];
    let declared = Event::Declare(vec![environment("shop/web", "production", &targets)]);
    let world = World::new(std::iter::once(declared).chain(events));
    let folder = tempfile::tempdir().unwrap();
    let (data, backups) = (folder.path().join("data"), folder.path().join("backups"));
    fs::create_dir(&backups).unwrap();
    backup::backup(world.directory(), &data, NOW).unwrap();
    fs::remove_file(data.join("backup.json")).unwrap();
    fs::write(data.join(KEY_FILE), [3; 32]).unwrap();
    backup::backup(&data, &backups.join("monday"), NOW).unwrap();
    project(&data);
    (folder, data)
}

fn project(data: &Path) {
    let mut projector = Projector::open(data, ProjectorOptions::small(RuleSet::default())).unwrap();
    while projector.step().unwrap().is_some() {}
}

fn holds(directory: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    files
        .filter(|path| fs::read(path).unwrap().windows(SECRET.len()).any(|part| part == SECRET.as_bytes()))
        .collect()
}

/// What is answered at every offset.
fn answers(data: &Path) -> String {
    let head = LogReader::open(data).unwrap().head().unwrap();
    let clock = Arc::new(ManualClock::default());
    clock.set(NOW);
    let queries = testing::queries(data, clock);
    let (scope, page) = (Scope::everything(), PageRequest { limit: 500, ..PageRequest::default() });
    let mut told = Vec::<Value>::new();
    for offset in 1..=head.get() {
        let at = At::Offset(Offset::new(offset));
        block_on(async {
            let environments = queries
                .ask(&scope, at, ListEnvironments::new(&EnvironmentFilter::default(), &page))
                .await
                .unwrap();
            for environment in &environments.items {
                let filter = ResourceFilter::default();
                let held = queries
                    .ask(&scope, at, ListEnvironmentResources::new(&environment.id, &filter, &page))
                    .await
                    .unwrap();
                told.push(serde_json::to_value(held).unwrap());
            }
        });
    }
    let mut log = LogReader::open(data).unwrap();
    let bodies = log.after(Offset::ZERO, 1000).unwrap();
    format!("{told:?} {:?}", bodies.iter().map(|record| record.change.body()).collect::<Vec<_>>())
}

#[test]
fn what_is_erased_is_in_no_file_no_answer_and_no_export() {
    let (folder, data) = leaked();
    assert!(!holds(&data).is_empty(), "the view holds it as it is");
    assert!(answers(&data).contains(SECRET));
    let looked = look(&data, &request(), &mut |_| {}).unwrap();
    let files = holds(&data);
    let report = erase(&data, &request(), &SystemClock, &mut |_| {}).unwrap();
    assert_eq!((looked.found.clone(), files.is_empty()), (report.found, false), "looking changes nothing");
    assert_eq!(looked.found.holders[0].fields.iter().collect::<Vec<_>>(), ["metadata.labels.app"]);
    assert_eq!(report.elsewhere, []);
    assert_eq!(holds(&data), Vec::<PathBuf>::new());
    project(&data);
    assert_eq!(holds(&data), Vec::<PathBuf>::new());
    let told = answers(&data);
    assert!(!told.contains(SECRET) && told.contains("redacted:"));
    let export = folder.path().join("export");
    transfer::export_file(&data, &Selection::default(), NOW, &export).unwrap();
    let lines = zstd::decode_all(fs::File::open(&export).unwrap()).unwrap();
    let lines = String::from_utf8(lines).unwrap();
    assert!(!lines.contains(SECRET) && lines.contains("recorded_digest"));
    let imported = folder.path().join("imported");
    transfer::import_log(std::slice::from_ref(&export), &imported).unwrap();
    let bodies = |data: &Path| -> Vec<String> {
        let records = LogReader::open(data).unwrap().after(Offset::ZERO, 1000).unwrap();
        records.iter().map(|record| record.change.body().to_owned()).collect()
    };
    assert_eq!(bodies(&imported), bodies(&data));
    assert_eq!(strandline_log::examine(&imported, &mut |_, _| {}).unwrap().unwrap().findings, []);
    // A body that is not what the export says is noticed.
    let altered = lines.replacen("\"web-1\"", "\"web-9\"", 1);
    fs::write(&export, zstd::encode_all(altered.as_bytes(), 1).unwrap()).unwrap();
    transfer::import_log(&[export], &folder.path().join("other")).unwrap_err();
}

#[test]
fn a_backup_that_holds_it_is_named_and_can_be_cleaned() {
    let (folder, data) = leaked();
    let backups = folder.path().join("backups");
    let with_backups = Request { backups: vec![backups.clone()], ..request() };
    fs::write(data.join("notes.txt"), format!("do not use {SECRET}")).unwrap();
    let report = erase(&data, &with_backups, &SystemClock, &mut |_| {}).unwrap();
    let named: Vec<_> = report.elsewhere.iter().map(|place| (place.path.clone(), place.changes)).collect();
    let monday = backups.join("monday");
    assert_eq!(named, [(monday.clone(), Some(report.found.changes)), (data.join("notes.txt"), None)]);
    fs::remove_file(data.join("notes.txt")).unwrap();
    erase(&monday, &request(), &SystemClock, &mut |_| {}).unwrap();
    let report = erase(&data, &with_backups, &SystemClock, &mut |_| {}).unwrap();
    assert_eq!(report.elsewhere, []);
    let restored = folder.path().join("restored");
    backup::restore(&monday, &restored, false, NOW).unwrap();
    assert_eq!(look(&restored, &request(), &mut |_| {}).unwrap().found.changes, 0);
    // One that was broken off before its manifest was written is brought to its end, another log is not.
    let manifest = fs::read(monday.join("backup.json")).unwrap();
    let other = Request { values: vec!["production".into()], ..request() };
    erase(&monday, &other, &SystemClock, &mut |_| {}).unwrap();
    fs::write(monday.join("backup.json"), &manifest).unwrap();
    backup::restore(&monday, &folder.path().join("not"), false, NOW).unwrap_err();
    erase(&monday, &other, &SystemClock, &mut |_| {}).unwrap();
    backup::restore(&monday, &folder.path().join("again"), false, NOW).unwrap();
    let text = String::from_utf8(manifest).unwrap();
    let forged = text.replacen("\"head_hash\": \"", "\"head_hash\": \"0", 1);
    fs::write(monday.join("backup.json"), forged).unwrap();
    assert!(matches!(
        erase(&monday, &request(), &SystemClock, &mut |_| {}),
        Err(ErasureError::Backup(backup::BackupError::OtherHead { .. }))
    ));
}

#[test]
fn what_cannot_be_meant_is_refused_and_changes_nothing() {
    let (_folder, data) = leaked();
    let head = LogReader::open(&data).unwrap().head().unwrap();
    let refused = |request: &Request| erase(&data, request, &SystemClock, &mut |_| {}).unwrap_err();
    assert!(matches!(
        refused(&Request { reason: format!("it was {SECRET}"), ..request() }),
        ErasureError::Quoted
    ));
    assert!(matches!(
        refused(&Request { values: vec!["short".into()], ..request() }),
        ErasureError::Values(_)
    ));
    let lock = DirectoryLock::acquire(&data).unwrap();
    assert!(matches!(refused(&request()), ErasureError::Lock(_)));
    drop(lock);
    let nowhere = data.join("nowhere");
    let missing = erase(&nowhere, &request(), &SystemClock, &mut |_| {}).unwrap_err();
    assert!(matches!(missing, ErasureError::NoLog { .. }) && !nowhere.exists());
    let mut log = LogReader::open(&data).unwrap();
    assert_eq!(log.head().unwrap(), head);
    assert!(
        log.after(Offset::ZERO, 1000).unwrap().iter().any(|record| {
            matches!(&record.change, Change::Applied { body, .. } if body.contains(SECRET))
        })
    );
}
