//! The part of the file about where an environment's resources are found.

use serde_saphyr::{Location, Spanned};

use super::check::Check;
use super::file::{self, Environment};
use super::settings::ClusterConfig;
use strandline_model::{AgentId, Inventory, InventoryError, TargetSpec};
use strandline_syntax::diagnostics::closest;

impl Check {
    /// The environment's targets.
    pub(super) fn targets(
        &mut self,
        environment: &Environment,
        clusters: &[ClusterConfig],
    ) -> Vec<TargetSpec> {
        let at = environment.name.referenced;
        let own = environment.own_target();
        match (&own, &environment.namespace) {
            // Deployments through the agents will say where it is.
            (None, None) if environment.targets.is_empty() && self.has_agents => {}
            (None, None) if environment.targets.is_empty() => {
                let message = "an environment needs a `cluster` and a `namespace`, or `targets`";
                self.report(at, "missing_key", message).hint =
                    Some("with an `inventory`, `namespace` is optional".to_owned());
            }
            (None, Some(_)) => _ = self.report(at, "missing_key", "the key `cluster` is missing"),
            _ => {}
        }
        if own.is_none() {
            self.nowhere(environment);
        }
        let mut targets = Vec::new();
        let written = own.iter().map(|target| (target, at));
        let more = environment.targets.iter().map(|target| {
            let place = target.cluster.as_ref().or(target.agent.as_ref()).or(target.namespace.as_ref());
            (target, place.map_or(at, |place| place.referenced))
        });
        for (target, at) in written.chain(more) {
            targets.push(self.target(target, at, clusters));
        }
        targets
    }

    /// Keys of an environment about its own cluster, where it names none.
    fn nowhere(&mut self, environment: &Environment) {
        let keys = [
            ("labels", environment.labels.as_ref().map(|_| environment.name.referenced)),
            ("inventory", environment.inventory.as_ref().map(|written| written.referenced)),
            ("flux_resource_path", environment.flux_resource_path.as_ref().map(|written| written.referenced)),
        ];
        for (key, at) in keys.into_iter().filter_map(|(key, at)| Some((key, at?))) {
            let (verb, own) = if key == "labels" { ("have", "labels") } else { ("has", key) };
            self.report(at, "conflict", format!("`{key}` {verb} no effect here")).hint =
                Some(format!("give each of the `targets` its own `{own}`"));
        }
    }

    /// A target; `at` is what stands for it where a key is missing.
    fn target(&mut self, written: &file::Target, at: Location, clusters: &[ClusterConfig]) -> TargetSpec {
        let agent = self.way(written, at, clusters);
        let inventory = self.inventory(written);
        let marked = written.inventory.is_some() || written.flux_resource_path.is_some();
        match &written.namespace {
            Some(namespace) => {
                self.namespace(namespace);
                if let Some(cluster) = &written.cluster {
                    self.watched_namespace(cluster, namespace, clusters);
                }
            }
            None if marked => {}
            None => {
                self.report(at, "missing_key", "the key `namespace` is missing").hint =
                    Some("it is optional only with an `inventory`".to_owned());
            }
        }
        TargetSpec {
            cluster: written.cluster.as_ref().map(|cluster| cluster.value.clone()).unwrap_or_default(),
            agent,
            namespace: written
                .namespace
                .as_ref()
                .map(|namespace| namespace.value.clone())
                .unwrap_or_default(),
            labels: written.labels.clone(),
            inventory,
            only_labelled: false,
        }
    }

    /// The agent of a target, after it was seen that the target has either an agent or a cluster that is known.
    fn way(&mut self, written: &file::Target, at: Location, clusters: &[ClusterConfig]) -> Option<AgentId> {
        match (&written.cluster, &written.agent) {
            (Some(cluster), None) => self.known_cluster(cluster, clusters),
            (None, Some(agent)) => match agent.value.parse() {
                Ok(id) => return Some(id),
                Err(message) => _ = self.report(agent.referenced, "bad_agent", String::clone(&message)),
            },
            (Some(_), Some(agent)) => {
                let message = "a target has either a `cluster` or an `agent`";
                self.report(agent.referenced, "conflict", message).hint =
                    Some("remove one of them".to_owned());
            }
            (None, None) => {
                self.report(at, "missing_key", "a target needs a `cluster` or an `agent`");
            }
        }
        None
    }

    fn inventory(&mut self, written: &file::Target) -> Option<Inventory> {
        if let (Some(inventory), Some(_)) = (&written.inventory, &written.flux_resource_path) {
            let message = "`inventory` and `flux_resource_path` are mutually exclusive";
            self.report(inventory.referenced, "conflict", message).hint =
                Some("remove one of them".to_owned());
        }
        let namespace = written.namespace.as_ref().map(|namespace| namespace.value.as_str());
        let mut read = |text: &Spanned<String>, code, outcome: Result<Inventory, InventoryError>| {
            let refused = |error: InventoryError| {
                self.report(text.referenced, code, error.message).hint = Some(error.hint);
            };
            outcome.map_err(refused).ok()
        };
        if let Some(text) = &written.inventory {
            return read(text, "bad_inventory", text.value.parse());
        }
        let text = written.flux_resource_path.as_ref()?;
        read(text, "bad_flux_resource_path", Inventory::from_flux_path(&text.value, namespace))
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
        let excluded = cluster.selection.exclude_namespaces.contains(&namespace.value);
        self.report(namespace.referenced, "unwatched_namespace", message).hint = Some(if excluded {
            "remove it from the cluster's `exclude_namespaces`".to_owned()
        } else {
            "add it to the cluster's `namespaces`".to_owned()
        });
    }

    pub(super) fn known_cluster(&mut self, cluster: &Spanned<String>, clusters: &[ClusterConfig]) {
        let names: Vec<&str> = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
        if self.finds_clusters || names.contains(&cluster.value.as_str()) {
            return;
        }
        let hint = match closest(&cluster.value, &names) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => "add it under `clusters`".to_owned(),
            None => format!("configured clusters: {}", names.join(", ")),
        };
        let message = format!("no cluster `{}`", cluster.value);
        self.report(cluster.referenced, "unknown_cluster", message).hint = Some(hint);
    }
}
