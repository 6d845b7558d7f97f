//! What a search over everything finds, in which order, and for whom.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::oracle::Name;
use super::*;
use strandline_model::{CatalogFact, ClusterSpec, DeploymentId, DeploymentSpec, DeploymentStatus, Timestamp};
use strandline_view::{Projector, ProjectorOptions, PruneRequest, Pruning};

/// An environment of each of two projects, with a Pod that runs an image, and what was deployed to them.
fn world() -> World {
    let pod = |name: &str, app: &str, image: &str| {
        let metadata = json!({"namespace": "shop", "name": name, "labels": {"app": app}});
        let spec = json!({"containers": [{"name": "main", "image": image}]});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    };
    let deployment = |id: u64, project: &str, sha: &str, user: &str| {
        CatalogFact::Deployment(Box::new(DeploymentSpec {
            id: DeploymentId(id),
            environment: EnvironmentId::of(project, "production"),
            project: project.into(),
            status: DeploymentStatus::Success,
            reference: "main".into(),
            tag: false,
            sha: sha.into(),
            job: None,
            user: user.into(),
            created_at: None,
            finished_at: None,
            agent: None,
            authorization: None,
        }))
    };
    let environments = [
        environment("shop/web", "production", &[("one", "shop", "web")]),
        environment("shop/db", "production", &[("one", "shop", "db")]),
    ];
    let cluster = CatalogFact::Cluster(ClusterSpec { name: "one".into(), region: "eu".into() });
    let declared = || environments.iter().cloned().map(CatalogFact::from).chain([cluster.clone()]);
    World::new([
        Event::Catalog(declared().collect()),
        Event::Object(pod("web-7f9c", "web", "registry.example.com/shop/web:1.0")),
        Event::Object(pod("web-8a0d", "web", "registry.example.com/shop/web:2.0")),
        Event::Object(pod("db-0", "db", "postgres:18")),
        Event::Object(pod("100%_'\"*-oddity", "none", "odd:1")),
        Event::Gone(pod("web-7f9c", "web", "")),
        Event::Catalog(
            declared()
                .chain([
                    deployment(7, "shop/web", "c0ffee12", "Kim"),
                    deployment(8, "shop/db", "c0ffee99", "kim"),
                    deployment(70, "shop/db", "abc70000", "pat"),
                ])
                .collect(),
        ),
    ])
}

fn find(world: &World, scope: &Scope, text: &str, limit: usize) -> SearchResults {
    let search = Search::new(text.parse().unwrap(), &[], limit);
    block_on(world.queries.ask(scope, At::Now, search)).unwrap().value
}

/// What is found, each with how near it is; what is gone or in no use in brackets.
fn names(found: &SearchResults) -> Vec<String> {
    fn all<'f, T>(hits: &'f Option<Hits<T>>, name: impl Fn(&T) -> (String, bool) + 'f) -> Vec<String> {
        let items = hits.iter().flat_map(|hits| &hits.items);
        let one = |hit: &Hit<T>| {
            let (name, is_gone) = name(&hit.item);
            if is_gone { format!("{} [{name}]", hit.nearness) } else { format!("{} {name}", hit.nearness) }
        };
        items.map(one).collect()
    }
    [
        all(&found.environments, |one| (one.id.to_string(), false)),
        all(&found.projects, |one| (one.id.clone(), false)),
        all(&found.clusters, |one| (one.id.clone(), false)),
        all(&found.resources, |one| (one.resource.key.name.clone(), one.gone.is_some())),
        all(&found.images, |one| (one.short.clone(), !one.in_use)),
        all(&found.deployments, |one| (format!("#{}", one.spec.id), false)),
    ]
    .concat()
}

#[test]
fn environments_that_match_alike_come_by_name_whichever_came_first() {
    let of = |name: &str| environment("shop/web", name, &[("one", "shop", "")]);
    let world = World::new([
        Event::Declare(vec![of("site-c")]),
        Event::Declare(vec![of("site-c"), of("site-b"), of("site-aa"), of("site-a")]),
    ]);
    let found = find(&world, &Scope::everything(), "site", 3).environments.unwrap();
    let ids: Vec<_> = found.items.iter().map(|hit| hit.item.name.as_str()).collect();
    assert_eq!((ids.as_slice(), found.more), (&["site-a", "site-b", "site-c"][..], true));
}

