//! The time rail below the header: the health of what a page shows over a span of time, with deployments and changes as
//! marks and with gaps hatched. Each part of it is a link to the page at that time.
//!
//! It is SVG without a view box: places along the time are in per cent, so that it is as wide as the window and its text and
//! marks are not stretched.

mod find;
mod many;
mod span;

pub(super) use find::{of_environment, of_resource};
pub(super) use many::of_environments;
pub(super) use span::{SPAN, Span, Window};

use self::span::OFFERED;
use super::shell::Badge;
use crate::format::{clock_time, entry_subject, entry_words, grouped, lasted, visible};
use crate::http::params::{AT, Parameter};
use crate::http::request::Request;
use strandline_model::{Health, HealthCounts, Timestamp, attention};
use strandline_protocol::{Bucket, Entry, Snapshot, Timeline};

/// The height of the bars.
const HEIGHT: f64 = 30.0;

/// What is seen of few among many.
const LEAST: f64 = 4.0;

/// Entries that a rail shows one by one; of more it shows the parts in which they are.
pub(super) const MARKS: usize = 100;

/// The health of a number of things over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Course {
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    pub(super) counts: HealthCounts,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Happened {
    pub(super) time: Timestamp,
    /// `deployment` or `change`.
    pub(super) class: &'static str,
    pub(super) words: String,
}

/// A part of the span that leads to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) until: Timestamp,
    pub(super) words: String,
}

/// What a rail shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RailData {
    pub(super) courses: Vec<Course>,
    pub(super) parts: Vec<Part>,
    pub(super) happened: Vec<Happened>,
    pub(super) gaps: Vec<(Timestamp, Timestamp)>,
    /// What happened last before what is shown, and first after it, where the marks may not reach so far.
    pub(super) beside: Option<[Option<Happened>; 2]>,
}

impl RailData {
    /// Of the timeline of one thing, whose entries are its marks.
    pub(super) fn of_timeline(timeline: &Timeline, class: &'static str) -> Self {
        let course = |interval: &strandline_protocol::HealthInterval| {
            let mut counts = HealthCounts::default();
            *counts.slot(interval.health) += 1;
            Course { from: interval.from, until: interval.until.unwrap_or(timeline.until), counts }
        };
        let in_part = |bucket: &Bucket| Happened {
            time: bucket.until,
            class,
            words: format!("{} deployments", grouped(bucket.tally.deployments)),
        };
        let all = timeline.totals.deployments <= MARKS as u64 || class != "deployment";
        let gap = |gap: &strandline_protocol::TimelineGap| (gap.since, gap.until.unwrap_or(timeline.until));
        RailData {
            courses: timeline.health.intervals.iter().rev().map(course).collect(),
            parts: timeline.buckets.iter().map(part).collect(),
            happened: match all {
                true => timeline.entries.iter().map(|entry| happened(entry, class)).collect(),
                false => {
                    timeline.buckets.iter().filter(|one| one.tally.deployments > 0).map(in_part).collect()
                }
            },
            gaps: timeline.gaps.iter().map(gap).collect(),
            beside: None,
        }
    }
}

fn happened(entry: &Entry, class: &'static str) -> Happened {
    Happened {
        time: entry.observed_at,
        class,
        words: visible(&format!("{} {}", entry_subject(entry), entry_words(entry))).into_owned(),
    }
}

fn part(bucket: &Bucket) -> Part {
    let tally = bucket.tally;
    let mut words = vec![];
    words.extend(bucket.health.map(|health| health.to_string()));
    words.extend((tally.changes > 0).then(|| format!("{} changes", grouped(tally.changes))));
    words.extend((tally.warnings > 0).then(|| format!("{} warnings", grouped(tally.warnings))));
    words.extend((tally.deployments > 0).then(|| format!("{} deployments", grouped(tally.deployments))));
    words.extend((!bucket.covered).then(|| "gap in the recording".to_owned()));
    Part { until: bucket.until, words: words.join(", ") }
}

/// A rectangle; along the time in per cent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bar {
    pub(super) class: &'static str,
    pub(super) x: String,
    pub(super) width: String,
    pub(super) y: String,
    pub(super) height: String,
}

