//! When something became Degraded, and what had changed before.

use std::time::Duration;

use serde_json::json;

use super::*;
use strandline_model::{CatalogFact, DeploymentId, DeploymentSpec, DeploymentStatus};

fn shop() -> EnvironmentId {
    EnvironmentId::of("shop/web", "production")
}

fn pod(health: usize) -> Event {
    Event::Apply(Thing { app: "web".into(), health, ..Thing::pod("east", "shop", "one") })
}

fn settings(health: usize) -> Event {
    let thing = Thing::pod("east", "shop", "settings").of("v1", "ConfigMap");
    Event::Apply(Thing { app: "web".into(), health, ..thing })
}

/// A failed Pod is Degraded.
const FAILED: usize = 2;

fn ask(world: &World, scope: &Scope, filter: &OnsetFilter) -> Result<Onset> {
    world.clock.set(World::time(world.last()));
    block_on(world.queries.ask(scope, At::Now, GetEnvironmentOnset::new(&shop(), *filter)))
        .map(|found| found.value)
}

/// Rank, kind and name of changes.
fn named(changes: &[OnsetChange]) -> Vec<(Rank, String)> {
    let name = |change: &OnsetChange| match (&change.entry.resource, &change.entry.deployment) {
        (Some(resource), _) => resource.key.kind.kind.clone(),
        (None, Some(deployment)) => deployment.spec.id.to_string(),
        (None, None) => String::new(),
    };
    changes.iter().map(|change| (change.rank, name(change))).collect()
}

#[test]
fn what_changed_before_is_ranked_and_what_changed_after_is_not_told() {
    let deployment = CatalogFact::Deployment(Box::new(DeploymentSpec {
        id: DeploymentId(7),
        environment: shop(),
        project: "shop/web".into(),
        status: DeploymentStatus::Running,
        reference: "main".into(),
        tag: false,
        sha: String::new(),
        job: None,
        user: "alice".into(),
        created_at: None,
        finished_at: None,
        agent: None,
        authorization: None,
    }));
    let facts: Vec<CatalogFact> = vec![environments().remove(0).into()];
    let deployed = facts.iter().cloned().chain([deployment]).collect();
    let events = [Event::Catalog(facts), pod(0), settings(0), Event::Catalog(deployed), settings(3)];
    let world = World::new(events.into_iter().chain([pod(FAILED), settings(4), Event::Nothing]));
    let found = ask(&world, &Scope::everything(), &OnsetFilter::default()).unwrap();
    assert_eq!((found.health, found.before, found.until), (Health::Degraded, Some(Health::Healthy), None));
    assert_eq!((found.from, found.not_before), (World::time(6), World::time(6)));
    let sick: Vec<_> = found.sick.iter().map(|sick| sick.key.name.as_str()).collect();
    assert_eq!(sick, ["one"]);
    let causes = named(&found.causes);
    let expected =
        [(Rank::Deployment, "7"), (Rank::Cause, "Pod"), (Rank::Cause, "Pod"), (Rank::Other, "ConfigMap")];
    assert_eq!(causes[..4], expected.map(|(rank, name)| (rank, name.to_owned())));
    let changed = &found.causes[3];
    assert_eq!(changed.entry.observed_at, World::time(5), "what came after is no cause");
    assert!(changed.differences.iter().any(|one| one.path == "spec.replicas"), "{changed:#?}");
    let short = OnsetFilter { window: Duration::from_secs(30), ..OnsetFilter::default() };
    let found = ask(&world, &Scope::everything(), &short).unwrap();
    assert_eq!(named(&found.causes), [(Rank::Cause, "Pod".to_owned())], "only what is in the window");
    let other = ask(&world, &Scope::projects(["ops/tools".to_owned()]), &short);
    assert!(matches!(other, Err(QueryError::NotFound { .. })), "whoever may not see it is told nothing");
}

#[test]
fn what_began_within_a_gap_began_somewhere_in_it() {
    let blind = |gap| mark("east", "Pod", "", gap);
    let mut events = vec![Event::Declare(environments()), blind(false), pod(0), Event::Nothing, blind(true)];
    events.extend([Event::Nothing, pod(FAILED), blind(false), Event::Nothing]);
    let world = World::new(events);
    let found = ask(&world, &Scope::everything(), &OnsetFilter::default()).unwrap();
    assert_eq!(found.before, Some(Health::Healthy));
    assert_eq!((found.not_before, found.from), (World::time(5), World::time(8)));
    assert_eq!(found.gaps.len(), 1);
    assert_eq!(named(&found.causes), [Rank::Cause; 2].map(|rank| (rank, "Pod".to_owned())));
}

