//! Records that time has passed, where something is judged anew for that and nothing else happens.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use strandline_clock::Clock;
use strandline_log::Appender;
use strandline_view::ViewStatus;

/// How often to look whether something is due.
const TICK: Duration = Duration::from_secs(1);

/// How long to wait after a mark for the next one: whatever is due by then shares it, so that who makes things wait cannot
/// make us write more than that.
const PAUSE: Duration = Duration::from_secs(5);

/// Follows what the view says until it is stopped. Every change that is recorded says how late it is, so that a log in which
/// something happens needs no marks.
pub(super) async fn follow(
    clock: Arc<dyn Clock>,
    status: ViewStatus,
    appender: Appender,
    stop: CancellationToken,
) {
    let mut wait = TICK;
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(wait) => {}
        }
        wait = TICK;
        // What the view does not hold yet may say it already.
        let due = status.due().get().filter(|due| status.lag() == 0 && *due <= clock.now());
        let Some(due) = due else { continue };
        tokio::select! {
            () = stop.cancelled() => return,
            // A log that failed says so itself.
            _ = appender.pass_time(due) => wait = PAUSE,
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicBool, Ordering};

    use serde_json::json;

    use super::*;
    use strandline_clock::testing::ManualClock;
    use strandline_log::{Batch, Begin, LogReader, LogWriter, Observed, Phase};
    use strandline_model::{At, Change, ClockEvent, Health, Kind, Offset, Timestamp, Uid, WatchKey};
    use strandline_query::testing::{self, World, observation};
    use strandline_query::{GetResource, GetResourceHealth, HealthFilter, Queries, Scope};
    use strandline_view::Projector;
    use strandline_view::ruleset::RuleSet;

    /// When the Pods came to wait, and when they have done so for too long.
    fn since() -> Timestamp {
        World::time(0)
    }

    fn due() -> Timestamp {
        World::time(5)
    }

    fn watch() -> WatchKey {
        WatchKey { cluster: "one".into(), kind: Kind::new("", "Pod"), namespace: String::new() }
    }

    fn waiting(name: &str) -> Observed {
        let body = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "uid": name, "creationTimestamp": since()},
            "status": {"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False",
                "reason": "Unschedulable", "message": "no node", "lastTransitionTime": since()}]}});
        Observed::Applied(observation("shop", name, name, 1, &body))
    }

    fn events(directory: &Path) -> Vec<ClockEvent> {
        let records = LogReader::open(directory).unwrap().after(Offset::ZERO, 100).unwrap();
        let event = |change: &Change| match change {
            Change::Clock(mark) => Some(mark.event),
            _ => None,
        };
        records.iter().filter_map(|record| event(&record.change)).collect()
    }

    async fn health(queries: &Queries, at: At, name: &str) -> (Option<Health>, String, Timestamp) {
        let (scope, uid) = (Scope::everything(), Uid::new(name));
        let held = queries.ask(&scope, at, GetResource::new(&uid, None)).await.unwrap();
        let resource = held.value.resource;
        (resource.health, resource.message, resource.health_since)
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiting_pod_is_degraded_in_time_though_nothing_else_happens_and_one_mark_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::default());
        clock.set(since());
        let (writer, appender) = LogWriter::open(dir.path(), clock.clone()).unwrap();
        let status = ViewStatus::new(writer.head());
        let thread = std::thread::spawn(move || writer.run());
        let epoch = appender.begin(Begin::new(&watch(), true)).await.unwrap().epoch;
        let observed = vec![waiting("a"), waiting("b"), waiting("c")];
        let batch = Batch { watch: watch(), epoch, phase: Phase::Watch, observed, cursor: None };
        let made = appender.append(batch).await.unwrap().head;
        let ended = Arc::new(AtomicBool::new(false));
        let projecting = {
            let (path, status, ended) = (dir.path().to_owned(), status.clone(), Arc::clone(&ended));
            std::thread::spawn(move || {
                let mut projector = Projector::open(&path, RuleSet::default()).unwrap();
                let stop = || ended.load(Ordering::Relaxed);
                let shared = (status.pruning(), status.due());
                projector.run(status.head(), status.checkpoint(), shared, stop)
            })
        };
        let stop = CancellationToken::new();
        let now: Arc<dyn Clock> = clock.clone();
        let task = tokio::spawn(follow(now, status.clone(), appender.clone(), stop.clone()));
        while status.due().get() != Some(due()) {
            tokio::time::sleep(TICK).await;
        }
        clock.set(due().minus(Duration::from_micros(1)));
        for _ in 0..20 {
            tokio::time::sleep(TICK).await;
        }
        assert_eq!((status.head().get(), events(dir.path())), (made, vec![]), "nothing is due yet");
        clock.set(due());
        while status.due().get().is_some() || status.lag() > 0 {
            tokio::time::sleep(TICK).await;
        }
        for _ in 0..20 {
            tokio::time::sleep(TICK).await;
        }
        assert_eq!(events(dir.path()), [ClockEvent::Passed], "for all three");
        let queries = testing::queries(dir.path(), clock.clone());
        for name in ["a", "b", "c"] {
            let degraded = (Some(Health::Degraded), "no node".to_owned(), due());
            assert_eq!(health(&queries, At::Now, name).await, degraded);
            let before = health(&queries, At::Time(due().minus(Duration::from_micros(1))), name).await;
            assert_eq!(before, (Some(Health::Progressing), String::new(), since()));
        }
        let filter = HealthFilter { since: Some(At::Time(since())), limit: 10 };
        let (scope, uid) = (Scope::everything(), Uid::new("a"));
        let told = queries.ask(&scope, At::Now, GetResourceHealth::new(&uid, None, filter)).await;
        let told = told.unwrap().value.intervals;
        let mut told: Vec<_> = told.iter().map(|interval| (interval.from, interval.health)).collect();
        told.sort_unstable();
        assert_eq!(told, [(since(), Some(Health::Progressing)), (due(), Some(Health::Degraded))]);
        stop.cancel();
        task.await.unwrap();
        ended.store(true, Ordering::Relaxed);
        projecting.join().unwrap().unwrap();
        drop(appender);
        thread.join().unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_mark_is_written_only_where_nothing_else_says_how_late_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::default());
        clock.set(since());
        let (writer, appender) = LogWriter::open(dir.path(), clock.clone()).unwrap();
        let thread = std::thread::spawn(move || writer.run());
        let epoch = appender.begin(Begin::new(&watch(), true)).await.unwrap().epoch;
        let changed = async |name: &str| {
            let observed = vec![waiting(name)];
            let batch = Batch { watch: watch(), epoch, phase: Phase::Watch, observed, cursor: None };
            appender.append(batch).await.unwrap();
        };
        changed("a").await;
        appender.pass_time(due()).await.unwrap();
        assert_eq!(events(dir.path()), [], "it is yet to come");
        clock.set(due());
        changed("b").await;
        appender.pass_time(due()).await.unwrap();
        assert_eq!(events(dir.path()), [], "the change says so");
        clock.set(World::time(9));
        for _ in 0..3 {
            appender.pass_time(World::time(8)).await.unwrap();
        }
        assert_eq!(events(dir.path()), [ClockEvent::Passed]);
        drop(appender);
        thread.join().unwrap().unwrap();
    }
}
