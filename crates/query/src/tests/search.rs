//! Resources found by what people know of them, and what is told of those that are gone.

use super::*;
use strandline_model::{KindName, Offset};

fn search(kind: &str, name: &str, presence: Presence) -> ResourceSearch {
    let kinds: Vec<KindName> = kind.split_terminator(',').map(|kind| kind.parse().unwrap()).collect();
    let names = name.split_terminator(',').map(|name| name.parse().unwrap()).collect();
    ResourceSearch { kinds, names, presence, ..ResourceSearch::default() }
}

fn ids(world: &World, scope: &Scope, at: At, search: &ResourceSearch) -> Vec<String> {
    let page = block_on(world.queries.ask(scope, at, SearchResources::new(search, &whole()))).unwrap();
    page.items.iter().map(|one| one.resource.id.to_string()).collect()
}

#[test]
fn resources_are_found_by_kind_name_and_place() {
    let (world, all) = (World::new(small_history()), Scope::everything());
    let find = |search: &ResourceSearch| ids(&world, &all, At::Now, search);
    let base = |kind: &str, name: &str| search(kind, name, Presence::Any);
    assert_eq!(find(&base("deploy", "web")), ["stage-web", "shop-web"], "the one that came last first");
    let in_shop = ResourceSearch { namespace: Some("shop".into()), ..base("deployments.apps", "web") };
    assert_eq!(find(&in_shop), ["shop-web"]);
    let in_west = ResourceSearch { clusters: vec!["west".into()], ..base("Deployment", "web") };
    assert_eq!(find(&in_west), ["stage-web"]);
    let environment = Some(EnvironmentId::of("shop/db", "production"));
    let of_db = ResourceSearch { environment: environment.clone(), ..base("po", "mov*") };
    assert_eq!(find(&of_db), ["shop-mover"], "it belonged, and is gone");
    let of_db = ResourceSearch { environment, ..base("deploy", "web") };
    assert_eq!(find(&of_db), [""; 0]);
    assert_eq!(find(&base("nothing", "")), [""; 0]);
    assert_eq!(find(&base("", "web-0")).len(), 2);
}

#[test]
fn what_is_gone_is_told_as_it_was_last() {
    let (world, all) = (World::new(small_history()), Scope::everything());
    assert_eq!(ids(&world, &all, At::Now, &search("po", "mover", Presence::Present)), [""; 0]);
    let wanted = search("po", "mover", Presence::Gone);
    let page = block_on(world.queries.ask(&all, At::Now, SearchResources::new(&wanted, &whole()))).unwrap();
    let [found] = page.items.as_slice() else { panic!("{page:?}") };
    let gone = found.gone.clone().unwrap();
    let last = At::Offset(gone.last_offset);
    let uid = Uid::new("shop-mover");
    let then = block_on(world.queries.ask(&all, last, GetResource::new(&uid, None))).unwrap();
    assert_eq!(found.resource, then.value.resource);
    let next = At::Offset(gone.last_offset.next());
    let error = block_on(world.queries.ask(&all, next, GetResource::new(&uid, None))).unwrap_err();
    let QueryError::NotFound { gone: Some(told), .. } = &error else { panic!("{error:?}") };
    assert_eq!((told, told.at.is_some()), (&gone, true), "the same is told to who asks by uid");
    assert!(error.to_string().contains(&format!("use at={}", gone.last_offset)), "{error}");
    // Before it came there is nothing to be told.
    let early = block_on(world.queries.ask(&all, At::Offset(Offset::new(1)), GetResource::new(&uid, None)));
    assert!(matches!(early, Err(QueryError::NotFound { gone: None, .. })), "{early:?}");
}

