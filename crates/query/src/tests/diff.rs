//! What changed between two moments, and what differs between two environments.

mod clusters;

use super::*;

/// A Deployment with a ReplicaSet and Pods of it, and what stands beside them.
fn web() -> (Thing, Thing, Vec<Thing>) {
    let thing = |name: &str| Thing { app: "web".into(), ..Thing::pod("east", "shop", name) };
    let deployment = thing("web").of("apps/v1", "Deployment");
    let (set, pods) = generation(&deployment, "web-1");
    (deployment, set, pods)
}

/// A ReplicaSet of a Deployment with two Pods.
fn generation(deployment: &Thing, name: &str) -> (Thing, Vec<Thing>) {
    let thing = |name: String| Thing::pod(&deployment.cluster, &deployment.namespace, &name);
    let set = Thing { owner: deployment.uid.clone(), ..thing(name.to_owned()).of("apps/v1", "ReplicaSet") };
    let pods = ["a", "b"].map(|pod| Thing { owner: set.uid.clone(), ..thing(format!("{name}-{pod}")) });
    (set, pods.to_vec())
}

fn config(name: &str, uid: &str) -> Thing {
    Thing { app: "web".into(), uid: uid.into(), ..Thing::pod("east", "shop", name).of("v1", "ConfigMap") }
}

/// A rollout between two steps, with a ConfigMap that came, one that went, one that was replaced, and one that stayed.
fn rollout() -> (World, usize) {
    let (deployment, set, pods) = web();
    let mut events = vec![Event::Declare(environments())];
    events.extend([&deployment, &set].into_iter().chain(&pods).cloned().map(Event::Apply));
    events.extend([config("gone", "1"), config("same", "2"), config("again", "3")].map(Event::Apply));
    let before = events.len();
    let (next, fresh) = generation(&deployment, "web-2");
    // The number of its replicas stands for what was asked of it.
    events.push(Event::Apply(Thing { health: 3, ..deployment }));
    events.extend([next].into_iter().chain(fresh).map(Event::Apply));
    events.extend(pods.into_iter().map(Event::Delete));
    events.extend([Event::Delete(config("gone", "1")), Event::Apply(config("new", "4"))]);
    events.extend([Event::Delete(config("again", "3")), Event::Apply(config("again", "5"))]);
    (World::new(events), before)
}

fn id(name: &str) -> EnvironmentId {
    EnvironmentId::new(name)
}

fn changes_since(from: At) -> DiffEnvironment {
    DiffEnvironment {
        environment: id("shop.web.production"),
        from: Some(from),
        lens: Lens::new(Between::Versions, &[]),
        children: false,
        page: whole(),
    }
}

fn between(world: &World, from: usize, to: usize) -> (At, DiffEnvironment) {
    let [from, to] = [from, to].map(|step| At::Offset(world.heads[step]));
    (to, changes_since(from))
}

fn ask(
    world: &World,
    name: &str,
    (to, question): &(At, DiffEnvironment),
    page: &PageRequest,
) -> Result<EnvironmentDiff> {
    let question = DiffEnvironment { environment: id(name), page: page.clone(), ..question.clone() };
    block_on(world.queries.ask(&Scope::everything(), *to, question))
}

/// Each item in short.
fn told(diff: &EnvironmentDiff) -> Vec<String> {
    let short = |item: &ResourceChange| {
        let children = item
            .children
            .iter()
            .map(|kind| format!(" {} +{}-{}~{}", kind.kind, kind.added, kind.removed, kind.changed));
        let paths = item.comparison.differences.iter().map(|one| format!(" {}", one.path));
        let more: String = children.chain(paths).collect();
        format!("{} {}/{}{more}", item.change.as_str(), item.key.kind.kind, item.key.name)
    };
    diff.items.iter().map(short).collect()
}

