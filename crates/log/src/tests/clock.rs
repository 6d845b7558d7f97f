//! The machine's clock jumps: times resolve to what held then, or lie in a gap that is named.

use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use strandline_clock::SteadyClock;
use strandline_clock::testing::{Machine, START};
use strandline_model::{ChangedBy, ClockEvent, ClockMark, reason};

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3600 * SECOND;

/// A server that records one Pod, and what was true when.
struct Server {
    machine: Arc<Machine>,
    clock: Arc<SteadyClock>,
    log: Running,
    epoch: Epoch,
    directory: std::path::PathBuf,
    /// The states of the Pod with when they were recorded, by the true time.
    truth: Vec<(Timestamp, u64)>,
}

impl Server {
    async fn start(directory: &Path, machine: Arc<Machine>, truth: Vec<(Timestamp, u64)>) -> Self {
        let clock = Arc::new(SteadyClock::new(Arc::clone(&machine) as Arc<dyn Clock>));
        let log = start_with(directory, Arc::clone(&clock) as Arc<dyn Clock>);
        let epoch = log.appender.begin(Begin::new(&pods(), false)).await.unwrap().epoch;
        Server { machine, clock, log, epoch, directory: directory.to_owned(), truth }
    }

    /// Stops and starts again a second later, with the clock wrong by so much.
    async fn restart(self, wrong_by: i64) -> Self {
        let Server { machine, log, directory, truth, .. } = self;
        log.stop();
        machine.pass(SECOND);
        machine.set(wrong_by);
        Server::start(&directory, machine, truth).await
    }

    fn witness(&self) {
        self.clock.witness("one", self.machine.truth());
    }

    async fn write(&mut self) {
        self.machine.pass(SECOND / 10);
        let version = self.truth.len() as u64 + 1;
        let Observed::Applied(mut seen) = pod("a", "1", version, &format!("{{\"n\":{version}}}")) else {
            unreachable!("it is a state")
        };
        let text = |text: &str| text.to_owned();
        let (manager, operation, subresource) = (text("m"), text("Update"), text(""));
        let time = Some(self.machine.truth());
        seen.changed_by = Some(ChangedBy { manager, operation, subresource, time });
        let batch = batch(self.epoch, Phase::UpToDate, vec![Observed::Applied(seen)], "1");
        self.log.appender.append(batch).await.unwrap();
        self.truth.push((self.machine.truth(), version));
    }

    /// Lets time pass, with what clusters tell every ten seconds.
    async fn pass(&self, seconds: i64, witnessed: bool) {
        for _ in 0..seconds / 10 {
            self.machine.pass(10 * SECOND);
            if witnessed {
                self.witness();
            }
            self.log.appender.follow_clock().await.unwrap();
        }
    }
}

/// Every question by time is answered by what was true then, or is about a time within a gap; tells how many were in one.
fn check(directory: &Path, truth: &[(Timestamp, u64)], now: Timestamp) -> Result<usize, String> {
    let mut log = LogReader::open(directory).unwrap();
    let head = log.head().unwrap();
    let records = log.after(Offset::ZERO, 10_000).unwrap();
    let gaps: Vec<_> = records
        .iter()
        .filter_map(|record| match &record.change {
            Change::Coverage(mark) => Some((mark.since, mark.until?)),
            _ => None,
        })
        .collect();
    let around = |time: Timestamp| [-1, 0, 1, 30 * SECOND, HOUR, -HOUR].map(|by| time.as_micros() + by);
    let mut within = 0;
    for time in truth.iter().flat_map(|(time, _)| around(*time)).map(Timestamp::from_micros) {
        if time > now {
            continue;
        }
        let expected = truth.iter().rfind(|(then, _)| *then <= time).map_or(0, |(_, version)| *version);
        let offset = log.offset_at(time, head).unwrap();
        let told = records.iter().rev().filter(|record| record.offset <= offset).find_map(|record| {
            let Change::Applied { resource_version, .. } = &record.change else { return None };
            resource_version.as_str().parse::<u64>().ok()
        });
        if told.unwrap_or(0) == expected {
            continue;
        }
        if !gaps.iter().any(|(since, until)| *since <= time && time < *until) {
            return Err(format!("at {time} it was {expected} and is told as {told:?}; gaps {gaps:?}"));
        }
        within += 1;
    }
    Ok(within)
}

fn on_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

