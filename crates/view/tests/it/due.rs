//! What has lasted for too long is judged anew by the log's own time: at the same offsets whoever projects, and in order.

use std::time::Duration;

use serde_json::json;

use super::*;
use strandline_clock::testing::ManualClock;
use strandline_query::testing::{World, environment as looking, record as play_at};
use strandline_query::{
    ExplainEnvironment, GetEnvironmentOnset, GetResource, GetResourceHealth, ListEnvironments,
};
use strandline_query::{HealthFilter, OnsetFilter};

/// What happens at a time, in seconds.
#[derive(Clone, Debug)]
enum Event {
    /// A Pod says that no node has taken it for so many seconds.
    Waits(usize, u64),
    /// A node has taken it.
    Runs(usize),
    Goes(usize),
    /// Something that has nothing to do with any of them.
    Else,
    /// A mark of the clock is asked for, which says that it is so late.
    Passes,
}

fn at(second: u64) -> Timestamp {
    World::time(0).plus(Duration::from_secs(second))
}

fn name(n: usize) -> String {
    format!("pod-{n}")
}

fn pod(n: usize, version: u64, status: &serde_json::Value) -> Observed {
    let name = name(n);
    let body = json!({"apiVersion": "v1", "kind": "Pod", "status": status,
        "metadata": {"name": name, "namespace": "shop", "uid": name, "creationTimestamp": at(0)}});
    Observed::Applied(observation("shop", &name, &name, version, &body))
}

fn pods() -> WatchKey {
    WatchKey { cluster: "one".into(), kind: Kind::new("", "Pod"), namespace: String::new() }
}

async fn write(appender: &Appender, clock: &ManualClock, all: &[(u64, Event)]) {
    let epoch = appender.begin(Begin::new(&pods(), false)).await.unwrap().epoch;
    for (version, (second, event)) in (1..).zip(all) {
        let now = at(*second);
        clock.set(now);
        let observed = match event {
            Event::Waits(n, ago) => {
                let since = now.minus(Duration::from_secs(*ago));
                pod(
                    *n,
                    version,
                    &json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
                    "reason": "Unschedulable", "message": "no node", "lastTransitionTime": since}]}),
                )
            }
            Event::Runs(n) => pod(
                *n,
                version,
                &json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}),
            ),
            Event::Goes(n) => Observed::Deleted {
                namespace: "shop".into(),
                name: name(*n),
                uid: Uid::new(name(*n)),
                resource_version: ResourceVersion::new(version.to_string()),
            },
            Event::Else => {
                let metadata = json!({"name": "other", "labels": {"version": version.to_string()}});
                let body = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata});
                Observed::Applied(observation("none", "other", "other", version, &body))
            }
            Event::Passes => {
                appender.pass_time(now).await.unwrap();
                continue;
            }
        };
        let (watch, phase) = (pods(), Phase::Watch);
        appender.append(Batch { watch, epoch, phase, observed: vec![observed], cursor: None }).await.unwrap();
    }
}

/// A log in which this happened, its view, and who asks it.
struct Played {
    dir: tempfile::TempDir,
    queries: Queries,
    head: Offset,
}

fn played(all: &[(u64, Event)]) -> Played {
    let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::new(ManualClock::default()));
    clock.set(at(0));
    let now = &clock;
    play_at(dir.path(), clock.clone(), |appender| async move {
        let shop = looking("g/shop", "production", &[("one", "shop", "")]);
        appender.declare(Source::Config, vec![shop.into()]).await.unwrap();
        write(&appender, now, all).await;
    });
    project_in_bites(dir.path());
    let head = LogReader::open(dir.path()).unwrap().head().unwrap();
    let queries = testing::queries(dir.path(), clock);
    Played { dir, queries, head }
}

impl Played {
    /// The health of a Pod at an offset, its reason, and since when it has it.
    fn health(&self, n: usize, offset: u64) -> (Option<Health>, String, Timestamp) {
        let (scope, at, uid) = (Scope::everything(), At::Offset(Offset::new(offset)), Uid::new(name(n)));
        let told = block_on(self.queries.ask(&scope, at, GetResource::new(&uid, None))).unwrap();
        let told = told.value.resource;
        (told.health, told.reason, told.health_since)
    }

