//! What monitoring reads.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use std::collections::BTreeSet;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::super::clusters::Clusters;
use super::super::reload::ReloadStatus;
use super::*;
use crate::http::auth::{AccessConfig, TokenConfig, TokenHash};
use strandline_log::{Appender, LogWriter};
use strandline_model::{
    CatalogFact, CoverageState, Health, HealthCounts, Kind, Offset, ProjectSpec, Source, Timestamp, WatchKey,
    reason,
};
use strandline_query::{HealthNumbers, NamedHealth, TierAndRegion};
use strandline_sqlite::Watermark;
use strandline_view::ruleset::RuleSet;
use strandline_watch::ClusterStats;
use strandline_watch::WatchStatus;

/// A clock that does not move.
struct Fixed(Timestamp);

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        self.0
    }
}

const NOW: Timestamp = Timestamp::from_micros(1_790_000_000_000_000);

fn ago(seconds: u64) -> Option<Timestamp> {
    Some(NOW.minus(Duration::from_secs(seconds)))
}

fn sources(clusters: Vec<(&str, Arc<ClusterStats>)>, appender: &Appender) -> Sources {
    let status = ViewStatus::new(Watermark::new(Offset::new(7)));
    let clock = Arc::new(Fixed(NOW));
    let rebuild = Rebuild::new(
        "nowhere".into(),
        RuleSet::default(),
        status.clone(),
        clock.clone(),
        CancellationToken::new(),
    );
    let queries = Queries::new("nowhere".as_ref(), 1, status.clone(), clock.clone());
    Sources {
        rebuild,
        queries,
        load: Load::default(),
        environments: EnvironmentHealth::default(),
        status,
        writer: WriterHealth::default(),
        retention: retention::Numbers::default(),
        clusters: Clusters::of(clusters),
        queue: appender.downgrade(),
        disk: Disk::default(),
        requests: RequestStats::default(),
        steady: Some(Arc::new(SteadyClock::new(clock.clone()))),
        access: Arc::new(Authenticator::new(AccessConfig::default(), true, clock.clone())),
        tls: None,
        reloads: ReloadStatus::default(),
        spans: Some(Default::default()),
        clock,
    }
}

#[track_caller]
fn assert_lines<S: AsRef<str>>(text: &str, lines: &[S]) {
    for line in lines.iter().map(AsRef::as_ref) {
        assert!(text.lines().any(|told| told == line), "no {line} in\n{text}");
    }
}

#[test]
fn numbers_are_told_with_their_clusters() {
    let clusters = vec![("a \"quoted\"\nname", Arc::default())];
    let text = Exposition::new(sources(clusters, &Appender::refusing("no"))).text().unwrap();
    let cluster = r#"cluster="a \"quoted\"\nname""#;
    let lines = [
        "strandline_log_head_offset 7".to_owned(),
        "strandline_log_writable 1".to_owned(),
        "strandline_clock_jumps_total 0".to_owned(),
        "strandline_clock_deviation_seconds 0".to_owned(),
        "strandline_log_compacted_offset 0".to_owned(),
        "strandline_data_file_bytes{file=\"log.db-wal\"} 0".to_owned(),
        "strandline_retention_failures_total 0".to_owned(),
        format!("strandline_cluster_observations_total{{{cluster},outcome=\"noise\"}} 0"),
        format!("strandline_cluster_watches{{{cluster}}} 0"),
        format!("strandline_coverage_oldest_gap_seconds{{{cluster}}} 0"),
        "# TYPE strandline_cluster_lists counter".to_owned(),
        format!("strandline_cluster_missed_total{{{cluster}}} 0"),
        "# EOF".to_owned(),
    ];
    assert_lines(&text, &lines);
    for unknown in ["last_heard_timestamp_seconds{", "coverage_gaps{", "_age_seconds{", "not_writable"] {
        assert!(!text.contains(unknown), "it has no {unknown}:\n{text}");
    }
}

/// Statuses of a cluster with gaps, by kind and namespace.
fn gappy() -> ClusterStats {
    let stats = ClusterStats::default();
    let of = |kind: Kind, namespace: &str, status: WatchStatus| {
        let watch = WatchKey { cluster: "eu".into(), kind, namespace: namespace.into() };
        stats.update(&watch, |now| *now = status);
    };
    let gap = |reason, since| WatchStatus {
        state: Some(CoverageState::Gap),
        reason,
        gap_since: ago(since),
        ..WatchStatus::default()
    };
    let watched = |confirmed, bookmark| WatchStatus {
        state: Some(CoverageState::Watched),
        confirmed_until: ago(confirmed),
        bookmark_at: ago(bookmark),
        ..WatchStatus::default()
    };
    of(Kind::new("apps", "Deployment"), "a", gap(reason::FORBIDDEN, 100));
    of(Kind::new("apps", "Deployment"), "b", gap(reason::FORBIDDEN, 5000));
    of(Kind::new("metrics.k8s.io", ""), "", gap(reason::UNAVAILABLE, 9));
    of(Kind::new("", "Pod"), "", watched(3, 40));
    of(Kind::new("", "Node"), "", watched(70, 30));
    of(Kind::new("", "Secret"), "", WatchStatus { bookmark_at: ago(999), ..gap(reason::LISTING, 1) });
    stats
}