/// A link to the page at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    pub(super) class: &'static str,
    pub(super) x: String,
    pub(super) width: String,
    pub(super) href: String,
    pub(super) title: String,
    /// Whether the tabulator key comes here; arrow keys lead on.
    pub(super) is_tab_stop: bool,
}

/// A span to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    pub(super) label: &'static str,
    pub(super) href: String,
    pub(super) is_current: bool,
}

/// The rail as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rail {
    pub(super) since: String,
    pub(super) until: String,
    pub(super) words: String,
    pub(super) bars: Vec<Bar>,
    pub(super) gaps: Vec<Bar>,
    pub(super) stops: Vec<Stop>,
    pub(super) marks: Vec<Stop>,
    pub(super) ticks: Vec<(String, String)>,
    /// Where what is shown lies; none where that is not in the window.
    pub(super) cursor: Option<String>,
    pub(super) offers: Vec<Offer>,
    /// What happened before what is shown, and after it.
    pub(super) previous: Option<(String, String)>,
    pub(super) next: Option<(String, String)>,
    /// The page at a time, and with another span: `{at}`, `{from}` and `{to}` stand for instants.
    pub(super) at: String,
    pub(super) zoom: String,
    /// What differs between two times, and what changed between them; none where no page says so.
    pub(super) compare: Option<String>,
    pub(super) changes: Option<String>,
}

impl Rail {
    /// The rail of a page that shows a time.
    pub(super) fn new(request: &Request, window: Window, data: &RailData, shown: Timestamp) -> Self {
        let at = |time: Timestamp| address(request, &[(AT, Some(&time.to_string()))]);
        let stop = |x: f64, until: f64, time: Timestamp, class, title: String| Stop {
            class,
            x: percent(x),
            width: percent(until - x),
            href: at(time),
            title,
            is_tab_stop: false,
        };
        // Before its beginning it has no page to lead to.
        let beginning = data.courses.iter().map(|course| course.from).min();
        let parts: Vec<_> = data
            .parts
            .iter()
            .filter(|part| beginning.is_none_or(|beginning| beginning <= part.until))
            .collect();
        let before = data.parts.len() - parts.len();
        let mut from = before.checked_sub(1).map_or(0.0, |last| window.place(data.parts[last].until));
        let mut stops: Vec<_> = parts
            .iter()
            .map(|part| {
                let until = window.place(part.until);
                let title = format!("{}: {}", clock_time(part.until), part.words);
                let made =
                    stop(from, until, part.until, "part", title.trim_end_matches([':', ' ']).to_owned());
                from = until;
                made
            })
            .collect();
        let current = parts.iter().position(|part| part.until >= shown);
        let last = stops.len().saturating_sub(1);
        if let Some(stop) = stops.get_mut(current.unwrap_or(last)) {
            stop.is_tab_stop = true;
        }
        let mut happened: Vec<_> = data.happened.iter().collect();
        happened.sort_by_key(|one| one.time);
        let named = |one: &Happened| (at(one.time), format!("{}: {}", clock_time(one.time), one.words));
        let [previous, next] = match &data.beside {
            Some([previous, next]) => [previous.as_ref(), next.as_ref()],
            None => [
                happened.iter().rev().find(|one| one.time < shown).copied(),
                happened.iter().find(|one| one.time > shown).copied(),
            ],
        };
        let mark = |one: &&Happened| {
            let x = window.place(one.time);
            stop(x, x, one.time, one.class, format!("{}: {}", clock_time(one.time), one.words))
        };
        let offer = |(label, length, _): &(&'static str, std::time::Duration, usize)| Offer {
            label,
            href: address(request, &[(SPAN, Some(label))]),
            is_current: *length == window.until.since(window.since),
        };
        let (placeholder, span) = (Some("{at}"), Some("{from}/{to}"));
        Rail {
            since: window.since.to_string(),
            until: window.until.to_string(),
            words: words(&window, data),
            bars: bars(&window, &data.courses),
            gaps: data.gaps.iter().filter_map(|gap| bar(&window, "gap", *gap, 0.0, HEIGHT)).collect(),
            stops,
            marks: happened.iter().map(mark).collect(),
            ticks: window.ticks().into_iter().map(|(place, name)| (percent(place), name)).collect(),
            cursor: (window.since <= shown && shown <= window.until).then(|| percent(window.place(shown))),
            offers: OFFERED.iter().map(offer).collect(),
            previous: previous.map(named),
            next: next.map(named),
            at: address(request, &[(AT, placeholder)]),
            zoom: address(request, &[(SPAN, span)]),
            compare: None,
            changes: None,
        }
    }

