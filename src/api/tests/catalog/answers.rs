//! Answers that are given again: only to who was given them, and only while nothing is recorded.

use serde_json::Value;

use super::Town;
use crate::api::tests::server::{body, status};
use strandline_model::{CatalogFact, ClusterSpec, EnvironmentSpec, Source};

impl Town {
    /// What a list of environments is answered with; no time passes.
    async fn environments(&self, token: &str) -> Vec<String> {
        let answer = self.answer(token, "GET", "/api/v1/environments", "").await;
        assert_eq!(status(&answer), "200", "{answer}");
        let page: Value = serde_json::from_str(body(&answer)).expect("JSON");
        super::ids(&page).into_iter().map(str::to_owned).collect()
    }

    /// The configuration has these environments and no others from now on, which is the same second as before.
    async fn configured(&self, projects: &[&str]) {
        let cluster = ClusterSpec { name: "east".into(), region: String::new() };
        let environment = |project: &&str| EnvironmentSpec::new(project, "production").into();
        let facts = std::iter::once(CatalogFact::Cluster(cluster)).chain(projects.iter().map(environment));
        self.appender.declare(Source::Config, facts.collect()).await.expect("the log takes it");
        self.world.project();
    }
}

#[tokio::test]
async fn an_answer_is_given_again_only_while_nothing_is_recorded() {
    let town = Town::new().await;
    for projects in [&["shop/web"][..], &["shop/web", "ops/deploy"], &["ops/deploy"], &[]] {
        town.configured(projects).await;
        let mut expected: Vec<String> =
            projects.iter().map(|project| format!("{}.production", project.replace('/', "."))).collect();
        expected.sort();
        // The first is answered from the record, the second as the first.
        for _ in 0..2 {
            assert_eq!(town.environments("").await, expected);
        }
    }
}

#[tokio::test]
async fn an_answer_is_given_again_to_nobody_else() {
    let town = Town::new().await;
    town.configured(&["shop/web", "ops/deploy"]).await;
    for _ in 0..2 {
        assert_eq!(town.environments("").await, ["ops.deploy.production", "shop.web.production"]);
        assert_eq!(town.environments("web").await, ["shop.web.production"]);
        assert_eq!(town.environments("operator").await, ["ops.deploy.production"]);
        assert!(town.environments("third").await.is_empty());
        let wrong = town.answer("nobody", "GET", "/api/v1/environments", "").await;
        assert_eq!(status(&wrong), "401", "{wrong}");
    }
}
