//! The catalog over HTTP: what jobs and people declare, what becomes of it, and what is refused.

mod answers;
mod examples;
mod flow;
mod gitlab;
mod grants;
mod jobs;
mod law;
mod paths;
mod refusals;
mod viewers;
mod views;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use super::server::{Server, body, server, status};
use super::{AppState, Authenticator};
use crate::api::routes;
use crate::catalog::CatalogWriter;
use crate::http::auth::{AccessConfig, LocalAccess, TokenConfig, TokenHash};
use crate::http::router::Router;
use strandline_log::{Appender, Batch, Begin, Observed, Phase};
use strandline_model::{AgentSpec, CatalogFact, ClusterSpec, Kind, Source, WatchKey};
use strandline_query::testing::{World, declare, judged_fields, observation};
use strandline_syntax::percent_encode;

/// A world that a server on this machine tells of and that callers change.
struct Town {
    world: World,
    server: Server,
    appender: Appender,
    minute: Cell<usize>,
}

/// What was answered.
#[derive(Debug)]
struct Told {
    status: u16,
    body: Value,
}

fn token(name: &str, projects: &[&str]) -> TokenConfig {
    TokenConfig {
        name: name.into(),
        hash: TokenHash::of(&format!("sl_{name}")),
        user: None,
        expires: None,
        projects: projects.iter().map(|path| (*path).to_owned()).collect(),
        groups: BTreeSet::new(),
        write: true,
        everything: false,
    }
}

impl Town {
    /// Two clusters, one agent that the configuration declares, and tokens of several projects; who sends none may do
    /// everything.
    async fn new() -> Self {
        Town::serving(routes).await
    }

    /// The same, with what is served of it.
    async fn serving(routes: impl Fn(&AppState) -> Router) -> Self {
        let world = World::new([]);
        let appender = world.write();
        let cluster =
            |name: &str| CatalogFact::Cluster(ClusterSpec { name: name.into(), region: String::new() });
        let fixed = AgentSpec::new("ops/agents:fixed".parse().expect("an agent's name"));
        let facts = vec![cluster("east"), cluster("west"), CatalogFact::Agent(Box::new(fixed))];
        declare(&appender, facts).await;
        let tokens = [
            token("web", &["shop/web"]),
            token("operator", &["ops/deploy"]),
            token("frontend", &["dev/frontend"]),
            token("both", &["ops/deploy", "dev/frontend"]),
            token("third", &["dev/backend"]),
        ];
        let local = Some(LocalAccess::Write);
        let access = AccessConfig { tokens: tokens.into(), local, ..AccessConfig::default() };
        let state = AppState {
            queries: world.queries.clone(),
            clock: world.clock.clone(),
            access: Arc::new(Authenticator::new(access, true, world.clock.clone())),
            catalog: CatalogWriter::new(&appender),
            ..super::state(true)
        };
        let town =
            Town { server: server(routes(&state), |_| {}).await, world, appender, minute: Cell::new(1) };
        town.pass();
        town
    }

    /// A minute passes, and what is in the log is seen.
    fn pass(&self) {
        self.minute.set(self.minute.get() + 1);
        self.world.clock.set(World::time(self.minute.get()));
        self.world.project();
    }