#[test]
fn an_onset_that_is_not_known_is_not_invented() {
    let never = World::new([Event::Declare(environments()), pod(0), Event::Nothing]);
    let all = &Scope::everything();
    let unknown = |found: Result<Onset>| match found {
        Err(QueryError::OnsetUnknown { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let why = unknown(ask(&never, all, &OnsetFilter::default()));
    assert!(why.contains("no such health"), "{why}");
    let first = OnsetFilter { health: Some(Health::Healthy), ..OnsetFilter::default() };
    assert_eq!(ask(&never, all, &first).unwrap().before, None, "it came to be with its first resource");
}

#[test]
fn a_resource_has_an_onset_of_its_own() {
    let world = World::new([Event::Declare(environments()), pod(0), Event::Nothing, pod(FAILED), pod(3)]);
    world.clock.set(World::time(world.last()));
    let (all, uid) = (&Scope::everything(), Uid::new("shop-one"));
    let filter = &OnsetFilter { health: Some(Health::Degraded), ..OnsetFilter::default() };
    let found =
        block_on(world.queries.ask(all, At::Now, GetResourceOnset::new(&uid, None, *filter))).unwrap().value;
    assert_eq!((found.from, found.until), (World::time(4), Some(World::time(5))));
    assert_eq!(found.sick.len(), 1);
    assert_eq!(found.causes[0].steps, Some(0));
}

#[test]
fn the_same_change_in_several_clusters_is_one() {
    let targets = [("east", "shop", "web"), ("west", "shop", "web")];
    let settings = |cluster: &str, health| {
        let thing = Thing::pod(cluster, "shop", "settings").of("v1", "ConfigMap");
        Event::Apply(Thing { app: "web".into(), uid: format!("{cluster}-settings"), health, ..thing })
    };
    let declared = Event::Declare(vec![environment("shop/web", "production", &targets)]);
    let before = [declared, pod(0), settings("east", 0), settings("west", 0), Event::Nothing];
    let after = |west| [settings("east", 3), settings("west", west), pod(FAILED), Event::Nothing];
    let folded = |west| {
        let world = World::new(before.clone().into_iter().chain(after(west)));
        let short = OnsetFilter { window: Duration::from_secs(150), ..OnsetFilter::default() };
        let found = ask(&world, &Scope::everything(), &short).unwrap();
        assert_eq!(found.clusters, ["east", "west"]);
        let one = |change: &OnsetChange| {
            let also: Vec<_> =
                change.also.iter().map(|place| (place.cluster.clone(), place.observed_at)).collect();
            (change.entry.resource.as_ref().unwrap().key.cluster.clone(), change.entry.observed_at, also)
        };
        let of_settings = |change: &&OnsetChange| named(&[(*change).clone()])[0].1 == "ConfigMap";
        found.causes.iter().filter(of_settings).map(one).collect::<Vec<_>>()
    };
    let (east, west) = (("east".to_owned(), World::time(6)), ("west".to_owned(), World::time(7)));
    assert_eq!(folded(3), [(west.0.clone(), west.1, vec![east.clone()])]);
    assert_eq!(
        folded(4),
        [(west.0, west.1, vec![]), (east.0, east.1, vec![])],
        "to another value it is another"
    );
}

#[test]
fn a_node_that_goes_away_is_told_before_the_pods_that_fail_on_it() {
    let node = |ready: &str| {
        let ready = json!({"type": "Ready", "status": ready, "reason": "NodeStatusUnknown"});
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1", "uid": "node-1"},
            "spec": {}, "status": {"conditions": [ready]}});
        Event::Object(node)
    };
    let pod = |phase: &str, ready: &str| {
        let metadata = json!({"namespace": "shop", "name": "web", "uid": "web", "labels": {"app": "web"}});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"nodeName": "node-1", "containers": []},
            "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}});
        Event::Object(pod)
    };
    let config = |version: u32| {
        let metadata =
            json!({"namespace": "shop", "name": "other", "uid": "other", "labels": {"app": "web"}});
        let data = json!({"version": version.to_string()});
        Event::Object(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}))
    };
    let declared = Event::Declare(vec![environment("shop/web", "production", &[("one", "shop", "web")])]);
    let well = [declared, node("True"), pod("Running", "True"), config(1), config(2)];
    let world = World::new(well.into_iter().chain([node("Unknown"), pod("Failed", "False"), Event::Nothing]));
    let found = ask(&world, &Scope::everything(), &OnsetFilter::default()).unwrap();
    let first = &found.causes[0];
    let name = first.entry.resource.as_ref().map(|resource| resource.key.name.as_str());
    assert_eq!((first.rank, name), (Rank::Cause, Some("node-1")), "{:#?}", named(&found.causes));
    assert!(first.differences.iter().any(|one| one.path.contains("conditions")), "{first:#?}");
}