#[test]
fn a_rollout_is_one_change_of_its_deployment() {
    let (world, before) = rollout();
    let request = between(&world, before, world.last());
    let found = ask(&world, "shop.web.production", &request, &whole()).unwrap();
    let expected = [
        "replaced ConfigMap/again",
        "removed ConfigMap/gone",
        "added ConfigMap/new",
        "changed Deployment/web Pod +2-2~0 ReplicaSet +1-0~0 spec.replicas",
    ];
    assert_eq!(told(&found), expected);
    let counts = DiffCounts {
        added: 1,
        removed: 1,
        replaced: 1,
        changed: 1,
        children: 5,
        same: 2,
        ..DiffCounts::default()
    };
    assert_eq!(found.counts, counts, "the old ReplicaSet and a ConfigMap are the same");
    assert_eq!((found.from.resources, found.to.resources), (7, 8));
    assert_eq!((found.from.health, found.to.health), (Some(Health::Healthy), Some(Health::Progressing)));
    let replaced = &found.items[0];
    let uids = [&replaced.before, &replaced.after].map(|side| side.as_ref().map(|at| at.id.to_string()));
    assert_eq!(uids, [Some("3".to_owned()), Some("5".to_owned())], "told that the uid is another");
}

#[test]
fn children_are_told_one_by_one_where_asked_for() {
    let (world, before) = rollout();
    let (to, question) = between(&world, before, world.last());
    let request = (to, DiffEnvironment { children: true, ..question });
    let found = ask(&world, "shop.web.production", &request, &whole()).unwrap();
    assert_eq!(found.items.len(), 9);
    assert_eq!((found.counts.added, found.counts.removed, found.counts.children), (4, 3, 0));
    assert!(told(&found).contains(&"added ReplicaSet/web-2".to_owned()), "{:?}", told(&found));
}

#[test]
fn the_same_is_answered_for_the_offsets_that_an_answer_names() {
    let (world, before) = rollout();
    world.clock.set(World::time(world.last()));
    let ago = World::time(world.last()).since(World::time(before));
    let request = (At::Now, changes_since(At::Ago(ago)));
    let first = ask(&world, "shop.web.production", &request, &whole()).unwrap();
    let (from, to) = (At::Offset(first.from.offset), At::Offset(first.to.offset));
    let again = (to, changes_since(from));
    assert_eq!(ask(&world, "shop.web.production", &again, &whole()).unwrap().items, first.items);
    assert_eq!(first.items.len(), 4);
}

#[test]
fn pages_are_parts_of_one_answer_even_while_more_happens() {
    let (mut world, before) = rollout();
    world.clock.set(World::time(world.last()));
    let ago = World::time(world.last()).since(World::time(before));
    let request = (At::Now, DiffEnvironment { children: true, ..changes_since(At::Ago(ago)) });
    let all = ask(&world, "shop.web.production", &request, &whole()).unwrap();
    let (mut pieces, mut page) = (Vec::new(), PageRequest { limit: 2, after: None });
    loop {
        let part = ask(&world, "shop.web.production", &request, &page).unwrap();
        assert_eq!(
            (part.counts, part.from.offset),
            (all.counts, all.from.offset),
            "each page counts the whole"
        );
        pieces.extend(part.items);
        world.go_on([Event::Apply(config(&format!("later-{}", pieces.len()), "9"))]);
        world.clock.set(World::time(world.last()));
        page.after = part.metadata.next;
        if page.after.is_none() {
            break;
        }
    }
    assert_eq!(pieces, all.items);
}

#[test]
fn what_is_not_told_is_counted_and_health_alone_is_told() {
    let thing = |health| Thing { app: "web".into(), health, ..Thing::pod("east", "shop", "one") };
    // Both are Degraded: the phase, told by the status, is all that differs but for the replicas.
    let world = World::new([Event::Declare(environments()), Event::Apply(thing(0)), Event::Apply(thing(2))]);
    let ask_with = |lens: Lens| {
        let (to, question) = between(&world, 2, 3);
        let request = (to, DiffEnvironment { lens, ..question });
        ask(&world, "shop.web.production", &request, &whole()).unwrap()
    };
    let rule = || "spec.replicas".parse().unwrap();
    let found = ask_with(Lens::new(Between::Versions, &[]).ignoring([rule()]));
    assert_eq!(told(&found), ["health Pod/one"]);
    assert_eq!(
        (found.items[0].comparison.hidden.ignored, found.items[0].comparison.hidden.status > 0),
        (1, true)
    );
    let status = ask_with(Lens::new(Between::Versions, &[Class::Status]).ignoring([rule()]));
    assert_eq!((status.counts.changed, status.counts.health), (1, 0));
    let finalizer = |waits_for: &str| Thing { waits_for: waits_for.into(), ..thing(2) };
    let world = World::new([
        Event::Declare(environments()),
        Event::Apply(finalizer("a")),
        Event::Apply(finalizer("b")),
    ]);
    let found = ask(&world, "shop.web.production", &between(&world, 2, 3), &whole()).unwrap();
    assert_eq!((told(&found), found.counts.hidden), (vec![], 1), "metadata was not asked for");
}

