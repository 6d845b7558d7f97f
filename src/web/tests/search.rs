//! The page of a search from fixed answers.

use super::*;
use crate::web::search::rendered;
use strandline_model::{DeploymentId, DeploymentSpec, DeploymentStatus, EnvironmentId, Offset};
use strandline_protocol::{
    Deployment, FoundCluster, FoundImage, FoundProject, FoundResource, Gone, Hit, Hits, SearchMatch,
    SearchResults, UnknownWord,
};

fn deployment() -> Deployment {
    let spec = DeploymentSpec {
        id: DeploymentId(7),
        environment: EnvironmentId::new(HOSTILE),
        project: HOSTILE.into(),
        status: DeploymentStatus::Failed,
        reference: HOSTILE.into(),
        tag: false,
        sha: HOSTILE.into(),
        job: None,
        user: HOSTILE.into(),
        created_at: None,
        finished_at: None,
        agent: None,
        authorization: None,
    };
    Deployment { spec, observed_at: NOON }
}

#[test]
fn matches_lead_to_their_pages_and_stay_text() {
    fn hits<T>(items: Vec<T>, more: bool) -> Option<Hits<T>> {
        let hit = |item| Hit { nearness: SearchMatch::Word, item };
        Some(Hits { items: items.into_iter().map(hit).collect(), more })
    }
    let mut odd = resource(HOSTILE, HOSTILE, Some(Health::Degraded));
    odd.key.cluster = HOSTILE.into();
    let gone = Gone { at: Some(NOON.minus(std::time::Duration::from_secs(60))), last_offset: Offset::new(9) };
    let results = SearchResults {
        query: HOSTILE.into(),
        environments: hits(vec![environment("shop/web", "production", Some(Health::Degraded))], false),
        projects: hits(vec![FoundProject { id: "shop/web".into() }], false),
        clusters: hits(vec![FoundCluster { id: HOSTILE.into(), region: HOSTILE.into() }], false),
        resources: hits(
            vec![
                FoundResource { resource: resource("Pod", "web-0", Some(Health::Healthy)), gone: Some(gone) },
                FoundResource { resource: odd, gone: None },
            ],
            true,
        ),
        images: hits(
            vec![FoundImage { id: "docker.io/library/web:1".into(), short: "web:1".into(), in_use: false }],
            false,
        ),
        deployments: hits(vec![deployment()], false),
        warnings: Vec::new(),
    };
    let page = rendered(&request("/search", "q=web%3C&at=1234"), results);
    sound(&page);
    for text in [
        "<h1>Search: web&#60;</h1>",
        "name=\"q\" value=\"web&#60;\"",
        "href=\"/environments/shop.web.production?at=1234\">shop.web.production</a>",
        "href=\"/projects/shop%2Fweb?at=1234\">shop/web</a>",
        "<li class=\"gone\"><a href=\"/resources/web-0?at=9&#38;cluster=eu-west\">Pod/web-0</a>",
        "deleted 60s ago",
        "<a class=\"small\" href=\"/search?q=web%3C&#38;at=1234&#38;type=resources\">More resources</a>",
        "href=\"/images?at=1234&#38;image=docker.io%2Flibrary%2Fweb%3A1\">web:1</a>",
        "href=\"/deployments/7?at=1234&#38;project=",
    ] {
        assert!(page.contains(text), "{text} in\n{page}");
    }
    let slip = UnknownWord {
        code: UnknownWord::CODE.into(),
        parameter: "q".into(),
        value: "wbe".into(),
        suggestion: Some("web".into()),
        message: String::new(),
    };
    let results =
        SearchResults { query: "wbe prod".into(), warnings: vec![slip], ..SearchResults::default() };
    let slipped = rendered(&request("/search", "q=WBE+prod"), results);
    sound(&slipped);
    assert!(slipped.contains("Did you mean <a href=\"/search?q=web%20prod\">web prod</a>?"), "{slipped}");
    let none = rendered(&request("/search", "q=web"), SearchResults::default());
    sound(&none);
    assert!(none.contains("Nothing that you have access to matches “web”."), "{none}");
}
