//! Environments that follow from the namespaces of a cluster, where the configuration asks for that.
//!
//! Which namespaces there are is read from the log, so that nothing but what is recorded decides it: while a cluster is not
//! reachable, and after a restart, its environments stay as they are. An environment of the same project and name that
//! somebody else declared takes precedence.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use strandline_log::{AppendError, Appender, Catalog, CatalogChange, LivePosition, LogError};
use strandline_model::{CatalogFact, CatalogKind, EnvironmentSpec, Kind, Source, TargetSpec, WatchKey};
use strandline_syntax::Glob;

/// How many namespaces are asked for at once.
const PAGE: usize = 500;

/// How many environments are declared in one transaction of the log.
const AT_ONCE: usize = 128;

/// After how many looks those are looked at again whose environments others declared, since these may be withdrawn.
const LOOKS_AT_OTHERS: u32 = 30;

/// The namespaces of a cluster that are environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamespaceEnvironments {
    /// The cluster.
    pub cluster: String,
    /// Full path of the project of the environments.
    pub project: String,
    /// Which namespaces; empty for all.
    pub names: Vec<Glob>,
    /// Namespaces that are watched by name.
    pub watched: Vec<String>,
    /// Whether the whole cluster is watched, and so the list of its namespaces.
    pub listed: bool,
    /// Namespaces that are left out where the whole cluster is watched.
    pub excluded: Vec<String>,
}

impl NamespaceEnvironments {
    /// All namespaces of a cluster that is watched as a whole.
    #[cfg(test)]
    pub(crate) fn whole(cluster: &str, project: &str) -> Self {
        NamespaceEnvironments {
            cluster: cluster.into(),
            project: project.into(),
            names: Vec::new(),
            watched: Vec::new(),
            listed: true,
            excluded: Vec::new(),
        }
    }

    /// The names of the namespaces that are environments now.
    async fn namespaces(&self, appender: &Appender) -> Result<BTreeSet<String>, AppendError> {
        let mut names: BTreeSet<String> = self.watched.iter().cloned().collect();
        if self.listed {
            let watch = WatchKey {
                cluster: self.cluster.clone(),
                kind: Kind::new("", "Namespace"),
                namespace: String::new(),
            };
            let mut position = Some(LivePosition::default());
            while let Some(after) = position {
                let page = appender.live_objects(&watch, after, PAGE).await?;
                let found = page.objects.into_iter().map(|object| object.name);
                names.extend(found.filter(|name| !self.excluded.contains(name)));
                position = page.next;
            }
        }
        names.retain(|name| self.names.is_empty() || self.names.iter().any(|glob| glob.matches(name)));
        Ok(names)
    }
}

/// Declares the environments of namespaces again and again.
#[derive(Clone, Debug)]
pub struct NamespaceReader {
    clusters: Arc<[NamespaceEnvironments]>,
    /// The most environments of a project.
    limit: u64,
    /// What was declared.
    last: Option<Environments>,
    /// The environments that others declared, which take precedence.
    others: BTreeSet<String>,
    /// How often was looked.
    looks: u32,
}

/// Environments by project and namespace, with the clusters that have it.
type Environments = BTreeMap<(String, String), BTreeSet<String>>;

impl NamespaceReader {
    /// A reader for these clusters, which declares at most `limit` environments of a project.
    pub fn new(clusters: Vec<NamespaceEnvironments>, limit: u64) -> Self {
        NamespaceReader { clusters: clusters.into(), limit, last: None, others: BTreeSet::new(), looks: 0 }
    }

    /// Whether there is nothing to read again.
    pub fn is_empty(&self) -> bool {
        self.clusters.is_empty()
    }

    /// Declares the environments of the namespaces that the log has now, and withdraws those of the others.
    ///
    /// # Errors
    /// When the log cannot be read or written.
    pub async fn declare(&mut self, appender: &Appender) -> Result<(), AppendError> {
        let mut wanted = Environments::new();
        for cluster in self.clusters.iter() {
            for namespace in cluster.namespaces(appender).await? {
                let clusters = wanted.entry((cluster.project.clone(), namespace)).or_default();
                clusters.insert(cluster.cluster.clone());
            }
        }
        self.looks = self.looks.wrapping_add(1);
        let again = !self.others.is_empty() && self.looks.is_multiple_of(LOOKS_AT_OTHERS);
        if self.last.as_ref() == Some(&wanted) && !again {
            return Ok(());
        }
        let all: BTreeMap<String, EnvironmentSpec> =
            wanted.iter().map(environment).map(|spec| (spec.id.to_string(), spec)).collect();
        let all = Arc::new(all);
        while withdraw(Arc::clone(&all), appender).await? {}
        let chosen = self.chosen(&all, appender).await?;
        let mut others = BTreeSet::new();
        for some in chosen.chunks(AT_ONCE) {
            let some = some.to_vec();
            let changes = move |catalog: &mut Catalog<'_, '_>| changes(catalog, &some);
            others.extend(appender.decide(Source::Namespace, changes).await?.1);
        }
        for environment in others.difference(&self.others) {
            tracing::info!(
                environment,
                "this environment is declared elsewhere; its namespace is not shown besides"
            );
        }
        (self.last, self.others) = (Some(wanted), others);
        Ok(())
    }

