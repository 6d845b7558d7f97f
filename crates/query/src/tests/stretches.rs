//! What a question about a moment reads, however much came and went before and after it.

use super::super::stretch::holds;
use super::*;

const PODS: usize = 6;
const ROUNDS: usize = 60;

/// A Service with a few Pods of one environment, which fall ill, recover and are replaced for ever.
fn restless() -> World {
    let environments = vec![environment("shop/web", "production", &[("east", "shop", "web")])];
    let pod = |n: usize, life: usize, health: usize| Thing {
        app: "web".into(),
        health,
        uid: format!("pod-{n}-{life}"),
        ..Thing::pod("east", "shop", &format!("pod-{n}"))
    };
    let service = Thing { app: "web".into(), ..Thing::pod("east", "shop", "web").of("v1", "Service") };
    let life = |round: usize| {
        (0..PODS).flat_map(move |n| [0, 2].map(|health| Event::Apply(pod(n, round / 4, health))))
    };
    let events = [Event::Declare(environments), Event::Apply(service)];
    World::new(events.into_iter().chain((0..ROUNDS).flat_map(life)))
}

#[test]
fn what_holds_at_a_moment_stands_together_however_much_came_and_went() {
    let world = restless();
    let view = world.view();
    let all: i64 = view.query_row("SELECT count(*) FROM membership", [], |row| row.get(0)).unwrap();
    assert!(all > 700, "{all} rows are enough to see that only some are read");
    let near = "SELECT count(*), sum(m.from_offset <= :at AND m.to_offset > :at) FROM membership m
        WHERE m.environment_id = 1 AND m.stretch = (SELECT max(stretch) FROM membership
            WHERE environment_id = 1 AND stretch <= :at)";
    let held = "SELECT count(*) FROM membership m WHERE m.environment_id = 1 AND m.from_offset <= :at AND m.to_offset > :at";
    for at in 2..=world.heads[world.last()].as_i64() {
        let (read, found): (i64, Option<i64>) =
            view.query_row(near, [at], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let held: i64 = view.query_row(held, [at], |row| row.get(0)).unwrap();
        assert_eq!(found.unwrap_or(0), held, "nothing that holds at {at} stands elsewhere");
        assert!(read <= 3 * (PODS as i64 + 1) + 4, "{read} rows are read for {held} at {at}");
    }
}

#[test]
fn a_moment_is_found_by_the_keys_of_its_rows() {
    let view = restless().view();
    let plan = |sql: &str| {
        let mut statement = view.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let unbound = vec![rusqlite::types::Null; statement.parameter_count()];
        let rows = statement.query_map(rusqlite::params_from_iter(unbound), |row| row.get::<_, String>(3));
        rows.unwrap().map(|row| row.unwrap()).collect::<Vec<_>>().join("\n")
    };
    let members = concat!(
        "SELECT * FROM membership m WHERE m.environment_id = :id AND ",
        holds!("membership" m, environment_id = ":id")
    );
    let edges = concat!(
        "SELECT * FROM json_each(:numbers) n JOIN edge e ON e.declared_by = n.value AND ",
        holds!("edge" e, declared_by = "n.value")
    );
    let selected = concat!(
        "SELECT * FROM json_each(:numbers) n JOIN selected s ON s.declared_by = n.value AND ",
        holds!("selected" s, declared_by = "n.value")
    );
    for (sql, key) in [
        (members, "SEARCH m USING PRIMARY KEY (environment_id=? AND stretch=?)"),
        (edges, "SEARCH e USING PRIMARY KEY (declared_by=? AND stretch=?)"),
        (selected, "SEARCH s USING PRIMARY KEY (declared_by=? AND stretch=?)"),
    ] {
        let plan = plan(sql);
        assert!(plan.contains(key), "{plan}");
    }
}
