//! What cannot be recorded in time: a problem while it waits, and a gap in the log afterwards.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::*;
use strandline_model::{LATE_BOUND, Record, reason};

/// A clock that goes with the time of the test's runtime, which is paused.
struct Paused(Instant);

impl Clock for Paused {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(1_790_000_000_000_000).plus(self.0.elapsed())
    }
}

/// A log on a disk that may be full, whose writer runs only once it is let.
struct SmallDisk {
    dir: tempfile::TempDir,
    clock: Arc<dyn Clock>,
    writer: Option<LogWriter>,
    running: Option<JoinHandle<Result<(), LogError>>>,
    health: WriterHealth,
    appender: Appender,
    full: Arc<AtomicBool>,
}

impl SmallDisk {
    fn new() -> Self {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::new(Paused(Instant::now())));
        let (writer, appender) = LogWriter::open(dir.path(), clock.clone()).unwrap();
        let full = Arc::new(AtomicBool::new(false));
        let is_full = Arc::clone(&full);
        let writer = writer.with_room(move || !is_full.load(Ordering::Acquire));
        let health = writer.health();
        SmallDisk { dir, clock, writer: Some(writer), running: None, health, appender, full }
    }

    fn run(&mut self) {
        self.running = self.writer.take().map(|writer| tokio::spawn(writer.run_here()));
    }

    async fn begin(&self, watch: &WatchKey) -> Epoch {
        self.appender.begin(Begin::new(watch, true)).await.unwrap().epoch
    }

    /// Hands over a Pod of a watch and does not wait for it.
    fn hand_over(&self, watch: &WatchKey, epoch: Epoch, name: &str) -> JoinHandle<Appended> {
        let (appender, watch) = (self.appender.clone(), watch.clone());
        let observed = vec![pod(name, name, 5, "{}")];
        tokio::spawn(async move {
            let batch = Batch { watch, epoch, phase: Phase::UpToDate, observed, cursor: None };
            appender.append(batch).await.unwrap()
        })
    }

    /// Ends the writer; tells each gap of the log as cluster, reason, since and until.
    async fn gaps(self) -> Vec<(String, String, Timestamp, Option<Timestamp>)> {
        drop(self.appender);
        self.running.unwrap().await.unwrap().unwrap();
        let examined = examine(self.dir.path(), &mut |_, _| {}).unwrap().unwrap();
        assert_eq!(examined.findings, []);
        let mut reader = LogReader::open(self.dir.path()).unwrap();
        let records = reader.after(Offset::ZERO, 10_000).unwrap();
        let gap = |record: Record| match record.change {
            Change::Coverage(mark) if mark.state == CoverageState::Gap => {
                assert!(mark.watch.is_discovery(), "{mark:?}");
                Some((mark.watch.cluster, mark.reason, mark.since, mark.until))
            }
            _ => None,
        };
        records.into_iter().filter_map(gap).collect()
    }
}

