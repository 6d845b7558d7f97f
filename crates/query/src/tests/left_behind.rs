//! What stopped environments leave behind, and the lines that clean it up.

use super::*;
use strandline_model::EnvironmentState;

/// Environments as they are declared, the first of them stopped.
fn first_stopped(environments: &[EnvironmentSpec]) -> Event {
    let mut environments = environments.to_vec();
    environments[0].state = EnvironmentState::Stopped;
    Event::Declare(environments)
}

/// What the first environment leaves behind when all of these things were there while it was stopped: cluster,
/// namespace, how many, whether the namespace is others' too, and the line.
fn left(environments: &[EnvironmentSpec], things: &[Thing]) -> Vec<(String, u64, bool, String)> {
    let mut events = vec![Event::Declare(environments.to_vec())];
    events.extend(things.iter().cloned().map(Event::Apply));
    events.push(first_stopped(environments));
    let world = World::new(events);
    let id = environments[0].id.clone();
    let left =
        block_on(world.queries.ask(&Scope::everything(), At::Now, ListLeftBehind::new(&id))).unwrap().value;
    assert_eq!(left.resources, left.namespaces.iter().map(|left| left.resources).sum::<u64>());
    let told = left.namespaces.into_iter().map(|left| {
        let place = format!("{}/{}", left.cluster, left.namespace);
        (place, left.resources, left.shared, left.kubectl)
    });
    told.collect()
}

/// A thing of an app, in the namespace `review` of the cluster `east`.
fn thing(app: &str, kind: (&str, &str), name: &str) -> Thing {
    Thing { app: app.into(), ..Thing::pod("east", "review", name).of(kind.0, kind.1) }
}

const DEPLOYMENT: (&str, &str) = ("apps/v1", "Deployment");
const ROLLOUT: (&str, &str) = ("argoproj.io/v1alpha1", "Rollout");

fn review(apps: &[&str]) -> EnvironmentSpec {
    let targets: Vec<_> = apps.iter().map(|app| ("east", "review", *app)).collect();
    environment("shop/web", "review/login", &targets)
}

fn told(resources: u64, shared: bool, line: &str) -> Vec<(String, u64, bool, String)> {
    vec![("east/review".into(), resources, shared, line.into())]
}

#[test]
fn a_namespace_of_its_own_goes_as_a_whole() {
    let own = [
        thing("web", DEPLOYMENT, "web"),
        // Every namespace has these.
        thing("", ("v1", "ConfigMap"), "kube-root-ca.crt"),
        thing("", ("v1", "ServiceAccount"), "default"),
    ];
    let line = "kubectl --context east delete namespace review";
    assert_eq!(left(&[review(&["web"])], &own), told(1, false, line));
}

#[test]
fn what_nobody_knows_keeps_a_namespace_from_going() {
    let line = "kubectl --context east --namespace review delete Deployment.apps -l app=web";
    for other in [("v1", "Secret"), ("v1", "ConfigMap"), ("apps/v1", "ServiceAccount")] {
        let things = [thing("web", DEPLOYMENT, "web"), thing("", other, "default")];
        assert_eq!(left(&[review(&["web"])], &things), told(1, true, line), "{other:?}");
    }
    let things = [thing("web", DEPLOYMENT, "web")];
    let other = environment("shop/web", "review/search", &[("east", "review", "search")]);
    assert_eq!(left(&[review(&["web"]), other], &things), told(1, true, line));
}

#[test]
fn the_line_names_all_kinds_that_are_left_and_no_other() {
    let set = thing("web", ("apps/v1", "ReplicaSet"), "set");
    let things = [
        thing("web", ROLLOUT, "web"),
        thing("web", DEPLOYMENT, "web-2"),
        thing("web", DEPLOYMENT, "web-3"),
        thing("web", ("v1", "ServiceAccount"), "web-4"),
        // Goes with its owner, so that it need not be named.
        Thing { owner: set.uid.clone(), ..thing("", ("v1", "Pod"), "pod") },
        set,
        thing("other", ("v1", "Secret"), "other"),
    ];
    let line = "kubectl --context east --namespace review delete \
                Deployment.apps,ReplicaSet.apps,Rollout.argoproj.io,ServiceAccount -l app=web";
    assert_eq!(left(&[review(&["web"])], &things), told(6, true, line));
}

#[test]
fn where_labels_cannot_tell_names_do() {
    let names = "kubectl --context east --namespace review delete";
    let things = [
        thing("web", DEPLOYMENT, "web"),
        thing("db", ("v1", "Service"), "db"),
        thing("other", ("v1", "Secret"), "other"),
    ];
    let line = format!("{names} Deployment.apps/web Service/db");
    assert_eq!(left(&[review(&["web", "db"])], &things), told(2, true, &line), "two sets of labels");
    // The Secret is the other's too, so that it stays.
    let other = environment("shop/web", "review/search", &[("east", "review", "other")]);
    let line = format!("{names} Deployment.apps/web Service/db");
    assert_eq!(left(&[review(&[""]), other], &things), told(2, true, &line), "no labels at all");
    let many: Vec<_> = (0..200).map(|n| thing("", DEPLOYMENT, &format!("web-{n:03}"))).collect();
    let other = environment("shop/web", "review/search", &[("east", "review", "other")]);
    assert_eq!(left(&[review(&[""]), other], &many), told(200, true, ""), "too many to name");
}

