//! A service from its start to its end.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::disk::Disk;
use super::environment_health::EnvironmentHealth;
use super::error::ServiceError;
use super::freshness::ClustersFreshness;
use super::metrics::{Exposition, Sources};
use super::options::Options;
use super::readiness::Checks;
use super::rebuild::Rebuild;
use super::recording::Recording;
use super::retention::{self, Retention, RetentionClock};
use super::setup::{self, listen, load, settings};
use super::tasks::{Ended, Fallen, Tasks};
use super::{access, agent_folders, clock, due, namespaces, projection, relist, systemd, tls};
use crate::app::AppState;
use crate::app::watch::Watch;
use crate::catalog::CatalogWriter;
use crate::http::answer_cache::AnswerCache;
use crate::http::tls::Tls;
use crate::http::{self, Hosts, RequestStats, ServerOptions};
use strandline_clock::{Clock, SteadyClock};
use strandline_log::{Appender, LogError, WriterProblem};
use strandline_model::{CatalogFact, Source, reason};
use strandline_query::Queries;
use strandline_redact::Rules;
use strandline_sqlite::{DirectoryLock, redaction_key};
use strandline_view::{ProjectorError, ViewStatus};

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
        let (listener, address) = listen(options.listen).await?;
        let tls = options.tls.map(Tls::open).transpose()?;
        // All that reads the time here reads this one clock.
        let steady = Arc::new(SteadyClock::new(clock));
        let clock: Arc<dyn Clock> = Arc::clone(&steady) as Arc<dyn Clock>;
        let access = Arc::new(setup::access(address, tls.is_some(), options.access, Arc::clone(&clock))?);
        let lock = DirectoryLock::acquire(&options.data)?;
        let (key, new_key) = key(&options.data).map_err(ServiceError::Key)?;
        let rules = Arc::new(Rules::new(key).with(options.redact));
        let Recording { appender, head, health, writer, opened } =
            Recording::open(&options.data, new_key, Arc::clone(&clock))?;
        let status = ViewStatus::new(head).with_writer(health.clone());
        let (watching, stopping) = (CancellationToken::new(), CancellationToken::new());
        let fallen = Fallen::default();
        let (watchers, server) = (Tasks::new(&watching, &fallen), Tasks::new(&stopping, &fallen));
        let (data, rules_of_user) = (options.data.clone(), options.rules.clone());
        let rebuild = Rebuild::new(data, rules_of_user, status.clone(), Arc::clone(&clock), stopping.clone());
        let checks =
            Checks::new(status.clone(), health.clone(), &rebuild, options.preparing, watching.clone());
        let checks = checks.with_clock(Arc::clone(&steady)).with_access(Arc::clone(&access));
        let settings = settings(options.clusters, &rules, options.consistency);
        let clusters: Vec<_> = settings.iter().map(|(s, _)| (s.name.clone(), Arc::clone(&s.stats))).collect();
        let relisting = Arc::new(relist::Relist::new(&clusters, Arc::clone(&clock)));
        let queries = Queries::new(&options.data, READERS, status.clone(), Arc::clone(&clock))
            .with_key(&key)
            .with_freshness(Arc::new(ClustersFreshness::new(&clusters)));
        let recording = writer.is_some();
        let of_writer = queries.clone();
        let writer =
            writer.map(|writer| Ended::spawn("log-writer", move || writer.run(&of_writer))).transpose()?;
        let projector = projection::spawn(
            &options.data,
            options.rules,
            &status,
            &queries,
            &rebuild,
            &stopping,
            recording.then_some(opened),
        )?;
        let checks = checks.with_clusters(&clusters);
        let readiness = Arc::new(checks.clone());
        let retention = Retention {
            data: options.data.clone(),
            config: options.retention,
            appender: appender.clone(),
            status: status.clone(),
            rebuild: rebuild.clone(),
            numbers: retention::Numbers::default(),
            clock: RetentionClock(Arc::clone(&clock)),
        };
        let sources = Sources {
            status: status.clone(),
            writer: health,
            rebuild: rebuild.clone(),
            retention: retention.numbers.clone(),
            clusters,
            queue: appender.downgrade(),
            disk: Disk::default(),
            requests: RequestStats::default(),
            load: load(),
            queries: queries.clone(),
            environments: EnvironmentHealth::default(),
            clock: Arc::clone(&clock),
            steady: Some(Arc::clone(&steady)),
            access: Arc::clone(&access),
            tls: tls.clone(),
        };
        let (disk, requests, load) = (sources.disk.clone(), sources.requests.clone(), sources.load.clone());
        let (environments, counting) = (sources.environments.clone(), queries.clone());
        let environments_max = options.metrics.environments_max;
        let metrics = Arc::new(Exposition::new(sources));
        let catalog = CatalogWriter::new(&appender).with_quotas(options.quotas);
        let (views, clock_of, rebuilding) = (options.views.into(), Arc::clone(&clock), Arc::new(rebuild));
        let (ignored, links) = (options.ignored.into(), Arc::new(options.links));
        let (file, known, now) = (options.access_file, Arc::clone(&access), Arc::clone(&clock));
        watchers.keep("access", move |stop| {
            access::follow(file.clone(), Arc::clone(&known), Arc::clone(&now), stop)
        });
        let issuers = Arc::clone(&access);
        watchers.keep("issuers", move |stop| access::follow_issuers(Arc::clone(&issuers), stop));
        let encrypted = tls.is_some();
        if let Some(tls) = tls.clone() {
            watchers.keep("certificate", move |stop| tls::follow(tls.clone(), stop));
        }
        if let Some(interval) = systemd::watchdog_interval() {
            server.keep("watchdog", move |stop| systemd::report_running(interval, stop));
        }
        let watch = Watch::new(stopping.clone());
        let state = AppState {
            queries,
            readiness,
            metrics,
            rebuilding,
            relisting,
            views,
            links,
            ignored,
            clock: clock_of,
            access,
            watch: watch.clone(),
            catalog,
            announcement: options.announcement,
            answers: AnswerCache::default(),
        };
        server.need("watch", watch.follow(state.queries.clone()));
        let hosts = Hosts::for_listener(address, &options.hosts);
        let origins = options.origins;
        let serving =
            ServerOptions { requests, load, origins, tls: tls.clone(), ..ServerOptions::new(hosts) };
        server.need("server", http::serve(listener, crate::site::site(&state), serving, stopping.clone()));
        let times: Vec<_> =
            settings.iter().map(|(s, _)| (s.name.clone(), s.limits.server_time.clone())).collect();
        let recorder = recording.then(|| appender.clone());
        watchers.keep("clock", move |stop| {
            clock::follow(Arc::clone(&steady), times.clone(), recorder.clone(), stop)
        });
        let (data, files) = (options.data.clone(), retention.numbers.clone());
        watchers.keep("disk", move |stop| disk.clone().follow(data.clone(), files.clone(), stop));
        watchers.keep("environment health", move |stop| {
            environments.clone().follow(counting.clone(), environments_max, stop)
        });
        if recording {
            declare(&appender, options.catalog, &status, &watchers).await?;
            for (settings, ways) in settings {
                let (sink, clock) = (appender.clone(), Arc::clone(&clock));
                let name = format!("cluster {}", settings.name);
                watchers
                    .need(name, strandline_watch::supervise(settings, ways, sink, clock, watching.clone()));
            }
            let (shown, sink) = (options.namespace_environments, appender.clone());
            let limit = options.quotas.environments;
            watchers
                .keep("namespaces", move |stop| namespaces::follow(shown.clone(), limit, sink.clone(), stop));
            let (folders, sink) = (options.agent_folders, appender.clone());
            watchers.keep("agent folders", move |stop| {
                agent_folders::follow(folders.clone(), sink.clone(), stop)
            });
            let (now, view, sink) = (Arc::clone(&clock), status.clone(), appender.clone());
            watchers.keep("due", move |stop| due::follow(Arc::clone(&now), view.clone(), sink.clone(), stop));
            watchers.keep("retention", move |stop| retention.clone().follow(stop));
        }
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
