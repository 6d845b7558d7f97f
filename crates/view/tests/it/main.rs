//! The view against the log: the same after a rebuild, and at every offset what a fold in memory gives.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod build;
mod catalog;
mod coverage;
mod due;
mod events;
mod fold;
mod graph;
mod inventories;
mod regions;
mod stored;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use rusqlite::Connection;

use self::fold::{Told, fold, uid_of, world};
use strandline_clock::SystemClock;
use strandline_log::{Appender, Batch, Begin, LogReader, Observed, Phase};
use strandline_model::*;
use strandline_query::testing::{self, block_on, judged_fields, observation};
use strandline_query::{EnvironmentFilter, PageRequest, Queries, ResourceFilter, Scope};
use strandline_query::{GetEnvironment, ListEnvironmentResources, ListEnvironments};
use strandline_sqlite::Watermark;
use strandline_view::ruleset::RuleSet;
use strandline_view::*;

/// What happens to a small cluster, of few names so that they meet often.
#[derive(Clone, Debug)]
enum Step {
    /// Object n (of kind n % 3) is owned by another (or none), labelled and marked or not, with a health.
    Apply {
        n: usize,
        owner: Option<usize>,
        carries: Carries,
        health: usize,
        incarnation: usize,
    },
    Delete {
        n: usize,
    },
    Relist {
        kept: BTreeSet<usize>,
    },
    Gap {
        kind: usize,
    },
    Watch {
        kind: usize,
    },
    Exclude {
        kind: usize,
    },
    /// A gap that was over when it was recorded.
    Late {
        kind: usize,
    },
    /// It is watched again, and nothing was missed.
    Resume {
        kind: usize,
    },
    /// One environment looks so, and there may be a second that looks otherwise.
    Declare {
        look: usize,
        second: bool,
    },
    /// An Event takes a state.
    Say(events::Saying),
    /// An Event is dropped, by whichever door it was seen.
    Forget {
        event: usize,
    },
}

/// What an object carries by which environments find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Carries {
    Nothing,
    Label,
    Mark,
    Both,
}

impl Carries {
    const ALL: [Carries; 4] = [Carries::Nothing, Carries::Label, Carries::Mark, Carries::Both];
}

/// Where environments look: namespace, label and mark, each wanted or not.
const LOOKS: [(&str, bool, bool); 5] = [
    ("shop", false, false),
    ("shop", true, false),
    ("", false, true),
    ("shop", false, true),
    ("", true, true),
];

const KINDS: [&str; 3] = ["Deployment", "ReplicaSet", "Pod"];
const OBJECTS: usize = 9;
/// Where the kinds with Events' two doors end.
const EVENTS_END: usize = KINDS.len() + EVENT_API_GROUPS.len();

/// With them the discovery of a group, and that of the whole cluster.
const WATCHES: usize = EVENTS_END + 2;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let carries = prop::sample::select(Carries::ALL.to_vec());
    let apply = (0..OBJECTS, prop::option::of(0..OBJECTS), carries, 0..7_usize, 0..2_usize).prop_map(
        |(n, owner, carries, health, incarnation)| Step::Apply { n, owner, carries, health, incarnation },
    );
    let step = prop_oneof![
        8 => apply,
        2 => (0..OBJECTS).prop_map(|n| Step::Delete { n }),
        1 => prop::collection::btree_set(0..OBJECTS, 0..OBJECTS).prop_map(|kept| Step::Relist { kept }),
        1 => (0..WATCHES).prop_map(|kind| Step::Gap { kind }),
        1 => (0..WATCHES).prop_map(|kind| Step::Watch { kind }),
        1 => (0..KINDS.len()).prop_map(|kind| Step::Exclude { kind }),
        1 => (0..KINDS.len()).prop_map(|kind| Step::Late { kind }),
        1 => (0..KINDS.len()).prop_map(|kind| Step::Resume { kind }),
        1 => (0..LOOKS.len(), any::<bool>()).prop_map(|(look, second)| Step::Declare { look, second }),
        4 => events::sayings().prop_map(Step::Say),
        1 => (0..events::EVENTS).prop_map(|event| Step::Forget { event }),
    ];
    prop::collection::vec(step, 1..80)
}

/// The watch of a kind; those of Events by either door stand after the others.
fn watch(kind: usize) -> WatchKey {
    let kind = match KINDS.get(kind) {
        Some(name) => Kind::new("", *name),
        None if kind < EVENTS_END => Kind::new(EVENT_API_GROUPS[kind - KINDS.len()], "Event"),
        None if kind == EVENTS_END => Kind::new("apps", ""),
        None => Kind::new("", ""),
    };
    WatchKey { cluster: "one".into(), kind, namespace: String::new() }
}

