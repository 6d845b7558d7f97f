//! The part of the file about clusters: how each is reached, and what of it is watched.

use std::collections::HashMap;
use std::str::FromStr;

use serde_saphyr::{Location, Spanned};

use super::check::Check;

use super::file::{Cluster, File, Watcher};
use super::settings::{ClusterConfig, WatcherConfig};
use crate::catalog::NamespaceEnvironments;
use strandline_model::{EnvironmentId, KindPattern};
use strandline_redact::{has_login, without_logins};
use strandline_syntax::diagnostics::Mistake;
use strandline_syntax::{Glob, LabelSelector};
use strandline_watch::{ClusterAccess, ConnectSettings, Selection};

impl Check {
    pub(super) fn clusters(&mut self, file: &File) -> Vec<ClusterConfig> {
        let mut lines: HashMap<&str, u64> = HashMap::new();
        let mut clusters = Vec::new();
        for cluster in &file.clusters {
            let (name, at) = (cluster.name.value.as_str(), cluster.name.referenced);
            if !EnvironmentId::new(name).is_plain() {
                self.report(at, "bad_name", format!("invalid cluster name `{name}`")).hint =
                    Some("use letters, digits, `-`, `_` and `.`".to_owned());
            }
            if let Some(line) = lines.insert(name, at.line()) {
                self.report(at, "duplicate", format!("duplicate cluster `{name}`, first in line {line}"));
            }
            clusters.push(self.cluster(cluster, file.kubeconfig.as_deref()));
        }
        clusters
    }

    pub(super) fn cluster(&mut self, cluster: &Cluster, kubeconfig: Option<&str>) -> ClusterConfig {
        ClusterConfig {
            name: cluster.name.value.clone(),
            region: cluster.region.clone(),
            watchers: self.watchers(cluster, kubeconfig),
            selection: Selection {
                include: self.patterns(&cluster.include),
                exclude: self.patterns(&cluster.exclude),
                exclude_namespaces: self.left_out(cluster),
                labels: self.labels(cluster.labels.as_ref()),
            },
            namespace_environments: self.namespace_environments(cluster),
            kubeconfig_digest: None,
        }
    }

    fn namespace_environments(&mut self, cluster: &Cluster) -> Option<NamespaceEnvironments> {
        let written = cluster.namespace_environments.as_ref()?;
        self.project_path(&written.project);
        let own = cluster.own();
        let ways = || cluster.watchers.iter().map(|watcher| &watcher.value);
        let ways: Vec<&Watcher> = if cluster.watchers.is_empty() { vec![&own] } else { ways().collect() };
        let listed = ways.iter().any(|way| way.namespaces.is_empty());
        let unfollowed = cluster.exclude.iter().find(|kind| kind.value == "Namespace");
        if let Some(kind) = unfollowed.filter(|_| listed) {
            let message = "`namespace_environments` needs the kind Namespace, which is excluded";
            self.report(kind.referenced, "conflict", message).hint = Some("do not exclude it".to_owned());
        }
        Some(NamespaceEnvironments {
            cluster: cluster.name.value.clone(),
            project: written.project.value.clone(),
            names: written.names.iter().filter_map(|text| self.namespace_pattern(text)).collect(),
            watched: ways.iter().flat_map(|way| &way.namespaces).map(|name| name.value.clone()).collect(),
            listed,
            excluded: cluster.exclude_namespaces.iter().map(|name| name.value.clone()).collect(),
        })
    }

    /// A namespace, or a pattern of namespaces.
    pub(super) fn namespace_pattern(&mut self, text: &Spanned<String>) -> Option<Glob> {
        let refused = |error| {
            self.report(text.referenced, "bad_pattern", error).hint =
                Some("write a namespace, or a pattern such as web-*".to_owned());
        };
        text.value.parse::<Glob>().map_err(refused).ok()
    }

    /// The cluster's own way, or the ways that are under `watchers`.
    fn watchers(&mut self, cluster: &Cluster, kubeconfig: Option<&str>) -> Vec<WatcherConfig> {
        let (name, own) = (&cluster.name, cluster.own());
        let mut seen = Places::default();
        if cluster.watchers.is_empty() {
            let place = format!("the cluster `{}`", name.value);
            return vec![self.watcher(&own, name.referenced, &place, kubeconfig, &mut seen)];
        }
        if let Some(key) = own.first_key() {
            let message = format!("the cluster `{}` has both `watchers` and `{key}`", name.value);
            self.report(name.referenced, "conflict", message).hint =
                Some(format!("move `{key}` to one of the `watchers`"));
        }
        let mut watchers = Vec::new();
        for watcher in &cluster.watchers {
            let place = format!("a watcher of the cluster `{}`", name.value);
            watchers.push(self.watcher(&watcher.value, watcher.referenced, &place, kubeconfig, &mut seen));
        }
        watchers
    }