#[test]
fn everything_that_has_a_name_is_found_by_a_part_of_it() {
    let (world, all) = (world(), Scope::everything());
    let cases: [(&str, &[&str]); 16] = [
        (
            "web",
            &[
                "exact shop.web.production",
                "exact shop/web",
                "prefix web-8a0d",
                "prefix [web-7f9c]",
                "exact registry.example.com/shop/web:2.0",
                "exact [registry.example.com/shop/web:1.0]",
            ],
        ),
        ("WEB-8A", &["prefix web-8a0d"]),
        ("f9c", &["substring [web-7f9c]"]),
        // Fewer than three letters are looked for where words begin.
        ("9c", &[]),
        ("8a", &["word web-8a0d"]),
        ("web production", &["exact shop.web.production"]),
        ("pod/db-0", &["exact db-0"]),
        ("db shop pods", &["prefix db-0"]),
        ("db nowhere", &[]),
        ("postgres", &["exact postgres:18"]),
        ("postgres:18", &["exact postgres:18"]),
        ("c0ffee", &["prefix #8", "prefix #7"]),
        ("kim", &["exact #8", "exact #7"]),
        ("kim shop/web", &["exact #7"]),
        ("70", &["exact #70"]),
        ("one", &["exact one"]),
    ];
    for (text, expected) in cases {
        assert_eq!(names(&find(&world, &all, text, 100)), expected, "{text}");
    }
}

#[test]
fn whatever_is_typed_is_text() {
    let (world, all) = (world(), Scope::everything());
    let odd = ["100%", "%_'", "'\"*", "_'\"*-odd"];
    for text in odd {
        let resources = find(&world, &all, text, 5).resources.unwrap().items;
        assert_eq!(resources.len(), 1, "{text}");
    }
    let nothing = [
        "' OR 1=1 --",
        "\" OR \"",
        "web*",
        "w%b",
        "we_",
        "NEAR(web db)",
        "name:web",
        "^web",
        "-web AND",
        "//",
        "\u{1F980}",
        "ß",
    ];
    for text in nothing {
        assert_eq!(names(&find(&world, &all, text, 5)), [""; 0], "{text}");
    }
}

#[test]
fn a_scope_finds_its_own_and_learns_of_nothing_else() {
    let world = world();
    let scope = Scope::projects(["shop/web".to_owned()]);
    assert_eq!(names(&find(&world, &scope, "db", 5)), [""; 0]);
    assert_eq!(names(&find(&world, &scope, "postgres", 5)), [""; 0]);
    assert_eq!(names(&find(&world, &scope, "odd", 5)), [""; 0]);
    assert_eq!(names(&find(&world, &scope, "kim", 1)), ["exact #7"]);
    let images = find(&world, &scope, "shop/web", 5).images.unwrap();
    let images: Vec<_> = images.items.iter().map(|hit| (hit.item.short.as_str(), hit.item.in_use)).collect();
    assert_eq!(
        images,
        [("registry.example.com/shop/web:2.0", true), ("registry.example.com/shop/web:1.0", false)]
    );
    let stranger = Scope::projects(["x/y".to_owned()]);
    for text in ["web", "db", "kim", "c0ffee", "one", "shop"] {
        assert_eq!(names(&find(&world, &stranger, text, 5)), [""; 0], "{text}");
        assert!(!find(&world, &stranger, text, 5).resources.unwrap().more);
    }
}

#[test]
fn a_group_is_cut_and_asked_for_alone() {
    let (world, all) = (world(), Scope::everything());
    let cut = find(&world, &all, "web", 1);
    assert_eq!(cut.resources.as_ref().map(|hits| (hits.items.len(), hits.more)), Some((1, true)));
    assert_eq!(cut.projects.as_ref().map(|hits| hits.more), Some(false));
    let alone = Search::new("web".parse().unwrap(), &[SearchType::Images], 5);
    let alone = block_on(world.queries.ask(&all, At::Now, alone)).unwrap().value;
    let json = serde_json::to_value(&alone).unwrap();
    let members: Vec<_> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!((members, &json["query"]), (vec!["query", "images"], &Value::from("web")));
}

