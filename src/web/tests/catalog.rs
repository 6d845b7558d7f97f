//! Pages of clusters, projects and agents.

use super::*;
use crate::format::summaries::full_summary;
use crate::web::{agents, clusters, projects};
use strandline_gitlab::{Job, JobEnvironment, decide, known_agent_config};
use strandline_model::{AgentId, CoverageState, Source};
use strandline_protocol::{Agent, Cluster, OverviewPage, Project, WatchGap, WithWarnings};

fn asked(path: &str, query: &str, argument: &str) -> Request {
    Request { arguments: vec![argument.to_owned()], ..request(path, query) }
}

fn agent(said: &str) -> Agent {
    Agent {
        id: AgentId::new("shop/agents", "eu"),
        name: said.into(),
        project: "shop/agents".into(),
        number: None,
        cluster: said.into(),
        environments: vec![],
        problem: said.into(),
        warnings: vec![said.into()],
        configuration: Some(format!("ci_access:\n  {said}: []\n")),
        source: Source::Api,
    }
}

/// An overview of one environment, which is `said` in all of its words.
fn overview(said: &str) -> strandline_protocol::Overview {
    let mut one = full_summary(environment("shop/web", "us", Some(Health::Degraded)));
    one.project = said.into();
    one.clusters = vec![said.into()];
    let mut overview = start::by_region(std::slice::from_ref(&one));
    overview.totals.total = 70;
    overview.environments = Some(OverviewPage { items: vec![one], next: None });
    overview
}

#[test]
fn a_cluster_shows_its_gaps_its_environments_and_its_agents() {
    let gap = Gap { cluster: "eu".into(), ..blind_snapshot().coverage.gaps.remove(0) };
    let cluster = |gaps: Vec<Gap>, name: &str| Cluster {
        id: name.into(),
        region: name.into(),
        watched: gaps.is_empty(),
        unwatched_since: None,
        kinds_watched: 7,
        gaps,
    };
    let mut open = watch("StatefulSet", CoverageState::Gap);
    (open.reason, open.message) = ("forbidden".into(), HOSTILE.into());
    let mut seen = watch("Pod", CoverageState::Watched);
    seen.lag_ms = Some(4000);
    let minutes = |minutes: u64| NOON.minus(std::time::Duration::from_secs(60 * minutes));
    seen.gaps = vec![WatchGap {
        since: minutes(30),
        until: Some(minutes(20)),
        reason: HOSTILE.into(),
        message: String::new(),
    }];
    let list = request("/clusters", "at=1234");
    let one = asked("/clusters/{cluster}", "at=1234", "eu");
    let [list_page, page] = clusters::rendered(
        (&list, &one),
        cluster(vec![gap], "eu"),
        vec![open, seen],
        overview("shop/web"),
        vec![agent("eu")],
    );
    sound(&list_page);
    sound(&page);
    holds(&list_page, &["href=\"/clusters/eu?at=1234\"", "not recorded", "continue=token"]);
    holds(
        &page,
        &[
            "<h2 id=\"gaps\">Not recorded</h2>",
            "StatefulSet.apps",
            "4s</dd>",
            "30m ago",
            "<b>Pod.apps</b> for 10m",
            "href=\"/agents/shop%2Fagents%3Aeu?at=1234\"",
            "69 more environments",
        ],
    );
    for page in clusters::rendered(
        (&list, &one),
        cluster(vec![], HOSTILE),
        vec![],
        overview(HOSTILE),
        vec![agent(HOSTILE)],
    ) {
        sound(&page);
        assert!(page.contains("7 kinds recorded"), "{page}");
    }
}

#[test]
fn an_agent_shows_what_it_decides_of_a_job() {
    let list = request("/agents", "");
    let id = "shop/agents:eu";
    let config = "ci_access:\n  projects:\n    - id: shop/web\n";
    let read = known_agent_config(config).unwrap_or_else(|error| panic!("{error}"));
    let decided = |project: &str| {
        let job = Job {
            project: project.into(),
            environment: Some(JobEnvironment::named("production".to_owned())),
            ..Job::default()
        };
        let value = decide(&read.config, "shop/agents", &job.completed());
        Some(Ok(WithWarnings { value, warnings: vec![HOSTILE.into()] }))
    };
    for (project, text) in
        [("shop/web", ">Allowed</b>"), ("ops/other", ">Denied</b>"), (HOSTILE, ">Denied</b>")]
    {
        let one = asked("/agents/{id}", "project=shop%2Fweb&tag=true", id);
        let [list_page, page] =
            agents::rendered((&list, &one), agent(HOSTILE), overview("shop/web"), decided(project));
        sound(&list_page);
        sound(&page);
        holds(&page, &[text, "name=\"tag\" value=\"true\" checked", "name=\"project\" value=\"shop/web\""]);
    }
    let one = asked("/agents/{id}", "", id);
    let [_, page] =
        agents::rendered((&list, &one), agent("eu"), overview("shop/web"), Some(Err(HOSTILE.into())));
    sound(&page);
    assert!(!page.contains("Allowed") && !page.contains("Denied"), "{page}");
}

#[test]
fn a_project_shows_its_environments_and_what_happened_in_it() {
    let project = Project {
        id: "shop/eu/web".into(),
        number: Some(7),
        default_branch: HOSTILE.into(),
        labels: [("team".to_owned(), "pay".to_owned())].into(),
        source: Source::Config,
    };
    let asked = asked("/projects/{path}", "at=1234", "shop/eu/web");
    let page =
        projects::rendered(&asked, Some(project), overview("shop/eu/web"), vec![], vec![], vec![agent("eu")]);
    sound(&page);
    holds(
        &page,
        &[
            "</span> web</h1>",
            "href=\"/?at=1234&#38;tier=all&#38;group=shop%2Feu\">eu</a>",
            "<dd>team=pay</dd>",
            "href=\"/changes?at=1234&#38;project=shop%2Feu%2Fweb&#38;since=",
            "No deployments were recorded.",
            "href=\"/api/v1/projects/shop%2Feu%2Fweb?at=1234\"",
        ],
    );
    let unknown = projects::rendered(&asked, None, overview(HOSTILE), vec![], vec![], vec![]);
    sound(&unknown);
    assert!(!unknown.contains("/api/v1/projects/"), "{unknown}");
}
