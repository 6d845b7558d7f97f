//! Incidents of the demo, solved by `why`, `onset` and `diff` alone.
//!
//! The simulated fleet plays one story for one seed. Here it is recorded step by step in an order of its own, without
//! watches that race each other, so that what the commands print is the same each time: `incidents/*.txt` hold it.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::line::Style;
use super::output::Paint;
use super::{diff, onset, why};
use crate::format::environment_diff;
use strandline_clock::testing::ManualClock;
use strandline_log::{Appender, Batch, Begin, CatalogChange, Epoch, Observed, Phase};
use strandline_model::{At, CatalogFact, EnvironmentId, ResourceVersion, Source, Timestamp, Uid, WatchKey};
use strandline_object_diff::{Between, Class, Lens};
use strandline_query::testing::{self, block_on, queries, record};
use strandline_query::{
    CompareEnvironments, DiffEnvironment, ExplainEnvironment, GetEnvironmentOnset, OnsetFilter, PageRequest,
    Queries, Scope,
};
use strandline_redact::{Rules, TypeMeta, clean};
use strandline_sim::api_server::ApiServer;
use strandline_sim::fleet::{Fleet, FleetOptions};
use strandline_view::Projector;
use strandline_view::ruleset::RuleSet;

/// What is recorded: the time around the incidents, and the namespaces of the environments that they are in.
const STEP: Duration = Duration::from_secs(5);
const NAMESPACES: [&str; 4] =
    ["payments-api-production", "payments-api-staging", "search-indexer-staging", "search-query-staging"];

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// One object as it was seen last.
struct Seen {
    uid: String,
    version: u64,
}

/// A cluster of the fleet, and how far it is recorded.
#[derive(Default)]
struct Followed {
    versions: HashMap<String, u64>,
    seen: BTreeMap<(String, String, String), Seen>,
    epochs: HashMap<String, Epoch>,
}

impl Followed {
    /// Records what changed, in the order in which it did.
    async fn follow(&mut self, server: &ApiServer, appender: &Appender) {
        let mut changes = Vec::new();
        for served in server.kinds() {
            let (kind, id) = (&served.kind, served.kind.to_string());
            let newest = server.resource_version_of(&kind.group, &kind.kind);
            if kind.kind == "Event" || self.versions.insert(id.clone(), newest) == Some(newest) {
                continue;
            }
            let watch = WatchKey { cluster: server.name(), kind: kind.clone(), namespace: String::new() };
            for namespace in NAMESPACES.into_iter().filter(|_| served.namespaced) {
                let names = server.names(&kind.group, &kind.kind, namespace);
                let place = |name: &str| (id.clone(), namespace.to_owned(), name.to_owned());
                let gone = self.seen.extract_if(.., |(of, within, name), _| {
                    *of == id && within == namespace && !names.contains(name)
                });
                for ((_, namespace, name), Seen { uid, .. }) in gone.collect::<Vec<_>>() {
                    let (uid, resource_version) = (Uid::new(uid), ResourceVersion::new(newest.to_string()));
                    let end = Observed::Deleted { namespace, name, uid, resource_version };
                    changes.push((newest, watch.clone(), end));
                }
                for name in &names {
                    let object = server.object(&kind.group, &kind.kind, namespace, name).unwrap();
                    let version = object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
                    let uid = object["metadata"]["uid"].as_str().unwrap().to_owned();
                    if self
                        .seen
                        .insert(place(name), Seen { uid, version })
                        .is_some_and(|seen| seen.version == version)
                    {
                        continue;
                    }
                    let api_version = served.api_version();
                    let meta = TypeMeta { api_version: &api_version, kind: &kind.kind };
                    let seen = clean(&object.to_string(), meta, &Rules::new([7; 32])).unwrap();
                    changes.push((version, watch.clone(), Observed::Applied(seen)));
                }
            }
        }
        changes.sort_by_key(|(version, ..)| *version);
        for (_, watch, seen) in changes {
            let id = watch.kind.to_string();
            if !self.epochs.contains_key(&id) {
                let run = appender.begin(Begin::new(&watch, false)).await.unwrap();
                self.epochs.insert(id.clone(), run.epoch);
            }
            let epoch = self.epochs[&id];
            let batch = Batch { watch, epoch, phase: Phase::UpToDate, observed: vec![seen], cursor: None };
            appender.append(batch).await.unwrap();
        }
    }
}

fn catalog(fleet: &Fleet) -> Vec<CatalogFact> {
    let clusters = fleet.clusters().into_iter().map(|(spec, _)| CatalogFact::Cluster(spec));
    let projects = fleet.projects().into_iter().map(CatalogFact::Project);
    let agents = fleet.agents().into_iter().map(|agent| CatalogFact::Agent(Box::new(agent)));
    let environments = fleet.environments().into_iter().map(CatalogFact::from);
    clusters.chain(projects).chain(agents).chain(environments).collect()
}

