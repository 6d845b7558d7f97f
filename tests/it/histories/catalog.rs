//! What happens to the catalog, and what follows from it for environments.

use std::collections::{BTreeMap, BTreeSet};

use super::happen::{CLUSTERS, Dice, NAMESPACES};
use super::*;
use strandline_log::{Appender, CatalogChange};
use strandline_model::{
    AgentDeployment, AgentId, AgentSpec, CatalogFact, CatalogKind, Change, ClusterSpec, DeploymentId,
    DeploymentSpec, DeploymentStatus, Inventory, Labels, ProjectSpec, Record, Source, Target, TargetSpec,
    Timestamp,
};

const PROJECTS: [&str; 3] = ["shop/web", "shop/api", "ops/tools"];
const NAMES: [&str; 3] = ["production", "staging", "review/us-region"];

fn agent(dice: &mut Dice) -> AgentId {
    AgentId::new("ops/tools", dice.pick(&["one", "two"]))
}

/// Something is declared or withdrawn; `number` has not been used before.
pub(super) async fn happen(appender: &Appender, dice: &mut Dice, now: Timestamp, number: u64) {
    let change = match dice.below(20) {
        0 | 1 => {
            let (name, region) =
                (dice.pick(&CLUSTERS).to_owned(), dice.pick(&["", "", "eu", "us"]).to_owned());
            CatalogChange::Declare(CatalogFact::Cluster(ClusterSpec { name, region }))
        }
        2 => CatalogChange::Withdraw(CatalogKind::Cluster, dice.pick(&CLUSTERS).to_owned()),
        3 => {
            let labels =
                if dice.chance(50) { Labels::from([("team".into(), "a".into())]) } else { Labels::new() };
            let (path, number) = (dice.pick(&PROJECTS).to_owned(), dice.pick(&[None, Some(1)]));
            CatalogChange::Declare(CatalogFact::Project(ProjectSpec {
                path,
                number,
                labels,
                ..Default::default()
            }))
        }
        4 | 5 => {
            let cluster = dice.pick(&["", "east", "west", "west"]).to_owned();
            let spec = AgentSpec { cluster, ..AgentSpec::new(agent(dice)) };
            CatalogChange::Declare(CatalogFact::Agent(Box::new(spec)))
        }
        6..9 => CatalogChange::Declare(CatalogFact::Deployment(Box::new(deployment(dice, now, number)))),
        9 => {
            let id = EnvironmentId::of(dice.pick(&PROJECTS), dice.pick(&NAMES));
            CatalogChange::Withdraw(CatalogKind::Environment, id.to_string())
        }
        _ => CatalogChange::Declare(CatalogFact::from(environment(dice))),
    };
    let decision = move |_: &mut strandline_log::Catalog<'_, '_>| Ok((vec![change.clone()], ()));
    appender.decide(Source::Api, decision).await.unwrap();
}

fn environment(dice: &mut Dice) -> EnvironmentSpec {
    let mut spec = EnvironmentSpec::new(dice.pick(&PROJECTS), dice.pick(&NAMES));
    let labelled = |app: &str| Some(Labels::from([("app".to_owned(), app.to_owned())]));
    for _ in 0..dice.pick(&[0, 1, 1, 2]) {
        let (cluster, namespace) = (dice.pick(&CLUSTERS).to_owned(), dice.pick(&NAMESPACES).to_owned());
        let place = TargetSpec { cluster, namespace, ..TargetSpec::default() };
        spec.targets.push(match dice.below(6) {
            0 => place,
            1 | 2 => TargetSpec { labels: Some(Labels::new()), ..place },
            3 => TargetSpec { labels: labelled(dice.pick(&["web", "api"])), ..place },
            4 => TargetSpec { cluster: String::new(), agent: Some(agent(dice)), ..place },
            _ => {
                let namespace = if dice.chance(50) { String::new() } else { place.namespace };
                let inventory = Some(Inventory::CliUtils("shop-1".to_owned()));
                TargetSpec { namespace, inventory, ..place }
            }
        });
    }
    if dice.chance(30) {
        spec.settings.cluster_agent = Some(agent(dice));
        spec.settings.kubernetes_namespace = dice.pick(&NAMESPACES).to_owned();
    }
    let (own, told) = (dice.pick(&["", "", "own"]), dice.chance(20));
    spec.region = own.to_owned();
    spec.labels = told.then(|| ("region".to_owned(), "told".to_owned())).into_iter().collect();
    spec.state =
        if dice.chance(80) { EnvironmentState::Available } else { dice.pick(&EnvironmentState::ALL) };
    spec
}

