//! What came out the same in several clusters.

use super::*;

#[test]
fn the_same_change_in_several_clusters_is_one_item() {
    let clusters = ["us-east", "us-west"];
    let declared = environment("shop/web", "production", &clusters.map(|cluster| (cluster, "shop", "")));
    let thing = |cluster: &str, kind: (&str, &str), name: &str, replicas| {
        let thing = Thing::pod(cluster, "shop", name).of(kind.0, kind.1);
        Thing { health: replicas, uid: format!("{cluster}-{name}"), ..thing }
    };
    let (deployment, config) = (("apps/v1", "Deployment"), ("v1", "ConfigMap"));
    let web = |cluster, replicas| thing(cluster, deployment, "web", replicas);
    let api = |cluster, replicas| thing(cluster, deployment, "api", replicas);
    let set = |cluster: &str| Thing {
        owner: format!("{cluster}-web"),
        ..thing(cluster, ("apps/v1", "ReplicaSet"), "web-2", 0)
    };
    let gone = |cluster| thing(cluster, config, "gone", 0);
    let mut events = vec![Event::Declare(vec![declared])];
    events
        .extend(clusters.into_iter().flat_map(|one| [web(one, 0), api(one, 0), gone(one)]).map(Event::Apply));
    let before = events.len();
    events.extend(clusters.into_iter().flat_map(|one| [web(one, 3), set(one)]).map(Event::Apply));
    events.extend(clusters.map(|one| Event::Delete(gone(one))));
    // A change of one cluster alone, and another that came out differently in each.
    events.push(Event::Apply(thing("us-west", config, "new", 0)));
    events.extend([api("us-east", 3), api("us-west", 4)].map(Event::Apply));
    let world = World::new(events);
    let request = between(&world, before, world.last());
    let found = ask(&world, "shop.web.production", &request, &whole()).unwrap();
    let clusters = |item: &ResourceChange| {
        let clusters = item.clusters.as_ref().unwrap();
        format!("{:?} {:?}", clusters.before, clusters.after)
    };
    let items: Vec<_> = told(&found).into_iter().zip(found.items.iter().map(clusters)).collect();
    let expected = [
        ("removed ConfigMap/gone", r#"["us-east", "us-west"] []"#),
        ("added ConfigMap/new", r#"[] ["us-west"]"#),
        ("changed Deployment/api spec.replicas", r#"["us-east"] ["us-east"]"#),
        ("changed Deployment/api spec.replicas", r#"["us-west"] ["us-west"]"#),
        (
            "changed Deployment/web ReplicaSet +2-0~0 spec.replicas",
            r#"["us-east", "us-west"] ["us-east", "us-west"]"#,
        ),
    ];
    assert_eq!(items, expected.map(|(item, clusters)| (item.to_owned(), clusters.to_owned())));
    assert_eq!((found.counts.changed, found.counts.removed), (4, 2), "each resource is counted");
    // Pages of one item each are the same list.
    let mut paged = Vec::new();
    let mut page = PageRequest { limit: 1, after: None };
    loop {
        let part = ask(&world, "shop.web.production", &request, &page).unwrap();
        paged.extend(part.items);
        page.after = part.metadata.next;
        if page.after.is_none() {
            break;
        }
    }
    assert_eq!(paged, found.items);
}
