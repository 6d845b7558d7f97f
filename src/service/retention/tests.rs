//! Retention as a service runs it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::json;

use super::*;
use crate::service::{Options, Service};
use strandline_clock::SystemClock;
use strandline_log::{Catalog, CatalogChange, LogReader, LogWriter};
use strandline_model::{CatalogFact, CatalogKind, ProjectSpec, Source, Timestamp};
use strandline_query::testing::{observation, observe, record};

const HOUR: Duration = Duration::from_secs(3600);

/// A clock that goes on by as much as it was set to each time it is looked at.
struct Steps {
    now: AtomicI64,
    step: AtomicI64,
}

impl Clock for Steps {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.now.fetch_add(self.step.load(Ordering::Relaxed), Ordering::Relaxed))
    }
}

fn project(version: u64) -> CatalogFact {
    let labels = [("version".to_owned(), version.to_string())].into();
    CatalogFact::Project(ProjectSpec { path: "shop/web".into(), labels, ..ProjectSpec::default() })
}

/// A log of a project that changes in steps of so long.
fn history(directory: &Path, changes: &[(u64, Duration)]) {
    let clock = Arc::new(Steps { now: 1_790_000_000_000_000.into(), step: 0.into() });
    let (writer, appender) = LogWriter::open(directory, clock.clone()).unwrap();
    let thread = std::thread::spawn(move || writer.run());
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let mut version = 0;
        for (count, step) in changes {
            clock.step.store(i64::try_from(step.as_micros()).unwrap(), Ordering::Relaxed);
            for _ in 0..*count {
                version += 1;
                appender.declare(Source::Api, vec![project(version)]).await.unwrap();
            }
        }
    });
    drop(appender);
    thread.join().unwrap().unwrap();
}

/// Runs a service over a log until the oldest offset is this one and all before it is gone; returns its metrics.
fn serve(directory: &Path, retention: RetentionConfig, compacted: Offset) -> Vec<String> {
    serve_until(directory, retention, |log| log.swept().unwrap() == compacted)
}

/// Runs a service over a log until retention has run and the log is as it should be; returns its metrics.
fn serve_until(
    directory: &Path,
    retention: RetentionConfig,
    is_done: impl Fn(&LogReader) -> bool,
) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listen = "127.0.0.1:0".parse().unwrap();
        let options = Options { retention, ..Options::new(directory.to_owned(), listen) };
        let service = Service::start(options, Arc::new(SystemClock)).await.unwrap();
        let log = LogReader::open(directory).unwrap();
        let (address, mut told) = (service.address, Vec::<String>::new());
        // It ends by itself when a part of it fails.
        let until_done = async {
            let has_run =
                |told: &[String]| told.iter().any(|line| line.starts_with("strandline_retention_last_run_t"));
            let begun = Instant::now();
            while !is_done(&log) || !has_run(&told) {
                tokio::time::sleep(Duration::from_millis(20)).await;
                told = metrics(address).await;
                assert!(begun.elapsed() < Duration::from_secs(120), "not done yet: {told:#?}");
            }
        };
        service.run_until(until_done).await.unwrap();
        told
    })
}

async fn metrics(address: std::net::SocketAddr) -> Vec<String> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let ask = format!("GET /metrics HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(ask.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text.lines().map(str::to_owned).collect()
}

fn number(told: &[String], name: &str) -> i64 {
    let line = told.iter().find_map(|line| line.strip_prefix(&format!("strandline_{name} ")));
    line.unwrap_or_else(|| panic!("no {name} in {told:#?}")).parse().unwrap()
}

#[test]
fn what_is_older_than_it_has_to_be_kept_goes_and_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    history(dir.path(), &[(100, 12 * HOUR)]);
    let config = RetentionConfig { age: Some(10 * 24 * HOUR), ..RetentionConfig::default() };
    let told = serve(dir.path(), config, Offset::new(80));
    assert_eq!(number(&told, "log_compacted_offset"), 80);
    assert_eq!(number(&told, "retention_changes_total"), 79, "what holds is kept");
    assert!(number(&told, "retention_bytes_total") > 0 && number(&told, "retention_view_rows_total") > 0);
    assert_eq!(number(&told, "retention_failures_total"), 0);
    assert_eq!(number(&told, "log_compacted_timestamp_seconds"), 1_790_000_000 + 79 * 12 * 3600);
    assert!(number(&told, "data_bytes") > number(&told, "data_file_bytes{file=\"log.db\"}"));
}

