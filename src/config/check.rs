//! What the file says, checked and completed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_saphyr::{Location, Spanned};

use super::file::{Environment, File};
use super::{ClusterConfig, Config, DATA, LISTEN};
use crate::mistake::{Mistake, closest};
use crate::model::{EnvironmentId, EnvironmentSpec, ProjectSpec, TargetSpec, Tier, is_dns_label};

/// Checks the whole file; every mistake is told, not only the first.
pub(super) fn check(file: File, origin: &Path) -> Result<Config, Vec<Mistake>> {
    let mut check =
        Check { base: origin.parent().unwrap_or(Path::new(".")).to_owned(), mistakes: Vec::new() };
    let listen = check.listen(file.listen.as_ref());
    let clusters = check.clusters(&file);
    let environments = check.environments(&file, &clusters);
    let rules = check.rules(&file);
    let views = check.views(&file);
    if check.mistakes.is_empty() {
        let data = check.path(file.data.as_deref().unwrap_or(DATA));
        let projects = file.projects.iter().map(|project| ProjectSpec {
            path: project.path.value.clone(),
            number: Some(project.id),
            ..ProjectSpec::default()
        });
        let projects = projects.collect();
        Ok(Config { views, listen, hosts: file.hosts, data, clusters, projects, environments, rules })
    } else {
        check.mistakes.sort_by_key(|mistake| (mistake.line, mistake.column));
        Err(check.mistakes)
    }
}

pub(super) struct Check {
    /// The folder from which relative paths start.
    base: PathBuf,
    pub(super) mistakes: Vec<Mistake>,
}

impl Check {
    pub(super) fn say(
        &mut self,
        location: Location,
        code: &'static str,
        message: impl Into<String>,
    ) -> &mut Mistake {
        self.mistakes.push(Mistake::at(location, code, message));
        let last = self.mistakes.len() - 1;
        &mut self.mistakes[last]
    }

    pub(super) fn path(&self, written: &str) -> PathBuf {
        let home = || std::env::var_os("HOME").map(PathBuf::from);
        match written.strip_prefix("~/").and_then(|rest| Some(home()?.join(rest))) {
            Some(path) => path,
            None => self.base.join(written),
        }
    }

    fn listen(&mut self, written: Option<&Spanned<String>>) -> std::net::SocketAddr {
        let text = written.map_or(LISTEN, |written| written.value.as_str());
        let location = written.map_or(Location::UNKNOWN, |written| written.referenced);
        text.parse().unwrap_or_else(|_| {
            self.say(
                location,
                "bad_address",
                format!("`{text}` is not an address and port such as {LISTEN}"),
            );
            std::net::SocketAddr::from(([127, 0, 0, 1], 0))
        })
    }

    pub(super) fn namespace(&mut self, namespace: &Spanned<String>) {
        if !is_dns_label(&namespace.value) {
            let message = format!("`{}` is not a namespace", namespace.value);
            self.say(namespace.referenced, "bad_name", message).hint =
                Some("a namespace has up to 63 lower-case letters, digits and `-` inside".to_owned());
        }
    }

    fn environments(&mut self, file: &File, clusters: &[ClusterConfig]) -> Vec<EnvironmentSpec> {
        let mut lines: HashMap<String, u64> = HashMap::new();
        let mut specs = Vec::new();
        for environment in &file.environments {
            let at = environment.name.referenced;
            let spec = self.environment(environment, clusters);
            if let Some(line) = lines.insert(spec.id.to_string(), at.line()) {
                let message = format!("the environment `{}` stands in line {line} already", spec.id);
                self.say(at, "duplicate", message).hint =
                    Some("give one of them an `id` of its own".to_owned());
            }
            specs.push(spec);
        }
        specs
    }