/// Each ends once, as deployments do.
fn deployment(dice: &mut Dice, now: Timestamp, number: u64) -> DeploymentSpec {
    let (of, name) = (dice.below(PROJECTS.len()), dice.below(NAMES.len()));
    let status = dice.pick(&[DeploymentStatus::Success, DeploymentStatus::Success, DeploymentStatus::Failed]);
    let through = dice.chance(70).then(|| AgentDeployment {
        only_labelled: false,
        agent: agent(dice),
        kubernetes_namespace: dice.pick(&NAMESPACES).to_owned(),
    });
    DeploymentSpec {
        id: DeploymentId(number),
        environment: EnvironmentId::of(PROJECTS[of], NAMES[name]),
        project: PROJECTS[of].to_owned(),
        status,
        reference: String::new(),
        tag: false,
        sha: String::new(),
        job: None,
        user: String::new(),
        created_at: None,
        finished_at: dice
            .chance(30)
            .then(|| now.minus(std::time::Duration::from_secs(dice.below(1000) as u64))),
        agent: through,
        authorization: None,
    }
}

/// A deployment that ended well: when, its number, and where through an agent.
type Ended = (Timestamp, u64, Option<AgentDeployment>);

/// The catalog as it stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Catalog {
    pub(super) clusters: BTreeMap<String, String>,
    projects: BTreeMap<String, ProjectSpec>,
    agents: BTreeMap<String, AgentSpec>,
    pub(super) environments: BTreeMap<EnvironmentId, EnvironmentSpec>,
    last: BTreeMap<EnvironmentId, Ended>,
    deciding: BTreeMap<EnvironmentId, Ended>,
}

/// An environment as all that is declared makes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Declared {
    pub(super) project: String,
    pub(super) name: String,
    pub(super) tier: Tier,
    pub(super) region: String,
    pub(super) state: EnvironmentState,
    pub(super) labels: Labels,
    pub(super) targets: Vec<Target>,
    pub(super) last_deployment: Option<u64>,
}

impl Catalog {
    pub(super) fn take(&mut self, record: &Record) {
        match &record.change {
            Change::Declared { fact, .. } => self.declare(fact, record.observed_at),
            Change::Withdrawn { kind: CatalogKind::Cluster, name, .. } => _ = self.clusters.remove(name),
            Change::Withdrawn { kind: CatalogKind::Environment, name, .. } => {
                self.environments.remove(&EnvironmentId::new(name.as_str()));
            }
            _ => {}
        }
    }

    fn declare(&mut self, fact: &CatalogFact, now: Timestamp) {
        match fact {
            CatalogFact::Cluster(spec) => _ = self.clusters.insert(spec.name.clone(), spec.region.clone()),
            CatalogFact::Project(spec) => _ = self.projects.insert(spec.path.clone(), spec.clone()),
            CatalogFact::Agent(spec) => _ = self.agents.insert(spec.id.to_string(), (**spec).clone()),
            CatalogFact::Environment(spec) => {
                self.environments.insert(spec.id.clone(), (**spec).clone());
            }
            CatalogFact::Deployment(spec) if spec.status == DeploymentStatus::Success => {
                let ended = spec.finished_at.unwrap_or(now).min(now);
                let deciding = spec.agent.is_some().then_some(&mut self.deciding);
                for known in [Some(&mut self.last), deciding].into_iter().flatten() {
                    if known.get(&spec.environment).is_none_or(|held| held.0 <= ended) {
                        known.insert(spec.environment.clone(), (ended, spec.id.0, spec.agent.clone()));
                    }
                }
            }
            CatalogFact::Deployment(_) => {}
        }
    }