    /// With the page that compares two times.
    #[must_use]
    pub(super) fn comparing(self, path: &str) -> Self {
        Rail { compare: Some(format!("{path}?from={{from}}&at={{to}}")), ..self }
    }

    /// With the page of what changed between two times, of the environments that these parameters choose.
    #[must_use]
    pub(super) fn changing(self, parameters: &str) -> Self {
        Rail { changes: Some(format!("/changes?since={{from}}&until={{to}}{parameters}")), ..self }
    }
}

/// The time that a page shows.
pub(super) fn shown(request: &Request, snapshot: &Snapshot, now: Timestamp) -> Timestamp {
    match request.query.one(AT).filter(|at| *at != "now") {
        Some(_) => snapshot.at.or(snapshot.time).unwrap_or(now),
        None => now,
    }
}

/// The same page with other parameters; placeholders stay as they are.
fn address(request: &Request, changes: &[(Parameter, Option<&str>)]) -> String {
    let query = request.query.with(changes);
    let query = query.replace("%7B", "{").replace("%7D", "}").replace("%3A", ":").replace("%2F", "/");
    format!("{}{query}", request.context.path)
}

fn percent(place: f64) -> String {
    format!("{place:.2}%")
}

fn bar(
    window: &Window,
    class: &'static str,
    (from, until): (Timestamp, Timestamp),
    y: f64,
    height: f64,
) -> Option<Bar> {
    let (x, end) = (window.place(from), window.place(until));
    // What was short stays to be seen.
    let width = (end - x).max(0.15);
    (from <= window.until && until >= window.since).then(|| Bar {
        class,
        x: percent(x.min(100.0 - width)),
        width: percent(width),
        y: format!("{y:.1}"),
        height: format!("{height:.1}"),
    })
}

/// What is wrong stands at the bottom, the worst lowest, so that it is seen on the same level at all times.
fn bars(window: &Window, courses: &[Course]) -> Vec<Bar> {
    let mut states: Vec<_> = Health::ALL.into_iter().map(Some).collect();
    states.sort_by_key(|health| attention(*health));
    let sum = |counts: &HealthCounts| -> u64 {
        let mut counts = *counts;
        states.iter().map(|health| *counts.slot(*health)).sum()
    };
    let most = courses.iter().map(|course| sum(&course.counts)).max().unwrap_or(0).max(1);
    let mut bars = Vec::new();
    // Equal ones that follow each other are one.
    for run in courses.chunk_by(|a, b| a.counts == b.counts && a.until == b.from) {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { continue };
        let (mut counts, mut top) = (first.counts, HEIGHT);
        for health in &states {
            let count = *counts.slot(*health);
            if count == 0 {
                continue;
            }
            let height = (count as f64 * HEIGHT / most as f64).max(LEAST).min(top);
            top -= height;
            bars.extend(bar(window, Badge::new(*health).class, (first.from, last.until), top, height));
        }
    }
    bars
}

/// What the rail shows, for those who do not see it.
fn words(window: &Window, data: &RailData) -> String {
    let length = lasted(window.until.since(window.since));
    let deployments = data.happened.len();
    let gaps = match data.gaps.len() {
        0 => String::new(),
        gaps => format!(", {gaps} gap{}", if gaps == 1 { "" } else { "s" }),
    };
    let marks = match deployments {
        0 => String::new(),
        marks => format!(", {marks} mark{}", if marks == 1 { "" } else { "s" }),
    };
    format!("Health over {length} until {}{marks}{gaps}", clock_time(window.until))
}
