//! What leaves a log and enters another is the same history; what is no history enters none.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod audit;
mod objects;
mod refusals;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use strandline_clock::testing::ManualClock;
use strandline_log::{ChangeType, Entry, LogReader};
use strandline_model::{At, EnvironmentFilter, EnvironmentId, Offset, Timestamp};
use strandline_query::testing::{self, Event, Remark, Thing, World, block_on, environment, small_history};
use strandline_query::{
    ListClusters, ListEnvironmentResources, ListEnvironments, PageRequest, ResourceFilter, Scope,
};
use strandline_view::ruleset::RuleSet;
use strandline_view::{Projector, ProjectorOptions};

const NOW: Timestamp = Timestamp::from_micros(1_790_900_000_000_000);

/// Everything that a log says.
pub(super) fn entries(directory: &Path) -> Vec<Entry> {
    let mut log = LogReader::open(directory).unwrap();
    let (mut entries, mut at) = (Vec::<Entry>::new(), Offset::ZERO);
    loop {
        entries.extend(log.entries_after(at, 1000).unwrap());
        match entries.last().map(|entry| entry.offset) {
            Some(last) if last > at => at = last,
            _ => break,
        }
    }
    assert_eq!(entries.last().map_or(Offset::ZERO, |entry| entry.offset), log.head().unwrap());
    // Numbers of resources are the log's own.
    entries.into_iter().map(|entry| Entry { id: strandline_model::ResourceId(0), ..entry }).collect()
}

fn hash(directory: &Path) -> [u8; 16] {
    let log = LogReader::open(directory).unwrap();
    log.hash_at(log.head().unwrap()).unwrap()
}

/// Exports all of a log into a file beside others.
pub(super) fn exported(directory: &Path, folder: &TempDir, name: &str, selection: &Selection) -> PathBuf {
    let path = folder.path().join(name);
    export_file(directory, selection, NOW, &path).unwrap();
    path
}

/// What a directory answers at an offset.
fn answers(directory: &Path, offset: Offset) -> Vec<Value> {
    let clock = Arc::new(ManualClock::default());
    clock.set(NOW);
    let queries = testing::queries(directory, clock);
    let (scope, at, page) =
        (Scope::everything(), At::Offset(offset), PageRequest { limit: 500, ..PageRequest::default() });
    block_on(async {
        let filter = EnvironmentFilter::default();
        let environments = queries.ask(&scope, at, ListEnvironments::new(&filter, &page)).await.unwrap();
        let mut told = vec![serde_json::to_value(&environments).unwrap()];
        for environment in environments.items {
            let resources = ResourceFilter::default();
            let held = queries
                .ask(&scope, at, ListEnvironmentResources::new(&environment.id, &resources, &page))
                .await
                .unwrap();
            told.push(serde_json::to_value(held).unwrap());
        }
        told.push(
            serde_json::to_value(queries.ask(&scope, at, ListClusters::new(&page)).await.unwrap()).unwrap(),
        );
        told
    })
}

fn project(directory: &Path) {
    let mut projector = Projector::open(directory, ProjectorOptions::small(RuleSet::default())).unwrap();
    while projector.step().unwrap().is_some() {}
}

fn event() -> impl Strategy<Value = Event> {
    let thing = (0..6usize, 0..3usize, 0..4usize, 0..7usize).prop_map(|(n, kind, app, health)| {
        let (api_version, kind) = [("v1", "Pod"), ("apps/v1", "Deployment"), ("v1", "ConfigMap")][kind];
        let app = ["", "web", "db", "web"][app].to_owned();
        let pod = Thing::pod(["east", "west"][n % 2], "shop", &format!("thing-{n}"));
        Thing { app, health, ..pod }.of(api_version, kind)
    });
    let declare = (0..4u8).prop_map(|mask| {
        let all = [("web", "production"), ("db", "staging")];
        let some = all.iter().enumerate().filter(|(n, _)| mask & (1 << n) != 0);
        Event::Declare(
            some.map(|(_, (app, name))| environment("shop/web", name, &[("east", "shop", app)])).collect(),
        )
    });
    prop_oneof![
        6 => thing.clone().prop_map(Event::Apply),
        3 => thing.clone().prop_map(Event::Delete),
        1 => thing.prop_map(|about| Event::Say(Remark { about, reason: "BackOff", count: 2, by_name: false })),
        1 => any::<bool>().prop_map(|gap| testing::mark("east", "Pod", "", gap)),
        2 => declare,
    ]
}

