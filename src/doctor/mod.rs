//! Says before anything is started whether a configuration can be carried out, and what to do where it cannot.
//!
//! A data directory can be checked by itself, and in full.
//!
//! Nothing is changed, neither on this machine nor in the clusters. Each file judges one thing; what clusters
//! answered comes from [`strandline_watch::examine`].

mod access;
mod agents;
mod cluster_folders;
mod clusters;
mod damage;
mod directory;
mod files;
mod hubs;
mod modes;
mod rbac;
mod report;
mod reviews;

#[cfg(test)]
mod tests;

use std::path::Path;

pub use report::{Check, CheckResult, Manifest, Report};

use futures_util::future::join_all;

use crate::config::{ClusterConfig, Config, ConfigError};
use strandline_clock::Clock;
use strandline_watch::{ExamineSettings, examine};

const CONFIGURATION: &str = "configuration";

/// The report on a configuration that cannot be used; without it nothing else can be checked.
pub fn of_mistakes(error: &ConfigError) -> Report {
    let checks = match error {
        ConfigError::Unreadable { .. } => {
            vec![Check::problem(CONFIGURATION, error.to_string()).maybe_hint(error.hint())]
        }
        ConfigError::Mistakes { path, mistakes } => mistakes
            .iter()
            .map(|mistake| {
                let check = Check::problem(CONFIGURATION, format!("{}:{mistake}", path.display()));
                check.maybe_hint(mistake.hint.clone())
            })
            .collect(),
    };
    Report { checks, missing: Vec::new() }
}

/// Checks a sound configuration with the data directory and these of its clusters.
pub async fn check(config: &Config, data: &Path, clusters: &[&ClusterConfig], clock: &dyn Clock) -> Report {
    let mut report = Report::default();
    report.checks.push(configuration(config));
    report.checks.extend(cluster_folders::check(config));
    report.checks.extend(hubs::check(config).await);
    report.checks.extend(access::check(config, clock.now()));
    report.checks.extend(reviews::check(config).await);
    report.checks.extend(directory::check(data));
    report.checks.extend(files::check(data));
    report.checks.extend(agents::check(&config.agent_folders));
    // Each cluster has its own time, so one that does not answer keeps nobody waiting but the reader.
    let answers = join_all(clusters.iter().map(|cluster| watchers(cluster, clock)));
    for found in answers.await {
        report.checks.extend(found.checks);
        report.missing.extend(found.missing);
    }
    report
}

/// Checks a data directory and nothing else.
pub fn check_data(data: &Path) -> Report {
    let mut checks = directory::check(data);
    checks.extend(files::check(data));
    Report { checks, missing: Vec::new() }
}

/// Reads all of the log and of the view in a data directory; `progress` gets how many changes of how many are read.
pub fn check_fully(data: &Path, progress: &mut dyn FnMut(u64, u64)) -> Vec<Check> {
    let mut checks = damage::check(data, progress);
    checks.extend(files::check_fully(data));
    checks
}

fn configuration(config: &Config) -> Check {
    let (clusters, environments) = (config.clusters.len(), config.environments.len());
    let message = format!("clusters: {clusters}, environments: {environments}");
    if clusters == 0 && config.hubs.is_empty() {
        return Check::warning(CONFIGURATION, format!("{message}; nothing is watched"))
            .hint("add clusters under `clusters`");
    }
    Check::ok(CONFIGURATION, message)
}

/// Examines a cluster through each of its watchers.
async fn watchers(cluster: &ClusterConfig, clock: &dyn Clock) -> Report {
    let settings = ExamineSettings::new(cluster.selection.clone());
    let ways = cluster.watchers.iter();
    let answers = ways.map(|way| examine(&way.connect, &way.namespaces, &settings, clock));
    let mut report = Report::default();
    for (watcher, answer) in cluster.watchers.iter().zip(join_all(answers).await) {
        let subject = clusters::subject(cluster, watcher);
        let found = clusters::judge(&subject, &cluster.name, answer);
        report.checks.extend(found.checks);
        report.missing.extend(found.missing);
    }
    report
}