/// The namespace of an object; the last two are in none.
fn namespace(n: usize) -> &'static str {
    if n < OBJECTS - 2 { "shop" } else { "" }
}

fn uid(n: usize, incarnation: usize) -> String {
    format!("uid-{n}-{incarnation}")
}

fn observed(step: &Step, version: usize) -> Observed {
    let Step::Apply { n, owner, carries, health, incarnation } = step else { panic!("{step:?}") };
    let owners: Vec<_> = owner
        .iter()
        .map(|o| serde_json::json!({"kind": KINDS[o % 3], "name": format!("o{o}"), "uid": uid(*o, 0)}))
        .collect();
    let (labelled, marked) = (*carries != Carries::Mark, *carries != Carries::Label);
    let one = |has: bool, name: &str, value: &str| {
        if has && *carries != Carries::Nothing {
            serde_json::json!({name: value})
        } else {
            serde_json::json!({})
        }
    };
    let (labels, annotations) =
        (one(labelled, "app", "web"), one(marked, "config.k8s.io/owning-inventory", "shop-1"));
    let mut body = serde_json::json!({
        "apiVersion": "v1", "kind": KINDS[n % 3],
        "metadata": {"name": format!("o{n}"), "namespace": namespace(*n), "uid": uid(*n, *incarnation),
            "labels": labels, "annotations": annotations, "ownerReferences": owners},
    });
    body.as_object_mut().unwrap().extend(judged_fields(*health));
    Observed::Applied(observation(
        namespace(*n),
        &format!("o{n}"),
        &uid(*n, *incarnation),
        version as u64,
        &body,
    ))
}

fn environment(name: &str, look: usize) -> CatalogFact {
    let (namespace, labelled, marked) = LOOKS[look % LOOKS.len()];
    let labels = if labelled { BTreeMap::from([("app".into(), "web".into())]) } else { BTreeMap::new() };
    let inventory = marked.then(|| Inventory::CliUtils("shop-1".into()));
    let target = TargetSpec {
        cluster: "one".into(),
        namespace: namespace.into(),
        labels: Some(labels),
        inventory,
        ..TargetSpec::default()
    };
    CatalogFact::from(EnvironmentSpec {
        id: EnvironmentId::new(name),
        targets: vec![target],
        ..EnvironmentSpec::new("shop/web", name)
    })
}

async fn play(appender: &Appender, steps: &[Step]) {
    let looked_at = CoverageMark::watched(WatchKey::discovery("one", ""), Timestamp::from_micros(1));
    appender.mark(looked_at).await.unwrap();
    let mut epochs = Vec::new();
    for kind in 0..EVENTS_END {
        epochs.push(appender.begin(Begin::new(&watch(kind), true)).await.unwrap().epoch);
    }
    for (version, step) in (1..).zip(steps) {
        let batch = |kind: usize, phase, observed, epochs: &[_]| Batch {
            watch: watch(kind),
            epoch: epochs[kind],
            phase,
            observed,
            cursor: Some(ResourceVersion::new(version.to_string())),
        };
        match step {
            Step::Apply { n, .. } => {
                let seen = vec![observed(step, version)];
                appender.append(batch(n % 3, Phase::Watch, seen, &epochs)).await.unwrap();
            }
            Step::Delete { n } => {
                let gone = |incarnation| Observed::Deleted {
                    namespace: namespace(*n).into(),
                    name: format!("o{n}"),
                    uid: Uid::new(uid(*n, incarnation)),
                    resource_version: ResourceVersion::new(version.to_string()),
                };
                appender.append(batch(n % 3, Phase::Watch, vec![gone(0), gone(1)], &epochs)).await.unwrap();
            }
            Step::Relist { kept } => {
                for kind in 0..EVENTS_END {
                    epochs[kind] = appender.begin(Begin::new(&watch(kind), true)).await.unwrap().epoch;
                    let apply = |n: &usize| {
                        let n = *n;
                        let carries = Carries::Both;
                        let step = Step::Apply { n, owner: None, carries, health: n % 7, incarnation: 0 };
                        observed(&step, version)
                    };
                    let seen = kept.iter().filter(|n| *n % 3 == kind).map(apply).collect();
                    appender.append(batch(kind, Phase::ListEnd, seen, &epochs)).await.unwrap();
                }
            }
            Step::Say(said) => {
                let seen = vec![events::observed(said, version)];
                appender.append(batch(KINDS.len() + said.door, Phase::Watch, seen, &epochs)).await.unwrap();
            }
            Step::Forget { event } => {
                let (name, uid) = events::name(*event);
                for kind in KINDS.len()..EVENTS_END {
                    let gone = Observed::Deleted {
                        namespace: "shop".into(),
                        name: name.clone(),
                        uid: Uid::new(uid.as_str()),
                        resource_version: ResourceVersion::new(version.to_string()),
                    };
                    appender.append(batch(kind, Phase::Watch, vec![gone], &epochs)).await.unwrap();
                }
            }
            Step::Gap { kind } => mark(appender, *kind, CoverageState::Gap).await,
            Step::Watch { kind } => mark(appender, *kind, CoverageState::Watched).await,
            Step::Exclude { kind } => mark(appender, *kind, CoverageState::Excluded).await,
            Step::Late { kind } => {
                let gap = CoverageMark::gap(watch(*kind), Timestamp::from_micros(1), "late", "");
                appender.mark(gap.closed(Timestamp::from_micros(2))).await.unwrap();
            }
            Step::Resume { kind } => {
                let mark = CoverageMark::watched(watch(*kind), Timestamp::from_micros(1));
                appender.mark(CoverageMark { nothing_missed: true, ..mark }).await.unwrap();
            }
            Step::Declare { look, second } => {
                let cluster = ClusterSpec { name: "one".into(), region: "eu".into() };
                let mut facts = vec![environment("one", *look), CatalogFact::Cluster(cluster)];
                facts.extend(second.then(|| environment("two", look + 2)));
                appender.declare(Source::Config, facts).await.unwrap();
            }
        }
    }
}

