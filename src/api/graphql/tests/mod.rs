//! Queries to a small recorded world: what they answer, to whom, at which moment, and what they may not ask for.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod answers;
mod hostile;

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::asker::Asker;
use super::execute::{GraphqlRequest, execute};
use crate::catalog::{Authority, CatalogWriter};
use strandline_clock::testing::ManualClock;
use strandline_model::{AgentId, DeploymentId, Offset, Timestamp};
use strandline_query::testing::{block_on, queries, record};
use strandline_query::{ListDeployments, Queries, Scope};
use strandline_view::Projector;
use strandline_view::ruleset::RuleSet;

/// The query of seeds 000 and 002, with the fields that each of them asks an agent for.
const SEEDS: [&str; 2] = [
    "id\n          kubernetesNamespace",
    "id\n          name\n          project\n          kubernetesNamespace",
];

fn seed(fields: &str, environment: &str) -> String {
    format!(
        r#"{{
  project(fullPath: "group/project") {{
    id
    environment(name: "{environment}") {{
      slug
      lastDeployment(status: SUCCESS) {{
        agent {{
          {fields}
        }}
      }}
    }}
  }}
}}"#
    )
}

/// A catalog of which the offset after each step is known.
struct Recorded {
    queries: Queries,
    /// Before the second deployment to production, and the newest.
    early: Offset,
    late: Offset,
    _directory: TempDir,
}

fn input<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// What an agent says that lets jobs of the project in, and, by `users`, its members.
fn configuration(users: bool) -> String {
    let users = if users {
        "user_access:\n  access_as:\n    agent: {}\n  projects:\n    - id: group/project\n"
    } else {
        ""
    };
    format!("ci_access:\n  projects:\n    - id: group/project\n{users}")
}

fn deployment(environment: &str, status: &str, agent: Option<&str>, sha: &str) -> Value {
    let mut value = json!({
        "project": "group/project", "environment": environment, "status": status, "ref": "main", "sha": sha,
        "job": "deploy",
    });
    if let Some(agent) = agent {
        value["kubernetes"] = json!({ "agent": agent, "namespace": "shop" });
    }
    value
}

impl Recorded {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::default());
        clock.set("2026-11-20T12:00:00Z".parse().unwrap());
        let (early, late) = record(directory.path(), clock.clone(), |appender| async move {
            let catalog = CatalogWriter::new(&appender);
            catalog
                .put_project(Authority::Everything, "group/project", input(json!({ "id": 7 })))
                .await
                .unwrap();
            for (id, number, users) in
                [("group/agents:open", Some(3), true), ("group/agents:closed", None, false)]
            {
                let agent: AgentId = id.parse().unwrap();
                let given = json!({ "id": number, "cluster": "east", "configuration": configuration(users) });
                catalog.put_agent(Authority::Everything, &agent, input(given)).await.unwrap();
            }
            for name in
                ["production", "production/EU-region", "<environment-name>", "review/one", "review/two"]
            {
                let given = if name == "production" {
                    json!({ "id": 41, "name": name })
                } else {
                    json!({ "name": name })
                };
                catalog
                    .put_environment(Authority::Everything, None, Some("group/project"), input(given))
                    .await
                    .unwrap();
            }
            catalog
                .put_environment(
                    Authority::Everything,
                    None,
                    Some("undeclared/web"),
                    input(json!({ "name": "staging" })),
                )
                .await
                .unwrap();
            let steps = [
                deployment("<environment-name>", "success", Some("group/agents:open"), "a1"),
                deployment("production", "success", Some("group/agents:open"), "b2"),
                deployment("production", "failed", Some("group/agents:open"), "c3"),
                deployment("review/one", "success", None, "d4"),
            ];
            let mut early = Offset::ZERO;
            for step in steps {
                early = catalog.deploy((Authority::Everything, true), input(step)).await.unwrap().offset;
            }
            let last = deployment("production", "success", Some("group/agents:closed"), "e5");
            (early, catalog.deploy((Authority::Everything, true), input(last)).await.unwrap().offset)
        });
        let mut projector = Projector::open(directory.path(), RuleSet::default()).unwrap();
        while projector.step().unwrap().is_some() {}
        let queries = queries(directory.path(), clock);
        Recorded { queries, early, late, _directory: directory }
    }

    /// What a request is answered with.
    fn request(&self, scope: &Scope, request: Value) -> Value {
        let asked: GraphqlRequest = input(request);
        let asker = Asker::new(self.queries.clone(), scope.clone(), Timestamp::default());
        block_on(async { json!(execute(&asked, &asker).await) })
    }

    fn ask(&self, scope: &Scope, query: &str) -> Value {
        self.request(scope, json!({ "query": query }))
    }

    /// What is answered to who sees everything, where nothing may be wrong.
    fn data(&self, query: &str) -> Value {
        let mut answer = self.ask(&Scope::everything(), query);
        assert_eq!(answer["errors"], Value::Null, "{query}: {answer}");
        answer["data"].take()
    }

    fn deployments(&self, environment: &str) -> Vec<DeploymentId> {
        let id = strandline_model::EnvironmentId::of("group/project", environment);
        let filter = strandline_query::DeploymentFilter { environment: Some(id), ..Default::default() };
        let (all, page) = (Scope::everything(), strandline_query::PageRequest::default());
        let asked = self.queries.ask(&all, strandline_model::At::Now, ListDeployments::new(&filter, &page));
        block_on(async { asked.await.unwrap().items.iter().map(|item| item.spec.id).collect() })
    }
}

fn members() -> Scope {
    Scope::projects(["group/project".to_owned()])
}

/// The codes of an answer's errors.
fn codes(answer: &Value) -> Vec<&str> {
    let errors = answer["errors"].as_array().into_iter().flatten();
    errors.map(|error| error["extensions"]["code"].as_str().unwrap_or("none")).collect()
}
