//! Audiences of environments that are gone, which retention lets go.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::testing::{declare, environment, facts, record};
use strandline_clock::testing::ManualClock;
use strandline_view::{Projector, ProjectorOptions, PruneRequest, Pruning};

/// Of one project up to 20, and then of another.
fn review(n: usize) -> EnvironmentSpec {
    let project = if n < 20 { "shop/web" } else { "ops/tools" };
    environment(project, &format!("review/{n}"), &[("east", &format!("review-{n}"), "")])
}

/// Numbers that a column of the view has.
fn numbers(world: &World, table: &str, column: &str) -> BTreeSet<i64> {
    let view = world.view();
    let mut statement = view.prepare(&format!("SELECT {column} FROM {table}")).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().collect::<rusqlite::Result<_>>().unwrap()
}

async fn seen(world: &World, scope: &Scope) -> Vec<String> {
    let all = ListEnvironments::new(&EnvironmentFilter::default(), &whole());
    let page = world.queries.ask(scope, At::Now, all).await.unwrap();
    page.items.into_iter().map(|one| one.name).collect()
}

#[test]
fn audiences_go_with_the_last_environment_that_had_them_and_their_numbers_never_come_again() {
    let world = World::new((0..20).chain([0]).map(|n| Event::Declare(vec![review(n)])));
    let before = numbers(&world, "audience", "id");
    assert!(before.len() >= 20, "each environment has another");
    let pruning = Pruning::default();
    pruning.request(PruneRequest { before: world.head(), kinds: Vec::new() });
    let mut projector =
        Projector::open(world.directory(), ProjectorOptions::small(RuleSet::default())).unwrap();
    let clock = Arc::new(ManualClock::default());
    clock.set(World::time(world.last() + 1));
    let (members, others) = (Scope::projects(["shop/web".into()]), Scope::projects(["ops/tools".into()]));
    let mut parts = 0;
    while projector.prune(&pruning).unwrap() {
        // Between any two parts of the pass an environment comes back; once the last audience is gone, one that had none before.
        let is_gone = before.last().is_some_and(|last| !numbers(&world, "audience", "id").contains(last));
        let back = parts % 5 + if is_gone { 20 } else { 0 };
        parts += 1;
        record(world.directory(), Arc::clone(&clock) as _, async |appender| {
            declare(&appender, facts(&[review(back)])).await;
        });
        while projector.step().unwrap().is_some() {}
        block_on(async {
            let here = vec![format!("review/{back}")];
            let expected = if is_gone { (Vec::new(), here) } else { (here, Vec::new()) };
            let told = (seen(&world, &members).await, seen(&world, &others).await);
            assert_eq!(told, expected, "after part {parts}");
        });
        assert!(parts < 1000, "the pass ends");
    }
    let (used, left) =
        (numbers(&world, "environment_audience", "audience"), numbers(&world, "audience", "id"));
    assert_eq!(used.intersection(&left).count(), used.len(), "none goes that somebody may ask for");
    assert_eq!(before.intersection(&left).count(), 5, "those that came back: {left:?}");
    // What came meanwhile is pruned by the next pass.
    let (head, again) = (projector.checkpoint(), Pruning::default());
    again.request(PruneRequest { before: head, kinds: Vec::new() });
    while projector.prune(&again).unwrap() {}
    let left = numbers(&world, "audience", "id");
    assert_eq!(left.len(), 1, "{left:?}");
    for table in ["environment_audience", "audience_path", "audience_place"] {
        assert_eq!(numbers(&world, table, "audience"), left, "{table}");
    }
    block_on(async { assert_eq!(seen(&world, &others).await.len(), 1) });
}
