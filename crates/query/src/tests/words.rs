//! Why a list is empty: words that fit nothing, to whoever sees it.

use serde_json::json;

use super::*;
use strandline_model::EnvironmentId;

fn globs(texts: &[&str]) -> Vec<Glob> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn filter(part: &str, text: &str) -> EnvironmentFilter {
    let mut filter = EnvironmentFilter::default();
    match part {
        "region" => filter.regions = vec![text.into()],
        "cluster" => filter.clusters = vec![text.into()],
        "agent" => filter.agents = vec![text.parse().unwrap()],
        "project" => filter.projects = globs(&[text]),
        "group" => filter.groups = vec![text.parse().unwrap()],
        "name" => filter.names = globs(&[text]),
        _ => filter.labels = text.parse().unwrap(),
    }
    filter
}

async fn asked(world: &World, scope: &Scope, filter: &EnvironmentFilter) -> Vec<UnknownWord> {
    world.clock.set(World::time(world.last()));
    let page = world.queries.ask(scope, At::Now, ListEnvironments::new(filter, &whole())).await.unwrap();
    let request = GetOverview { filter: filter.clone(), ..GetOverview::default() };
    let overview = world.queries.ask(scope, At::Now, request.clone()).await.unwrap().value;
    assert_eq!(page.metadata.warnings, overview.warnings, "a list and an overview say the same");
    page.metadata.warnings
}

/// Parameter, value and suggestion.
fn short(warnings: &[UnknownWord]) -> Vec<(&str, &str, Option<&str>)> {
    fn one(word: &UnknownWord) -> (&str, &str, Option<&str>) {
        (&word.parameter, &word.value, word.suggestion.as_deref())
    }
    warnings.iter().map(one).collect()
}

#[test]
fn a_word_that_fits_nothing_is_named_with_what_may_have_been_meant() {
    let (world, all) = (World::new(small_history()), Scope::everything());
    block_on(async {
        for (part, text, near) in [
            ("region", "uss", Some("us")),
            ("cluster", "easst", Some("east")),
            ("cluster", "mainframe", None),
            ("project", "shop/wep", Some("shop/web")),
            ("project", "shopp/**", Some("shop/**")),
            ("group", "shpo", Some("shop")),
            ("name", "producton", Some("production")),
            ("agent", "ops/agents:none", None),
            ("labels", "team=pay", None),
            ("labels", "team", None),
        ] {
            let found = asked(&world, &all, &filter(part, text)).await;
            assert_eq!(short(&found), [(part, text, near)]);
            assert!(found[0].message.contains(&format!("`{text}`")), "{found:?}");
        }
        let mut known = filter("region", "us");
        (known.projects, known.names) = (globs(&["shop/db"]), globs(&["prod*"]));
        assert_eq!(
            asked(&world, &all, &known).await,
            [],
            "each word is known, only nothing fits all of them"
        );
        let both = EnvironmentFilter { clusters: vec!["nope".into()], ..filter("region", "mars") };
        assert_eq!(short(&asked(&world, &all, &both).await).len(), 2);
        assert_eq!(
            asked(&world, &all, &filter("cluster", "east")).await,
            [],
            "what is found warns of nothing"
        );
        let mut one_of_two = filter("region", "us");
        one_of_two.regions.push("uss".into());
        one_of_two.names = globs(&["*"]);
        assert_eq!(
            short(&asked(&world, &all, &one_of_two).await),
            [("region", "uss", Some("us"))],
            "a word beside one that fits is named too"
        );
    });
}

#[test]
fn what_is_not_to_be_seen_is_told_like_what_is_not_there() {
    // Two worlds that differ in nothing but what the caller may not see.
    let theirs = environment("shop/web", "production", &[("east", "shop", "web")]);
    let others = EnvironmentSpec {
        region: "mars".into(),
        ..environment("ops/tools", "secret", &[("moon", "vault", "")])
    };
    let world = |environments: Vec<EnvironmentSpec>| {
        World::new([
            Event::Declare(environments),
            Event::Apply(Thing::pod("east", "shop", "one")),
            Event::Nothing,
        ])
    };
    let (with, without) = (world(vec![theirs.clone(), others]), world(vec![theirs]));
    let scope = Scope::projects(["shop/web".to_owned()]);
    block_on(async {
        for (part, text) in [
            ("region", "mars"),
            ("region", "marss"),
            ("cluster", "moon"),
            ("project", "ops/tools"),
            ("project", "ops/tool"),
            ("project", "ops/*"),
            ("group", "ops"),
            ("name", "secret"),
        ] {
            let wanted = filter(part, text);
            let found = asked(&with, &scope, &wanted).await;
            let alone = asked(&without, &scope, &wanted).await;
            assert_eq!(found, alone, "{part}={text}");
            assert_eq!(short(&found), [(part, text, None)]);
        }
        for (namespace, cluster) in [("vault", "moon"), ("vaultt", "east")] {
            let search = ResourceSearch {
                namespace: Some(namespace.into()),
                clusters: vec![cluster.into()],
                kinds: vec!["pdo".parse().unwrap()],
                ..ResourceSearch::default()
            };
            let page = whole();
            let found =
                with.queries.ask(&scope, At::Now, SearchResources::new(&search, &page)).await.unwrap();
            let alone =
                without.queries.ask(&scope, At::Now, SearchResources::new(&search, &page)).await.unwrap();
            assert_eq!(found.metadata.warnings, alone.metadata.warnings);
            assert!(short(&found.metadata.warnings).iter().any(|word| word.1 == namespace), "{found:?}");
        }
        for id in ["ops.tools.secret", "ops.tools.secre"] {
            let id = EnvironmentId::new(id);
            let [found, alone] =
                [&with, &without].map(|world| world.queries.ask(&scope, At::Now, GetEnvironment::new(&id)));
            let text = found.await.unwrap_err().to_string();
            assert_eq!(text, alone.await.unwrap_err().to_string());
            assert_eq!(text, format!("no environment `{id}`"));
        }
    });
}

