//! Environments against a fold over all that is declared of them, at every offset and for callers of several kinds.

mod steps;

use serde_json::{Value, json};

use self::steps::a_step;

use super::*;
use strandline_gitlab::{Membership, read_agent_config};
use strandline_log::CatalogChange;
use strandline_protocol::EnvironmentAccess;
use strandline_query::GetEnvironment;

const PROJECTS: [&str; 3] = ["shop/web", "shop/deep/api", "ops/deploy"];
const CLUSTERS: [&str; 2] = ["us", "eu"];
const REGIONS: [&str; 3] = ["", "us-east", "eu-west"];
const NAMES: [&str; 3] = ["production", "review/x", "production/us-region"];
const NAMESPACES: [&str; 2] = ["one", "two"];

/// Members of what may ask.
const CALLERS: [(&[&str], &[&str]); 6] = [
    (&["shop/web"], &[]),
    (&["Ops/Deploy"], &[]),
    (&[], &["shop"]),
    (&[], &["shop/deep"]),
    (&["shop/deep"], &["ops/deploy/below"]),
    (&[], &["sh"]),
];

/// Places that somebody may read.
const READABLE: [&[(&str, &str)]; 4] =
    [&[("us", "one")], &[("us", "one"), ("eu", "two")], &[("us", "")], &[("us", ""), ("eu", "")]];

/// What happens to the catalog; numbers choose from the lists above.
#[derive(Clone, Debug)]
enum Step {
    Fact(Source, CatalogFact),
    Withdraw(CatalogKind, String),
    /// A resource of a cluster declares an environment, or is gone.
    Object {
        cluster: usize,
        name: usize,
        declares: Option<(usize, usize, usize)>,
    },
}

fn declaring(name: usize, declares: (usize, usize, usize)) -> Value {
    let (environment, project, namespace) = declares;
    json!({
        "apiVersion": "gitlabdeploymentcontroller.gitlab.com/v1", "kind": "GitLabDeployment",
        "metadata": {"name": format!("d{name}"), "uid": format!("uid-{name}")},
        "spec": {"environment": NAMES[environment], "namespace": NAMESPACES[namespace],
            "projects": [PROJECTS[project]], "groups": ["ops"]},
    })
}

async fn happen(appender: &Appender, version: usize, step: &Step) {
    match step {
        Step::Fact(source, fact) => {
            let fact = fact.clone();
            let decision = move |_: &mut strandline_log::Catalog<'_, '_>| {
                Ok((vec![CatalogChange::Declare(fact.clone())], ()))
            };
            appender.decide(*source, decision).await.unwrap();
        }
        Step::Withdraw(kind, name) => {
            let (kind, name) = (*kind, name.clone());
            let decision = move |_: &mut strandline_log::Catalog<'_, '_>| {
                Ok((vec![CatalogChange::Withdraw(kind, name.clone())], ()))
            };
            appender.decide(Source::Api, decision).await.unwrap();
        }
        Step::Object { cluster, name, declares } => {
            let kind = Kind::new("gitlabdeploymentcontroller.gitlab.com", "GitLabDeployment");
            let watch = WatchKey { cluster: CLUSTERS[*cluster].to_owned(), kind, namespace: String::new() };
            let epoch = appender.begin(Begin::new(&watch, false)).await.unwrap().epoch;
            let (key, uid) = (format!("d{name}"), format!("uid-{name}"));
            let observed = match declares {
                Some(declares) => {
                    let body = declaring(*name, *declares);
                    Observed::Applied(observation("", &key, &uid, version as u64, &body))
                }
                None => Observed::Deleted {
                    namespace: String::new(),
                    name: key,
                    uid: Uid::new(uid),
                    resource_version: ResourceVersion::new(version.to_string()),
                },
            };
            let batch =
                Batch { watch, epoch, phase: Phase::UpToDate, observed: vec![observed], cursor: None };
            appender.append(batch).await.unwrap();
        }
    }
}

/// When the last deployment ended well, its number, project, and agent with namespace.
type Ended = (Timestamp, u64, String, Option<AgentDeployment>);