#[test]
fn what_comes_and_goes_without_being_made_or_ended_is_told_so() {
    let world = World::new(small_history());
    let (all, uid) = (Scope::everything(), Uid::new("shop-mover"));
    let page =
        block_on(world.queries.ask(&all, At::Now, ListResourceVersions::new(&uid, None, false, &whole())));
    let versions = page.unwrap().items;
    // Applied, degraded, moved, degraded there, ended: newest first.
    let [moved, before] = [2, 3].map(|place| versions[place].offset);
    let request = |from: Offset, to: Offset| (At::Offset(to), changes_since(At::Offset(from)));
    let web = ask(&world, "shop.web.production", &request(before, moved), &whole()).unwrap();
    assert_eq!((told(&web), web.counts.left), (vec!["left Pod/mover".to_owned()], 1));
    let db = ask(&world, "shop.db.production", &request(before, moved), &whole()).unwrap();
    assert_eq!((told(&db), db.counts.joined), (vec!["joined Pod/mover".to_owned()], 1));
    let scope = Scope::projects(["shop/db".to_owned()]);
    let (to, question) = request(before, moved);
    let question = DiffEnvironment { environment: id("shop.db.production"), ..question };
    let ours = block_on(world.queries.ask(&scope, to, question)).unwrap();
    assert_eq!(told(&ours), ["added Pod/mover"], "that it was elsewhere is not ours to know");
}

#[test]
fn an_environment_may_be_there_at_one_of_the_moments() {
    let world = World::new(small_history());
    let last = world.last();
    let gone = ask(&world, "ops.tools.development", &between(&world, last - 1, last), &whole()).unwrap();
    assert_eq!((gone.from.exists, gone.to.exists, gone.to.resources), (true, false, 0));
    assert_eq!(gone.counts.left, gone.items.len() as u64, "what it held is still there: {:?}", told(&gone));
    let came = ask(&world, "shop.web.production", &between(&world, 0, last), &whole()).unwrap();
    assert!(!came.from.exists && came.to.exists && came.counts.added > 0);
    let (to, question) = between(&world, 0, last);
    let day = (to, DiffEnvironment { from: None, ..question });
    let day = ask(&world, "shop.web.production", &day, &whole()).unwrap();
    assert_eq!(
        (day.from.offset, day.counts),
        (came.from.offset, came.counts),
        "a day ago there was nothing yet"
    );
    let lost = ask(&world, "nobody", &between(&world, 0, last), &whole());
    assert!(matches!(lost, Err(QueryError::NotFound { what: "environment", .. })), "{lost:?}");
    let backwards = ask(&world, "shop.web.production", &between(&world, last, 1), &whole());
    assert!(matches!(backwards, Err(QueryError::Backwards { .. })), "{backwards:?}");
}

/// The same app in two places, with one replica more, a ConfigMap here and another there.
fn two_places() -> World {
    let thing = |namespace: &str, name: &str, health| Thing {
        health,
        ..Thing::pod("east", namespace, name).of("apps/v1", "Deployment")
    };
    let declared = vec![
        environment("shop/web", "production", &[("east", "production", "")]),
        environment("shop/web", "staging", &[("east", "staging", "")]),
    ];
    let owned = |namespace: &str| Thing {
        owner: format!("{namespace}-web-{namespace}"),
        ..Thing::pod("east", namespace, "web-pod")
    };
    let config = |namespace: &str, name: &str| Thing::pod("east", namespace, name).of("v1", "ConfigMap");
    World::new([
        Event::Declare(declared),
        Event::Apply(thing("production", "web-production", 0)),
        Event::Apply(thing("staging", "web-staging", 3)),
        Event::Apply(thing("production", "api", 0)),
        Event::Apply(thing("staging", "api", 0)),
        Event::Apply(owned("production")),
        Event::Apply(config("staging", "debug")),
        Event::Apply(config("production", "limits")),
    ])
}

