//! What benches found: printed as a table, and kept for machines in `target/bench/results.json`.

use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::Random;

/// Milliseconds that something took, over several rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

/// Milliseconds that some work takes.
pub(crate) fn milliseconds(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64() * 1000.0
}

/// What several ways take, each once in every round, so that what else the machine does meets them alike.
pub(crate) fn in_turn<const N: usize>(rounds: usize, mut ways: [&mut dyn FnMut(); N]) -> [Spread; N] {
    let mut times: [Vec<f64>; N] = std::array::from_fn(|_| Vec::new());
    for _ in 0..rounds.max(1) {
        for (way, times) in ways.iter_mut().zip(&mut times) {
            let begun = Instant::now();
            way();
            times.push(begun.elapsed().as_secs_f64() * 1000.0);
        }
    }
    times.map(Spread::of)
}

impl Spread {
    /// The spread of times in milliseconds, of which there is at least one.
    pub(crate) fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Spread { min: times[0], median: times[times.len() / 2], max: times[times.len() - 1] }
    }
}

/// What a figure is to be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mark {
    /// Ours, divided by the peer's, no less than this.
    RatioAtLeast(f64),
    /// Ours, divided by the peer's, no more than this.
    RatioAtMost(f64),
    /// Ours alone, no more than this.
    AtMost(f64),
    /// A figure to be known, without a mark.
    None,
}

impl Mark {
    /// Whether it is met; none where there is nothing to be met.
    fn met(self, ours: f64, ratio: Option<f64>) -> Option<bool> {
        match self {
            Mark::RatioAtLeast(least) => Some(ratio? >= least),
            Mark::RatioAtMost(most) => Some(ratio? <= most),
            Mark::AtMost(most) => Some(ours <= most),
            Mark::None => None,
        }
    }

    fn text(self, unit: &str) -> String {
        match self {
            Mark::RatioAtLeast(least) => format!("≥ {least} ×"),
            Mark::RatioAtMost(most) => format!("≤ {most} ×"),
            Mark::AtMost(most) => format!("≤ {most} {unit}"),
            Mark::None => String::new(),
        }
    }
}

/// The figures of one bench.
pub(crate) struct Table {
    bench: &'static str,
    rows: Vec<Value>,
    /// How long the machine took for the same work when the table began.
    pace: f64,
}

/// Milliseconds that the machine takes for work that is always the same: a shared one is not always as fast, and figures without
/// a ratio are to be read by this one.
fn pace() -> f64 {
    let once = || {
        let mut random = Random(42);
        let mut numbers: Vec<u64> = (0..1_000_000).map(|_| random.next()).collect();
        milliseconds(|| numbers.sort_unstable())
    };
    Spread::of((0..5).map(|_| once()).collect()).median
}

impl Table {
    /// Begins the table of a bench: before what is measured, unless that is memory or processor time of the whole process.
    pub(crate) fn new(bench: &'static str) -> Self {
        println!("{}", line(["what", "ours", "peer", "", "ratio", "mark", ""]));
        Table { bench, rows: Vec::new(), pace: pace() }
    }

    /// Adds and prints a figure; `peer` is what it is compared to, by name, in the same unit and the same run.
    pub(crate) fn row(&mut self, name: &str, unit: &str, ours: f64, peer: Option<(&str, f64)>, mark: Mark) {
        let ratio = peer.map(|(_, peer)| ours / peer);
        let met = mark.met(ours, ratio);
        let row = json!({
            "name": name, "unit": unit, "ours": ours, "peer": peer.map(|(name, figure)| json!({"name": name, "figure": figure})),
            "ratio": ratio, "mark": mark.text(unit), "met": met,
        });
        println!("{}", told(&row));
        self.rows.push(row);
    }

    /// Keeps the table in the place of what the bench found before.
    pub(crate) fn finish(mut self) {
        let begun = Some(("as the table began", self.pace));
        self.row("the machine: a million numbers sorted", "ms", pace(), begun, Mark::None);
        let file = results();
        let mut all = read();
        all.insert(self.bench.to_owned(), Value::Array(self.rows));
        let written = std::fs::create_dir_all(file.parent().unwrap_or(&file))
            .and_then(|()| std::fs::write(&file, format!("{:#}\n", Value::Object(all))));
        match written {
            Ok(()) => println!("kept in {}", file.display()),
            Err(error) => eprintln!("{} cannot be written: {error}", file.display()),
        }
    }
}

/// Prints what all benches found last.
pub(crate) fn print_all() {
    for (bench, rows) in read() {
        println!("\n{bench}\n{}", line(["what", "ours", "peer", "", "ratio", "mark", ""]));
        rows.as_array().into_iter().flatten().for_each(|row| println!("{}", told(row)));
    }
}

/// A file beside the figures that are kept.
pub(crate) fn kept_beside(name: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    target.join("bench").join(name)
}

fn results() -> PathBuf {
    kept_beside("results.json")
}

fn read() -> Map<String, Value> {
    let text = std::fs::read_to_string(results()).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

fn told(row: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let figure = |value: &Value| value.as_f64().map(readable).unwrap_or_default();
    let ours = format!("{} {}", figure(&row["ours"]), text(&row["unit"]));
    let ratio = row["ratio"].as_f64().map(|ratio| format!("{ratio:.2} ×")).unwrap_or_default();
    let met = row["met"].as_bool().map_or("", |met| if met { "met" } else { "MISSED" });
    let (name, peer) = (text(&row["name"]), &row["peer"]);
    line([&name, &ours, &figure(&peer["figure"]), &text(&peer["name"]), &ratio, &text(&row["mark"]), met])
}

fn line([name, ours, peer, of, ratio, mark, met]: [&str; 7]) -> String {
    format!("{name:<58} {ours:>16} {peer:>10} {of:<22} {ratio:>8}  {mark:<9} {met}").trim_end().to_owned()
}

/// A figure with three digits that count.
fn readable(figure: f64) -> String {
    match figure.abs() {
        large if large >= 100.0 => format!("{figure:.0}"),
        some if some >= 10.0 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}
