//! Lines of search that are kept in memory: a search with them finds what one without them finds, whatever happens.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::kept_lines::KeptLines;
use strandline_clock::SystemClock;
use strandline_gitlab::Membership;
use strandline_model::{CatalogFact, DeploymentId, DeploymentSpec, DeploymentStatus};
use strandline_sqlite::Watermark;
use strandline_view::search_lines::{DEPLOYMENTS, IMAGES, RESOURCES};
use strandline_view::{Projector, ProjectorOptions, PruneRequest, Pruning, ViewStatus};

/// More than two blocks of anything.
const MANY: usize = 150;

fn pod(n: usize, image: &str) -> Value {
    let project = ["web", "db"][n % 2];
    let metadata = json!({"namespace": "shop", "name": format!("app-{n}"), "labels": {"app": project}});
    let spec = json!({"containers": [{"name": "main", "image": image}]});
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
}

fn image(n: usize) -> String {
    format!("registry.example.com/shop/image-{n}:1.0")
}

fn deployment(n: usize, user: &str, status: DeploymentStatus) -> CatalogFact {
    let project = ["shop/web", "shop/db"][n % 2];
    CatalogFact::Deployment(Box::new(DeploymentSpec {
        id: DeploymentId(n as u64 + 1),
        environment: EnvironmentId::of(project, "production"),
        project: project.into(),
        status,
        reference: format!("v{n}"),
        tag: true,
        sha: format!("{n:040x}"),
        job: None,
        user: user.into(),
        created_at: None,
        finished_at: None,
        agent: None,
        authorization: None,
    }))
}

/// Two environments with many deployments, of which one is declared otherwise.
fn declared(one: usize, user: &str, status: DeploymentStatus) -> Event {
    let environments = [
        environment("shop/web", "production", &[("one", "shop", "web")]),
        environment("shop/db", "production", &[("one", "shop", "db")]),
    ];
    let deployments = (0..MANY).map(|n| match n == one {
        true => deployment(n, user, status),
        false => deployment(n, "kim", DeploymentStatus::Success),
    });
    Event::Catalog(environments.into_iter().map(CatalogFact::from).chain(deployments).collect())
}

fn world() -> World {
    let pods = (0..MANY).map(|n| Event::Object(pod(n, &image(n))));
    World::new(std::iter::once(declared(0, "kim", DeploymentStatus::Success)).chain(pods))
}

/// Lets retention take all that cannot be asked for any more.
fn prune(world: &World) {
    let pruning = Pruning::default();
    pruning.request(PruneRequest { before: world.head(), kinds: Vec::new() });
    let options = ProjectorOptions::small(RuleSet::default());
    let mut projector = Projector::open(world.directory(), options).unwrap();
    while projector.prune(&pruning).unwrap() {}
}

/// What searches find in the view and nowhere else.
fn of_the_view(world: &World) -> Queries {
    let status = ViewStatus::new(Watermark::default());
    status.set_usable(true);
    let readers = Readers { count: 1, cache: 1 << 20, lines: 0 };
    Queries::new(world.directory(), readers, status, Arc::new(SystemClock))
}