fn pods_of(cluster: &str) -> WatchKey {
    WatchKey { cluster: cluster.into(), ..pods() }
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_room_is_a_problem_while_it_waits_and_a_gap_afterwards() {
    let mut disk = SmallDisk::new();
    disk.run();
    let (one, two) = (pods_of("one"), pods_of("two"));
    let (of_one, of_two) = (disk.begin(&one).await, disk.begin(&two).await);
    disk.hand_over(&one, of_one, "before").await.unwrap();
    disk.full.store(true, Ordering::Release);
    sleep(Duration::from_secs(100)).await;
    assert_eq!(disk.health.problem(), None, "nothing is to be written");
    let since = disk.clock.now();
    let late = disk.hand_over(&one, of_one, "late");
    sleep(Duration::from_secs(30)).await;
    let problem = disk.health.problem().unwrap();
    assert_eq!((problem.reason, problem.since), (reason::NO_ROOM, since), "{problem:?}");
    assert!(problem.message.contains("free disk space"), "{problem:?}");
    // Of the other cluster something changes just before there is room again.
    let head = disk.health.clone();
    let until_next_try = Duration::from_secs(30);
    sleep(until_next_try).await;
    let prompt = disk.hand_over(&two, of_two, "prompt");
    sleep(Duration::from_millis(10)).await;
    disk.full.store(false, Ordering::Release);
    let (late, _) = (late.await.unwrap(), prompt.await.unwrap());
    let until = disk.clock.now();
    assert_eq!(head.problem(), None);
    // Answers from a view that does not hold the gap yet are as incomplete as before.
    let problem = head.problem_at(late.head).unwrap();
    assert_eq!((problem.reason, problem.since), (reason::NO_ROOM, since));
    assert_eq!(head.problem_at(late.head.next()), None);
    let gaps = disk.gaps().await;
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert_eq!(gaps[0].2, since);
    assert_eq!((&*gaps[0].0, &*gaps[0].1), ("one", reason::NO_ROOM));
    assert!(
        gaps[0].3.is_some_and(|end| end <= until && end > since.plus(Duration::from_secs(60))),
        "{gaps:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_slow_writer_or_for_the_queue_is_a_gap_too() {
    let mut disk = SmallDisk::new();
    let since = disk.clock.now();
    // More than the queue holds: the last ones wait for room in it.
    let many: Vec<_> = (0..400)
        .map(|n| {
            let appender = disk.appender.clone();
            let watch = pods_of(if n < 399 { "one" } else { "two" });
            let mark = CoverageMark::watched(watch, disk.clock.now());
            tokio::spawn(async move { appender.mark(mark).await.unwrap() })
        })
        .collect();
    sleep(LATE_BOUND).await;
    assert_eq!(disk.health.problem(), None, "as late as may be");
    sleep(Duration::from_secs(1)).await;
    let problem = disk.health.problem().unwrap();
    assert_eq!((problem.reason, problem.since), (reason::STALLED, since), "{problem:?}");
    disk.run();
    for one in many {
        one.await.unwrap();
    }
    assert_eq!(disk.health.problem(), None);
    let until = disk.clock.now();
    let gaps = disk.gaps().await;
    let of = |cluster: &str| gaps.iter().filter(|gap| gap.0 == cluster).count();
    assert!(of("one") >= 1 && of("two") == 1, "{gaps:?}");
    for (_, reason, from, to) in gaps {
        assert_eq!((&*reason, from, to), (reason::STALLED, since, Some(until)));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_recorded_in_time_or_tells_of_no_change_leaves_no_gap() {
    let mut disk = SmallDisk::new();
    let appender = disk.appender.clone();
    let catalog = tokio::spawn(async move {
        let fact = CatalogFact::Cluster(ClusterSpec { name: "one".into(), region: "eu".into() });
        appender.declare(Source::Config, vec![fact]).await.unwrap()
    });
    let appender = disk.appender.clone();
    let begin = tokio::spawn(async move {
        appender.identify("one", "uid").await.unwrap();
        appender.watches("one").await.unwrap();
        appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch
    });
    sleep(LATE_BOUND * 3).await;
    assert_eq!(disk.health.problem(), None);
    disk.run();
    catalog.await.unwrap();
    let epoch = begin.await.unwrap();
    disk.full.store(true, Ordering::Release);
    let prompt = disk.hand_over(&pods(), epoch, "prompt");
    sleep(Duration::from_millis(100)).await;
    assert_eq!(disk.health.problem().unwrap().reason, reason::NO_ROOM, "told at once");
    disk.full.store(false, Ordering::Release);
    prompt.await.unwrap();
    let gaps = disk.gaps().await;
    let reasons: Vec<_> = gaps.iter().map(|(_, reason, ..)| reason.as_str()).collect();
    assert_eq!(reasons, [reason::NOT_WATCHED], "that of the cluster's declaration");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_given_up_waits_no_more() {
    let mut disk = SmallDisk::new();
    disk.run();
    let epoch = disk.begin(&pods()).await;
    disk.full.store(true, Ordering::Release);
    let late = disk.hand_over(&pods(), epoch, "late");
    sleep(LATE_BOUND * 2).await;
    assert_eq!(disk.health.problem().unwrap().reason, reason::NO_ROOM);
    late.abort();
    disk.full.store(false, Ordering::Release);
    // It was in the writer's hands, so it is recorded all the same, and so is how late.
    let head = disk.appender.mark(CoverageMark::watched(pods(), disk.clock.now())).await.unwrap().head;
    assert_eq!(disk.health.problem(), None);
    assert_eq!(head, Offset::new(3), "the Pod, its gap, and the mark");
    let gaps = disk.gaps().await;
    assert_eq!(gaps.iter().map(|gap| &*gap.1).collect::<Vec<_>>(), [reason::NO_ROOM]);
}