async fn mark(appender: &Appender, kind: usize, state: CoverageState) {
    let reason = if state == CoverageState::Gap { "forbidden" } else { "" };
    let mark = CoverageMark::new(watch(kind), state, Timestamp::from_micros(1), reason, "");
    appender.mark(mark).await.unwrap();
}

fn record(directory: &Path, steps: &[Step]) {
    testing::record(directory, Arc::new(SystemClock), |appender| async move { play(&appender, steps).await });
}

/// Every table of a view, row by row in order.
fn dump(directory: &Path) -> BTreeMap<String, Vec<String>> {
    let view = Connection::open(path(directory)).unwrap();
    let mut tables =
        view.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").unwrap();
    let names: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let rows = |name: &String| {
        let mut statement = view.prepare(&format!("SELECT * FROM {name}")).unwrap();
        let columns = statement.column_count();
        let mut rows: Vec<String> = statement
            .query_map([], |row| {
                let values: Vec<_> = (0..columns).map(|n| row.get::<_, rusqlite::types::Value>(n)).collect();
                Ok(format!("{values:?}"))
            })
            .unwrap()
            .map(Result::unwrap)
            .collect();
        rows.sort();
        rows
    };
    names.iter().map(|name| (name.clone(), rows(name))).collect()
}

/// Projects in small bites, with a restart after each.
fn project_in_bites(directory: &Path) {
    loop {
        let mut projector = Projector::open(directory, ProjectorOptions::small(RuleSet::default())).unwrap();
        if projector.step().unwrap().is_none() {
            break;
        }
    }
}

/// What a fold tells after each record, and before the first.
fn history(records: &[Record]) -> events::History {
    let offsets = || 0..=records.len();
    let folds = |name| offsets().map(|n| fold(&records[..n], name)).collect();
    let looks = |name| offsets().map(|n| world(&records[..n], name).looks_into()).collect();
    let mut heard = vec![events::Heard::default()];
    for record in records {
        let mut next = heard[heard.len() - 1].clone();
        next.take(&record.change);
        heard.push(next);
    }
    let alive = |n| world(&records[..n], "").objects.values().map(|(_, object, _)| uid_of(object)).collect();
    events::History {
        heard,
        told: ["one", "two"].map(|name| (name, folds(name))).into(),
        looks: ["one", "two"].map(|name| (name, looks(name))).into(),
        alive: offsets().map(alive).collect(),
    }
}

