//! Fields over time: what they were, from when to when, and by whom.

use serde_json::{Value, json};

use super::*;
use strandline_model::{Offset, Timestamp};
use strandline_object::json::Field;

/// A Deployment whose replicas and image change now and then, and other things in between.
const STATES: [(i64, &str, u64); 9] = [
    (3, "web:1", 0),
    (3, "web:1", 1),
    (5, "web:1", 2),
    (5, "web:1", 3),
    (5, "web:2", 4),
    (3, "web:2", 5),
    (3, "web:2", 6),
    (3, "web:1", 7),
    (3, "web:1", 8),
];

fn recorded() -> World {
    let world = World::new([Event::Declare(environments())]);
    let appender = world.write();
    block_on(async {
        for (step, (replicas, image, other)) in (2..).zip(STATES) {
            world.clock.set(World::time(step));
            let body = json!({"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "web", "namespace": "shop", "uid": "d", "labels": {"app": "web"}},
                "spec": {"replicas": replicas, "paused": other > 6, "template": {"spec": {"containers": [
                    {"name": "log", "image": "log:1"}, {"name": "web", "image": image}]}}},
                "status": {"observedGeneration": other}});
            let mut seen = observation("shop", "web", "d", other + 1, &body);
            seen.changed_by = Some(strandline_model::ChangedBy {
                manager: format!("manager-{other}"),
                operation: "Update".into(),
                subresource: String::new(),
                time: None,
            });
            observe(&appender, "east", seen).await;
        }
    });
    drop(appender);
    world.project();
    world
}

const REPLICAS: &str = "spec.replicas";
const IMAGE: &str = "spec.template.spec.containers[name=web].image";

async fn pages(world: &World, fields: &[&str], limit: usize) -> Vec<FieldValue> {
    let fields: Vec<Field> = fields.iter().map(|field| field.parse().unwrap()).collect();
    let (all, uid) = (Scope::everything(), Uid::new("d"));
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = PageRequest { limit, after: after.take() };
        let page = world
            .queries
            .ask(&all, At::Now, ListResourceFields::new(&uid, None, &fields, &page))
            .await
            .unwrap();
        assert!(page.items.len() <= limit.max(fields.len()), "{page:?}");
        found.extend(page.items);
        after = page.metadata.next;
        if after.is_none() {
            return found;
        }
    }
}

/// Value, since when, until when, and by whom.
type Told = (Value, Timestamp, Option<Timestamp>, String);

fn told(items: &[FieldValue], field: &str) -> Vec<Told> {
    let of = items.iter().filter(|item| item.field == field);
    of.map(|item| {
        let by = item.changed_by.as_ref().map(|by| by.manager.clone()).unwrap_or_default();
        (json!(item.values), item.from, item.until, by)
    })
    .collect()
}

/// What a fold over all states gives, newest first.
fn folded(value: impl Fn(&(i64, &str, u64)) -> Value) -> Vec<Told> {
    let mut all: Vec<Told> = Vec::new();
    for (step, state) in (2..).zip(&STATES) {
        let (value, now) = (value(state), World::time(step));
        if all.last().is_some_and(|last| last.0 == value) {
            continue;
        }
        if let Some(last) = all.last_mut() {
            last.2 = Some(now);
        }
        all.push((value, now, None, format!("manager-{}", state.2)));
    }
    // It had its first value before anybody looked.
    all[0].3.clear();
    all.reverse();
    all
}

#[test]
fn a_field_is_told_with_its_values_their_times_and_who_changed_it_however_it_is_paged() {
    let world = recorded();
    let (replicas, image) = (folded(|state| json!([state.0])), folded(|state| json!([state.1])));
    assert_eq!((replicas.len(), image.len()), (3, 3), "the history is worth folding");
    for limit in [1, 2, 3, 4, 100] {
        let found = block_on(pages(&world, &[REPLICAS, IMAGE, "spec.nothing"], limit));
        assert_eq!(told(&found, REPLICAS), replicas, "pages of {limit}");
        assert_eq!(told(&found, IMAGE), image, "pages of {limit}");
        assert_eq!(told(&found, "spec.nothing").len(), 1, "what is never there has one value: none");
        assert!(found.is_sorted_by(|a, b| a.offset >= b.offset), "newest first");
        assert_eq!(block_on(pages(&world, &[REPLICAS], limit)).len(), 3);
    }
}

#[test]
fn a_field_ends_with_its_resource_and_is_told_as_of_a_moment() {
    let (mut world, all) = (recorded(), Scope::everything());
    let deployment =
        Thing { uid: "d".into(), ..Thing::pod("east", "shop", "web").of("apps/v1", "Deployment") };
    world.go_on([Event::Nothing, Event::Delete(deployment)]);
    let field: Vec<Field> = vec![REPLICAS.parse().unwrap()];
    let ask = |at| {
        block_on(world.queries.ask(&all, at, ListResourceFields::new(&Uid::new("d"), None, &field, &whole())))
            .unwrap()
    };
    let now = ask(At::Now).items;
    assert_eq!((now[0].change, now[0].values.len(), now.len()), (VersionChange::Deleted, 0, 4));
    assert_eq!(now[1].until, Some(now[0].from));
    let then = ask(At::Offset(Offset::new(now[0].offset.get() - 1))).items;
    assert_eq!((then.len(), then[0].until), (3, None), "nothing of what came after");
}

#[test]
fn a_scope_is_told_of_a_field_as_far_as_its_history() {
    let world = World::new(small_history());
    let (uid, field) = (Uid::new("shop-mover"), vec!["metadata.labels.app".parse().unwrap()]);
    for (project, expected) in [("shop/web", json!([["web"]])), ("shop/db", json!([[], ["db"]]))] {
        let scope = Scope::projects([project.to_owned()]);
        let page = block_on(world.queries.ask(
            &scope,
            At::Now,
            ListResourceFields::new(&uid, None, &field, &whole()),
        ))
        .unwrap();
        let values: Vec<_> = page.items.into_iter().map(|item| item.values).collect();
        assert_eq!(json!(values), expected, "{project}");
    }
    let costly = vec!["$..*..*..*..*..*..*..*..*".parse().unwrap()];
    let found = block_on(world.queries.ask(
        &Scope::everything(),
        At::Now,
        ListResourceFields::new(&uid, None, &costly, &whole()),
    ));
    assert!(matches!(found, Ok(_) | Err(QueryError::CostlyField { .. })), "{found:?}");
}