#[test]
fn a_slip_of_the_finger_is_told_from_what_nobody_has() {
    let (world, all) = (world(), Scope::everything());
    let told = |scope: &Scope, text: &str| {
        let warnings = find(&world, scope, text, 5).warnings;
        warnings.into_iter().map(|one| (one.value, one.suggestion)).collect::<Vec<_>>()
    };
    let near = |word: &str, near: Option<&str>| (word.to_owned(), near.map(str::to_owned));
    assert_eq!(told(&all, "prodcution"), [near("prodcution", Some("production"))]);
    assert_eq!(told(&all, "oddtiy"), [near("oddtiy", Some("oddity"))], "a part of the name of a resource");
    assert_eq!(told(&all, "web nothing-of-the-kind"), [near("nothing-of-the-kind", None)]);
    assert_eq!(told(&all, "web db"), [], "each is there, but nothing has both");
    assert_eq!(told(&all, "8a0d postgres"), [], "neither is in the name of an environment");
    assert_eq!(told(&all, "web"), []);
    // What others have is not suggested.
    let ours = Scope::projects(["shop/web".to_owned()]);
    assert_eq!(told(&ours, "oddtiy"), [near("oddtiy", None)]);
    assert_eq!(told(&ours, "shop/wbe"), [near("shop/wbe", Some("shop/web"))]);
}

#[test]
fn images_are_found_by_tag_or_digest_and_told_apart_as_they_are_written() {
    let digest = format!("sha256:{}", "c0ffee00".repeat(8));
    let pod = |name: &str, image: &str| {
        let metadata = json!({"namespace": "shop", "name": name});
        let spec = json!({"containers": [{"name": "main", "image": image}]});
        Event::Object(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}))
    };
    let world = World::new([
        pod("a", "x.io/api:RC1"),
        pod("b", "x.io/api:rc1"),
        pod("c", &format!("x.io/api@{digest}")),
        pod("d", "nginx"),
    ]);
    let found = |text: &str| {
        let images = find(&world, &Scope::everything(), text, 9).images.unwrap();
        images.items.into_iter().map(|hit| format!("{} {}", hit.nearness, hit.item.short)).collect::<Vec<_>>()
    };
    assert_eq!(found("rc1"), ["exact x.io/api:rc1", "exact x.io/api:RC1"]);
    assert_eq!(found("x.io/api:rc1"), ["exact x.io/api:rc1", "exact x.io/api:RC1"]);
    let by_digest = format!("x.io/api@{digest}");
    assert_eq!(found("SHA256:C0FF"), [format!("prefix {by_digest}")]);
    assert_eq!(found("c0ffee00c0"), [format!("word {by_digest}")]);
    assert_eq!(found(&by_digest), [format!("exact {by_digest}")]);
    assert_eq!(found("library/nginx"), ["word nginx:latest"]);
}

#[test]
fn a_search_at_a_past_time_finds_what_was_there_then() {
    let (world, all) = (world(), Scope::everything());
    let at = |step: usize| {
        let search = Search::new("web".parse().unwrap(), &[], 5);
        names(&block_on(world.queries.ask(&all, At::Offset(world.heads[step]), search)).unwrap().value)
    };
    assert_eq!(
        at(2),
        [
            "exact shop.web.production",
            "exact shop/web",
            "prefix web-7f9c",
            "exact registry.example.com/shop/web:1.0"
        ]
    );
    assert_eq!(at(0), [""; 0]);
}

#[test]
fn what_retention_prunes_is_in_no_line() {
    let world = world();
    let pruning = Pruning::default();
    pruning.request(PruneRequest { before: world.head(), kinds: Vec::new() });
    let options = ProjectorOptions::small(RuleSet::default());
    let mut projector = Projector::open(world.directory(), options).unwrap();
    let view = rusqlite::Connection::open(strandline_view::path(world.directory())).unwrap();
    let kept = || {
        let lines = "SELECT group_concat(lines, '') FROM resource_lines";
        let lines: String = view.query_row(lines, [], |row| row.get(0)).unwrap();
        let members = "SELECT members FROM search_members ORDER BY environment_id, block LIMIT 1";
        let members: i64 = view.query_row(members, [], |row| row.get(0)).unwrap();
        let images = "SELECT members FROM image_members ORDER BY environment_id, block LIMIT 1";
        let images: i64 = view.query_row(images, [], |row| row.get(0)).unwrap();
        let ones = (members.count_ones(), images.count_ones());
        (lines.contains("web-7f9c"), lines.contains("web-8a0d"), ones)
    };
    let images = || {
        let lines = "SELECT group_concat(lines, '') FROM image_lines";
        let lines: String = view.query_row(lines, [], |row| row.get(0)).unwrap();
        let of = |tag: &str| {
            let sql = "SELECT EXISTS (SELECT 1 FROM image WHERE tag = ?1)";
            let is_kept: bool = view.query_row(sql, [tag], |row| row.get(0)).unwrap();
            (lines.contains(&format!("web:{tag}")), is_kept)
        };
        [of("1.0"), of("2.0")]
    };
    assert_eq!(kept(), (true, true, (2, 2)));
    assert_eq!(images(), [(true, true), (true, true)]);
    while projector.prune(&pruning).unwrap() {}
    assert_eq!(kept(), (false, true, (1, 1)));
    assert_eq!(images(), [(false, false), (true, true)], "nothing runs the one that can still be asked for");
}