    fn watcher(
        &mut self,
        watcher: &Watcher,
        at: Location,
        place: &str,
        kubeconfig: Option<&str>,
        seen: &mut Places,
    ) -> WatcherConfig {
        for namespace in &watcher.namespaces {
            self.namespace(namespace);
            if let Some(line) = seen.namespaces.insert(namespace.value.clone(), namespace.referenced.line()) {
                let message = format!("duplicate namespace `{}`, first in line {line}", namespace.value);
                self.report(namespace.referenced, "duplicate", message).hint =
                    Some("list each namespace once".to_owned());
            }
        }
        if watcher.namespaces.is_empty()
            && let Some(line) = seen.whole.replace(at.line())
        {
            let message = format!("the watcher in line {line} already watches the whole cluster");
            self.report(at, "duplicate", message).hint = Some("give one of them `namespaces`".to_owned());
        }
        let access = self.access(watcher, at, place, kubeconfig);
        let allow_exec_plugins = watcher.allow_exec_plugins;
        WatcherConfig {
            connect: ConnectSettings { allow_exec_plugins, ..ConnectSettings::new(access) },
            namespaces: watcher.namespaces.iter().map(|namespace| namespace.value.clone()).collect(),
        }
    }

    pub(super) fn access(
        &mut self,
        watcher: &Watcher,
        at: Location,
        place: &str,
        kubeconfig: Option<&str>,
    ) -> ClusterAccess {
        let by_kubeconfig = watcher.context.is_some() || watcher.kubeconfig.is_some();
        let ways = [by_kubeconfig, watcher.in_cluster, watcher.url.is_some()];
        if ways.iter().filter(|way| **way).count() > 1 {
            self.report(at, "conflict", format!("{place} has several connections")).hint =
                Some("keep one of `context` (with `kubeconfig`), `in_cluster` and `url`".to_owned());
        }
        if let Some(url) = &watcher.url {
            if !["http://", "https://"].iter().any(|scheme| url.value.starts_with(scheme)) {
                let message = format!("invalid http or https URL `{}`", without_logins(&url.value));
                self.report(url.referenced, "bad_address", message);
            } else if has_login(&url.value) {
                let message = format!(
                    "`{}` contains credentials, which would appear in logs",
                    without_logins(&url.value)
                );
                self.report(url.referenced, "bad_address", message).hint =
                    Some("remove them, and put credentials into a kubeconfig".to_owned());
            }
            return ClusterAccess::Url(url.value.clone());
        }
        if watcher.in_cluster {
            return ClusterAccess::InCluster;
        }
        let path = watcher.kubeconfig.as_ref().map(|path| path.value.as_str()).or(kubeconfig);
        let context = watcher.context.as_ref().map(|context| context.value.clone());
        ClusterAccess::Kubeconfig { path: path.map(|path| self.path(path)), context }
    }

    pub(super) fn patterns(&mut self, written: &[Spanned<String>]) -> Vec<KindPattern> {
        written.iter().filter_map(|text| self.pattern(&text.value, text.referenced)).collect()
    }

    pub(super) fn pattern(&mut self, text: &str, place: Location) -> Option<KindPattern> {
        let pattern = text.parse().map_err(|message: String| {
            self.report(place, "bad_kind", message).hint =
                Some("such as Secret, Lease.coordination.k8s.io or *.metrics.k8s.io".to_owned());
        });
        pattern.ok()
    }

    fn left_out(&mut self, cluster: &Cluster) -> Vec<String> {
        let whole = match cluster.watchers.as_slice() {
            [] => cluster.namespaces.is_empty(),
            watchers => watchers.iter().any(|watcher| watcher.value.namespaces.is_empty()),
        };
        if let (Some(first), false) = (cluster.exclude_namespaces.first(), whole) {
            let message = "`exclude_namespaces` has no effect: only some namespaces are watched";
            self.report(first.referenced, "conflict", message).hint =
                Some("remove it, or let a watcher without `namespaces` watch the whole cluster".to_owned());
        }
        for namespace in &cluster.exclude_namespaces {
            self.namespace(namespace);
        }
        cluster.exclude_namespaces.iter().map(|namespace| namespace.value.clone()).collect()
    }

    pub(super) fn labels(&mut self, written: Option<&Spanned<String>>) -> LabelSelector {
        let Some(written) = written else { return LabelSelector::default() };
        LabelSelector::from_str(&written.value).unwrap_or_else(|error| {
            let mut mistake = Mistake::at(written.referenced, "bad_selector", error.message);
            mistake.column += within(written, error.before);
            self.mistakes
                .push(mistake.hint("write it as for `kubectl get -l`, such as \"app=web,tier!=test\""));
            LabelSelector::default()
        })
    }
}

/// What the watchers of one cluster watch already, with the lines that say so.
#[derive(Default)]
struct Places {
    namespaces: HashMap<String, u64>,
    whole: Option<u64>,
}

/// How many columns after its beginning a text has the character with `before` others before it; none where
/// the text is written in another way than it is read.
fn within(written: &Spanned<String>, before: usize) -> u64 {
    let (read, before) = (written.value.chars().count() as u64, before as u64);
    match written.referenced.span().len().checked_sub(read) {
        Some(0) => before,
        // Quotes are around it.
        Some(2) => before + 1,
        _ => 0,
    }
}
