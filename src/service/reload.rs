//! Reads the configuration again whenever its file, or one in a folder of clusters, changes or SIGHUP comes, and puts into effect what needs no restart.
//!
//! A file that cannot be used changes nothing: what was in effect stays, and probes, metrics and the log say so. Who may ask
//! is taken by itself, and first: a mistake elsewhere in the file must not keep a token valid that was taken out.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::cluster_folders::{FolderLook, Found, warn_of_ignored};
use super::clusters::{Recorder, Recording};
use super::detached::on_own_thread;
use super::hubs::{HubFollower, HubStates};
use super::metric_writer::MetricWriter;
use super::options::{ClusterFolders, ConfigFile, FixedSettings, FoundInHubs, MetricsConfig, Options};
use super::rebuild::Rebuild;
use super::retention::RetentionConfig;
use super::setting::Setting;
use crate::app::CurrentPresentation;
use crate::catalog::{AgentFolderConfig, CatalogWriter, NamespaceEnvironments};
use crate::http::Authenticator;
use crate::http::auth::{AccessConfig, EXPIRY_NOTICE};
use strandline_clock::Clock;
use strandline_model::{CatalogFact, Source, Timestamp};

/// How often the file is looked at. It may come by a mount that reports no changes, so it is read.
const LOOK: Duration = Duration::from_secs(2);

/// How long reading all that the configuration names may take.
const READ: Duration = Duration::from_secs(60);

/// What is reported of a file that cannot be used: anyone may probe, so it names nothing.
const PROBLEM: &str = "reloading the configuration failed; the previous configuration stays in effect";

/// How reloading went; clones share it.
#[derive(Clone, Default)]
pub(super) struct ReloadStatus(Arc<Shared>);

#[derive(Default)]
struct Shared {
    applied: AtomicU64,
    rejected: AtomicU64,
    /// In microseconds.
    last_success: AtomicI64,
    restart_required: AtomicBool,
    hubs: HubStates,
}

impl ReloadStatus {
    /// Writes the numbers.
    pub(super) fn encode(&self, out: &mut MetricWriter<'_, '_>) -> fmt::Result {
        let none: &[(&str, &str)] = &[];
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let results = [("applied", count(&self.0.applied)), ("rejected", count(&self.0.rejected))];
        let results = results.map(|(result, count)| ([("result", result)], count));
        out.counters("config_reloads", "Configurations read again, by result", results)?;
        let last = self.0.last_success.load(Ordering::Relaxed) / 1_000_000;
        let help = "Time at which the configuration in effect was read, in seconds since 1970";
        out.gauges("config_last_reload_success_timestamp_seconds", help, [(none, last)])?;
        let help = "1 while the configuration file has changes that need a restart, else 0";
        let required = i64::from(self.0.restart_required.load(Ordering::Relaxed));
        out.gauges("config_restart_required", help, [(none, required)])?;
        let hubs = self.0.hubs.reachable();
        let of_hubs = hubs.iter().map(|(name, reachable)| ([("hub", name.as_str())], i64::from(*reachable)));
        out.gauges("hub_up", "1 while the hub can be read, else 0", of_hubs)
    }

    /// What the hubs have.
    pub(super) fn hubs(&self) -> HubStates {
        self.0.hubs.clone()
    }

    fn succeeded(&self, now: Timestamp) {
        self.0.last_success.store(now.as_micros(), Ordering::Relaxed);
    }
}

/// What can be changed while the service runs.
pub(super) struct Reloader {
    /// None where no file says how the service runs.
    pub(super) file: Option<ConfigFile>,
    pub(super) status: ReloadStatus,
    pub(super) access: Arc<Authenticator>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) retention: Setting<RetentionConfig>,
    pub(super) metrics: Setting<MetricsConfig>,
    /// With how many environments a project may have.
    pub(super) namespaces: Setting<(Vec<NamespaceEnvironments>, u64)>,
    pub(super) presentation: CurrentPresentation,
    /// Who keeps to the quotas.
    pub(super) quotas: CatalogWriter,
    /// By which rules the view is kept.
    pub(super) rebuild: Rebuild,
    pub(super) agent_folders: Setting<Vec<AgentFolderConfig>>,
    pub(super) catalog: Vec<CatalogFact>,
    pub(super) fixed: FixedSettings,
    pub(super) recorder: Recorder,
    /// None where the log is only read.
    pub(super) recording: Option<Recording>,
    pub(super) folders: FolderLook,
    pub(super) hubs: HubFollower,
    /// Files in them that are not a cluster.
    pub(super) ignored_kubeconfigs: Vec<String>,
    pub(super) looks: Looks,
}