fn beside(world: &World, names: &[&str], children: bool) -> EnvironmentDiff {
    let show_renamed = names.contains(&"none");
    let names = names.iter().filter(|pair| **pair != "none").map(|pair| pair.parse().unwrap()).collect();
    let lens = Lens::new(Between::Environments, &[Class::Metadata]);
    let (environment, with) = (id("shop.web.staging"), id("shop.web.production"));
    let question =
        CompareEnvironments { environment, with, lens, names, show_renamed, children, page: whole() };
    block_on(world.queries.ask(&Scope::everything(), At::Now, question)).unwrap()
}

#[test]
fn two_environments_are_matched_by_names_that_stand_for_each_other() {
    let world = two_places();
    let found = beside(&world, &[], false);
    let expected = [
        "only_there ConfigMap/limits",
        "only_here ConfigMap/debug",
        "different Deployment/web-production spec.replicas",
    ];
    assert_eq!(told(&found), expected);
    assert_eq!(found.names, ["staging:production"]);
    assert_eq!((found.counts.same, found.counts.different), (1, 1));
    assert_eq!(found.items[2].before.as_ref().map(|at| at.name.as_str()), Some("web-staging"));
    let renamed = beside(&world, &["none"], false);
    assert_eq!(told(&renamed)[..2], expected[..2], "matched as before");
    assert!(renamed.names.is_empty() && renamed.counts.renamed == 0);
    let unmapped = beside(&world, &["x:y"], false);
    assert_eq!((unmapped.counts.only_here, unmapped.counts.only_there, unmapped.counts.same), (2, 2, 1));
    assert_eq!(beside(&world, &[], true).counts.only_there, 2, "the Pod too");
}

#[test]
fn each_cluster_is_held_against_the_nearest_and_what_is_the_same_is_told_once() {
    let mut production =
        environment("shop/web", "production/us", &[("us-east", "prod", ""), ("us-west", "prod", "")]);
    production.slug = "production-us-x1y2z3".into();
    let staging = environment("shop/web", "staging", &[("us-west", "stage", "")]);
    let thing = |cluster: &str, namespace: &str, kind: (&str, &str), name: &str, health| {
        let thing = Thing::pod(cluster, namespace, name).of(kind.0, kind.1);
        Event::Apply(Thing { health, uid: format!("{cluster}-{namespace}-{name}"), ..thing })
    };
    let (deployment, config) = (("apps/v1", "Deployment"), ("v1", "ConfigMap"));
    let world = World::new([
        Event::Declare(vec![production, staging]),
        thing("us-west", "stage", deployment, "web", 0),
        thing("us-east", "prod", deployment, "web", 3),
        thing("us-west", "prod", deployment, "web", 3),
        thing("us-west", "stage", deployment, "api", 0),
        thing("us-east", "prod", deployment, "api", 0),
        thing("us-west", "prod", deployment, "api", 3),
        thing("us-west", "stage", config, "staging", 0),
        thing("us-east", "prod", config, "production-us-x1y2z3", 0),
        thing("us-west", "prod", config, "production-us-x1y2z3", 0),
        thing("us-east", "prod", config, "east-only", 0),
        thing("us-west", "stage", config, "stage-only", 0),
    ]);
    let lens = Lens::new(Between::Environments, &[Class::Metadata]);
    let with = EnvironmentId::of("shop/web", "production/us");
    let ask = |environment: EnvironmentId, with: EnvironmentId| {
        let (lens, page) = (lens.clone(), whole());
        let question = CompareEnvironments {
            environment,
            with,
            lens,
            names: vec![],
            show_renamed: false,
            children: false,
            page,
        };
        block_on(world.queries.ask(&Scope::everything(), At::Now, question)).unwrap()
    };
    let found = ask(id("shop.web.staging"), with.clone());
    let clusters = |diff: &EnvironmentDiff| -> Vec<String> {
        let all = diff.items.iter().map(|item| {
            let clusters = item.clusters.as_ref().unwrap();
            format!("{} {} {:?} {:?}", item.change.as_str(), item.key.name, clusters.before, clusters.after)
        });
        all.collect()
    };
    let expected = [
        r#"only_there east-only [] ["us-east"]"#,
        r#"only_here stage-only ["us-west"] []"#,
        r#"different api ["us-west"] ["us-west"]"#,
        r#"different web ["us-west"] ["us-east", "us-west"]"#,
    ];
    assert_eq!(clusters(&found), expected);
    assert_eq!(
        (found.counts.same, found.counts.different),
        (1, 2),
        "the ConfigMap is the same but for the slug"
    );
    assert_eq!(found.to.clusters, ["us-east", "us-west"]);
    let expected = [
        r#"only_here east-only ["us-east"] []"#,
        r#"only_there stage-only [] ["us-west"]"#,
        r#"different api ["us-west"] ["us-west"]"#,
        r#"different web ["us-east", "us-west"] ["us-west"]"#,
    ];
    assert_eq!(clusters(&ask(with, id("shop.web.staging"))), expected, "the other way round");
}

