//! What the log keeps as words and numbers is understood or told, and what could not be read again is not written.

use super::frames::{packing, settled, shaped};
use super::*;
use strandline_model::{CatalogKind, ProjectSpec};

fn alter(directory: &Path, sql: &str) {
    let log = rusqlite::Connection::open(directory.join("log.db")).unwrap();
    assert!(log.execute(sql, []).unwrap() > 0, "{sql} changes nothing");
}

fn number(directory: &Path, sql: &str) -> i64 {
    let log = rusqlite::Connection::open(directory.join("log.db")).unwrap();
    log.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn a_source_that_nobody_knows_is_not_the_configuration() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let project = ProjectSpec { path: "a/b".into(), ..ProjectSpec::default() };
    log.appender.declare(Source::Api, vec![CatalogFact::Project(project)]).await.unwrap();
    log.stop();
    alter(dir.path(), "UPDATE live SET source = 'moon' WHERE source IS NOT NULL");
    let log = start(dir.path());
    let source = |catalog: &mut Catalog<'_, '_>| {
        Ok((Vec::new(), catalog.get(CatalogKind::Project, "a/b")?.map(|held| held.source)))
    };
    let told = log.appender.decide(Source::Api, source).await;
    let error = told.map(|(_, source)| source).unwrap_err().to_string();
    assert!(
        error.contains("`live.source` contains `moon`") && error.contains("strandline doctor"),
        "{error}"
    );
    log.stop();
}

#[tokio::test]
async fn a_type_of_change_that_nobody_knows_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let epoch = log.appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch;
    log.appender.append(batch(epoch, Phase::ListEnd, vec![pod("a", "1", 5, "{}")], "7")).await.unwrap();
    log.stop();
    alter(dir.path(), "UPDATE change SET type = 99");
    let connection = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
    let row = super::super::row::at(&connection, Offset::new(1)).unwrap().unwrap();
    let error = row.change_type().unwrap_err();
    assert!(matches!(error, LogError::Damaged { offset, .. } if offset == Offset::new(1)), "{error}");
    assert!(error.to_string().contains("`change.type` is `99`, an unknown type of change"), "{error}");
}

#[tokio::test]
async fn what_could_not_be_read_again_is_refused_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    // No RFC 3339 has a year of six digits.
    let never = Timestamp::from_micros(i64::MAX);
    let refused = log.appender.mark(CoverageMark::watched(pods(), never)).await.unwrap_err();
    assert!(matches!(refused, AppendError::Unreadable(_)), "{refused}");
    assert!(refused.to_string().contains("it cannot be recorded: "), "{refused}");
    let since = Timestamp::from_micros(1);
    assert_eq!(log.appender.mark(CoverageMark::watched(pods(), since)).await.unwrap().written, 1);
    log.stop();
    assert_eq!(told(dir.path()), ["Watched"]);
}

#[tokio::test]
async fn versions_whose_list_cannot_be_read_are_not_packed() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let epoch = log.appender.begin(Begin::new(&pods(), false)).await.unwrap().epoch;
    for version in 1..=40 {
        let seen = ["a", "b"].map(|name| pod(name, name, version, &shaped("pod", 1, version)));
        log.appender.append(batch(epoch, Phase::Watch, seen.to_vec(), "1")).await.unwrap();
    }
    log.stop();
    let keyframe = number(dir.path(), "SELECT min(keyframe) FROM closed_group");
    // A number that does not end.
    alter(dir.path(), &format!("UPDATE closed_group SET deltas = x'ff' WHERE keyframe = {keyframe}"));
    let log = packing(dir.path());
    settled(dir.path());
    log.stop();
    let of = format!("FROM change WHERE (\"offset\" = {keyframe} OR base = {keyframe})");
    assert!(number(dir.path(), &format!("SELECT count(*) {of}")) > 1);
    assert_eq!(number(dir.path(), &format!("SELECT count(*) {of} AND frame_id IS NOT NULL")), 0);
    assert_eq!(number(dir.path(), &format!("SELECT count(*) {of} AND body IS NULL")), 0);
    assert!(number(dir.path(), "SELECT count(*) FROM change WHERE frame_id IS NOT NULL") > 1);
    assert_eq!(examine(dir.path(), &mut |_, _| {}).unwrap().unwrap().findings, []);
}