#[derive(Clone, Debug)]
enum Step {
    Pass(i64),
    Jump(i64),
    Write,
    Restart(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let by = prop::sample::select(vec![10 * SECOND, 600 * SECOND, HOUR, 8760 * HOUR]);
    let step = prop_oneof![
        2 => (1..30_i64).prop_map(|tens| Step::Pass(tens * 10)),
        2 => (by, any::<bool>()).prop_map(|(by, back)| Step::Jump(if back { -by } else { by })),
        5 => Just(Step::Write),
        1 => any::<bool>().prop_map(Step::Restart),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(strandline_testkit::cases(32))]
    #[test]
    fn every_question_by_time_is_right_or_in_a_gap_whatever_the_clock_does(steps in steps(), witnessed: bool) {
        let dir = tempfile::tempdir().unwrap();
        let outcome = on_runtime(async {
            let mut server = Server::start(dir.path(), Arc::default(), Vec::new()).await;
            for step in &steps {
                match step {
                    Step::Pass(seconds) => server.pass(*seconds, witnessed).await,
                    Step::Jump(by) => server.machine.set(*by),
                    Step::Write => server.write().await,
                    // A clock that was behind and is set right while nobody runs leaves no trace.
                    Step::Restart(right) => {
                        server.write().await;
                        let wrong_by = server.machine.wrong_by();
                        let right = *right && server.clock.now() >= server.machine.truth();
                        server = server.restart(if right { 0 } else { wrong_by }).await;
                        server.write().await;
                    }
                }
            }
            server.machine.set(0);
            server.pass(90, witnessed).await;
            server.write().await;
            server.pass(10, witnessed).await;
            let (truth, now) = (server.truth.clone(), server.machine.truth());
            let told = server.clock.now();
            server.log.stop();
            assert_eq!(told, now, "the clock is right again");
            check(dir.path(), &truth, now)
        });
        prop_assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
    }
}

#[tokio::test]
async fn a_jump_that_clusters_contradict_leaves_every_time_exact_and_two_marks() {
    for by in [-8760 * HOUR, -HOUR, -10 * SECOND, 10 * SECOND, HOUR, 8760 * HOUR] {
        let dir = tempfile::tempdir().unwrap();
        let mut server = Server::start(dir.path(), Arc::default(), Vec::new()).await;
        server.write().await;
        server.machine.set(by);
        server.pass(60, true).await;
        server.write().await;
        server.pass(60, true).await;
        server.machine.set(0);
        server.write().await;
        let (truth, now) = (server.truth.clone(), server.machine.truth());
        server.log.stop();
        assert_eq!(check(dir.path(), &truth, now), Ok(0), "{by}");
        let words = told(dir.path());
        let marks: Vec<_> = words.iter().filter(|word| word.starts_with("clock")).collect();
        assert_eq!(marks, ["clock Jumped", "clock Returned"], "{by}");
        assert!(!words.contains(&"Gap".to_owned()), "{words:?}");
    }
}

#[tokio::test]
async fn a_log_that_is_ahead_at_the_start_goes_back_at_once_and_names_the_time_that_is_not_exact() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path(), Arc::default(), Vec::new()).await;
    server.write().await;
    server.write().await;
    let (exact, _) = server.truth[1];
    let mut server = server.restart(2 * HOUR).await;
    server.write().await;
    server.write().await;
    let mut server = server.restart(0).await;
    server.write().await;
    let (truth, now) = (server.truth.clone(), server.machine.truth());
    server.log.stop();
    let mut log = LogReader::open(dir.path()).unwrap();
    let records = log.after(Offset::ZERO, 100).unwrap();
    let back: Vec<_> = records.windows(2).filter(|pair| pair[1].observed_at < pair[0].observed_at).collect();
    let [back] = back[..] else { panic!("it goes back once: {records:#?}") };
    let Change::Clock(ClockMark { event: ClockEvent::Adopted, inexact: Some(inexact), .. }) = back[1].change
    else {
        panic!("only a mark may: {back:#?}")
    };
    assert_eq!((inexact.from, inexact.to), (Offset::new(3), back[1].offset), "by what the objects told");
    assert_eq!(inexact.since, exact);
    assert!(check(dir.path(), &truth, now).unwrap() > 0, "some moments are not exact, and are named");
    let later = now.plus(std::time::Duration::from_secs(3 * 3600));
    assert_eq!(log.offset_at(later, Offset::new(9999)).unwrap(), log.head().unwrap(), "no blind time");
    assert_eq!(log.offset_at(exact, Offset::new(9999)).unwrap(), Offset::new(2));
}

#[tokio::test]
async fn a_machine_that_starts_in_1970_spoils_no_history() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path(), Arc::default(), Vec::new()).await;
    for _ in 0..5 {
        server.write().await;
        server.pass(30, true).await;
    }
    let whole = server.truth.clone();
    let mut server = server.restart(-START).await;
    server.write().await;
    server.pass(20, true).await;
    server.machine.set(0);
    server.pass(20, true).await;
    server.write().await;
    let (truth, now) = (server.truth.clone(), server.machine.truth());
    server.log.stop();
    let since = whole.last().unwrap().0;
    let before: Vec<_> = whole.iter().copied().filter(|(time, _)| *time < since).collect();
    assert_eq!(check(dir.path(), &before, since), Ok(0));
    check(dir.path(), &truth, now).unwrap();
}