/// A number that is given again is that of another image: nobody sees it for what had the number before.
#[test]
fn an_image_that_takes_the_number_of_a_pruned_one_is_seen_by_its_own_readers_alone() {
    let pod = |app: &str, image: &str| {
        let metadata = json!({"namespace": "shop", "name": app, "labels": {"app": app}});
        let spec = json!({"containers": [{"name": "main", "image": image}]});
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    };
    let environments = vec![
        environment("shop/web", "production", &[("one", "shop", "web")]),
        environment("shop/db", "production", &[("one", "shop", "db")]),
    ];
    let mut world = World::new([
        Event::Declare(environments),
        Event::Object(pod("db", "db:a")),
        Event::Object(pod("web", "web:b")),
        Event::Gone(pod("web", "web:b")),
        Event::Nothing,
    ]);
    let pruning = Pruning::default();
    pruning.request(PruneRequest { before: world.head(), kinds: Vec::new() });
    let options = ProjectorOptions::small(RuleSet::default());
    let mut projector = Projector::open(world.directory(), options).unwrap();
    while projector.prune(&pruning).unwrap() {}
    drop(projector);
    world.go_on([Event::Object(pod("db", "db:c"))]);
    let number = |tag: &str| -> i64 {
        let sql = "SELECT id FROM image WHERE tag = ?1";
        world.view().query_row(sql, [tag], |row| row.get(0)).unwrap()
    };
    assert_eq!(number("c"), number("a") + 1, "it is the number that web:b had");
    let found = |project: &str| {
        let (scope, search) = (
            Scope::projects([project.to_owned()]),
            Search::new("db".parse().unwrap(), &[SearchType::Images], 5),
        );
        names(&block_on(world.queries.ask(&scope, At::Now, search)).unwrap().value)
    };
    assert_eq!(found("shop/db"), ["exact db:c", "exact [db:a]"]);
    assert_eq!(found("shop/web"), [""; 0]);
}

/// A search for what most things that are no resources are called like.
pub(super) fn beside_resources(limit: usize) -> Search {
    let all = SearchType::ALL.into_iter().filter(|of| *of != SearchType::Resources);
    Search::new("o".parse().unwrap(), &all.collect::<Vec<_>>(), limit)
}

/// A search by name finds what was ever in sight and is called so, each as it was when it was last seen.
pub(super) async fn agrees(
    world: &World,
    scope: &Scope,
    (step, offset): (usize, Offset),
    known: &BTreeSet<Name>,
    last: impl Fn(Name) -> Option<(Name, (Offset, Timestamp))>,
) {
    // Uids are made of a namespace and a name.
    let name = |of: &Name| of.1.split_once('-').map_or(of.1.as_str(), |(_, name)| name).to_owned();
    for wanted in known.iter().map(name).collect::<BTreeSet<_>>() {
        let search = Search::new(wanted.parse().unwrap(), &[SearchType::Resources], Search::MAX);
        let found =
            world.queries.ask(scope, At::Offset(offset), search).await.unwrap().value.resources.unwrap();
        let exact = found.items.into_iter().filter(|hit| hit.nearness == SearchMatch::Exact);
        let found: BTreeMap<Name, _> = exact
            .map(|Hit { item, .. }| {
                let last = item.gone.map_or(offset, |gone| gone.last_offset);
                ((item.resource.key.cluster, item.resource.id.to_string()), (last, item.resource.observed_at))
            })
            .collect();
        let called = known.iter().filter(|of| name(of) == wanted).cloned();
        assert_eq!(found, called.filter_map(&last).collect(), "step {step}: {wanted}");
    }
}
