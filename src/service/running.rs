//! A service from its start to its end.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::cluster_folders::{FolderLook, warn_of_ignored};
use super::clusters::{Clusters, Recorder};
use super::disk::Disk;
use super::environment_health::EnvironmentHealth;
use super::error::ServiceError;
use super::freshness::ClustersFreshness;
use super::hubs::HubFollower;
use super::metrics::{Exposition, Sources};
use super::options::{FixedSettings, Options};
use super::readiness::Checks;
use super::rebuild::Rebuild;
use super::recording::Recording;
use super::reload::{Looks, ReloadStatus, Reloader};
use super::retention::{self, Retention, RetentionClock};
use super::setting::Setting;
use super::setup::{self, listen, load};
use super::tasks::{Ended, Fallen, Tasks};
use super::traces::TraceExporter;
use super::{agent_folders, clock, clusters, due, issuers, namespaces, projection, relist, systemd, tls};
use crate::app::watch::Watch;
use crate::app::{AppState, CurrentPresentation};
use crate::catalog::CatalogWriter;
use crate::http::answer_cache::AnswerCache;
use crate::http::auth::ListNamespaces;
use crate::http::tls::Tls;
use crate::http::{self, Hosts, RequestStats, ServerOptions};
use strandline_clock::{Clock, SteadyClock};
use strandline_log::{Appender, LogError, WriterProblem};
use strandline_model::{At, CatalogFact, Source, reason};
use strandline_query::{ListTargetNamespaces, Queries, Readers, Scope};
use strandline_redact::Rules;
use strandline_sqlite::{DirectoryLock, redaction_key};
use strandline_view::{ProjectorError, ProjectorOptions, ViewStatus};

/// Questions answered at a time; each holds one reader of the view and one of the log.
pub(super) const READERS: usize = 8;

/// How often to look whether the log can be written.
const LOOK: Duration = Duration::from_millis(50);

/// A running service.
#[derive(Debug)]
pub struct Service {
    /// The address it listens on.
    pub address: SocketAddr,
    /// Whether connections are encrypted.
    pub encrypted: bool,
    /// The state of the view.
    pub status: ViewStatus,
    pub(super) checks: Checks,
    watchers: Tasks,
    server: Tasks,
    fallen: Fallen,
    pub(super) appender: Appender,
    /// None where the log is damaged and only read.
    writer: Option<Ended<LogError>>,
    projector: Ended<ProjectorError>,
    _lock: DirectoryLock,
}