#[test]
fn an_environment_that_is_gone_says_until_when_to_those_who_saw_it() {
    let world = World::new(small_history());
    let id = EnvironmentId::of("ops/tools", "development");
    for (scope, saw) in [
        (Scope::everything(), true),
        (Scope::projects(["ops/tools".to_owned()]), true),
        (Scope::projects(["shop/web".to_owned()]), false),
    ] {
        let error = block_on(world.queries.ask(&scope, At::Now, GetEnvironment::new(&id))).unwrap_err();
        let QueryError::NotFound { gone, .. } = &error else { panic!("{error:?}") };
        assert_eq!(gone.is_some(), saw, "{scope:?}");
        let Some(gone) = gone else { continue };
        assert!(
            block_on(world.queries.ask(&scope, At::Offset(gone.last_offset), GetEnvironment::new(&id)))
                .is_ok()
        );
        assert!(
            block_on(world.queries.ask(
                &scope,
                At::Offset(gone.last_offset.next()),
                GetEnvironment::new(&id)
            ))
            .is_err()
        );
        // What it held is found all the same.
        let wanted = ResourceSearch { environment: Some(id.clone()), ..search("deploy", "", Presence::Gone) };
        assert_eq!(ids(&world, &scope, At::Now, &wanted), ["tools-ci"]);
    }
}

#[test]
fn custom_kinds_are_found_by_the_names_that_clusters_serve() {
    let mut widget = Thing::pod("east", "shop", "one").of("x.io/v1", "Widget");
    widget.uid = "w".into();
    let world = World::new([Event::Declare(environments()), Event::Apply(widget)]);
    let all = Scope::everything();
    let find = |kind: &str| ids(&world, &all, At::Now, &search(kind, "", Presence::Any));
    assert_eq!((find("widgets.x.io"), find("wd")), (vec!["w".to_owned()], vec![]), "by rule");
    let body = serde_json::json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgetry.x.io", "uid": "crd"},
        "spec": {"group": "x.io", "names": {
            "kind": "Widget", "plural": "widgetry", "singular": "widget", "shortNames": ["wd"],
        }},
    });
    let appender = world.write();
    block_on(observe(&appender, "east", observation("", "widgetry.x.io", "crd", 1, &body)));
    world.project();
    for kind in ["wd", "WD.x.io", "widgetry"] {
        assert_eq!(find(kind), ["w"], "{kind}");
    }
    assert_eq!(find("wd.y.io"), [""; 0]);
}

#[test]
fn names_of_custom_kinds_are_those_of_the_moment_and_of_clusters_in_sight() {
    let widget = |cluster: &str| {
        let thing = Thing::pod(cluster, "shop", "one").of("x.io/v1", "Widget");
        Event::Apply(Thing { uid: format!("w-{cluster}"), ..thing })
    };
    let places = [("shop/web", "east"), ("ops/tools", "west")];
    let declared = places.map(|(project, cluster)| environment(project, "all", &[(cluster, "shop", "")]));
    let world = World::new([Event::Declare(declared.to_vec()), widget("east"), widget("west")]);
    let before = world.head();
    let body = serde_json::json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.x.io", "uid": "crd"},
        "spec": {"group": "x.io", "names": {"kind": "Widget", "plural": "widgets", "shortNames": ["wd"]}},
    });
    let appender = world.write();
    block_on(observe(&appender, "east", observation("", "widgets.x.io", "crd", 1, &body)));
    world.project();
    let find = |scope: &Scope, at, kind: &str| ids(&world, scope, at, &search(kind, "", Presence::Any));
    let (all, [web, ops]) =
        (Scope::everything(), places.map(|(project, _)| Scope::projects([project.to_owned()])));
    assert_eq!(find(&all, At::Now, "wd"), ["w-west", "w-east"]);
    assert_eq!(find(&all, At::Offset(before), "wd"), [""; 0], "it was not served then");
    assert_eq!(find(&web, At::Now, "wd"), ["w-east"]);
    assert_eq!(find(&ops, At::Now, "wd"), [""; 0], "its cluster serves no such name");
    assert_eq!(find(&ops, At::Now, "widget"), ["w-west"]);
}

#[test]
fn a_question_names_so_many_kinds_each_once() {
    let world = World::new(small_history());
    let ask = |names: Vec<String>| {
        let wanted = search(&names.join(","), "web", Presence::Any);
        block_on(world.queries.ask(&Scope::everything(), At::Now, SearchResources::new(&wanted, &whole())))
    };
    let names = |count: usize| (0..count).map(|n| format!("kind{n}")).collect::<Vec<_>>();
    let again = names(64).into_iter().chain(names(64)).collect();
    assert_eq!(ask(again).unwrap().metadata.warnings.len(), 64, "what is named twice is named once");
    let refused = ask(names(65)).unwrap_err();
    assert!(matches!(refused, QueryError::TooManyKinds { count: 65, most: 64 }), "{refused:?}");
}