#[test]
fn a_clock_that_jumps_ahead_lets_nothing_go() {
    let dir = tempfile::tempdir().unwrap();
    let years = 10 * 365 * 24 * HOUR;
    history(dir.path(), &[(15, 24 * HOUR), (1, years), (5, 24 * HOUR)]);
    // Recorded days are 20, the ten years being one of them.
    let config = RetentionConfig { age: Some(18 * 24 * HOUR), ..RetentionConfig::default() };
    let told = serve(dir.path(), config, Offset::new(3));
    assert_eq!(number(&told, "log_compacted_offset"), 3);
}

#[test]
fn what_takes_too_much_room_goes_but_for_what_is_young() {
    let dir = tempfile::tempdir().unwrap();
    history(dir.path(), &[(50, 10 * HOUR), (50, HOUR / 60)]);
    // Nothing is as small as that, so all goes that may.
    let config =
        RetentionConfig { age: None, size: Some(1000), at_least: HOUR / 3, ..RetentionConfig::default() };
    let told = serve(dir.path(), config, Offset::new(80));
    assert_eq!(number(&told, "log_compacted_offset"), 80);
    assert_eq!(number(&told, "retention_over_limit"), 1);
}

#[test]
fn a_kind_that_is_kept_for_less_long_goes_first() {
    let dir = tempfile::tempdir().unwrap();
    let step = i64::try_from((12 * HOUR).as_micros()).unwrap();
    let clock = Arc::new(Steps { now: 1_790_000_000_000_000.into(), step: 0.into() });
    record(dir.path(), clock.clone(), async |appender| {
        for version in 1..=40 {
            let body = json!({
                "apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "shop", "name": "web"}, "version": version,
            });
            clock.now.fetch_add(step, Ordering::Relaxed);
            observe(&appender, "east", observation("shop", "web", "1", version, &body)).await;
        }
    });
    let kinds = vec![("Pod".parse().unwrap(), 5 * 24 * HOUR)];
    let config = RetentionConfig { age: Some(15 * 24 * HOUR), kinds, ..RetentionConfig::default() };
    let floors = |log: &LogReader| log.floors().unwrap();
    // Of a cluster that is no longer followed its Pod ends at the start, so that some changes more are as old.
    let told = serve_until(dir.path(), config, |log| {
        floors(log).first().is_some_and(|floor| floor.offset == log.swept().unwrap())
    });
    let (compacted, thinned) =
        (number(&told, "log_compacted_offset"), number(&told, "retention_thinned_changes_total"));
    assert!((10..20).contains(&compacted), "{compacted}");
    assert!(thinned >= 17, "what ten more days hold: {thinned}");
    assert_eq!(number(&told, "retention_failures_total"), 0);
    let floor = floors(&LogReader::open(dir.path()).unwrap())[0].offset.as_i64();
    assert!((19..=21).contains(&(floor - compacted)), "ten days later: {floor}");
}

fn deployment(id: u64) -> CatalogFact {
    let mut spec = json!({
        "id": id, "environment": "shop.web.production", "project": "shop/web",
        "status": match id { 1 | 2 => "success", 3 => "running", _ => "failed" },
    });
    if id == 1 {
        spec["agent"] = json!({"id": "shop/web:eu", "kubernetes_namespace": "shop"});
    }
    CatalogFact::Deployment(Box::new(serde_json::from_value(spec).unwrap()))
}

#[test]
fn deployments_that_ended_long_ago_go_but_for_those_that_say_what_runs() {
    let dir = tempfile::tempdir().unwrap();
    let step = i64::try_from((12 * HOUR).as_micros()).unwrap();
    let clock = Arc::new(Steps { now: 1_790_000_000_000_000.into(), step: 0.into() });
    record(dir.path(), clock.clone(), async |appender| {
        for id in 1..=20 {
            clock.now.fetch_add(step, Ordering::Relaxed);
            let declare =
                move |_: &mut Catalog<'_, '_>| Ok((vec![CatalogChange::Declare(deployment(id))], ()));
            appender.decide(Source::Api, declare).await.unwrap();
        }
    });
    let config = RetentionConfig { age: Some(5 * 24 * HOUR), ..RetentionConfig::default() };
    let told = serve(dir.path(), config, Offset::new(10));
    assert_eq!(number(&told, "retention_deployments_total"), 7, "of the first ten");
    let left = record(dir.path(), clock, async |appender| {
        let read = |catalog: &mut Catalog<'_, '_>| Ok((Vec::new(), catalog.names(CatalogKind::Deployment)?));
        appender.decide(Source::Api, read).await.unwrap().1
    });
    let number = |name: &String| name.strip_suffix(":shop/web").unwrap().parse().unwrap();
    let mut left: Vec<u64> = left.iter().map(number).collect();
    left.sort_unstable();
    let stays: Vec<u64> = (1..=3).chain(11..=20).collect();
    assert_eq!(left, stays, "the last that ended well, the last that an agent let, and what has not ended");
}