    fn environment(&mut self, environment: &Environment, clusters: &[ClusterConfig]) -> EnvironmentSpec {
        let (project, name) = (&environment.project.value, &environment.name.value);
        for (what, written) in [("project", &environment.project), ("name", &environment.name)] {
            if written.value.trim().is_empty() {
                self.say(
                    written.referenced,
                    "bad_name",
                    format!("the `{what}` of an environment is not empty"),
                );
            }
        }
        let tier = self.tier(environment);
        EnvironmentSpec {
            id: self.id(environment),
            tier,
            region: environment.region.clone().unwrap_or_default(),
            targets: self.targets(environment, clusters),
            ..EnvironmentSpec::new(project, name)
        }
    }

    fn id(&mut self, environment: &Environment) -> EnvironmentId {
        let Some(id) = &environment.id else {
            return EnvironmentId::of(&environment.project.value, &environment.name.value);
        };
        if !EnvironmentId::new(id.value.as_str()).is_plain() {
            let message = format!("`{}` is not an id for an environment", id.value);
            self.say(id.referenced, "bad_name", message).hint =
                Some("use letters, digits, `-`, `_` and `.`".to_owned());
        }
        EnvironmentId::new(id.value.clone())
    }

    fn tier(&mut self, environment: &Environment) -> Tier {
        let Some(tier) = &environment.tier else { return Tier::guess(&environment.name.value) };
        tier.value.parse().unwrap_or_else(|message: String| {
            self.say(tier.referenced, "bad_tier", message);
            Tier::Other
        })
    }

    fn targets(&mut self, environment: &Environment, clusters: &[ClusterConfig]) -> Vec<TargetSpec> {
        let at = environment.name.referenced;
        let mut written = Vec::new();
        match (&environment.cluster, &environment.namespace) {
            (Some(cluster), Some(namespace)) => written.push((cluster, namespace, &environment.labels)),
            (None, None) if !environment.targets.is_empty() => {}
            (None, None) => {
                let message = "an environment needs a `cluster` and a `namespace`, or `targets`";
                self.say(at, "missing_key", message);
            }
            (Some(_), None) => _ = self.say(at, "missing_key", "the key `namespace` is missing"),
            (None, Some(_)) => _ = self.say(at, "missing_key", "the key `cluster` is missing"),
        }
        if environment.labels.is_some() && environment.cluster.is_none() {
            self.say(at, "conflict", "`labels` speak of nothing here").hint =
                Some("give each of the `targets` its own `labels`".to_owned());
        }
        let more = environment.targets.iter();
        written.extend(more.map(|target| (&target.cluster, &target.namespace, &target.labels)));
        let mut targets = Vec::new();
        for (cluster, namespace, labels) in written {
            self.known_cluster(cluster, clusters);
            self.namespace(namespace);
            self.watched_namespace(cluster, namespace, clusters);
            targets.push(TargetSpec {
                cluster: cluster.value.clone(),
                namespace: namespace.value.clone(),
                labels: labels.clone(),
                ..TargetSpec::default()
            });
        }
        targets
    }

    fn watched_namespace(
        &mut self,
        cluster: &Spanned<String>,
        namespace: &Spanned<String>,
        clusters: &[ClusterConfig],
    ) {
        let cluster = clusters.iter().find(|known| known.name == cluster.value);
        let Some(cluster) = cluster.filter(|cluster| !cluster.watches(&namespace.value)) else { return };
        let message =
            format!("the namespace `{}` of cluster `{}` is not watched", namespace.value, cluster.name);
        let excluded = cluster.exclude_namespaces.contains(&namespace.value);
        self.say(namespace.referenced, "unwatched_namespace", message).hint = Some(if excluded {
            "take it out of the cluster's `exclude_namespaces`".to_owned()
        } else {
            "add it to the cluster's `namespaces`".to_owned()
        });
    }

    fn known_cluster(&mut self, cluster: &Spanned<String>, clusters: &[ClusterConfig]) {
        let names: Vec<&str> = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
        if names.contains(&cluster.value.as_str()) {
            return;
        }
        let hint = match closest(&cluster.value, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => "declare it under `clusters`".to_owned(),
            None => format!("the clusters are {}", names.join(", ")),
        };
        let message = format!("there is no cluster `{}`", cluster.value);
        self.say(cluster.referenced, "unknown_cluster", message).hint = Some(hint);
    }
}