/// Records an hour and a half of the fleet's story.
fn recorded(directory: &Path, clock: &Arc<ManualClock>) {
    let start = time("2026-11-20T06:00:00Z");
    let options = FleetOptions { history: Duration::from_secs(8 * 3600), ..FleetOptions::new(1, start) };
    let (mut now, end) = (time("2026-11-20T12:40:00Z"), time("2026-11-20T14:12:00Z"));
    let mut fleet = Fleet::new(&options);
    fleet.step(now);
    drop(fleet.take_deployments());
    let set = clock.clone();
    record(directory, clock.clone(), |appender| async move {
        let mut followed: Vec<Followed> = fleet.servers().iter().map(|_| Followed::default()).collect();
        set.set(now);
        let mut declared = catalog(&fleet);
        testing::declare(&appender, declared.clone()).await;
        while now < end {
            for (server, followed) in fleet.servers().iter().zip(&mut followed) {
                followed.follow(server, &appender).await;
            }
            now = now.plus(STEP);
            set.set(now);
            fleet.step(now);
            let facts = catalog(&fleet);
            if facts != declared {
                appender.declare(Source::Config, facts.clone()).await.unwrap();
                declared = facts;
            }
            for made in fleet.take_deployments() {
                let made = CatalogChange::Declare(CatalogFact::Deployment(Box::new(made)));
                appender.decide(Source::Api, move |_| Ok((vec![made.clone()], ()))).await.unwrap();
            }
        }
    });
    let mut projector = Projector::open(directory, RuleSet::default()).unwrap();
    while projector.step().unwrap().is_some() {}
}

/// Whoever has the three commands and nothing else.
struct Terminal {
    queries: Queries,
    clock: Arc<ManualClock>,
    text: String,
}

impl Terminal {
    fn style(&self, at: &str) -> Style {
        Style { paint: Paint(false), now: time(at), wide: false }
    }

    fn ran(&mut self, command: &str, output: &str) {
        self.text.push_str(&format!("$ strandline {command}\n{}\n", output.trim_end()));
        self.text.push('\n');
    }

    fn why(&mut self, id: &str, at: &str) {
        let id = EnvironmentId::new(id);
        let all = Scope::everything();
        let answer =
            block_on(self.queries.ask(&all, At::Time(time(at)), ExplainEnvironment::new(&id, 20))).unwrap();
        self.ran(&format!("why {id} --at {at}"), &why::draw(&answer, self.style(at)));
    }

    fn onset(&mut self, id: &str, at: &str) {
        let (all, id, filter) = (Scope::everything(), EnvironmentId::new(id), OnsetFilter::default());
        let asked = self.queries.ask(&all, At::Time(time(at)), GetEnvironmentOnset::new(&id, filter));
        let answer = block_on(asked).unwrap();
        let form = onset::Form::new(&answer, self.style(at), Some(140));
        self.ran(&format!("onset {id} --at {at}"), &onset::render(id.as_str(), &answer, form, false));
    }

    fn diff(&mut self, id: &str, from: &str, to: &str) {
        let question = DiffEnvironment {
            environment: EnvironmentId::new(id),
            from: Some(At::Time(time(from))),
            lens: Lens::new(Between::Versions, &[Class::Metadata]),
            children: false,
            page: PageRequest::default(),
        };
        let found = block_on(self.queries.ask(&Scope::everything(), At::Time(time(to)), question)).unwrap();
        let text = diff::painted(&environment_diff(&found), Paint(false));
        self.ran(&format!("diff {id} --from {from} --to {to}"), &text);
    }

    fn beside(&mut self, id: &str, other: &str, at: &str) {
        let question = CompareEnvironments {
            environment: EnvironmentId::new(id),
            with: EnvironmentId::new(other),
            lens: Lens::new(Between::Environments, &[Class::Metadata]),
            names: Vec::new(),
            show_renamed: false,
            children: false,
            page: PageRequest::default(),
        };
        let found = block_on(self.queries.ask(&Scope::everything(), At::Time(time(at)), question)).unwrap();
        let text = diff::painted(&environment_diff(&found), Paint(false));
        self.ran(&format!("diff {id} {other} --at {at}"), &text);
    }

    /// Holds what was printed against what is kept of it.
    fn matches(&mut self, name: &str) {
        self.clock.set(time("2026-11-20T14:12:00Z"));
        strandline_testkit::golden(&format!("src/cli/incidents/{name}"), &std::mem::take(&mut self.text));
    }
}

#[test]
fn three_incidents_are_solved_by_three_commands() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::default());
    recorded(directory.path(), &clock);
    clock.set(time("2026-11-20T14:12:00Z"));
    let queries = queries(directory.path(), clock.clone());
    let mut terminal = Terminal { queries, clock, text: String::new() };

    // A release that crashes, in two clusters, long healed.
    let id = "payments.api.production.us-region";
    terminal.why(id, "2026-11-20T13:12:00Z");
    terminal.onset(id, "2026-11-20T13:12:00Z");
    terminal.diff(id, "2026-11-20T12:59:00Z", "2026-11-20T13:12:00Z");
    terminal.matches("crash.txt");

    // An image that is not there, still open.
    let id = "search.indexer.staging";
    terminal.why(id, "2026-11-20T14:12:00Z");
    terminal.onset(id, "2026-11-20T14:12:00Z");
    terminal.diff(id, "2026-11-20T13:49:00Z", "2026-11-20T14:12:00Z");
    terminal.matches("image.txt");

    // A version that does not start in staging, noticed while it lasts.
    let (id, at) = ("search.query.staging", "2026-11-20T13:46:00Z");
    terminal.why(id, at);
    terminal.onset(id, at);
    terminal.diff(id, "2026-11-20T13:30:00Z", at);
    terminal.matches("start.txt");

    // Besides: the first again. Production is sick and staging is not: what is different?
    let id = "payments.api.production.us-region";
    terminal.beside("payments.api.staging", id, "2026-11-20T13:12:00Z");
    terminal.matches("beside.txt");
}