#[test]
fn open_gaps_are_counted_by_kind_and_reason_with_the_age_of_the_oldest() {
    let clusters = vec![("eu", Arc::new(gappy())), ("us", Arc::default())];
    let text = Exposition::new(sources(clusters, &Appender::refusing("no"))).text().unwrap();
    let lines = [
        r#"strandline_coverage_gaps{cluster="eu",kind="Deployment.apps",reason="forbidden"} 2"#,
        r#"strandline_coverage_gaps{cluster="eu",kind="Secret",reason="listing"} 1"#,
        r#"strandline_coverage_gaps{cluster="eu",kind="*.metrics.k8s.io",reason="unavailable"} 1"#,
        r#"strandline_coverage_oldest_gap_seconds{cluster="eu"} 5000"#,
        r#"strandline_coverage_oldest_gap_seconds{cluster="us"} 0"#,
        r#"strandline_cluster_bookmark_age_seconds{cluster="eu"} 40"#,
        r#"strandline_cluster_confirmed_age_seconds{cluster="eu"} 70"#,
    ];
    assert_lines(&text, &lines);
    assert_eq!(text.matches("strandline_coverage_gaps{").count(), 3, "{text}");
    assert!(!text.contains(r#"age_seconds{cluster="us"}"#), "of it nothing is known:\n{text}");
}

#[test]
fn commits_of_the_log_and_its_queue_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let (writer, appender) = LogWriter::open(folder.path(), Arc::new(Fixed(NOW))).unwrap();
    let health = writer.health();
    let thread = std::thread::spawn(move || writer.run());
    let project = CatalogFact::Project(ProjectSpec { path: "shop/web".into(), ..ProjectSpec::default() });
    let told = Sources { writer: health, ..sources(Vec::new(), &appender) };
    let told = Exposition::new(told);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        // The second declares what is declared, so that it writes nothing.
        for _ in 0..2 {
            appender.declare(Source::Api, vec![project.clone()]).await.unwrap();
        }
    });
    let text = told.text().unwrap();
    let lines = [
        "# TYPE strandline_log_commit_duration_seconds histogram",
        "strandline_log_commit_duration_seconds_count 1",
        "strandline_log_queue_requests 0",
        "strandline_log_queue_capacity 256",
    ];
    assert_lines(&text, &lines);
    drop(appender);
    thread.join().unwrap().unwrap();
    assert!(!told.text().unwrap().contains("log_queue_capacity"), "its queue is gone");
}

