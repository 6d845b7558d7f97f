//! A week of the simulated fleet with an hour's retention of everything: whether memory, files, disk or lag grow. The week is
//! played as fast as it can be recorded, by the whole program: watches over HTTP, log, view, retention.
//!
//! The peer of each figure is the same figure of the second and third day, when a first day has filled what is kept. Memory is
//! that of the process without what the fleet takes by the same time, which runs in it: a process that plays the fleet alone
//! tells that before. `STRANDLINE_BENCH_DAYS=3` plays fewer days.

mod common;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};

use strandline::service::{DemoOptions, RetentionConfig, demo};
use strandline_model::Timestamp;
use strandline_sim::fleet::{Fleet, FleetOptions};

use common::settings;
use common::table::{Mark, Table};

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
const DAYS: u32 = 7;
const SEED: u64 = 1;
const FLEET_ALONE: &str = "--fleet-alone";

/// How often it is measured, in time that is played.
const EVERY: Duration = HOUR;

/// Of how many of these one is printed.
const PRINTED: usize = 6;

/// How often retention runs, in real time: about as often as in a week that takes a week.
const RUNS: Duration = Duration::from_millis(1500);

/// Figures at one time.
struct Sample {
    played: Duration,
    took: Duration,
    memory: f64,
    /// What the fleet takes of the memory.
    fleet: f64,
    files: f64,
    disk: f64,
    lag: f64,
    head: f64,
}

fn main() {
    if settings::is_listed() {
        return;
    }
    let days = days();
    if settings::has_argument(FLEET_ALONE) {
        return fleet_alone(days);
    }
    let fleet = memory_of_fleet();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path().join("data");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let listen = listener.local_addr().expect("it is bound");
    drop(listener);
    let options = DemoOptions {
        listen,
        data: Some(data.clone()),
        seed: SEED,
        history: DAY * days,
        until: Some(end()),
        retention: RetentionConfig {
            age: Some(HOUR),
            at_least: HOUR,
            every: RUNS,
            ..RetentionConfig::default()
        },
    };
    let (begun, mut samples) = (Instant::now(), Vec::<Sample>::new());
    let on_progress = |done: Duration, all: Duration| {
        let last = samples.last().map_or(Duration::ZERO, |sample| sample.played);
        if done >= last + EVERY || done >= all {
            let alone = fleet.get(samples.len()).or(fleet.last()).copied().unwrap_or_default();
            samples.push(measured(listen, &data, (done, begun.elapsed()), alone));
        }
        if done >= all {
            told(&samples, days);
            // The demo goes on until it is ended, and what it keeps goes with the directory.
            let _ = std::fs::remove_dir_all(directory.path());
            std::process::exit(0);
        }
    };
    demo(&options, on_progress).expect("the week is played");
}

fn days() -> u32 {
    settings::number("DAYS", DAYS).max(3)
}

fn end() -> Timestamp {
    "2026-11-20T14:00:00Z".parse().expect("a time")
}

/// Plays the fleet alone, and prints the megabytes that it takes each time when the week is measured.
fn fleet_alone(days: u32) {
    let history = DAY * days;
    let start = end().minus(history);
    let options = FleetOptions { opens_with_incident: true, history, ..FleetOptions::new(SEED, start) };
    let mut fleet = Fleet::new(&options);
    let (mut played, mut last) = (Duration::ZERO, Duration::ZERO);
    while played < history {
        played += Duration::from_secs(120);
        fleet.step(start.plus(played));
        drop((fleet.take_deployments(), fleet.environments()));
        if played >= last + EVERY {
            last = played;
            let pages = std::fs::read_to_string("/proc/self/statm").expect("Linux tells it");
            let pages: f64 = pages.split(' ').nth(1).and_then(|text| text.parse().ok()).expect("a number");
            println!("{}", pages * 4096.0 / 1e6);
        }
    }
}

fn memory_of_fleet() -> Vec<f64> {
    let program = std::env::current_exe().expect("this program");
    let output = std::process::Command::new(program).arg(FLEET_ALONE).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("figures");
    text.lines().map(|line| line.parse().expect("a figure")).collect()
}

fn measured(server: SocketAddr, data: &Path, (played, took): (Duration, Duration), fleet: f64) -> Sample {
    let text = metrics(server);
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.and_then(|figure| figure.trim().parse::<f64>().ok()).expect("a metric")
    };
    let files = std::fs::read_dir(data).expect("the data directory").flatten();
    let disk: u64 = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    let head = of("strandline_log_head_offset");
    Sample {
        played,
        took,
        fleet,
        memory: of("process_resident_memory_bytes") / 1e6,
        files: of("process_open_fds"),
        disk: disk as f64 / 1e6,
        lag: head - of("strandline_view_checkpoint_offset"),
        head,
    }
}

fn metrics(server: SocketAddr) -> String {
    let mut stream = TcpStream::connect(server).expect("the server listens");
    let ask = format!("GET /metrics HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\n\r\n");
    stream.write_all(ask.as_bytes()).expect("it is sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    text
}

fn told(samples: &[Sample], days: u32) {
    let of = |from: u32, to: u32| {
        let (from, to) = (DAY * from, DAY * to);
        samples.iter().filter(move |sample| sample.played > from && sample.played <= to)
    };
    for sample in samples.iter().skip(PRINTED - 1).step_by(PRINTED) {
        println!(
            "{:>4} h  {:>7.0} changes  {:>5.0} s  {:>6.1} MB memory, of them {:>5.1} the fleet  {:>5.1} MB disk  {:>3} files  {:>5} changes behind",
            sample.played.as_secs() / 3600,
            sample.head,
            sample.took.as_secs_f64(),
            sample.memory,
            sample.fleet,
            sample.disk,
            sample.files,
            sample.lag,
        );
    }
    let mut table = Table::new("week");
    type Figure = (&'static str, &'static str, fn(&Sample) -> f64);
    let figures: [Figure; 3] = [
        ("memory", "MB", |sample| sample.memory - sample.fleet),
        ("open files", "files", |sample| sample.files),
        ("data directory", "MB", |sample| sample.disk),
    ];
    for (name, unit, figure) in figures {
        // Means, because the data directory goes up and down with each run of retention: its most is chance.
        let mean = |from, to| {
            let figures: Vec<f64> = of(from, to).map(figure).collect();
            figures.iter().sum::<f64>() / figures.len().max(1) as f64
        };
        let (late, early) = (mean(days.saturating_sub(2).max(2), days), mean(1, 3));
        let name = format!("{name} in the last two of {days} days, mean");
        table.row(&name, unit, late, Some(("days 2 and 3", early)), Mark::RatioAtMost(1.1));
    }
    let most = of(0, days).map(|sample| sample.lag).fold(0.0, f64::max);
    table.row("most changes that the view was behind", "changes", most, None, Mark::AtMost(1000.0));
    table.finish();
}