/// Export, import, and nothing is different: not one answer at any offset, and not one line of another export.
fn comes_back_the_same(events: Vec<Event>) {
    let world = World::new(events);
    let folder = tempfile::tempdir().unwrap();
    let first = exported(world.directory(), &folder, "first", &Selection::default());
    let data = folder.path().join("data");
    let imported = import_log(&[first], &data).unwrap();
    assert_eq!((imported.head, imported.written), (world.head(), world.head().get()));
    assert_eq!(entries(&data), entries(world.directory()));
    assert_eq!(hash(&data), hash(world.directory()), "the chain is the same");
    project(&data);
    for offset in 1..=world.head().get() {
        let offset = Offset::new(offset);
        assert_eq!(answers(&data, offset), answers(world.directory(), offset), "at {offset}");
    }
    let second = exported(&data, &folder, "second", &Selection::default());
    let again = folder.path().join("again");
    import_log(&[second], &again).unwrap();
    assert_eq!(entries(&again), entries(world.directory()));
}

#[test]
fn a_history_comes_back_as_it_was() {
    comes_back_the_same(small_history());
}

proptest! {
    #![proptest_config(strandline_testkit::cases(24))]

    #[test]
    fn whatever_is_exported_is_imported_as_it_was(events in prop::collection::vec(event(), 1..40)) {
        comes_back_the_same(events);
    }
}

#[test]
fn parts_that_follow_each_other_make_the_whole() {
    let world = World::new(small_history());
    let folder = tempfile::tempdir().unwrap();
    let until = |offset: u64| Some(At::Offset(Offset::new(offset)));
    let older = Selection { until: until(30), ..Selection::default() };
    let newer = Selection { since: until(31), ..Selection::default() };
    let [older, newer] = [("older", older), ("newer", newer)]
        .map(|(name, part)| exported(world.directory(), &folder, name, &part));
    let [together, apart, lone] = ["together", "apart", "lone"].map(|name| folder.path().join(name));
    import_log(&[newer.clone(), older.clone()], &together).unwrap();
    import_log(std::slice::from_ref(&older), &apart).unwrap();
    import_log(std::slice::from_ref(&newer), &apart).unwrap();
    for data in [&together, &apart] {
        assert_eq!((entries(data), hash(data)), (entries(world.directory()), hash(world.directory())));
    }
    // A part by itself is numbered anew, and answers as far as it tells.
    let part = import_log(&[newer], &lone).unwrap();
    assert_eq!(part.read, world.head().get() - 30);
    assert_eq!(part.written + part.skipped["unknown_object"].count, part.read);
    assert_eq!(part.head, Offset::new(part.written));
    project(&lone);
    let refused = import_log(&[older], &lone).unwrap_err();
    assert!(
        matches!(refused, TransferError::NotOlder { .. }) && refused.hint().unwrap().contains("export"),
        "{refused}"
    );
}

#[test]
fn a_selection_holds_what_was_asked_for_and_nothing_else() {
    let world = World::new(small_history());
    let folder = tempfile::tempdir().unwrap();
    let all = entries(world.directory());
    let taken = |name: &str, selection: Selection| {
        let (path, data) = (
            exported(world.directory(), &folder, name, &selection),
            folder.path().join(format!("{name}.data")),
        );
        import_log(&[path], &data).unwrap();
        let plain = |entry: Entry| Entry { offset: Offset::ZERO, ..entry };
        entries(&data).into_iter().map(plain).collect::<Vec<_>>()
    };
    let wanted = |keep: &dyn Fn(&Entry) -> bool| {
        let kept = all.iter().filter(|entry| keep(entry)).cloned();
        kept.map(|entry| Entry { offset: Offset::ZERO, ..entry }).collect::<Vec<_>>()
    };
    let of_east = Selection { clusters: vec!["east".into()], ..Selection::default() };
    assert_eq!(taken("east", of_east), wanted(&|entry| entry.key.cluster != "west"));
    let time = all[40].observed_at;
    let range = Selection {
        since: Some(At::Time(time)),
        until: Some(At::Time(all[50].observed_at)),
        ..Selection::default()
    };
    assert_eq!(
        taken("range", range),
        wanted(&|entry| {
            let within = entry.observed_at >= time && entry.observed_at <= all[50].observed_at;
            // What ends here began before, so that a part alone has nothing to end.
            within && entry.r#type != ChangeType::Deleted
        })
    );
    let id = EnvironmentId::new("shop.db.production");
    let environment = taken("environment", Selection { environments: vec![id], ..Selection::default() });
    let of_db = |entry: &&Entry| !entry.uid.is_empty();
    let names: std::collections::BTreeSet<_> =
        environment.iter().filter(of_db).map(|entry| entry.key.name.clone()).collect();
    assert!(names.contains("db-set") && names.contains("mover"), "{names:?}");
    assert!(names.iter().all(|name| name.starts_with("db") || name == "mover"), "{names:?}");
    let nobody = Selection { environments: vec![EnvironmentId::new("nobody")], ..Selection::default() };
    let refused = export_file(world.directory(), &nobody, NOW, &folder.path().join("nobody")).unwrap_err();
    assert!(matches!(refused, TransferError::NoMembers { .. }), "{refused}");
    assert!(!folder.path().join("nobody").exists());
}

