//! The parts of the file about projects and agents.

use std::collections::HashMap;

use serde_saphyr::Spanned;

use super::check::Check;
use super::file::{self, Agents, File};
use super::settings::ClusterConfig;
use crate::catalog::AgentFolderConfig;
use strandline_model::{AgentId, AgentSpec, NamespaceGrant, ProjectSpec};
use strandline_syntax::{is_dns_label, is_project_path};

impl Check {
    pub(super) fn projects(&mut self, file: &File, clusters: &[ClusterConfig]) -> Vec<ProjectSpec> {
        let mut lines: HashMap<&str, u64> = HashMap::new();
        let mut numbers: HashMap<u64, &str> = HashMap::new();
        let mut specs = Vec::new();
        for project in &file.projects {
            let (path, at) = (project.path.value.as_str(), project.path.referenced);
            if let Some(line) = lines.insert(path, at.line()) {
                self.report(at, "duplicate", format!("duplicate project `{path}`, first in line {line}"));
            }
            if let Some(other) = project.id.and_then(|id| numbers.insert(id, path))
                && other != path
            {
                let message = format!("the projects `{other}` and `{path}` have the same `id`");
                self.report(at, "duplicate", message).hint =
                    Some("the label app.gitlab.com/project_id cannot distinguish their resources".to_owned());
            }
            specs.push(ProjectSpec {
                path: path.to_owned(),
                number: project.id,
                default_branch: project.default_branch.clone(),
                labels: project.labels.clone(),
                namespaces: project
                    .namespaces
                    .iter()
                    .filter_map(|grant| self.grant(grant, clusters))
                    .collect(),
            });
        }
        specs
    }

    /// Where the project's own tokens may point its environments.
    fn grant(
        &mut self,
        written: &file::NamespaceGrant,
        clusters: &[ClusterConfig],
    ) -> Option<NamespaceGrant> {
        let (mut cluster, mut agent) = (String::new(), None);
        match (&written.cluster, &written.agent) {
            (Some(named), None) => {
                self.known_cluster(named, clusters);
                cluster.clone_from(&named.value);
            }
            (None, Some(named)) => match named.value.parse() {
                Ok(id) => agent = Some(id),
                Err(message) => _ = self.report(named.referenced, "bad_agent", String::clone(&message)),
            },
            _ => {
                let message = "a grant has either a `cluster` or an `agent`";
                self.report(written.namespace.referenced, "conflict", message);
            }
        }
        let namespace = self.namespace_pattern(&written.namespace)?;
        Some(NamespaceGrant { cluster, agent, namespace, whole: written.whole })
    }

    /// The agents that the file names itself, and the folders in which the files of others are.
    pub(super) fn agents(
        &mut self,
        file: &File,
        clusters: &[ClusterConfig],
    ) -> (Vec<AgentSpec>, Vec<AgentFolderConfig>) {
        let (mut agents, mut folders) = (Vec::new(), Vec::new());
        for entry in &file.agents {
            self.project_path(&entry.project);
            for (name, cluster) in &entry.clusters {
                if !is_dns_label(name) {
                    let message = format!("invalid agent name `{name}`");
                    self.report(cluster.referenced, "bad_name", message).hint =
                        Some("use up to 63 lower-case letters, digits and `-`, not at either end".to_owned());
                }
                self.known_cluster(cluster, clusters);
            }
            if let (None, Some(by_name)) = (&entry.path, &entry.clusters_by_name) {
                let message = "`clusters_by_name` has no effect without `path`";
                self.report(by_name.referenced, "conflict", message).hint =
                    Some("it applies to agents whose files are in a checkout".to_owned());
            }
            match &entry.path {
                Some(path) => folders.push(self.folder(entry, path, clusters)),
                None if entry.clusters.is_empty() => {
                    let message = "an entry of `agents` needs a `path` or `clusters`";
                    self.report(entry.project.referenced, "missing_key", message).hint = Some(
                        "set `path` to a checkout with .gitlab/agents, or list agents under `clusters`"
                            .to_owned(),
                    );
                }
                None => agents.extend(entry.clusters.iter().map(|(name, cluster)| AgentSpec {
                    cluster: cluster.value.clone(),
                    ..AgentSpec::new(AgentId::new(entry.project.value.as_str(), name.as_str()))
                })),
            }
        }
        (agents, folders)
    }

    /// A folder. Whoever writes a file in it chooses the agent's name, so that the name alone leads to no cluster unless the
    /// configuration says so.
    fn folder(
        &mut self,
        entry: &Agents,
        path: &Spanned<String>,
        clusters: &[ClusterConfig],
    ) -> AgentFolderConfig {
        let by_name = entry.clusters_by_name.as_ref().is_some_and(|by_name| by_name.value);
        let alike = clusters.iter().filter(|_| by_name);
        let alike = alike.map(|cluster| (cluster.name.clone(), cluster.name.clone()));
        let named = entry.clusters.iter().map(|(name, cluster)| (name.clone(), cluster.value.clone()));
        AgentFolderConfig {
            project: entry.project.value.clone(),
            path: self.path(&path.value),
            clusters: alike.chain(named).collect(),
        }
    }

    pub(super) fn project_path(&mut self, written: &Spanned<String>) {
        if !is_project_path(&written.value) {
            let message = format!("invalid project path `{}`", written.value);
            self.report(written.referenced, "bad_path", message).hint =
                Some("use its full path, such as shop/web".to_owned());
        }
    }
}