#[test]
fn a_log_that_takes_nothing_says_for_how_long_and_why() {
    let writer = WriterHealth::refusing(NOW.minus(Duration::from_secs(61)), "damaged");
    let told = Sources { writer, ..sources(Vec::new(), &Appender::refusing("damaged")) };
    let text = Exposition::new(told).text().unwrap();
    let lines = [r#"strandline_log_not_writable_seconds{reason="lost"} 61"#, "strandline_log_writable 0"];
    assert_lines(&text, &lines);
}

#[test]
fn who_may_ask_is_told_as_far_as_it_needs_somebody() {
    let tokens = vec![TokenConfig {
        name: "ci".into(),
        hash: TokenHash::of("sl_ci"),
        user: None,
        expires: Some(Timestamp::from_micros(1_800_000_000_000_000)),
        projects: BTreeSet::new(),
        groups: BTreeSet::new(),
        write: false,
        everything: true,
    }];
    let config = AccessConfig { tokens, ..AccessConfig::default() };
    let access = Arc::new(Authenticator::new(config, true, Arc::new(Fixed(NOW))));
    let told = Sources { access: Arc::clone(&access), ..sources(Vec::new(), &Appender::refusing("no")) };
    let told = Exposition::new(told);
    let lines = [
        "strandline_config_last_reload_successful 1",
        r#"strandline_token_expiry_timestamp_seconds{token="ci"} 1800000000"#,
        r#"strandline_wrong_tokens_total{answer="refused"} 0"#,
        r#"strandline_wrong_tokens_total{answer="asked_to_wait"} 0"#,
    ];
    assert_lines(&told.text().unwrap(), &lines);
    access.report_problem(Some("it cannot be read"));
    assert_lines(&told.text().unwrap(), &["strandline_config_last_reload_successful 0"]);
}

#[test]
fn environments_are_counted_and_named_as_far_as_the_limit_goes() {
    let counts = HealthCounts { healthy: 2, degraded: 1, ..HealthCounts::default() };
    let (tier, region) = ("production".to_owned(), "eu".to_owned());
    let named = NamedHealth {
        id: "shop.web.live".into(),
        project: "shop/web".into(),
        tier: tier.clone(),
        region: region.clone(),
        health: Some(Health::Degraded),
    };
    let bare = NamedHealth { id: "é".repeat(200), health: None, ..named.clone() };
    let numbers = HealthNumbers {
        groups: vec![TierAndRegion { tier, region, counts }],
        groups_left_out: 4,
        states: vec![("stopped".into(), 5)],
        environments: vec![named, bare],
        environments_left_out: 6,
    };
    let environments = EnvironmentHealth::of(numbers);
    let text = Exposition::new(Sources { environments, ..sources(Vec::new(), &Appender::refusing("no")) });
    let text = text.text().unwrap();
    let of = r#"tier="production",region="eu""#;
    let lines = [
        format!(r#"strandline_environments{{{of},health="Healthy"}} 2"#),
        format!(r#"strandline_environments{{{of},health="Degraded"}} 1"#),
        format!(r#"strandline_environments{{{of},health="Missing"}} 0"#),
        format!(
            r#"strandline_environment_health{{environment="shop.web.live",project="shop/web",{of},health="Degraded"}} 1"#
        ),
        format!(
            r#"strandline_environment_health{{environment="{}",project="shop/web",{of},health="None"}} 1"#,
            "é".repeat(128)
        ),
        "strandline_environment_groups_omitted 4".to_owned(),
        "strandline_environment_health_omitted 6".to_owned(),
        r#"strandline_environments_declared{state="stopped"} 5"#.to_owned(),
    ];
    assert_lines(&text, &lines);
}

#[test]
fn the_process_and_its_build_are_told() {
    let text = Exposition::new(sources(Vec::new(), &Appender::refusing("no"))).text().unwrap();
    let version = env!("CARGO_PKG_VERSION");
    assert!(text.contains(&format!("strandline_build_info{{version=\"{version}\",commit=\"")), "{text}");
    assert_lines(&text, &["process_start_time_seconds 1790000000", "strandline_query_readers 8"]);
    if cfg!(target_os = "linux") {
        assert!(
            text.contains("process_resident_memory_bytes ") && text.contains("process_open_fds "),
            "{text}"
        );
    }
}

/// The rules of `promtool check metrics`, as far as they concern names.
#[test]
fn names_follow_the_conventions_of_prometheus() {
    let clusters = vec![("eu", Arc::new(gappy()))];
    let text = Exposition::new(sources(clusters, &Appender::refusing("no"))).text().unwrap();
    let helps: BTreeSet<&str> = text.lines().filter_map(|line| line.strip_prefix("# HELP ")).collect();
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let mut families = 0;
    for (name, kind) in types {
        families += 1;
        let help = helps.iter().find_map(|help| help.strip_prefix(&format!("{name} ")));
        assert!(help.is_some_and(|help| help.len() > 10), "{name} has no help");
        let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(
            (name.starts_with("strandline_") || name.starts_with("process_")) && name.chars().all(valid),
            "{name}"
        );
        for part in name.split('_') {
            let units = ["milliseconds", "ms", "minutes", "hours", "days", "kib", "mib", "gb", "percent"];
            assert!(!units.contains(&part), "{name} is not in base units");
            assert!(part != kind, "{name} repeats its type");
        }
        for end in ["_total", "_count", "_sum", "_bucket"] {
            assert!(!name.ends_with(end), "{name} ends in what its samples add");
        }
        let samples =
            text.lines().filter(|line| line.split(['{', ' ']).next() == Some(&format!("{name}_total")));
        assert_eq!(samples.count() > 0, kind == "counter", "{name}: counters alone end in _total");
    }
    assert!(families > 20, "{text}");
    assert_eq!(helps.len(), families, "each family is told once");
}

/// The rules of `promtool check metrics` on what most are given, and the tool itself where there is one.
#[test]
fn the_text_of_prometheus_keeps_its_rules() {
    let clusters = vec![("eu", Arc::new(gappy()))];
    let text = Exposition::new(sources(clusters, &Appender::refusing("no"))).text().unwrap();
    let text = crate::api::prometheus_text(&text).unwrap();
    let helps: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("# HELP ")?.split(' ').next()).collect();
    let types: Vec<(&str, &str)> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' ')).collect();
    assert_eq!(
        helps,
        types.iter().map(|(name, _)| *name).collect::<Vec<_>>(),
        "each has its help before its type"
    );
    for (name, kind) in &types {
        assert_eq!(name.ends_with("_total"), *kind == "counter", "{name}: {kind}");
        assert!(matches!(*kind, "counter" | "gauge" | "histogram"), "{name}: {kind}");
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        let of = |end: &str| name.strip_suffix(end).unwrap_or(name);
        let families = [name, of("_bucket"), of("_sum"), of("_count")];
        assert!(types.iter().any(|(known, _)| families.contains(known)), "{line} has no type");
    }
    assert!(!text.contains("# EOF") && !text.contains("# UNIT"));
    match promtool(&text) {
        None => eprintln!("NOT RUN: there is no promtool"),
        Some(found) => assert!(found.is_empty(), "{found}"),
    }
}

/// What `promtool check metrics` finds; none where there is no such tool.
fn promtool(text: &str) -> Option<String> {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let piped = Stdio::piped;
    let tool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(piped())
        .stdout(piped())
        .stderr(piped())
        .spawn();
    let mut tool = tool.ok()?;
    tool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let told = tool.wait_with_output().unwrap();
    Some(String::from_utf8_lossy(&[told.stdout, told.stderr].concat()).into_owned())
}
