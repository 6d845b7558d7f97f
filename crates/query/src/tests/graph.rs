//! Graphs that leave something out against the whole; the way to what is wrong.

use std::collections::BTreeMap;

use super::*;
use strandline_model::attention;

/// A Deployment with two ReplicaSets, of which the second owns sixty Pods, each third of them failed; and a lone Pod.
fn crowd() -> World {
    let labelled = |thing: Thing| Thing { app: "web".into(), ..thing };
    let at = |name: &str| Thing::pod("east", "shop", name);
    let owned = |by: &str, thing: Thing| Thing { owner: format!("shop-{by}"), ..thing };
    let mut things = vec![labelled(at("web").of("apps/v1", "Deployment")), labelled(at("lone"))];
    things.extend(["old", "new"].map(|name| owned("web", at(name).of("apps/v1", "ReplicaSet"))));
    things.extend(
        (0..60).map(|n| Thing {
            health: if n % 3 == 0 { 2 } else { 0 },
            ..owned("new", at(&format!("p{n:02}")))
        }),
    );
    let environment = environment("shop/web", "production", &[("east", "shop", "web")]);
    World::new([Event::Declare(vec![environment])].into_iter().chain(things.into_iter().map(Event::Apply)))
}

fn graph(world: &World, filter: &GraphFilter) -> Graph {
    let id = EnvironmentId::of("shop/web", "production");
    block_on(world.queries.ask(&Scope::everything(), At::Now, GetEnvironmentGraph::new(&id, filter)))
        .unwrap()
        .value
}

fn names(graph: &Graph) -> Vec<&str> {
    graph.nodes.iter().map(|node| node.resource.key.name.as_str()).collect()
}

#[test]
fn the_whole_graph_shows_each_member_below_its_owner() {
    let graph = graph(&crowd(), &uncut());
    assert_eq!((graph.nodes.len(), graph.groups.len(), graph.truncated), (64, 0, false));
    let node = |name: &str| graph.nodes.iter().find(|node| node.resource.key.name == name).unwrap();
    assert_eq!(node("p07").parent.as_ref().map(Uid::as_str), Some("shop-new"));
    assert_eq!((&node("lone").parent, &node("lone").below), (&None, &None));
    let below = node("web").below.clone().unwrap();
    assert_eq!((below.children, below.total, below.health), (2, 62, Some(Health::Degraded)));
    let kinds: Vec<_> = below.kinds.iter().map(|of| (of.kind.kind.as_str(), of.total)).collect();
    assert_eq!(kinds, [("Pod", 60), ("ReplicaSet", 2)]);
    let owns = graph.edges.iter().filter(|edge| edge.kind == "owns").count();
    assert_eq!(owns, 62);
}

#[test]
fn many_siblings_are_shown_as_far_as_they_need_attention() {
    let graph = graph(&crowd(), &GraphFilter::default());
    let pods =
        graph.nodes.iter().filter(|node| node.parent.as_ref().is_some_and(|uid| uid.as_str() == "shop-new"));
    let healths: Vec<_> = pods.map(|node| node.resource.health.unwrap()).collect();
    assert_eq!(healths.len(), 50);
    assert_eq!(healths.iter().filter(|health| **health == Health::Degraded).count(), 20);
    let [group] = graph.groups.as_slice() else { panic!("{:?}", graph.groups) };
    assert_eq!((group.kind.kind.as_str(), group.counts.healthy, group.counts.total()), ("Pod", 10, 10));
    assert_eq!(group.parent.as_ref().map(Uid::as_str), Some("shop-new"));
    assert!(graph.truncated);
}

#[test]
fn whatever_is_left_out_is_counted() {
    let world = crowd();
    for limit in [1, 2, 3, 5, 20, 63, 64] {
        let graph = graph(&world, &GraphFilter { limit, ..uncut() });
        assert_eq!(graph.nodes.len(), limit);
        let grouped: u64 = graph.groups.iter().map(|group| group.counts.total()).sum();
        // What is below something that is not shown is told by what is below the next that is.
        let roots = graph.nodes.iter().filter(|node| node.parent.is_none());
        let below: u64 = roots.clone().filter_map(|node| Some(node.below.as_ref()?.total)).sum();
        let above: u64 =
            graph.groups.iter().filter(|group| group.parent.is_none()).map(|g| g.counts.total()).sum();
        assert_eq!(roots.count() as u64 + below + above, 64, "{limit}");
        assert_eq!(graph.truncated, grouped > 0 || limit < 64, "{limit}");
    }
    let few = graph(&world, &GraphFilter { limit: 3, ..uncut() });
    assert_eq!(names(&few), ["web", "p00", "new"], "what needs attention comes first");
}