    /// The environments within the limit: those that are declared already, then the others by name, so that new namespaces
    /// displace none.
    async fn chosen(
        &self,
        all: &BTreeMap<String, EnvironmentSpec>,
        appender: &Appender,
    ) -> Result<Vec<EnvironmentSpec>, AppendError> {
        let ours = |catalog: &mut Catalog<'_, '_>| {
            Ok((Vec::new(), catalog.names_of(CatalogKind::Environment, Source::Namespace)?))
        };
        let (_, ours) = appender.decide(Source::Namespace, ours).await?;
        let ours: BTreeSet<String> = ours.into_iter().collect();
        let (old, new): (Vec<_>, Vec<_>) = all.values().partition(|spec| ours.contains(spec.id.as_str()));
        let (mut counts, mut chosen) = (BTreeMap::<&str, u64>::new(), Vec::new());
        for spec in old.into_iter().chain(new) {
            let count = counts.entry(&spec.project).or_default();
            *count += 1;
            if *count <= self.limit {
                chosen.push(spec.clone());
            }
        }
        for (project, count) in counts.into_iter().filter(|(_, count)| *count > self.limit) {
            tracing::warn!(
                project,
                namespaces = count,
                limit = self.limit,
                "not every namespace is shown as an environment: raise `quotas.environments`, or choose namespaces by `names`"
            );
        }
        Ok(chosen)
    }
}

/// The environment of a namespace: all of the namespace, in each cluster that has it.
fn environment(((project, namespace), clusters): (&(String, String), &BTreeSet<String>)) -> EnvironmentSpec {
    let target = |cluster: &String| TargetSpec {
        cluster: cluster.clone(),
        namespace: namespace.clone(),
        labels: Some(BTreeMap::new()),
        ..TargetSpec::default()
    };
    EnvironmentSpec {
        targets: clusters.iter().map(target).collect(),
        ..EnvironmentSpec::new(project, namespace)
    }
}

/// Withdraws some of the environments whose namespaces are gone; whether there may be more.
async fn withdraw(
    all: Arc<BTreeMap<String, EnvironmentSpec>>,
    appender: &Appender,
) -> Result<bool, AppendError> {
    let some = move |catalog: &mut Catalog<'_, '_>| {
        let ours = catalog.names_of(CatalogKind::Environment, Source::Namespace)?;
        let mut changes = Vec::new();
        for id in ours.into_iter().filter(|id| !all.contains_key(id)).take(AT_ONCE) {
            catalog.get(CatalogKind::Environment, &id)?;
            changes.push(CatalogChange::Withdraw(CatalogKind::Environment, id));
        }
        let rest = changes.len() == AT_ONCE;
        Ok((changes, rest))
    };
    Ok(appender.decide(Source::Namespace, some).await?.1)
}

/// What declares these environments; with the ids of those that somebody else declared, which stay theirs.
fn changes(
    catalog: &mut Catalog<'_, '_>,
    environments: &[EnvironmentSpec],
) -> Result<(Vec<CatalogChange>, Vec<String>), LogError> {
    let (mut changes, mut others) = (Vec::new(), Vec::new());
    for spec in environments {
        let by_id = catalog.get(CatalogKind::Environment, spec.id.as_str())?;
        let by_name = catalog.environment_named(&spec.project, &spec.name)?;
        if by_id.into_iter().chain(by_name).any(|standing| standing.source != Source::Namespace) {
            others.push(spec.id.to_string());
        } else {
            changes.push(CatalogChange::Declare(CatalogFact::from(spec.clone())));
        }
    }
    Ok((changes, others))
}

#[cfg(test)]
#[path = "tests/namespaces.rs"]
mod tests;