    /// Since when a Pod has had which health, by the sentence of each.
    fn course(&self, n: usize) -> Vec<(Timestamp, Option<Health>, String)> {
        let (scope, uid) = (Scope::everything(), Uid::new(name(n)));
        let filter = HealthFilter { since: Some(At::Time(at(0))), limit: 10 };
        let told = block_on(self.queries.ask(&scope, At::Now, GetResourceHealth::new(&uid, None, filter)));
        let told = told.unwrap().value.intervals;
        let mut told: Vec<_> = told.into_iter().map(|one| (one.from, one.health, one.message)).collect();
        told.sort();
        told
    }

    /// How the environment is at an offset, and how many of its Pods are Degraded.
    fn environment(&self, offset: u64) -> (Option<Health>, u64) {
        let (scope, at) = (Scope::everything(), At::Offset(Offset::new(offset)));
        let (filter, page) = (EnvironmentFilter::default(), PageRequest::default());
        let list = block_on(self.queries.ask(&scope, at, ListEnvironments::new(&filter, &page)));
        let health = list.unwrap().items.into_iter().find(|one| one.name == "production").unwrap().health;
        (health.state, health.counts.degraded)
    }
}

const WAITS: Option<Health> = Some(Health::Progressing);
const FAILS: Option<Health> = Some(Health::Degraded);

#[test]
fn the_first_change_after_it_is_due_says_so_whatever_it_tells_of() {
    let all = [(0, Event::Waits(0, 0)), (299, Event::Else), (301, Event::Else), (400, Event::Runs(0))];
    let played = played(&all);
    let head = played.head.get();
    let reason = || "Unschedulable".to_owned();
    assert_eq!(played.health(0, head - 3), (WAITS, reason(), at(0)));
    assert_eq!(played.health(0, head - 2), (WAITS, reason(), at(0)));
    assert_eq!(played.health(0, head - 1), (FAILS, reason(), at(300)), "since it was due");
    assert_eq!(played.health(0, head).0, Some(Health::Healthy));
    let environments = [3, 2, 1, 0].map(|before| played.environment(head - before));
    assert_eq!(environments, [(WAITS, 0), (WAITS, 0), (FAILS, 1), (Some(Health::Healthy), 0)]);
    let told = |second, health, message: &str| (at(second), health, message.to_owned());
    let expected = [told(0, WAITS, ""), told(300, FAILS, "no node"), told(400, Some(Health::Healthy), "")];
    assert_eq!(played.course(0), expected);
}

/// What waits for too long is why, and what came within the window before that is its onset.
#[test]
fn what_has_waited_for_too_long_is_told_with_why_and_onset() {
    let played =
        played(&[(0, Event::Waits(0, 0)), (0, Event::Runs(1)), (301, Event::Else), (302, Event::Else)]);
    let (scope, id) = (Scope::everything(), EnvironmentId::new("g.shop.production"));
    let why = block_on(played.queries.ask(&scope, At::Now, ExplainEnvironment::new(&id, 10))).unwrap().value;
    let [path] = &why.paths[..] else { panic!("{why:?}") };
    let sick: Vec<_> = path.steps.iter().map(|step| (step.key.name.as_str(), step.health)).collect();
    assert_eq!(sick, [("pod-0", FAILS)]);
    let onset =
        block_on(played.queries.ask(&scope, At::Now, GetEnvironmentOnset::new(&id, OnsetFilter::default())));
    let onset = onset.unwrap().value;
    let said = Offset::new(played.head.get() - 1);
    assert_eq!((onset.health, onset.offset), (Health::Degraded, said), "the change that says so");
    let sick: Vec<_> = onset.sick.iter().map(|one| (one.key.name.as_str(), one.health)).collect();
    assert_eq!(sick, [("pod-0", FAILS)]);
    let causes: Vec<_> =
        onset.causes.iter().flat_map(|one| &one.entry.resource).map(|of| &*of.key.name).collect();
    assert_eq!(causes[0], "pod-0", "{causes:?}");
}

#[test]
fn what_changes_or_goes_before_it_is_due_is_not_judged_anew() {
    let all = [
        (0, Event::Waits(0, 0)),
        (0, Event::Waits(1, 0)),
        (0, Event::Waits(2, 0)),
        (299, Event::Goes(0)),
        (299, Event::Runs(1)),
        (299, Event::Waits(2, 0)),
        (300, Event::Passes),
        (598, Event::Else),
    ];
    let played = played(&all);
    let head = played.head.get();
    assert_eq!(played.environment(head), (WAITS, 0));
    assert_eq!((played.health(1, head).0, played.health(2, head).0), (Some(Health::Healthy), WAITS));
    assert_eq!(played.health(2, head).2, at(0), "it waits on");
}