async fn told(queries: &Queries, offset: Offset, name: &str) -> Option<Told> {
    let (scope, at, id) = (Scope::everything(), At::Offset(offset), EnvironmentId::new(name));
    let environment = queries.ask(&scope, at, GetEnvironment::new(&id)).await.ok()?.value;
    let page = PageRequest { limit: 500, after: None };
    let resources = queries
        .ask(&scope, at, ListEnvironmentResources::new(&id, &ResourceFilter::default(), &page))
        .await
        .unwrap()
        .items;
    let counted = environment.health.counts.total();
    assert_eq!(counted, resources.len() as u64, "counts and list agree at {offset}");
    Some(Told {
        members: resources.into_iter().map(|r| (r.id.as_str().to_owned(), r.health)).collect(),
        state: environment.health.state,
    })
}

/// A circle of two, of which one matches; then it no longer does.
#[test]
fn a_circle_of_owners_ends_with_its_last_match() {
    use Carries::{Label, Nothing};
    let apply = |n, owner, carries| Step::Apply { n, owner: Some(owner), carries, health: 0, incarnation: 0 };
    let dir = tempfile::tempdir().unwrap();
    let declare = Step::Declare { look: 1, second: false };
    let below = apply(2, 1, Nothing);
    record(dir.path(), &[declare, apply(0, 1, Label), apply(1, 0, Nothing), below, apply(0, 1, Nothing)]);
    project_in_bites(dir.path());
    let queries = testing::queries(dir.path(), Arc::new(SystemClock));
    let members = |offset: u64| {
        let told = block_on(told(&queries, Offset::new(offset), "one")).unwrap();
        told.members.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(members(6), [uid(0, 0), uid(1, 0), uid(2, 0)]);
    assert_eq!(members(7), [""; 0]);
}

#[test]
fn a_gap_makes_unknown_and_what_was_known_goes_on_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let declare = Step::Declare { look: 1, second: false };
    let apply = Step::Apply { n: 0, owner: None, carries: Carries::Label, health: 0, incarnation: 0 };
    record(dir.path(), &[declare, apply, Step::Gap { kind: 0 }, Step::Watch { kind: 0 }]);
    project_in_bites(dir.path());
    let queries = testing::queries(dir.path(), Arc::new(SystemClock));
    let health = |offset: u64| {
        let (scope, id) = (Scope::everything(), EnvironmentId::new("one"));
        block_on(async {
            queries
                .ask(&scope, At::Offset(Offset::new(offset)), GetEnvironment::new(&id))
                .await
                .unwrap()
                .value
                .health
        })
    };
    let (before, during, after) = (health(4), health(5), health(6));
    assert_eq!((before.state, before.last_known), (Some(Health::Healthy), None));
    assert_eq!((during.state, during.last_known), (Some(Health::Unknown), Some(Health::Healthy)));
    assert_eq!(during.since, Timestamp::from_micros(1), "since the moment that the mark tells");
    assert_eq!((after.state, after.last_known, after.since), (before.state, None, before.since));
}

proptest! {
    #![proptest_config(strandline_testkit::cases(48))]

    #[test]
    fn a_rebuild_gives_every_table_as_it_was(steps in steps()) {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = steps.split_at(steps.len() / 2);
        record(dir.path(), first);
        project_in_bites(dir.path());
        record(dir.path(), second);
        project_in_bites(dir.path());
        let incremental = dump(dir.path());
        build(dir.path(), ProjectorOptions::small(RuleSet::default()), &Watermark::default()).unwrap();
        prop_assert!(is_current(dir.path()));
        prop_assert_eq!(dump(dir.path()), incremental);
    }

    #[test]
    fn at_every_offset_the_view_tells_what_a_fold_tells(steps in steps()) {
        let dir = tempfile::tempdir().unwrap();
        record(dir.path(), &steps);
        project_in_bites(dir.path());
        let records = LogReader::open(dir.path()).unwrap().after(Offset::ZERO, 100_000).unwrap();
        let queries = testing::queries(dir.path(), Arc::new(SystemClock));
        let history = history(&records);
        block_on(async {
            for n in 0..=records.len() {
                let offset = Offset::new(n as u64);
                for (name, expected) in &history.told {
                    assert_eq!(told(&queries, offset, name).await, expected[n], "{name} at {offset}");
                }
                history.agrees(&queries, n).await;
                assert_eq!(coverage::told(&queries, offset).await, coverage::fold(&records[..n]), "at {offset}");
            }
            let list = queries
                .ask(&Scope::everything(), At::Now, ListEnvironments::new(&EnvironmentFilter::default(), &PageRequest::default()))
                .await
                .unwrap();
            assert!(list.items.len() <= 2);
        });
    }
}