impl Service {
    /// Starts everything; the address is bound first, so that a port in use is reported before anything is done.
    ///
    /// # Errors
    /// When the address, the data directory or the log cannot be used.
    pub async fn start(options: Options, clock: Arc<dyn Clock>) -> Result<Self, ServiceError> {
        let fixed = FixedSettings::of(&options);
        let (listener, address) = listen(options.listen).await?;
        let tls = options.tls.map(Tls::open).transpose()?;
        // All that reads the time here reads this one clock.
        let steady = Arc::new(SteadyClock::new(clock));
        let clock: Arc<dyn Clock> = Arc::clone(&steady) as Arc<dyn Clock>;
        let clusters = Clusters::default();
        let access = setup::access(address, tls.is_some(), options.access, Arc::clone(&clock))?;
        let lock = DirectoryLock::acquire(&options.data)?;
        let (key, new_key) = key(&options.data).map_err(ServiceError::Key)?;
        let rules = Arc::new(Rules::new(key).with(options.redact));
        let caches = options.cache_size;
        let Recording { appender, head, health, writer, opened } =
            Recording::open(&options.data, new_key, caches.log_writer(), Arc::clone(&clock))?;
        let status = ViewStatus::new(head).with_writer(health.clone());
        let (watching, stopping) = (CancellationToken::new(), CancellationToken::new());
        let fallen = Fallen::default();
        let (watchers, server) = (Tasks::new(&watching, &fallen), Tasks::new(&stopping, &fallen));
        let data = options.data.clone();
        let made = ProjectorOptions { rules: options.rules, sizes: caches.projector() };
        let rebuild = Rebuild::new(data, made, status.clone(), Arc::clone(&clock), stopping.clone());
        let checks =
            Checks::new(status.clone(), health.clone(), &rebuild, options.preparing, watching.clone());
        let checks = checks.with_clock(Arc::clone(&steady));
        let mut recorder = Recorder::new(&clusters, &rules);
        recorder.plan(options.clusters);
        warn_of_ignored(&options.cluster_folders.ignored);
        let relisting = Arc::new(relist::Relist::new(&clusters, Arc::clone(&clock)));
        let readers = Readers { count: READERS, cache: caches.readers(), lines: caches.lines() };
        let queries = Queries::new(&options.data, readers, status.clone(), Arc::clone(&clock))
            .with_key(&key)
            .with_freshness(Arc::new(ClustersFreshness(clusters.clone())));
        let access = access
            .with_reviews(clusters.reviews())
            .with_access_reviews(clusters.access_reviews(), target_namespaces(&queries));
        let access = Arc::new(access);
        let recording = writer.is_some();
        let of_writer = queries.clone();
        let writer =
            writer.map(|writer| Ended::spawn("log-writer", move || writer.run(&of_writer))).transpose()?;
        let projector = projection::spawn(
            &options.data,
            &status,
            &queries,
            &rebuild,
            caches.unread(),
            &stopping,
            recording.then_some(opened),
        )?;
        let checks = checks.with_clusters(&clusters).with_access(Arc::clone(&access));
        let readiness = Arc::new(checks.clone());
        let retention = Retention {
            data: options.data.clone(),
            config: options.retention.clone(),
            appender: appender.clone(),
            status: status.clone(),
            rebuild: rebuild.clone(),
            numbers: retention::Numbers::default(),
            clock: RetentionClock(Arc::clone(&clock)),
        };
        let reloads = ReloadStatus::default();
        let sources = Sources {
            status: status.clone(),
            writer: health,
            rebuild: rebuild.clone(),
            retention: retention.numbers.clone(),
            clusters: clusters.clone(),
            queue: appender.downgrade(),
            disk: Disk::default(),
            requests: RequestStats::default(),
            load: load(options.limits)?,
            queries: queries.clone(),
            environments: EnvironmentHealth::default(),
            clock: Arc::clone(&clock),
            steady: Some(Arc::clone(&steady)),
            access: Arc::clone(&access),
            tls: tls.clone(),
            reloads: reloads.clone(),
            spans: options.trace_exporter.as_ref().map(TraceExporter::counts),
        };
        let (disk, requests, load) = (sources.disk.clone(), sources.requests.clone(), sources.load.clone());
        let (environments, counting) = (sources.environments.clone(), queries.clone());
        let metrics_of = Setting::new(options.metrics);
        let metrics = Arc::new(Exposition::new(sources));
        let catalog = CatalogWriter::new(&appender).with_quotas(options.quotas);
        let (clock_of, rebuilding) = (Arc::clone(&clock), Arc::new(rebuild.clone()));
        let current_presentation = CurrentPresentation::new(options.presentation);
        let known = Arc::clone(&access);
        watchers.keep("issuers", move |stop| issuers::follow(Arc::clone(&known), stop));
        let encrypted = tls.is_some();
        if let Some(tls) = tls.clone() {
            watchers.keep("certificate", move |stop| tls::follow(tls.clone(), stop));
        }
        if let Some(interval) = systemd::watchdog_interval() {
            server.keep("watchdog", move |stop| systemd::report_running(interval, stop));
        }
        if let Some(exporter) = options.trace_exporter {
            server.keep("traces", move |stop| exporter.clone().follow(stop));
        }
        let watch = Watch::new(stopping.clone());
        let state = AppState {
            queries,
            readiness,
            metrics,
            rebuilding,
            relisting,
            presentation: current_presentation.get(),
            current_presentation: current_presentation.clone(),
            clock: clock_of,
            access: Arc::clone(&access),
            watch: watch.clone(),
            catalog: catalog.clone(),
            announcement: options.announcement,
            answers: AnswerCache::new(caches.answers()),
        };
        server.need("watch", watch.follow(state.queries.clone()));
        let hosts = Hosts::for_listener(address, &options.hosts);
        let origins = options.origins;
        let serving =
            ServerOptions { requests, load, origins, tls: tls.clone(), ..ServerOptions::new(hosts) };
        server.need("server", http::serve(listener, crate::site::site(&state), serving, stopping.clone()));
        let sink = recording.then(|| appender.clone());
        watchers.keep("clock", move |stop| {
            let clusters = clusters.clone();
            let told = move || if options.witnesses { clusters.server_times() } else { Vec::new() };
            clock::follow(Arc::clone(&steady), told, sink.clone(), stop)
        });
        let (data, files) = (options.data.clone(), retention.numbers.clone());
        watchers.keep("disk", move |stop| disk.clone().follow(data.clone(), files.clone(), stop));
        metrics_of.keep(&watchers, "environment health", move |config, stop| {
            environments.clone().follow(counting.clone(), config.environments_max, stop)
        });
        let retained = Setting::new(options.retention);
        let shown = (options.namespace_environments, options.quotas.environments);
        let (shown, folders) = (Setting::new(shown), Setting::new(options.agent_folders));
        if recording {
            declare(&appender, options.catalog.clone(), &status, &watchers).await?;
            let sink = appender.clone();
            shown.keep(&watchers, "namespaces", move |(shown, limit), stop| {
                namespaces::follow(shown, limit, sink.clone(), stop)
            });
            let sink = appender.clone();
            folders.keep(&watchers, "agent folders", move |folders, stop| {
                agent_folders::follow(folders, sink.clone(), stop)
            });
            let (now, view, sink) = (Arc::clone(&clock), status.clone(), appender.clone());
            watchers.keep("due", move |stop| due::follow(Arc::clone(&now), view.clone(), sink.clone(), stop));
            retained.keep(&watchers, "retention", move |config, stop| {
                Retention { config, ..retention.clone() }.follow(stop)
            });
        }
        let to = recording.then(|| clusters::Recording {
            appender: appender.clone(),
            clock: Arc::clone(&clock),
            tasks: watchers.clone(),
        });
        if let Some(to) = &to {
            recorder.begin(to);
        }
        let mut hubs = HubFollower::new(&options.data, reloads.hubs());
        // With these the options were made.
        let known_of_hubs = hubs.look();
        if let Some(to) = &to {
            hubs.replace(options.hubs, &to.tasks);
        }
        let reloader = Reloader {
            file: options.file,
            status: reloads,
            access,
            clock,
            retention: retained,
            metrics: metrics_of,
            namespaces: shown,
            presentation: current_presentation,
            quotas: catalog,
            rebuild,
            agent_folders: folders,
            catalog: options.catalog,
            fixed,
            recorder,
            recording: to,
            folders: FolderLook::new(options.cluster_folders.paths),
            hubs,
            ignored_kubeconfigs: options.cluster_folders.ignored,
            looks: Looks::of_hubs(known_of_hubs),
        };
        // What it knows outlives a task that failed.
        let reloader = Arc::new(Mutex::new(reloader));
        watchers.keep("configuration", move |stop| {
            let reloader = Arc::clone(&reloader);
            async move { reloader.lock().await.follow(stop).await }
        });
        Ok(Service {
            address,
            encrypted,
            status,
            checks,
            watchers,
            server,
            fallen,
            appender,
            writer,
            projector,
            _lock: lock,
        })
    }