/// The catalog as a fold over the log leaves it.
#[derive(Clone, Default)]
struct Catalog {
    clusters: BTreeMap<String, String>,
    projects: BTreeMap<String, ProjectSpec>,
    agents: BTreeMap<String, AgentSpec>,
    environments: BTreeMap<EnvironmentId, (EnvironmentSpec, Source)>,
    objects: BTreeMap<ResourceId, (ResourceKey, Value)>,
    last: BTreeMap<EnvironmentId, Ended>,
    deciding: BTreeMap<EnvironmentId, Ended>,
}

/// What an environment is to be.
#[derive(Debug, PartialEq)]
struct Expected {
    region: String,
    state: EnvironmentState,
    labels: Labels,
    targets: Vec<Target>,
    last_deployment: Option<u64>,
    declared_by: usize,
}

impl Catalog {
    fn take(&mut self, record: &Record) {
        match &record.change {
            Change::Declared { fact, source, .. } => self.declared(fact, *source, record.observed_at),
            Change::Withdrawn { kind, name, .. } => match kind {
                CatalogKind::Cluster => _ = self.clusters.remove(name),
                CatalogKind::Project => _ = self.projects.remove(name),
                CatalogKind::Agent => _ = self.agents.remove(name),
                CatalogKind::Environment => _ = self.environments.remove(&EnvironmentId::new(name.as_str())),
                CatalogKind::Deployment => {}
            },
            Change::Applied { id, key, body, .. } => {
                self.objects.insert(*id, (key.clone(), serde_json::from_str(body).unwrap()));
            }
            Change::Deleted { id, .. } => _ = self.objects.remove(id),
            Change::Clock(_) | Change::Erased(_) | Change::Forgotten { .. } | Change::Coverage(_) => {}
        }
    }

    fn declared(&mut self, fact: &CatalogFact, source: Source, observed_at: Timestamp) {
        match fact {
            CatalogFact::Cluster(spec) => _ = self.clusters.insert(spec.name.clone(), spec.region.clone()),
            CatalogFact::Project(spec) => _ = self.projects.insert(spec.path.clone(), spec.clone()),
            CatalogFact::Agent(spec) => _ = self.agents.insert(spec.id.to_string(), (**spec).clone()),
            CatalogFact::Environment(spec) => {
                self.environments.insert(spec.id.clone(), ((**spec).clone(), source));
            }
            CatalogFact::Deployment(spec) if spec.status == DeploymentStatus::Success => {
                let ended = spec.finished_at.unwrap_or(observed_at).min(observed_at);
                let told = (ended, spec.id.0, spec.project.clone(), spec.agent.clone());
                let deciding = spec.agent.is_some().then_some(&mut self.deciding);
                for map in [Some(&mut self.last), deciding].into_iter().flatten() {
                    if map.get(&spec.environment).is_none_or(|held| held.0 <= ended) {
                        map.insert(spec.environment.clone(), told.clone());
                    }
                }
            }
            CatalogFact::Deployment(_) => {}
        }
    }

    /// The resources that declare an environment.
    fn declaring(&self, id: &EnvironmentId) -> Vec<(&ResourceKey, &Value)> {
        let of = |spec: &Value| {
            EnvironmentId::of(spec["projects"][0].as_str().unwrap(), spec["environment"].as_str().unwrap())
        };
        let all = self.objects.values().map(|(key, object)| (key, &object["spec"]));
        all.filter(|(_, spec)| of(spec) == *id).collect()
    }

    fn spec(&self, id: &EnvironmentId) -> Option<EnvironmentSpec> {
        let declared = || {
            let spec = self.declaring(id).first()?.1;
            Some(EnvironmentSpec::new(spec["projects"][0].as_str()?, spec["environment"].as_str()?))
        };
        self.environments.get(id).map(|(spec, _)| spec.clone()).or_else(declared)
    }

