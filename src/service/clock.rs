//! Looks at the machine's clock every second, so that a jump is noticed and recorded though nothing else happens.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use strandline_clock::{Clock, SteadyClock};
use strandline_log::Appender;
use strandline_watch::ServerTime;

/// How often the clocks are compared.
const TICK: Duration = Duration::from_secs(1);

/// Compares the machine's clock with the clusters' until it is stopped. What it does is recorded; without a log that
/// takes changes it is only followed.
pub async fn follow(
    clock: Arc<SteadyClock>,
    clusters: impl Fn() -> Vec<(String, ServerTime)>,
    appender: Option<Appender>,
    stop: CancellationToken,
) {
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(TICK) => {}
        }
        for (cluster, time) in clusters() {
            if let Some(told) = time.take() {
                clock.witness(&cluster, told);
            }
        }
        if !clock.has_changes() {
            continue;
        }
        let Some(appender) = &appender else {
            clock.take_changes();
            continue;
        };
        tokio::select! {
            () = stop.cancelled() => return,
            // A log that failed says so itself.
            _ = appender.follow_clock() => {}
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {

    use super::*;
    use crate::app::Readiness;
    use crate::service::options::{Options, Watched, WatchedSettings};
    use crate::service::readiness::Checks;
    use crate::service::rebuild::Rebuild;
    use crate::service::running::Service;
    use strandline_clock::testing::Machine;
    use strandline_log::{LogReader, LogWriter, WriterHealth};
    use strandline_model::{Change, ClockEvent, Offset};
    use strandline_sim::api_server::{ApiServer, builtin_kinds};
    use strandline_view::ViewStatus;
    use strandline_view::ruleset::RuleSet;
    use strandline_watch::{ClusterAccess, ConnectSettings, Watcher, connect};

    #[test]
    fn a_lasting_jump_is_told_at_once_and_makes_the_service_unready_after_a_minute() {
        let machine = Arc::new(Machine::default());
        let clock = Arc::new(SteadyClock::new(Arc::clone(&machine) as Arc<dyn Clock>));
        let (status, rules, stop) = (ViewStatus::default(), RuleSet::default(), CancellationToken::new());
        let rebuild = Rebuild::new("nowhere".into(), rules, status.clone(), clock.clone(), stop.clone());
        let checks = Checks::new(status, WriterHealth::default(), &rebuild, false, stop);
        let checks = checks.with_clock(Arc::clone(&clock));
        let told = || checks.checks().into_iter().find(|check| check.name == "clock").unwrap();
        assert_eq!((told().ok, told().detail), (true, String::new()));
        machine.set(-7_200_000_000);
        let check = told();
        assert!(check.ok && check.detail.contains("jumped 7200 s back"), "{check:?}");
        machine.pass(61_000_000);
        clock.witness("one", clock.now());
        let check = told();
        assert!(!check.ok && check.detail.contains("is 7200 s behind"), "{check:?}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn by_a_clock_of_its_own_a_service_takes_no_cluster_for_a_witness() {
        let cluster = ApiServer::start("one", builtin_kinds()).await.unwrap();
        let serve = async |witnesses| {
            let connection = connect(&ConnectSettings::new(ClusterAccess::Url(cluster.url()))).await.unwrap();
            let watchers = vec![Watcher { connection, namespaces: Vec::new() }];
            let watched = Watched { name: "one".into(), watchers, settings: WatchedSettings::default() };
            let data = tempfile::tempdir().unwrap();
            let options = Options::new(data.path().to_owned(), "127.0.0.1:0".parse().unwrap());
            let stands = Arc::new(Machine::default());
            (
                Service::start(Options { clusters: vec![watched], witnesses, ..options }, stands)
                    .await
                    .unwrap(),
                data,
            )
        };
        // The one that takes the server's time began last, so that the other could have taken it by then.
        let ((alone, _alone), (witnessed, _witnessed)) = (serve(false).await, serve(true).await);
        let is_right = |service: &Service| {
            service.checks.checks().into_iter().find(|check| check.name == "clock").unwrap().ok
        };
        while is_right(&witnessed) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(is_right(&alone));
        alone.run_until(async {}).await.unwrap();
        witnessed.run_until(async {}).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_jump_is_recorded_though_nothing_else_happens() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Arc::new(Machine::default());
        let clock = Arc::new(SteadyClock::new(Arc::clone(&machine) as Arc<dyn Clock>));
        let (writer, appender) = LogWriter::open(dir.path(), clock.clone()).unwrap();
        let head = writer.head();
        let thread = std::thread::spawn(move || writer.run());
        let stop = CancellationToken::new();
        let task = tokio::spawn(follow(clock, Vec::new, Some(appender), stop.clone()));
        for (wrong_by, events) in [(3_600_000_000, 1), (0, 2)] {
            machine.set(wrong_by);
            while head.get() < Offset::new(events) {
                tokio::time::sleep(TICK).await;
            }
        }
        stop.cancel();
        task.await.unwrap();
        thread.join().unwrap().unwrap();
        let records = LogReader::open(dir.path()).unwrap().after(Offset::ZERO, 10).unwrap();
        let event = |change: &Change| match change {
            Change::Clock(mark) => Some(mark.event),
            _ => None,
        };
        let events: Vec<_> = records.iter().filter_map(|record| event(&record.change)).collect();
        assert_eq!(events, [ClockEvent::Jumped, ClockEvent::Returned]);
    }
}