#[test]
fn durations_count_from_where_a_record_ends_that_nobody_goes_on_with() {
    let world = World::new(small_history());
    let folder = tempfile::tempdir().unwrap();
    let end = LogReader::open(world.directory()).unwrap().recorded_until().unwrap().unwrap();
    let ago = Duration::from_secs(600);
    let since = |name: &str, since: At| {
        let selection = Selection { since: Some(since), ..Selection::default() };
        export_file(world.directory(), &selection, NOW, &folder.path().join(name)).unwrap()
    };
    let part = since("ago", At::Ago(ago));
    assert!(part.changes > 0 && part.from > Offset::new(1), "{part:?}");
    assert_eq!(part, since("time", At::Time(end.minus(ago))));
}

#[test]
fn what_a_watch_had_told_is_remembered_and_it_lists_again() {
    let world = World::new(small_history());
    let folder = tempfile::tempdir().unwrap();
    let path = exported(world.directory(), &folder, "log", &Selection::default());
    let data = folder.path().join("data");
    import_log(&[path], &data).unwrap();
    let seen = |directory: &Path| {
        let mut watches = LogReader::open(directory).unwrap().watches().unwrap();
        watches.retain(|(_, last_seen)| last_seen.is_some());
        watches
    };
    assert!(!seen(&data).is_empty());
    assert_eq!(seen(&data), seen(world.directory()));
    for cluster in ["east", "west"] {
        let cursors = LogReader::open(&data).unwrap().cursors(cluster).unwrap();
        assert!(cursors.iter().all(|cursor| cursor.resource_version.is_none()));
    }
}

#[test]
fn a_log_that_is_written_is_exported_up_to_a_moment() {
    let world = World::new(small_history());
    let folder = tempfile::tempdir().unwrap();
    let appender = world.write();
    let before = world.head();
    let path = folder.path().join("log");
    std::thread::scope(|scope| {
        let export =
            scope.spawn(|| export_file(world.directory(), &Selection::default(), NOW, &path).unwrap());
        for n in 0.. {
            let pod = [Thing::pod("east", "shop", &format!("later-{n}"))];
            block_on(testing::apply_all(&appender, 1000 + n, &pod));
            if export.is_finished() {
                break;
            }
        }
        assert!(export.join().unwrap().to >= before);
    });
    let data = folder.path().join("data");
    let head = import_log(&[path], &data).unwrap().head;
    assert_eq!(LogReader::open(world.directory()).unwrap().hash_at(head).unwrap(), hash(&data));
}

#[test]
fn what_retention_left_is_exported_and_tells_from_where_on_it_is_whole() {
    let world = World::new(small_history());
    let (compacted, floor) = (Offset::new(20), Offset::new(45));
    testing::record(world.directory(), Arc::new(ManualClock::default()), async |appender| {
        appender.compact(compacted).await.unwrap();
        appender.raise_floors(vec![("Pod".parse().unwrap(), floor)]).await.unwrap();
        while !appender.sweep(9).await.unwrap().done {}
        while !appender.thin(9).await.unwrap().done {}
    });
    let folder = tempfile::tempdir().unwrap();
    let (path, data) = (folder.path().join("left"), folder.path().join("data"));
    let exported = export_file(world.directory(), &Selection::default(), NOW, &path).unwrap();
    assert_eq!((exported.complete_from, exported.to), (floor, world.head()));
    let left = entries(world.directory());
    assert_eq!(exported.changes, left.len() as u64);
    let imported = import_log(&[path], &data).unwrap();
    let unknown = imported.skipped.get("unknown_object").map_or(0, |skipped| skipped.count);
    assert_eq!(imported.written + unknown, exported.changes);
    let plain = |entry: Entry| Entry { offset: Offset::ZERO, ..entry };
    let written: Vec<Entry> = entries(&data).into_iter().map(plain).collect();
    assert!(written.iter().all(|entry| left.iter().cloned().map(plain).any(|one| one == *entry)));
}