#[test]
fn a_search_finds_the_same_with_and_without_what_is_kept() {
    let mut world = world();
    let all = Scope::everything();
    let most = Scope::members(Membership::new(["shop/web"], [""; 0]));
    let agree = |world: &World, step: &str| {
        for text in ["app", "app-1", "p-14", "a", "image-12 1.0", "image-new", "kim", "pat", "v1", "nobody"] {
            for scope in [&all, &most] {
                let ask = |queries: &Queries| {
                    let search = Search::new(text.parse().unwrap(), &[], Search::MAX);
                    block_on(queries.ask(scope, At::Now, search)).unwrap().value
                };
                assert_eq!(ask(&world.queries), ask(&of_the_view(world)), "{text}, {step}");
            }
        }
    };
    agree(&world, "before anything is kept");
    agree(&world, "while all is kept");
    world.go_on((MANY..MANY + 70).map(|n| Event::Object(pod(n, &image(n)))));
    agree(&world, "more came");
    world.go_on([Event::Gone(pod(7, "")), Event::Gone(pod(MANY + 69, ""))]);
    agree(&world, "some went");
    world.go_on([declared(3, "pat", DeploymentStatus::Success)]);
    agree(&world, "another user is declared of an early deployment");
    world.go_on([declared(3, "pat", DeploymentStatus::Failed)]);
    agree(&world, "another status is");
    prune(&world);
    agree(&world, "what went is pruned");
    world.go_on([Event::Object(pod(9, "image-new:2.0")), Event::Object(pod(MANY + 69, "image-newer:2.0"))]);
    agree(&world, "an image has the number of a pruned one");
    world.go_on((0..MANY + 70).map(|n| Event::Gone(pod(n, ""))));
    prune(&world);
    world.go_on((0..MANY).map(|n| Event::Object(pod(n, "image-new:3.0"))));
    agree(&world, "all went, and others came");
    world.rebuild();
    agree(&world, "the view was built anew");
}

/// The numbers of the blocks that are kept of a table.
fn kept(lines: &KeptLines, world: &World, table: &'static str) -> Vec<i64> {
    let blocks = lines.first(&world.view(), table).unwrap();
    blocks.iter().map(|(block, _)| *block).collect()
}

#[test]
fn blocks_are_kept_once_others_follow_them_and_as_long_as_there_is_room() {
    let mut world = world();
    let sql = "SELECT length(lines) FROM resource_lines ORDER BY block LIMIT 1";
    let first: u32 = world.view().query_row(sql, [], |row| row.get(0)).unwrap();
    let (lines, few) = (KeptLines::new(1 << 20), KeptLines::new(usize::try_from(first).unwrap()));
    let followed = |world: &World, table: &str| -> Vec<i64> {
        let view = world.view();
        let sql = format!(
            "SELECT block FROM {table} WHERE block < (SELECT max(block) FROM {table}) ORDER BY block"
        );
        let blocks = view
            .prepare(&sql)
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<rusqlite::Result<_>>();
        blocks.unwrap()
    };
    for step in 1..=2 {
        for table in [RESOURCES, DEPLOYMENTS, IMAGES] {
            let followed = followed(&world, table);
            assert!(followed.len() > 1, "{table}: {followed:?}");
            assert_eq!(kept(&lines, &world, table), followed, "{table}, step {step}");
            let room: &[i64] = if table == RESOURCES { &followed[..1] } else { &[] };
            assert_eq!(kept(&few, &world, table), room, "{table}, step {step}");
        }
        world.go_on((MANY..MANY + 70).map(|n| Event::Object(pod(n, &image(n)))));
    }
}

#[test]
fn what_is_kept_is_read_anew_where_something_may_have_been_written_into_it() {
    let mut world = world();
    let lines = KeptLines::new(1 << 20);
    let deployments = |world: &World| lines.first(&world.view(), DEPLOYMENTS).unwrap();
    let resources = |world: &World| lines.first(&world.view(), RESOURCES).unwrap();
    let before = deployments(&world);
    world.go_on([declared(3, "kim", DeploymentStatus::Failed)]);
    assert!(Arc::ptr_eq(&before, &deployments(&world)), "a status is in no line");
    let old = world.view();
    old.execute_batch("BEGIN; SELECT count(*) FROM checkpoint").unwrap();
    world.go_on([declared(3, "pat", DeploymentStatus::Failed)]);
    let after = deployments(&world);
    assert!(before[0] != after[0] && before[1] == after[1], "a user is");
    assert!(
        lines.first(&old, DEPLOYMENTS).unwrap().is_empty(),
        "of an older state of the view nothing is kept"
    );
    assert!(Arc::ptr_eq(&after, &deployments(&world)), "and what is kept is not set back");
    let before = resources(&world);
    world.go_on([Event::Gone(pod(7, ""))]);
    assert!(Arc::ptr_eq(&before, &resources(&world)), "what is gone is found still");
    prune(&world);
    assert!(before[0] != resources(&world)[0], "what is pruned is in no line");
}