/// What the file and the folders were at the last looks.
#[derive(Default)]
pub(super) struct Looks {
    text: Option<Result<String, String>>,
    folders: Option<Found>,
    hubs: FoundInHubs,
    pending: Pending,
}

impl Looks {
    /// Nothing was looked at yet, and the options were made with this of the hubs.
    pub(super) fn of_hubs(hubs: FoundInHubs) -> Self {
        Looks { hubs, ..Looks::default() }
    }
}

/// What has yet to be put into effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Pending {
    #[default]
    Nothing,
    /// It may be in effect: it was looked at for the first time, some time after it was read.
    Unknown,
    /// It changed, or somebody asked.
    Changed,
}

impl Reloader {
    /// Follows the file, where there is one, until `stop`.
    pub(super) async fn follow(&mut self, stop: CancellationToken) {
        let mut hangup = self.file.as_ref().and_then(|_| signal(SignalKind::hangup()).ok());
        let mut warned = BTreeSet::new();
        self.status.succeeded(self.clock.now());
        let following = async {
            loop {
                if let Some(file) = self.file.clone() {
                    self.look(&file).await;
                }
                warn_of_expiry(&self.access, self.clock.now(), &mut warned);
                tokio::select! {
                    () = received(&mut hangup) => {
                        tracing::info!("SIGHUP: reading the configuration again");
                        self.looks.pending = Pending::Changed;
                    }
                    () = tokio::time::sleep(LOOK) => {}
                }
            }
        };
        // It may be dropped where it waits for a log without room.
        stop.run_until_cancelled(following).await;
    }

    /// Looks at the file and the folders. Who may ask is taken at once; the rest once nothing has changed between two looks,
    /// since a file that is being written may be empty, and must not end the recording of every cluster.
    async fn look(&mut self, file: &ConfigFile) {
        let path = file.path.clone();
        let text = tokio::task::spawn_blocking(move || read(&path)).await;
        let text = text.unwrap_or_else(|error| Err(error.to_string()));
        let mut seen = Pending::Nothing;
        if self.looks.text.as_ref() != Some(&text) {
            self.take_access(&text, file);
            seen = if self.looks.text.is_none() { Pending::Unknown } else { Pending::Changed };
            self.looks.text = Some(text.clone());
        }
        let folders = self.folders.look().await;
        let answered = folders.is_some();
        if let Some(folders) = folders.filter(|folders| self.looks.folders.as_ref() != Some(folders)) {
            let of_folders = if self.looks.folders.is_none() { Pending::Unknown } else { Pending::Changed };
            self.looks.folders = Some(folders);
            seen = seen.max(of_folders);
        }
        let hubs = self.hubs.look();
        if self.looks.hubs != hubs {
            self.looks.hubs = hubs;
            seen = Pending::Changed;
        }
        if seen != Pending::Nothing {
            self.looks.pending = self.looks.pending.max(seen);
        } else if answered && self.looks.pending != Pending::Nothing {
            let pending = std::mem::take(&mut self.looks.pending);
            self.take(&text, file, pending).await;
        }
    }

    fn take_access(&self, text: &Result<String, String>, file: &ConfigFile) {
        let text = text.as_ref().map_err(Clone::clone);
        match text.and_then(|text| (file.access)(text, &file.path)) {
            Ok(config) => {
                let before = self.access.config();
                let config = AccessConfig { allow_anonymous_read: before.allow_anonymous_read, ..config };
                let (changed, tokens) = (config != before, config.tokens.len());
                // Also where it is as it was: what was wrong with the file is over.
                self.access.replace(config);
                if changed {
                    tracing::info!(tokens, "access rules reloaded");
                }
            }
            Err(error) => {
                self.access.report_problem(Some(PROBLEM));
                tracing::error!(error, "{PROBLEM}, so removed tokens are still valid");
            }
        }
    }