#[test]
fn a_graph_can_begin_anywhere_and_end_at_any_depth() {
    let world = crowd();
    let under = |uid: &str, depth| GraphFilter { under: Some(Uid::new(uid)), depth, ..uncut() };
    assert_eq!(graph(&world, &under("shop-new", None)).nodes.len(), 61);
    assert_eq!(names(&graph(&world, &under("shop-web", Some(1)))), ["web", "new", "old"]);
    assert_eq!(
        names(&graph(&world, &GraphFilter { collapse: Collapse::Owner, ..GraphFilter::default() })),
        ["web", "lone"]
    );
    let id = EnvironmentId::of("shop/web", "production");
    let (scope, nobody) = (Scope::everything(), under("nobody", None));
    let missing = block_on(world.queries.ask(&scope, At::Now, GetEnvironmentGraph::new(&id, &nobody)));
    assert!(matches!(missing, Err(QueryError::NotFound { what: "resource", .. })), "{missing:?}");
}

#[test]
fn by_kind_all_are_counted() {
    let world = crowd();
    let by_kind = |under: Option<&str>| {
        let filter =
            GraphFilter { collapse: Collapse::Kind, under: under.map(Uid::new), ..GraphFilter::default() };
        let graph = graph(&world, &filter);
        assert_eq!(graph.nodes.len(), 0);
        let counted = graph.groups.iter().map(|group| (group.kind.kind.clone(), group.counts.total()));
        counted.collect::<BTreeMap<_, _>>()
    };
    let counts = |counts: &[(&str, u64)]| counts.iter().map(|(kind, n)| ((*kind).to_owned(), *n)).collect();
    assert_eq!(by_kind(None), counts(&[("Deployment", 1), ("ReplicaSet", 2), ("Pod", 61)]));
    assert_eq!(by_kind(Some("shop-new")), counts(&[("Pod", 60)]));
}

#[test]
fn lists_of_an_owner_begin_with_what_needs_attention() {
    let (world, id) = (crowd(), EnvironmentId::of("shop/web", "production"));
    let owner = Some(Uid::new("shop-new"));
    let filter = ResourceFilter { owner, order: ResourceOrder::Health, ..ResourceFilter::default() };
    let mut after = None;
    let mut ranks = Vec::new();
    loop {
        let page = PageRequest { limit: 7, after };
        let found = block_on(world.queries.ask(
            &Scope::everything(),
            At::Now,
            ListEnvironmentResources::new(&id, &filter, &page),
        ));
        let found = found.unwrap();
        ranks.extend(found.items.iter().map(|item| (attention(item.health), item.key.name.clone())));
        after = found.metadata.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(ranks.len(), 60);
    assert!(ranks.is_sorted(), "{ranks:?}");
}

#[test]
fn the_way_to_what_is_wrong_leads_from_the_root_to_the_worst() {
    let at = |name: &str| Thing { app: "web".into(), ..Thing::pod("east", "shop", name) };
    let owned = |by: &str, thing: Thing| Thing { app: String::new(), owner: format!("shop-{by}"), ..thing };
    let environment = environment("shop/web", "production", &[("east", "shop", "web")]);
    let things = [
        at("fine"),
        Thing { health: 2, ..at("root") },
        owned("root", at("left")),
        owned("root", at("right")),
        Thing { health: 2, ..owned("right", at("leaf")) },
        owned("right", at("other")),
    ];
    let world = World::new([Event::Declare(vec![environment])].into_iter().chain(things.map(Event::Apply)));
    let id = EnvironmentId::of("shop/web", "production");
    let why = |at| {
        block_on(world.queries.ask(&Scope::everything(), at, ExplainEnvironment::new(&id, 10))).unwrap().value
    };
    let now = why(At::Now);
    assert_eq!(now.roots, 1);
    let steps: Vec<_> = now.paths[0].steps.iter().map(|step| step.key.name.as_str()).collect();
    assert_eq!(steps, ["root", "right", "leaf"]);
    let before = why(At::Offset(world.heads[2]));
    assert_eq!((before.roots, before.paths.len()), (0, 0), "nothing was wrong then");
}