    /// Where it would look, were it in use.
    fn targets(&self, id: &EnvironmentId, spec: &EnvironmentSpec) -> Vec<Target> {
        let project = self.projects.get(&spec.project);
        let default: Labels = project.and_then(|project| project.number).map_or_else(Labels::new, |number| {
            [
                ("app.gitlab.com/project_id".to_owned(), number.to_string()),
                ("app.gitlab.com/environment_slug".to_owned(), spec.slug.clone()),
            ]
            .into()
        });
        let by = |agent: &AgentId, namespace: &str, labels: &Option<Labels>| {
            let cluster = self.agents.get(&agent.to_string()).map(|agent| agent.cluster.clone());
            let cluster = cluster.filter(|cluster| !cluster.is_empty())?;
            let labels = labels.clone().unwrap_or_else(|| default.clone());
            let (namespace, agent) = (namespace.to_owned(), Some(agent.clone()));
            Some(Target { cluster, namespace, labels, agent, inventory: None })
        };
        let mut found = Vec::new();
        for target in &spec.targets {
            found.extend(match &target.agent {
                Some(agent) => by(agent, &target.namespace, &target.labels),
                None => Some(Target {
                    cluster: target.cluster.clone(),
                    namespace: target.namespace.clone(),
                    labels: target.labels.clone().unwrap_or_else(|| default.clone()),
                    ..Target::default()
                }),
            });
        }
        if spec.targets.is_empty() {
            let deployed = self.deciding.get(id).and_then(|(.., agent)| agent.clone());
            let set = spec.settings.cluster_agent.clone();
            found.extend(match (deployed, set) {
                (Some(deployed), _) => by(&deployed.agent, &deployed.kubernetes_namespace, &None),
                (None, Some(agent)) => by(&agent, &spec.settings.kubernetes_namespace, &None),
                (None, None) => None,
            });
        }
        found.extend(self.declaring(id).into_iter().map(|(key, spec)| Target {
            cluster: key.cluster.clone(),
            namespace: spec["namespace"].as_str().unwrap().to_owned(),
            ..Target::default()
        }));
        found
    }

    fn expected(&self, id: &EnvironmentId) -> Option<Expected> {
        let spec = self.spec(id)?;
        let mut labels = self.projects.get(&spec.project).map(|p| p.labels.clone()).unwrap_or_default();
        labels.extend(spec.labels.clone());
        let mut targets = self.targets(id, &spec);
        let regions: BTreeSet<_> = targets
            .iter()
            .map(|target| self.clusters.get(&target.cluster).cloned().unwrap_or_default())
            .collect();
        let of_clusters =
            if regions.len() == 1 { regions.into_iter().next().unwrap() } else { String::new() };
        let by_name = if spec.name.ends_with("/us-region") { Some("us".to_owned()) } else { None };
        let region = match (spec.region.as_str(), labels.get("region"), by_name) {
            ("", Some(told), _) => told.clone(),
            ("", None, Some(name)) => name,
            ("", None, None) => of_clusters,
            (own, ..) => own.to_owned(),
        };
        if spec.state == EnvironmentState::Stopped {
            targets.clear();
        }
        let declared_by = usize::from(self.environments.contains_key(id)) + self.declaring(id).len();
        let last_deployment = self.last.get(id).map(|(_, id, ..)| *id);
        Some(Expected { region, state: spec.state, labels, targets, last_deployment, declared_by })
    }

    /// Whether whoever may read these places reads an environment: it looks there alone, whatever its agents say.
    fn readable(&self, id: &EnvironmentId, places: &[(&str, &str)]) -> bool {
        let targets = self.expected(id).map(|expected| expected.targets).unwrap_or_default();
        let held = |target: &Target| {
            let mut at = [target.namespace.as_str(), ""].into_iter();
            at.any(|namespace| places.contains(&(target.cluster.as_str(), namespace)))
        };
        !targets.is_empty() && targets.iter().all(held)
    }