#[tokio::test]
async fn an_export_of_a_log_that_went_back_reads_the_same_elsewhere() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut server = Server::start(dir.path(), Arc::default(), Vec::new()).await;
    server.write().await;
    let mut server = server.restart(HOUR).await;
    server.write().await;
    let mut server = server.restart(0).await;
    server.write().await;
    let (truth, now) = (server.truth.clone(), server.machine.truth());
    server.log.stop();
    let mut import = LogImport::open(other.path()).unwrap();
    for entry in LogReader::open(dir.path()).unwrap().entries_after(Offset::ZERO, 100).unwrap() {
        entry.check().unwrap();
        import.entry(&entry).unwrap();
    }
    import.commit().unwrap();
    assert_eq!(told(other.path()), told(dir.path()));
    assert!(check(other.path(), &truth, now).is_ok());
    let saved = tempfile::tempdir().unwrap();
    std::fs::remove_file(dir.path().join("log.head")).unwrap();
    salvage(dir.path(), saved.path(), &mut |_, _| {}).unwrap();
    check(saved.path(), &truth, now).unwrap();
}

#[tokio::test]
async fn a_gap_that_is_over_does_not_stand_for_the_watch_once_retention_has_swept() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let at = Timestamp::from_micros;
    log.appender.mark(CoverageMark::watched(pods(), at(1))).await.unwrap();
    let gap = CoverageMark::gap(WatchKey::discovery("one", ""), at(2), reason::CLOCK, "wrong");
    log.appender.mark(gap.closed(at(3))).await.unwrap();
    log.appender.mark(CoverageMark::gap(pods(), at(2), reason::LATE, "late").closed(at(3))).await.unwrap();
    let session = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    log.appender
        .append(batch(session.epoch, Phase::ListEnd, vec![pod("a", "1", 1, "{}")], "1"))
        .await
        .unwrap();
    log.appender
        .append(batch(session.epoch, Phase::Watch, vec![pod("a", "1", 2, "{\"n\":2}")], "2"))
        .await
        .unwrap();
    log.appender.compact(Offset::new(4)).await.unwrap();
    while !log.appender.sweep(10).await.unwrap().done {}
    log.stop();
    let told = told(dir.path());
    assert_eq!(told.iter().filter(|word| *word == "Watched").count(), 1, "{told:?}");
    let examined = examine(dir.path(), &mut |_, _| {}).unwrap().unwrap();
    assert_eq!(examined.findings, [], "nothing is damaged");
}

/// A log as an earlier version made it: its clock never told less than the highest it had told.
#[derive(Default)]
struct Clamped(Machine, AtomicI64);

impl Clock for Clamped {
    fn now(&self) -> Timestamp {
        let now = self.0.now().as_micros();
        Timestamp::from_micros(self.1.fetch_max(now, Ordering::Relaxed).max(now))
    }
}

#[tokio::test]
async fn a_log_of_an_earlier_version_whose_clock_was_ahead_is_found_out_and_mended_once() {
    let dir = tempfile::tempdir().unwrap();
    let clock = Arc::new(Clamped::default());
    let log = start_with(dir.path(), Arc::clone(&clock) as Arc<dyn Clock>);
    let epoch = log.appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch;
    let mut truth = Vec::new();
    // Right; two hours ahead; back, so that time stands still until it has caught up; right again.
    for (wrong_by, states, apart) in [(0, 10, 60), (2 * HOUR, 30, 60), (0, 100, 120), (0, 10, 60)] {
        clock.0.set(wrong_by);
        for _ in 0..states {
            clock.0.pass(apart * SECOND);
            let version = truth.len() as u64 + 1;
            let Observed::Applied(mut seen) = pod("a", "1", version, &format!("{{\"n\":{version}}}")) else {
                unreachable!("it is a state")
            };
            let (manager, operation, subresource) =
                (String::from("m"), String::from("Update"), String::new());
            let time = Some(clock.0.truth());
            seen.changed_by = Some(ChangedBy { manager, operation, subresource, time });
            let batch = batch(epoch, Phase::UpToDate, vec![Observed::Applied(seen)], "1");
            log.appender.append(batch).await.unwrap();
            truth.push((clock.0.truth(), version));
        }
    }
    log.stop();
    let now = clock.0.truth();
    assert!(check(dir.path(), &truth, now).is_err(), "it is wrong and does not say so");
    let before = LogReader::open(dir.path()).unwrap().after(Offset::ZERO, 10_000).unwrap();
    let found = find_wrong_times(dir.path()).unwrap();
    let [wrong] = found[..] else { panic!("{found:?}") };
    assert_eq!(wrong.inexact.from, Offset::new(11));
    assert_eq!(wrong.ahead_micros, 2 * HOUR);
    assert_eq!(mend_clock(dir.path(), &*clock).unwrap(), found);
    assert_eq!(find_wrong_times(dir.path()).unwrap(), [], "once is enough");
    assert!(check(dir.path(), &truth, now).unwrap() > 0);
    let after = LogReader::open(dir.path()).unwrap().after(Offset::ZERO, 10_000).unwrap();
    assert_eq!(after[..before.len()], before[..], "no change is altered");
    let examined = examine(dir.path(), &mut |_, _| {}).unwrap().unwrap();
    assert_eq!(examined.findings, []);
}

#[tokio::test]
async fn a_log_whose_clock_was_right_is_not_suspected() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Server::start(dir.path(), Arc::default(), Vec::new()).await;
    for n in 0..40 {
        server.write().await;
        server.pass(10 * (1 + n % 7 * 20), true).await;
    }
    server.log.stop();
    assert_eq!(find_wrong_times(dir.path()).unwrap(), []);
}