#[test]
fn what_tells_of_the_resource_itself_is_its_next_state() {
    let played = played(&[(0, Event::Waits(0, 0)), (600, Event::Runs(0))]);
    let told = played.course(0);
    assert!(told.iter().all(|(_, health, _)| *health != FAILS), "nobody was told so: {told:?}");
}

#[test]
fn what_had_waited_for_long_when_it_was_seen_is_judged_so_at_once() {
    let played = played(&[(0, Event::Waits(0, 300)), (0, Event::Waits(1, 299))]);
    let head = played.head.get();
    // Not before it was made.
    assert_eq!((played.health(0, head).0, played.health(1, head).0), (WAITS, WAITS));
    let later = self::played(&[(500, Event::Waits(0, 300)), (500, Event::Waits(1, 299))]);
    let head = later.head.get();
    assert_eq!((later.health(0, head).0, later.health(1, head).0), (FAILS, WAITS));
    assert_eq!(later.health(0, head).2, at(500), "since it was seen");
}

#[test]
fn many_are_judged_anew_at_one_mark() {
    const MANY: usize = 300;
    let mut all: Vec<_> = (0..MANY).map(|n| (n as u64 / 100, Event::Waits(n, 0))).collect();
    all.extend([(400, Event::Passes), (401, Event::Passes)]);
    let played = played(&all);
    let head = played.head.get();
    assert_eq!(played.environment(head - 2), (WAITS, 0));
    assert_eq!(played.environment(head - 1), (FAILS, MANY as u64));
    let due = Connection::open(path(played.dir.path())).unwrap();
    let left: i64 = due
        .query_row(
            "SELECT count(*) FROM version WHERE later_at IS NOT NULL AND later_offset IS NULL",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(left, 0);
}

/// Of a log whose beginning was let go, with the change that said so, the earliest moment that is left says the same.
#[test]
fn the_earliest_moment_that_is_kept_says_how_late_it_is() {
    let all = [(0, Event::Waits(0, 0)), (1, Event::Runs(1)), (301, Event::Goes(1)), (302, Event::Else)];
    let played = played(&all);
    let floor = Offset::new(played.head.get() - 1);
    assert_eq!(played.health(0, floor.get()).0, FAILS);
    let clock = Arc::new(ManualClock::default());
    clock.set(at(303));
    play_at(played.dir.path(), clock, |appender| async move {
        appender.compact(floor).await.unwrap();
        while !appender.sweep(40).await.unwrap().done {}
    });
    build(played.dir.path(), ProjectorOptions::small(RuleSet::default()), &Watermark::default()).unwrap();
    played.queries.reopen();
    assert_eq!((played.health(0, floor.get()).0, played.environment(floor.get())), (FAILS, (FAILS, 1)));
}

fn events() -> impl Strategy<Value = Vec<(u64, Event)>> {
    let pods = 0..4_usize;
    let event = prop_oneof![
        4 => (pods.clone(), prop::sample::select(vec![0_u64, 1, 200, 299, 400])).prop_map(|(n, ago)| Event::Waits(n, ago)),
        1 => pods.clone().prop_map(Event::Runs),
        1 => pods.prop_map(Event::Goes),
        2 => Just(Event::Else),
        2 => Just(Event::Passes),
    ];
    let step = (prop::sample::select(vec![0_u64, 0, 1, 100, 299, 300, 1000]), event);
    prop::collection::vec(step, 1..30).prop_map(|steps| {
        let mut now = 0;
        let absolute = |(after, event)| {
            now += after;
            (now, event)
        };
        steps.into_iter().map(absolute).collect()
    })
}

proptest! {
    #![proptest_config(strandline_testkit::cases(32))]

    #[test]
    fn a_view_that_judges_anew_is_built_anew_as_it_was(all in events()) {
        let played = played(&all);
        let incremental = dump(played.dir.path());
        build(played.dir.path(), ProjectorOptions::small(RuleSet::default()), &Watermark::default()).unwrap();
        prop_assert_eq!(dump(played.dir.path()), incremental);
    }
}