#[test]
fn deployments_resources_and_coverage_name_the_word_too() {
    let (world, all) = (World::new(small_history()), Scope::everything());
    world.clock.set(World::time(world.last()));
    let queries = &world.queries;
    block_on(async {
        let filter = DeploymentFilter { projects: globs(&["payments/**"]), ..DeploymentFilter::default() };
        let found = queries.ask(&all, At::Now, ListDeployments::new(&filter, &whole())).await.unwrap();
        assert_eq!(short(&found.metadata.warnings), [("project", "payments/**", None)]);
        let filter = CoverageFilter {
            clusters: vec!["wset".into()],
            kinds: vec!["Pdo".parse().unwrap()],
            states: vec![],
        };
        let found = queries.ask(&all, At::Now, ListCoverage::new(&filter, &whole())).await.unwrap();
        assert_eq!(short(&found.metadata.warnings)[0], ("cluster", "wset", Some("west")));
        assert_eq!(short(&found.metadata.warnings)[1].1, "Pdo");
        let filter = ImageFilter { regions: vec!["uss".into()], ..ImageFilter::default() };
        let found = queries.ask(&all, At::Now, ListImages::new(&filter, &whole())).await.unwrap();
        assert_eq!(short(&found.metadata.warnings), [("region", "uss", Some("us"))]);
        let filter = ResourceFilter { kinds: vec!["Pdo".parse().unwrap()], ..ResourceFilter::default() };
        let id = EnvironmentId::of("shop/web", "production");
        let found =
            queries.ask(&all, At::Now, ListEnvironmentResources::new(&id, &filter, &whole())).await.unwrap();
        assert_eq!(short(&found.metadata.warnings)[0].1, "Pdo");
    });
}

#[test]
fn what_is_not_there_says_what_may_have_been_meant_and_when_it_was_asked_for() {
    let (world, all) = (World::new(small_history()), Scope::everything());
    world.clock.set(World::time(world.last()));
    let text = |at, id: &str| {
        let id = EnvironmentId::new(id);
        block_on(world.queries.ask(&all, at, GetEnvironment::new(&id))).unwrap_err().to_string()
    };
    let near = "no environment `shop.web.producton`; did you mean `shop.web.production`?";
    assert_eq!(text(At::Now, "shop.web.producton"), near);
    let head = world.heads[world.last()];
    let at = text(At::Offset(head), "nothing-of-the-kind");
    assert!(at.starts_with(&format!("no environment `nothing-of-the-kind` at offset {head}, 20")), "{at}");
    let project =
        block_on(world.queries.ask(&all, At::Now, GetProject::new("shop/wbe"))).unwrap_err().to_string();
    assert_eq!(project, "no project `shop/wbe`; did you mean `shop/web`?");
}

#[test]
fn an_image_that_nobody_has_is_told_with_what_may_have_been_meant() {
    let pod = |namespace: &str, image: &str| {
        let labels = json!({"app": "web"});
        let metadata = json!({"namespace": namespace, "name": "web", "labels": labels});
        Event::Object(json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata,
            "spec": {"containers": [{"name": "main", "image": image}]}}))
    };
    let theirs = environment("shop/web", "production", &[("one", "shop", "web")]);
    let others = environment("ops/tools", "secret", &[("one", "vault", "web")]);
    let declared = Event::Declare(vec![theirs, others]);
    let seen = [declared, pod("shop", "nginx:1.27"), pod("vault", "registry.example.com/ops/vault:3")];
    let world = World::new(seen.into_iter().chain([pod("shop", "nginx:1.28"), Event::Nothing]));
    let (all, own) = (Scope::everything(), Scope::projects(["shop/web".to_owned()]));
    let told = async |scope: &Scope, at: At, pattern: &str| {
        let filter = ImageFilter { images: vec![pattern.parse().unwrap()], ..ImageFilter::default() };
        let page = world.queries.ask(scope, at, ListImages::new(&filter, &whole())).await.unwrap();
        page.metadata.warnings.into_iter().map(|word| (word.message, word.suggestion)).collect::<Vec<_>>()
    };
    let none = |text: &str| vec![(format!("no image `{text}`"), None)];
    let near = |text: &str, near: &str| {
        let message = format!("no image `{text}`; did you mean `{near}`?");
        vec![(message, Some(near.to_owned()))]
    };
    block_on(async {
        assert_eq!(told(&all, At::Now, "ngnix").await, near("ngnix", "nginx"));
        assert_eq!(told(&all, At::Now, "nginx:1.29").await, near("nginx:1.29", "nginx:1.27"));
        assert_eq!(told(&all, At::Now, "nginx:1.27").await, [], "it was there");
        let before = At::Offset(world.heads[3]);
        assert_eq!(told(&all, before, "nginx:1.28").await, near("nginx:1.28", "nginx:1.27"), "not yet");
        assert_eq!(told(&all, At::Now, "vault").await, near("vault", "**/vault"));
        assert_eq!(told(&own, At::Now, "vault").await, none("vault"), "what others have is not there");
        assert_eq!(told(&own, At::Now, "nginx:1.27").await, []);
        assert_eq!(told(&own, At::Now, "ngnix").await, near("ngnix", "nginx"));
    });
}