    /// Runs until `stop` resolves or a part fails, then stops the rest.
    ///
    /// # Errors
    /// With what made a part fail.
    pub async fn run_until(mut self, stop: impl Future<Output = ()>) -> Result<(), ServiceError> {
        tokio::select! {
            () = stop => {}
            () = self.fallen.fell() => {}
            () = Ended::ended(self.writer.as_mut()) => {}
            () = Ended::ended(Some(&mut self.projector)) => {}
        }
        self.stop().await
    }

    async fn stop(self) -> Result<(), ServiceError> {
        self.watchers.stop().cancel();
        self.watchers.wait().await;
        // With the last appender gone the writer commits what is queued and ends.
        drop(self.appender);
        let written = match self.writer {
            Some(writer) => writer.result().await,
            None => Ok(()),
        };
        self.server.stop().cancel();
        self.server.wait().await;
        written.and(self.projector.result().await).and(self.fallen.result())
    }
}

/// Declares the catalog, and where the log does not take it for now lets that go on while questions are answered.
async fn declare(
    appender: &Appender,
    catalog: Vec<CatalogFact>,
    status: &ViewStatus,
    watchers: &Tasks,
) -> Result<(), ServiceError> {
    let appender = appender.clone();
    let mut declaring = Box::pin(async move { appender.declare(Source::Config, catalog).await });
    tokio::select! {
        declared = &mut declaring => {
            declared?;
        }
        () = until_blocked(status) => {
            let watching = watchers.stop().clone();
            watchers.once("catalog", async move {
                if let Some(Err(error)) = watching.run_until_cancelled(declaring).await {
                    tracing::error!(%error, "declaring the catalog of the configuration failed");
                }
            });
        }
    }
    Ok(())
}

/// Where environments look, for whoever asks clusters who may read there.
fn target_namespaces(queries: &Queries) -> ListNamespaces {
    let queries = queries.clone().of(&"(access)".into());
    Arc::new(move |cluster, limit| {
        let queries = queries.clone();
        async move {
            let question = ListTargetNamespaces { cluster, limit };
            let found = queries.ask(&Scope::everything(), At::Now, question).await;
            found.map_err(|error| format!("where environments look cannot be read: {error}"))
        }
        .boxed()
    })
}

/// Waits until something keeps the log from being written that may pass.
async fn until_blocked(status: &ViewStatus) {
    let blocks = |problem: WriterProblem| problem.reason == reason::NO_ROOM;
    while !status.writer_problem().is_some_and(blocks) {
        tokio::time::sleep(LOOK).await;
    }
}

/// The key of a data directory, and the same where it is new and there is no room to keep it.
fn key(data: &Path) -> std::io::Result<([u8; 32], Option<[u8; 32]>)> {
    match redaction_key(data) {
        Err(error) if strandline_sqlite::is_storage_full(&error) => {
            let key = strandline_sqlite::new_key()?;
            Ok((key, Some(key)))
        }
        key => Ok((key?, None)),
    }
}
