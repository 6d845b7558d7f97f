//! What an environment is, given all that is declared of it.

use std::collections::{BTreeMap, BTreeSet};

use super::super::context::Apply;
use super::facts::{self, Declaration, Deployed};
use strandline_model::{DeclaredBy, EnvironmentSpec, EnvironmentState, Labels, Source, Target, TargetSpec};
use strandline_object::gitops_marks::managed_mark;

/// A label with the region of an environment.
const REGION_LABELS: [&str; 2] = ["region", "topology.kubernetes.io/region"];

/// All that is declared of an environment.
pub(super) struct Facts {
    pub(super) spec: EnvironmentSpec,
    /// Who declared it; none where only resources of clusters do.
    pub(super) source: Option<Source>,
    pub(super) project_number: Option<i64>,
    pub(super) project_labels: Labels,
    pub(super) deployed: Vec<Deployed>,
    pub(super) declarations: Vec<Declaration>,
}

/// What follows.
pub(super) struct Resolved {
    pub(super) spec: EnvironmentSpec,
    pub(super) region: String,
    pub(super) labels: Labels,
    pub(super) targets: Vec<Target>,
    /// Where what GitLab manages for it is found besides: cluster, namespace, and the mark that it carries.
    pub(super) managed: BTreeSet<(String, String, String)>,
    /// The agents of its targets.
    pub(super) agents: BTreeSet<String>,
    /// On what it depends, known or not: its project, agents and clusters, by kind and name.
    pub(super) grounds: BTreeSet<(&'static str, String)>,
    /// Projects and groups whose members see it, besides its own project.
    pub(super) viewers: BTreeSet<String>,
    pub(super) declared_by: Vec<DeclaredBy>,
    /// The last deployment that ended well.
    pub(super) deployment: Option<i64>,
}

/// Resolves an environment: its targets are its own or, without any, that of the last successful deployment or, before
/// there is one, that of its settings; and besides, where resources of clusters declare it.
pub(super) fn resolve(at: &mut Apply<'_>, facts: Facts) -> rusqlite::Result<Resolved> {
    let places = places(&facts);
    let own = own_labels(facts.project_number, &facts.spec.slug);
    // Without a number the whole namespace is meant where whoever declared it may see that.
    let default = facts.project_number.map_or_else(Labels::new, |_| own.clone());
    let through = places.iter().filter_map(|place| place.agent.as_ref());
    let mut grounds: BTreeSet<_> = through.map(|agent| ("agent", agent.to_string())).collect();
    grounds.insert(("project", facts.spec.project.clone()));
    let (mut targets, mut managed) = (Vec::new(), BTreeSet::new());
    for place in places {
        let cluster = match &place.agent {
            Some(agent) => facts::cluster_of_agent(at, &agent.to_string())?,
            None => place.cluster,
        };
        if !cluster.is_empty() {
            // Labels that are declared replace all others.
            if let Some(project) = facts.project_number.filter(|_| place.labels.is_none()) {
                let agent = place.agent.as_ref().map(ToString::to_string);
                let agent = agent.map(|agent| facts::number_of_agent(at, &agent)).transpose()?.flatten();
                let mark = managed_mark(&facts.spec.slug, project, agent);
                managed.insert((cluster.clone(), place.namespace.clone(), mark));
            }
            // The mark alone selects; what a GitOps tool deploys need not carry GitLab's labels.
            let marked = place.inventory.is_some();
            let mut labels =
                place.labels.unwrap_or_else(|| if marked { Labels::new() } else { default.clone() });
            if place.only_labelled {
                labels.extend(own.clone());
            }
            let TargetSpec { agent, namespace, inventory, .. } = place;
            targets.push(Target { cluster, namespace, labels, inventory, agent });
        }
    }
    let mut labels = facts.project_labels;
    labels.extend(facts.spec.labels.clone());
    let region = region(at, &facts.spec, &labels, &targets)?;
    grounds.extend(targets.iter().map(|target| ("cluster", target.cluster.clone())));
    // Whoever may not see what an agent serves may not see what is left of it either.
    let agents = targets.iter().filter_map(|target| target.agent.as_ref()).map(ToString::to_string).collect();
    if facts.spec.state == EnvironmentState::Stopped {
        targets.clear();
        managed.clear();
    }
    let declared: Vec<_> =
        facts.declarations.iter().map(|one| DeclaredBy::Cluster(one.origin.clone())).collect();
    let deployer = facts.deployed.iter().map(|deployed| deployed.project.clone());
    let shared = facts.declarations.iter().flat_map(|one| one.viewers.clone());
    let viewers = deployer.chain(shared).filter(|path| *path != facts.spec.project).collect();
    Ok(Resolved {
        spec: facts.spec,
        region,
        labels,
        targets,
        managed,
        agents,
        grounds,
        viewers,
        deployment: facts.deployed.first().map(|deployed| deployed.id),
        declared_by: facts.source.map(DeclaredBy::from).into_iter().chain(declared).collect(),
    })
}

/// Where an environment looks.
fn places(facts: &Facts) -> Vec<TargetSpec> {
    let Facts { spec, deployed, declarations, .. } = facts;
    let deployed = || {
        let Deployed { agent, namespace, only_labelled, .. } =
            deployed.iter().find(|deployed| deployed.deciding)?;
        let (agent, namespace, only_labelled) =
            (Some(agent.parse().ok()?), namespace.clone(), *only_labelled);
        Some(TargetSpec { agent, namespace, only_labelled, ..TargetSpec::default() })
    };
    let mut places = match spec.targets.as_slice() {
        [] => deployed().or_else(|| spec.settings.target()).into_iter().collect(),
        targets => targets.to_vec(),
    };
    // What a cluster declares is a namespace that it reserves, whole.
    places.extend(declarations.iter().map(|declaration| TargetSpec {
        cluster: declaration.origin.cluster.clone(),
        namespace: declaration.namespace.clone(),
        labels: Some(BTreeMap::new()),
        ..TargetSpec::default()
    }));
    places
}

/// What stands for the number of a project that has none: no resource carries it, since no label may have this value.
const NO_NUMBER: &str = "?";

/// GitLab's two labels.
fn own_labels(project: Option<i64>, slug: &str) -> Labels {
    let number = project.map_or_else(|| NO_NUMBER.to_owned(), |number| number.to_string());
    let labels =
        [("app.gitlab.com/project_id", number), ("app.gitlab.com/environment_slug", slug.to_owned())];
    labels.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The environment's own region, else that of its name, else that of its clusters where they agree.
fn region(
    at: &mut Apply<'_>,
    spec: &EnvironmentSpec,
    labels: &Labels,
    targets: &[Target],
) -> rusqlite::Result<String> {
    let labelled = REGION_LABELS.iter().find_map(|name| labels.get(*name)).map(String::as_str);
    let own = Some(spec.region.as_str()).filter(|region| !region.is_empty());
    if let Some(region) = own.or(labelled).or_else(|| spec.region_of_name()) {
        return Ok(region.to_owned());
    }
    let mut regions = BTreeSet::new();
    for target in targets {
        let cluster = at.ids.cluster(at.connection, &target.cluster)?;
        regions.insert(facts::region_of_cluster(at, cluster)?.unwrap_or_default());
    }
    Ok(if regions.len() == 1 { regions.pop_first().unwrap_or_default() } else { String::new() })
}