    /// A Pod is there from now on.
    async fn pod(&self, cluster: &str, namespace: &str, name: &str, labels: &[(&str, &str)]) {
        let labels: BTreeMap<_, _> = labels.iter().copied().collect();
        let uid = format!("{cluster}-{namespace}-{name}");
        let metadata = json!({ "name": name, "namespace": namespace, "uid": uid, "labels": labels });
        let mut object = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata });
        object.as_object_mut().expect("an object").extend(judged_fields(0));
        self.applied(cluster, Kind::new("", "Pod"), &object).await;
    }

    /// An object is there from now on.
    async fn applied(&self, cluster: &str, kind: Kind, object: &Value) {
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let [namespace, name, uid] = ["namespace", "name", "uid"].map(|of| text(&format!("/metadata/{of}")));
        let watch = WatchKey { cluster: cluster.into(), kind, namespace: String::new() };
        let epoch = self.appender.begin(Begin::new(&watch, false)).await.expect("a run").epoch;
        let observed =
            vec![Observed::Applied(observation(namespace, name, uid, self.minute.get() as u64, object))];
        let batch = Batch { watch, epoch, phase: Phase::UpToDate, observed, cursor: None };
        self.appender.append(batch).await.expect("the log takes it");
        self.pass();
    }

    /// Asks with a token, or without one where it is empty.
    async fn call(&self, token: &str, method: &str, path: &str, content: &str) -> Told {
        let answer = self.answer(token, method, &format!("/api/v1/{path}"), content).await;
        self.pass();
        let status = status(&answer).parse().unwrap_or_else(|_| panic!("{method} {path}: {answer}"));
        Told { status, body: serde_json::from_str(body(&answer)).unwrap_or_else(|_| panic!("{answer}")) }
    }

    /// What the server sends to whoever asks so.
    async fn answer(&self, token: &str, method: &str, path: &str, content: &str) -> String {
        let bearer = match token {
            "" => String::new(),
            name => format!("authorization: Bearer sl_{name}\r\n"),
        };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{bearer}content-length: {}\r\n\
             content-type: application/json\r\n\r\n{content}",
            content.len()
        );
        self.server.raw(head.as_bytes()).await
    }

    /// Reads what has to be there.
    async fn get(&self, path: &str) -> Value {
        self.get_as("", path).await
    }

    async fn get_as(&self, token: &str, path: &str) -> Value {
        let told = self.call(token, "GET", path, "").await;
        assert_eq!(told.status, 200, "{path}: {told:?}");
        told.body
    }

    /// Writes what has to be taken.
    async fn write(&self, method: &str, path: &str, content: Value) -> Value {
        self.write_as("", method, path, content).await
    }

    async fn write_as(&self, token: &str, method: &str, path: &str, content: Value) -> Value {
        let told = self.call(token, method, path, &content.to_string()).await;
        assert!(matches!(told.status, 200 | 201), "{method} {path} {content}: {told:?}");
        told.body
    }

    /// An agent with this configuration.
    async fn agent(&self, id: &str, cluster: &str, configuration: &str) -> Value {
        let content = json!({ "cluster": cluster, "configuration": configuration });
        self.write("PUT", &format!("agents/{}", percent_encode(id)), content).await
    }

    /// What a source of this server's own says.
    async fn declare(&self, source: Source, facts: Vec<CatalogFact>) {
        self.appender.declare(source, facts).await.expect("the log takes it");
        self.pass();
    }

    /// Writes what has to be refused, and see that nothing was written.
    async fn refused(&self, token: &str, method: &str, path: &str, content: &str, why: (u16, &str)) -> Value {
        let before = self.world.head();
        let told = self.call(token, method, path, content).await;
        let code = told.body["code"].as_str().unwrap_or_default();
        assert_eq!((told.status, code), why, "{method} {path} {content}: {told:?}");
        assert_eq!(self.world.head(), before, "{method} {path} {content}: nothing is written");
        told.body
    }
}

/// The codes of an environment's warnings.
fn codes(environment: &Value) -> Vec<&str> {
    environment["warnings"].as_array().into_iter().flatten().filter_map(|one| one["code"].as_str()).collect()
}

/// The uids of a list of resources.
fn ids(list: &Value) -> Vec<&str> {
    list["items"].as_array().into_iter().flatten().filter_map(|one| one["id"].as_str()).collect()
}

/// Both of GitLab's labels.
fn labelled<'a>(project: &'a str, slug: &'a str) -> [(&'a str, &'a str); 2] {
    [("app.gitlab.com/project_id", project), ("app.gitlab.com/environment_slug", slug)]
}