#[test]
fn what_is_gone_is_not_left() {
    let (web, pod) = (thing("web", DEPLOYMENT, "web"), thing("", ("v1", "Pod"), "pod"));
    let pod = Thing { owner: web.uid.clone(), ..pod };
    let environments = [review(&["web"])];
    let mut world = World::new([
        Event::Declare(environments.to_vec()),
        Event::Apply(web.clone()),
        Event::Apply(pod.clone()),
        Event::Apply(thing("", ("v1", "Secret"), "other")),
    ]);
    let ask = |world: &World| {
        let all = Scope::everything();
        let left = block_on(world.queries.ask(&all, At::Now, ListLeftBehind::new(&environments[0].id)))
            .unwrap()
            .value;
        (left.resources, left.namespaces.first().map(|left| left.kubectl.clone()))
    };
    assert_eq!(ask(&world), (0, None), "it is in use");
    // The Pod outlives its owner, as `kubectl delete --cascade=orphan` leaves it.
    world.go_on([first_stopped(&environments), Event::Delete(web)]);
    let line = "kubectl --context east --namespace review delete Pod/pod";
    assert_eq!(ask(&world), (1, Some(line.into())));
    world.go_on([Event::Delete(pod)]);
    assert_eq!(ask(&world), (0, None));
    world.rebuild();
    assert_eq!(ask(&world), (0, None));
}

#[test]
fn places_that_an_environment_left_before_it_was_stopped_count() {
    let (first, second, nowhere) =
        (review(&["web"]), environment("shop/web", "review/login", &[("west", "new", "web")]), review(&[]));
    let old = thing("web", DEPLOYMENT, "old");
    let new = Thing { app: "web".into(), ..Thing::pod("west", "new", "new") };
    let renamed = thing("web", ("v1", "Service"), "renamed");
    let other = Thing { app: String::new(), ..renamed.clone() };
    let mut world = World::new([
        Event::Declare(vec![first.clone()]),
        Event::Apply(old.clone()),
        Event::Apply(renamed),
        // Somebody took it out of the environment while that was looking.
        Event::Apply(other),
        Event::Declare(vec![second]),
        Event::Apply(new),
        Event::Declare(vec![nowhere.clone()]),
        first_stopped(&[nowhere]),
    ]);
    let ask = |world: &World, at: At| {
        block_on(world.queries.ask(&Scope::everything(), at, ListLeftBehind::new(&first.id))).unwrap().value
    };
    let left = ask(&world, At::Now);
    let lines: Vec<_> = left.namespaces.iter().map(|left| left.kubectl.as_str()).collect();
    assert_eq!(
        lines,
        [
            "kubectl --context east --namespace review delete Deployment.apps -l app=web",
            "kubectl --context west delete namespace new",
        ]
    );
    assert_eq!((left.resources, left.stopped_at), (2, Some(World::time(8))));
    let stopped = At::Offset(world.heads[8]);
    world.go_on([Event::Delete(old)]);
    assert_eq!(ask(&world, At::Now).resources, 1);
    assert_eq!(ask(&world, stopped), left, "then, both were there");
}

#[test]
fn what_an_environment_let_go_before_is_not_left() {
    // As long as nobody told the project's number, the whole namespace was taken for the environment's.
    let (whole, own) = (review(&[""]), review(&["web"]));
    let world = World::new([
        Event::Declare(vec![whole]),
        Event::Apply(thing("web", DEPLOYMENT, "web")),
        Event::Apply(thing("other", ("v1", "Secret"), "other")),
        Event::Declare(vec![own.clone()]),
        first_stopped(std::slice::from_ref(&own)),
    ]);
    let left = block_on(world.queries.ask(&Scope::everything(), At::Now, ListLeftBehind::new(&own.id)))
        .unwrap()
        .value;
    let line = "kubectl --context east --namespace review delete Deployment.apps -l app=web";
    assert_eq!((left.resources, left.namespaces[0].kubectl.as_str()), (1, line));
}

#[test]
fn who_sees_a_part_is_never_told_that_a_namespace_is_theirs_alone() {
    let own = thing("web", DEPLOYMENT, "web");
    let others = environment("pay/api", "review/pay", &[("east", "review", "")]);
    let told = |others: &[EnvironmentSpec], things: &[Thing]| {
        let all = [&[review(&["web"])], others].concat();
        let mut events = vec![Event::Declare(all.clone())];
        events.extend(things.iter().cloned().map(Event::Apply));
        events.push(first_stopped(&all));
        let world = World::new(events);
        let scope = Scope::projects(["shop/web".to_owned()]);
        let left =
            block_on(world.queries.ask(&scope, At::Now, ListLeftBehind::new(&all[0].id))).unwrap().value;
        left.namespaces
    };
    let alone = told(&[], std::slice::from_ref(&own));
    let line = "kubectl --context east --namespace review delete Deployment.apps -l app=web";
    assert_eq!((alone[0].shared, alone[0].kubectl.as_str()), (true, line));
    let secret = thing("", ("v1", "Secret"), "other");
    assert_eq!(told(&[], &[own.clone(), secret.clone()]), alone, "something of nobody");
    assert_eq!(told(&[others], &[own, secret]), alone, "an environment that has the whole namespace");
}