    /// What an environment is, given the regions that clusters have by the word of their Nodes.
    pub(super) fn environment(
        &self,
        id: &EnvironmentId,
        nodes: &BTreeMap<String, BTreeSet<String>>,
    ) -> Option<Declared> {
        let spec = self.environments.get(id)?;
        let project = self.projects.get(&spec.project);
        let mut labels = project.map(|project| project.labels.clone()).unwrap_or_default();
        labels.extend(spec.labels.clone());
        let mut targets = self.targets(id, spec, project.and_then(|project| project.number));
        let regions: BTreeSet<String> =
            targets.iter().map(|target| self.region(&target.cluster, nodes)).collect();
        let agreed = if regions.len() == 1 { regions.into_iter().next() } else { None };
        let own = Some(spec.region.clone()).filter(|region| !region.is_empty());
        let named = spec.name.ends_with("us-region").then(|| "us".to_owned());
        let region = own.or_else(|| labels.get("region").cloned()).or(named).or(agreed).unwrap_or_default();
        if spec.state == EnvironmentState::Stopped {
            targets.clear();
        }
        Some(Declared {
            project: spec.project.clone(),
            name: spec.name.clone(),
            tier: spec.tier,
            region,
            state: spec.state,
            labels,
            targets,
            last_deployment: self.last.get(id).map(|(_, number, _)| *number),
        })
    }

    fn region(&self, cluster: &str, nodes: &BTreeMap<String, BTreeSet<String>>) -> String {
        let declared = self.clusters.get(cluster).filter(|region| !region.is_empty()).cloned();
        let told = nodes.get(cluster).filter(|regions| regions.len() == 1);
        declared.or_else(|| told?.first().cloned()).unwrap_or_default()
    }

    fn targets(&self, id: &EnvironmentId, spec: &EnvironmentSpec, number: Option<u64>) -> Vec<Target> {
        let gitlab = number.map_or_else(Labels::new, |number| {
            let slug = spec.slug.clone();
            [("app.gitlab.com/project_id", number.to_string()), ("app.gitlab.com/environment_slug", slug)]
                .map(|(name, value)| (name.to_owned(), value))
                .into()
        });
        let through = |agent: &AgentId, namespace: &str| TargetSpec {
            agent: Some(agent.clone()),
            namespace: namespace.to_owned(),
            ..TargetSpec::default()
        };
        let mut places = spec.targets.clone();
        if places.is_empty() {
            let deployed = self.deciding.get(id).and_then(|(.., agent)| agent.as_ref());
            places.extend(match (deployed, &spec.settings.cluster_agent) {
                (Some(to), _) => Some(through(&to.agent, &to.kubernetes_namespace)),
                (None, Some(agent)) => Some(through(agent, &spec.settings.kubernetes_namespace)),
                (None, None) => None,
            });
        }
        let target = |place: TargetSpec| {
            let known =
                |agent: &AgentId| self.agents.get(&agent.to_string()).map(|agent| agent.cluster.clone());
            let cluster = match &place.agent {
                Some(agent) => known(agent).unwrap_or_default(),
                None => place.cluster,
            };
            let default = if place.inventory.is_some() { Labels::new() } else { gitlab.clone() };
            let labels = place.labels.unwrap_or(default);
            let TargetSpec { namespace, inventory, agent, .. } = place;
            (!cluster.is_empty()).then_some(Target { cluster, namespace, labels, inventory, agent })
        };
        places.into_iter().filter_map(target).collect()
    }
}