    /// Goes by all that the file says now, or by what it said before where that cannot be used.
    async fn take(&mut self, text: &Result<String, String>, file: &ConfigFile, pending: Pending) {
        let (text, reading) = (text.clone(), file.clone());
        let hubs = self.looks.hubs.clone();
        let options = move || (reading.options)(&text?, &reading.path, &hubs);
        // It reads what the file names, from filesystems that may hang.
        let Ok(options) = timeout(READ, on_own_thread("configuration", options)).await else {
            tracing::error!(
                "reading the files that the configuration names hangs; retrying: check the filesystem"
            );
            self.looks.pending = pending;
            return;
        };
        let options = options.unwrap_or_else(|| Err("reading it failed".to_owned()));
        match options {
            Ok(options) => {
                let changes = self.apply(options).await;
                self.access.report_problem(None);
                if changes.is_empty() && pending == Pending::Unknown {
                    return;
                }
                self.status.succeeded(self.clock.now());
                self.status.0.applied.fetch_add(1, Ordering::Relaxed);
                let changes = if changes.is_empty() { "none".to_owned() } else { changes.join(", ") };
                tracing::info!(changes, "configuration reloaded");
            }
            Err(error) => {
                self.status.0.rejected.fetch_add(1, Ordering::Relaxed);
                self.access.report_problem(Some(PROBLEM));
                tracing::error!(error, "{PROBLEM}");
            }
        }
    }

    /// Puts into effect what differs, and returns what that is, in words.
    async fn apply(&mut self, options: Options) -> Vec<String> {
        let (mut changes, fixed) = (Vec::new(), FixedSettings::of(&options));
        if self.retention.replace(options.retention) {
            changes.push("retention".to_owned());
        }
        if self.metrics.replace(options.metrics) {
            changes.push("metrics".to_owned());
        }
        changes.extend(self.presentation.replace(options.presentation).into_iter().map(str::to_owned));
        if self.quotas.replace_quotas(options.quotas) {
            changes.push("quotas".to_owned());
        }
        let ClusterFolders { paths, ignored } = options.cluster_folders;
        if self.folders.replace(paths) {
            // What is in them now is what was read a moment ago, unless it changed since.
            self.looks.folders = None;
        }
        if self.ignored_kubeconfigs != ignored {
            warn_of_ignored(&ignored);
            self.ignored_kubeconfigs = ignored;
        }
        if let Some(recording) = self.recording.clone() {
            self.hubs.replace(options.hubs, &recording.tasks);
            let changed = self.recorder.change(options.clusters, &recording).await;
            if options.catalog != self.catalog {
                match recording.appender.declare(Source::Config, options.catalog.clone()).await {
                    Ok(_) => {
                        self.catalog = options.catalog;
                        changes.push("catalog".to_owned());
                    }
                    Err(error) => {
                        tracing::error!(%error, "declaring the catalog of the configuration failed; SIGHUP tries again");
                    }
                }
            }
            self.recorder.begin(&recording);
            let of = [("added", changed.added), ("changed", changed.changed), ("removed", changed.removed)];
            let named = of.into_iter().filter(|(_, names)| !names.is_empty());
            changes.extend(named.map(|(what, names)| format!("clusters {what}: {}", names.join(" "))));
            // After what they look into is declared.
            let namespaces = (options.namespace_environments, options.quotas.environments);
            if self.namespaces.replace(namespaces) {
                changes.push("namespace environments".to_owned());
            }
            if self.agent_folders.replace(options.agent_folders) {
                changes.push("folders of agents".to_owned());
            }
        }
        let mut keys = self.fixed.differing(&fixed);
        let rules = "health and relations";
        if self.recording.is_none() {
            // The view of a log that is only read is never built anew.
            keys.extend((options.rules != self.rebuild.rules().rules).then_some(rules));
        } else if self.rebuild.replace_rules(options.rules) {
            changes.push(rules.to_owned());
        }
        self.status.0.restart_required.store(!keys.is_empty(), Ordering::Relaxed);
        if !keys.is_empty() {
            let keys = keys.join(", ");
            tracing::warn!(keys, "changes of these keys take effect after a restart");
        }
        changes
    }
}

/// Resolves with a signal; where none can be received, never: the file is looked at all the same.
async fn received(signal: &mut Option<Signal>) {
    let received = match signal {
        Some(signal) => signal.recv().await,
        None => None,
    };
    if received.is_none() {
        std::future::pending::<()>().await;
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))
}

/// Says once of each token that it expires soon, and once that it has.
fn warn_of_expiry(access: &Authenticator, now: Timestamp, warned: &mut BTreeSet<(String, Timestamp, bool)>) {
    for token in access.config().tokens {
        let Some(expires) = token.expires.filter(|expires| *expires <= now.plus(EXPIRY_NOTICE)) else {
            continue;
        };
        let expired = expires <= now;
        if !warned.insert((token.name.clone(), expires, expired)) {
            continue;
        }
        let name = token.name;
        match expired {
            true => tracing::warn!(token = name, %expires, "a token has expired; its requests are rejected"),
            false => tracing::warn!(token = name, %expires, "a token expires soon"),
        }
    }
}