    /// Whether a caller sees an environment, by the rights of `now` whether it may read what it holds.
    fn access(&self, now: &Catalog, id: &EnvironmentId, caller: usize) -> Option<EnvironmentAccess> {
        let spec = self.spec(id)?;
        let mut viewers = vec![spec.project.clone()];
        viewers.extend([&self.last, &self.deciding].iter().filter_map(|map| Some(map.get(id)?.2.clone())));
        for (_, spec) in self.declaring(id) {
            viewers.extend([spec["projects"][0].as_str().unwrap().to_owned(), "ops".to_owned()]);
        }
        if !viewers.iter().any(|path| is_member(caller, path)) {
            return None;
        }
        let lets_in = |agent: &AgentId| {
            let text = now.agents.get(&agent.to_string()).map(|agent| agent.configuration.clone());
            let access =
                read_agent_config(&text.unwrap_or_default()).ok().and_then(|read| read.config.user_access);
            let access = access.unwrap_or_default();
            access.projects.iter().chain(&access.groups).any(|path| is_member(caller, path))
        };
        let targets = self.targets(id, &spec);
        let served = targets.iter().filter_map(|target| target.agent.as_ref()).all(lets_in);
        Some(if served { EnvironmentAccess::Granted } else { EnvironmentAccess::Denied })
    }
}

fn is_member(caller: usize, path: &str) -> bool {
    let (projects, groups) = CALLERS[caller];
    let same = |one: &str| one.eq_ignore_ascii_case(path);
    let above = |group: &str| path.to_lowercase().starts_with(&format!("{}/", group.to_lowercase()));
    projects.iter().any(|one| same(one)) || groups.iter().any(|group| same(group) || above(group))
}

fn ids() -> impl Iterator<Item = EnvironmentId> {
    PROJECTS.into_iter().flat_map(|project| NAMES.into_iter().map(|name| EnvironmentId::of(project, name)))
}

async fn agree(queries: &Queries, at: Offset, catalog: &Catalog, now: &Catalog) {
    for id in ids() {
        let found = queries.ask(&Scope::everything(), At::Offset(at), GetEnvironment::new(&id)).await.ok();
        let told = found.map(|answer| answer.value).map(|environment| Expected {
            region: environment.region,
            state: environment.state,
            labels: environment.labels,
            targets: environment.targets,
            last_deployment: environment.last_deployment.map(|last| last.spec.id.0),
            declared_by: environment.declared_by.len(),
        });
        assert_eq!(told, catalog.expected(&id), "{id} at {at}");
        for (caller, (projects, groups)) in CALLERS.iter().enumerate() {
            let scope = Scope::members(Membership::new(*projects, *groups));
            let found = queries.ask(&scope, At::Offset(at), GetEnvironment::new(&id)).await.ok();
            let expected = catalog.access(now, &id, caller);
            assert_eq!(found.map(|answer| answer.value.access), expected, "{id} at {at} for {caller}");
        }
        for places in READABLE {
            let place =
                |(cluster, namespace): &(&str, &str)| ((*cluster).to_owned(), (*namespace).to_owned());
            let scope = Scope::projects([]).with_places(Places::new(places.iter().map(place)));
            let found = queries.ask(&scope, At::Offset(at), GetEnvironment::new(&id)).await.ok();
            let expected = catalog.readable(&id, places).then_some(EnvironmentAccess::Granted);
            assert_eq!(found.map(|answer| answer.value.access), expected, "{id} at {at} for {places:?}");
        }
    }
}

proptest! {
    #![proptest_config(strandline_testkit::cases(32))]

    #[test]
    fn environments_are_what_follows_from_all_that_is_declared(steps in prop::collection::vec(a_step(), 1..40)) {
        let dir = tempfile::tempdir().unwrap();
        testing::record(dir.path(), Arc::new(SystemClock), |appender| async move {
            for (version, step) in steps.iter().enumerate() {
                happen(&appender, version, step).await;
            }
        });
        project_in_bites(dir.path());
        let incremental = dump(dir.path());
        build(dir.path(), ProjectorOptions::small(RuleSet::default()), &Watermark::default()).unwrap();
        prop_assert_eq!(dump(dir.path()), incremental);
        let records = LogReader::open(dir.path()).unwrap().after(Offset::ZERO, 100_000).unwrap();
        let mut folds = vec![Catalog::default()];
        for record in &records {
            let mut next = folds[folds.len() - 1].clone();
            next.take(record);
            folds.push(next);
        }
        let queries = testing::queries(dir.path(), Arc::new(SystemClock));
        block_on(async {
            for (n, fold) in folds.iter().enumerate() {
                agree(&queries, Offset::new(n as u64), fold, &folds[folds.len() - 1]).await;
            }
        });
    }
}