#[test]
fn who_may_see_only_one_of_two_environments_may_not_compare_them() {
    let world = two_places();
    let lens = Lens::new(Between::Environments, &[]);
    let (environment, with) = (id("shop.web.staging"), id("shop.web.production"));
    let question = CompareEnvironments {
        environment,
        with,
        lens,
        names: vec![],
        show_renamed: false,
        children: false,
        page: whole(),
    };
    let scope = Scope::projects(["shop/other".to_owned()]);
    let found = block_on(world.queries.ask(&scope, At::Now, question));
    assert!(matches!(found, Err(QueryError::NotFound { .. })), "{found:?}");
}

fn one(world: &World, uid: &str, from: Option<At>, to: At, lens: Lens) -> Result<Answer<ResourceDiff>> {
    let resource = ResourceRef::new(&Uid::new(uid), Some("east"));
    block_on(world.queries.ask(&Scope::everything(), to, DiffResource { resource, from, lens }))
}

#[test]
fn a_resource_is_compared_with_the_version_before_or_with_any() {
    let world = World::new(small_history());
    let page = block_on(world.queries.ask(
        &Scope::everything(),
        At::Now,
        ListResourceVersions::new(&Uid::new("shop-mover"), None, true, &whole()),
    ));
    let versions = page.unwrap().items;
    let [end, last, first] = [&versions[0], &versions[1], &versions[versions.len() - 1]];
    let gone = one(&world, "shop-mover", None, At::Now, Lens::whole()).unwrap().value;
    assert_eq!((gone.from.offset, gone.to.version), (last.offset, None), "its end is its newest version");
    assert!(gone.comparison.differences.iter().all(|one| one.change == DifferenceType::Removed));
    let came = one(&world, "shop-mover", None, At::Offset(first.offset), Lens::whole()).unwrap().value;
    assert!(
        came.from.version.is_none()
            && came.comparison.differences.iter().all(|one| one.change == DifferenceType::Added)
    );
    let before = Offset::new(end.offset.get() - 1);
    let object = |version: &Version| version.object.as_ref().map(ObjectText::value);
    let between =
        one(&world, "shop-mover", Some(At::Offset(first.offset)), At::Offset(before), Lens::whole())
            .unwrap()
            .value;
    let expected = compare(&between.key.kind, object(first).as_ref(), object(last).as_ref(), &Lens::whole());
    assert_eq!(between.comparison, expected);
    assert!(!between.comparison.is_empty());
    let (resource, from) = (ResourceRef::new(&Uid::new("shop-mover"), None), Some(At::Offset(first.offset)));
    let question = PatchResource(DiffResource { resource, from, lens: Lens::whole() });
    let found = block_on(world.queries.ask(&Scope::everything(), At::Offset(before), question));
    assert_eq!(
        found.unwrap(),
        patch(&between.key.kind, object(first).as_ref(), object(last).as_ref(), &Lens::whole())
    );
    let never = one(
        &world,
        "shop-mover",
        Some(At::Offset(Offset::new(1))),
        At::Offset(Offset::new(2)),
        Lens::whole(),
    );
    assert!(matches!(never, Err(QueryError::NotFound { .. })), "{never:?}");
    let backwards = one(&world, "shop-mover", Some(At::Now), At::Offset(before), Lens::whole());
    assert!(matches!(backwards, Err(QueryError::Backwards { .. })), "{backwards:?}");
}
