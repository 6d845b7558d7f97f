//! What happened over time, as lanes below the bar of health, and what changed before something went wrong.

use std::time::Duration;

use super::deployments;
use super::shell::{Badge, Shell, Time};
use super::strip::Strip;
use super::tree::resource_href;
use crate::format::{
    Places, age, clock_time, difference_line, entry_subject, entry_words, grouped, lasted, level, no_cause,
    visible,
};
use crate::http::params::{AT, CLUSTER, SINCE};
use crate::http::request::Request;
use strandline_model::{Offset, ResourceKey, Timestamp, Uid};
use strandline_protocol::{Bucket, Entry, Onset, OnsetChange, Rank, Timeline};
use strandline_query::{PageRequest, TimelineFilter};
use strandline_syntax::percent_encode;

/// Parts of the axis.
const BUCKETS: usize = 96;

/// Entries that a page lists.
const LISTED: usize = 15;

/// Causes that a page lists.
const CAUSES: usize = 8;

/// Letters of a difference on a line.
const LETTERS: usize = 160;

/// What a lane counts.
type Count = fn(&Bucket) -> u64;

/// What a page asks for; of a resource also what was below it.
pub(super) fn filter() -> TimelineFilter {
    TimelineFilter { buckets: BUCKETS, below: true, ..TimelineFilter::default() }
}

/// The newest entries.
pub(super) fn newest() -> PageRequest {
    PageRequest { limit: LISTED, after: None }
}

/// One column of a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) x: u64,
    pub(super) y: u64,
    pub(super) width: u64,
    pub(super) height: u64,
    /// The same page as it was at the end of the part.
    pub(super) href: String,
    pub(super) title: String,
    /// Whether the tabulator key comes here: to one column of all lanes, from which the arrow keys lead on.
    pub(super) stop: bool,
}

/// A lane of the axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lane {
    pub(super) name: &'static str,
    pub(super) class: &'static str,
    /// How much there is on it in all.
    pub(super) total: String,
    pub(super) columns: Vec<Column>,
}

/// Something that happened, on a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) time: Time,
    /// The same page as it was then.
    pub(super) at: String,
    pub(super) subject: String,
    /// The subject's page; none for what has none.
    pub(super) href: Option<String>,
    pub(super) words: String,
    /// What differs by it in full; none for what is no change of an object.
    pub(super) diff: Option<String>,
    pub(super) class: &'static str,
}

/// The lanes that stand below the bar of health, and the newest entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lanes {
    pub(super) lanes: Vec<Lane>,
    pub(super) lines: Vec<Line>,
    /// All entries in the API.
    pub(super) json: String,
}

impl Lanes {
    /// Of a timeline; `json` is its address in the API.
    pub(super) fn new(
        shell: &Shell,
        request: &Request,
        timeline: &Timeline,
        now: Timestamp,
        json: String,
    ) -> Self {
        let counted: [(&str, &str, u64, Count); 3] = [
            ("Changes", "changes", timeline.totals.changes, |one| one.tally.changes),
            ("Warnings", "warnings", timeline.totals.warnings, |one| one.tally.warnings),
            ("Deployments", "deployments", timeline.totals.deployments, |one| one.tally.deployments),
        ];
        let mut lanes = Vec::new();
        for (name, class, total, count) in counted {
            let most = timeline.buckets.iter().map(count).max().unwrap_or(0);
            let height =
                |one: &Bucket| level(count(one), most, Strip::LANE).max(if count(one) > 0 { 3 } else { 0 });
            let columns = columns(request, &timeline.buckets, height);
            if total > 0 || class == "changes" {
                lanes.push(Lane { name, class, total: grouped(total), columns });
            }
        }
        if timeline.buckets.iter().any(|one| !one.covered) {
            let columns =
                columns(request, &timeline.buckets, |one| if one.covered { 0 } else { Strip::LANE });
            lanes.push(Lane { name: "Not watched", class: "gaps", total: String::new(), columns });
        }
        let newest = lanes.iter_mut().find_map(|lane| lane.columns.last_mut());
        if let Some(column) = newest {
            column.stop = true;
        }
        let lines = lines(shell, request, &timeline.entries, now);
        Lanes { lanes, lines, json }
    }
}

fn columns(request: &Request, buckets: &[Bucket], height: impl Fn(&Bucket) -> u64) -> Vec<Column> {
    let parts = buckets.len().max(1) as u64;
    let edge = |place: usize| place as u64 * Strip::UNITS / parts;
    let column = |(place, bucket): (usize, &Bucket)| {
        let height = height(bucket);
        (height > 0).then(|| Column {
            x: edge(place),
            y: Strip::LANE - height,
            width: edge(place + 1) - edge(place),
            height,
            href: moment(request, bucket.until),
            title: title(bucket),
            stop: false,
        })
    };
    buckets.iter().enumerate().filter_map(column).collect()
}

/// What happened in a part of the span, in words.
fn title(bucket: &Bucket) -> String {
    let tally = bucket.tally;
    let mut words = vec![format!("{} to {}", clock_time(bucket.from), clock_time(bucket.until))];
    words.extend(bucket.health.map(|health| health.to_string()));
    words.push(format!(
        "{} changes ({} created, {} deleted)",
        grouped(tally.changes),
        grouped(tally.created),
        grouped(tally.deleted)
    ));
    words.extend((tally.warnings > 0).then(|| format!("{} warnings", grouped(tally.warnings))));
    words.extend((tally.deployments > 0).then(|| format!("{} deployments", grouped(tally.deployments))));
    words.extend((!bucket.covered).then(|| "gap in the recording".to_owned()));
    words.join(", ")
}

/// The same page as it was at a moment.
fn moment(request: &Request, time: Timestamp) -> String {
    let at = time.to_string();
    format!("{}{}", request.context.path, request.query.with(&[(AT, Some(&at)), (SINCE, None)]))
}

/// What happened, a line each.
pub(super) fn lines(shell: &Shell, request: &Request, entries: &[Entry], now: Timestamp) -> Vec<Line> {
    entries.iter().map(|entry| line(shell, request, entry, now)).collect()
}

fn line(shell: &Shell, request: &Request, entry: &Entry, now: Timestamp) -> Line {
    let resource = entry.resource.as_ref().map(|resource| (&resource.id, &resource.key));
    let event = entry.event.as_ref().map(|event| (&event.uid, &event.key));
    let about = resource.or(event).filter(|(uid, _)| !uid.as_str().is_empty());
    // Of what ended or left there is nothing to see but what it was.
    let gone = matches!(entry.what.as_str(), "deleted" | "parted");
    let last = entry.offset.get().saturating_sub(1);
    let before = gone.then(|| Shell { keep: format!("?at={last}"), ..Shell::bare("") });
    let deployment = entry.deployment.as_ref().map(|deployment| deployments::href(shell, &deployment.spec));
    let changed = resource.filter(|(uid, _)| entry.what == "changed" && !uid.as_str().is_empty());
    let class = match (entry.what.as_str(), &entry.health) {
        ("warned", _) => "degraded",
        ("unwatched", _) => "unknown",
        (_, Some(health)) => Badge::new(health.after).class,
        _ => "none",
    };
    Line {
        time: Time::new(entry.observed_at, now),
        at: moment(request, entry.observed_at),
        subject: visible(&entry_subject(entry)).into_owned(),
        href: about
            .map(|(uid, key)| resource_href(before.as_ref().unwrap_or(shell), uid, &key.cluster))
            .or(deployment),
        words: visible(&entry_words(entry)).into_owned(),
        diff: changed.map(|(uid, key)| difference(uid, key, entry.offset)),
        class,
    }
}

/// Where a change of a resource is told in full.
pub(super) fn difference(uid: &Uid, key: &ResourceKey, offset: Offset) -> String {
    let uid = percent_encode(uid.as_str());
    let cluster = percent_encode(&key.cluster);
    format!("/resources/{uid}/diff?{}={offset}&{}={cluster}", AT.name, CLUSTER.name)
}

/// The bar of health with the lanes below it; both in the API are at these addresses.
pub(super) fn strip(
    shell: &Shell,
    request: &Request,
    timeline: &Timeline,
    now: Timestamp,
    (health, all): (String, String),
) -> Strip {
    let lanes = Lanes::new(shell, request, timeline, now, all);
    Strip { lanes: Some(lanes), ..Strip::new(request, &timeline.health, now, health) }
}

/// A change that may have caused what followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) line: Line,
    /// In which clusters and namespaces, where there are several.
    pub(super) place: Option<String>,
    /// How long before, such as `60s`.
    pub(super) before: String,
    pub(super) rank: &'static str,
    pub(super) differences: Vec<String>,
}

/// What changed before something became what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Before {
    pub(super) heading: String,
    /// When it began to be so.
    pub(super) from: Time,
    /// The same page as it was then.
    pub(super) at: String,
    pub(super) window: String,
    /// Since when it may have been so, where that is not known to the moment.
    pub(super) not_before: Option<Time>,
    pub(super) causes: Vec<Cause>,
    /// What is said where there are none.
    pub(super) no_cause: String,
    /// Causes and effects that are not listed, in words; empty for none.
    pub(super) further: String,
    pub(super) json: String,
    /// The same compared with how it was before the likeliest causes; none where nobody asks for it.
    pub(super) compare: Option<String>,
}

/// The last moment before what is likeliest to have caused it: a rollout is well under way when it counts as failed.
pub(super) fn before_causes(onset: &Onset) -> Timestamp {
    let is_deployment = |change: &&OnsetChange| change.rank == Rank::Deployment;
    let deployment = onset.causes.iter().find(is_deployment);
    let change = onset.causes.iter().find(|change| change.rank == Rank::Cause);
    let places = |change: &OnsetChange| {
        let others = change.also.iter().map(|place| place.observed_at);
        others.chain([change.entry.observed_at]).collect::<Vec<_>>()
    };
    let begun = deployment.into_iter().chain(change).flat_map(places);
    let first = begun.chain([onset.not_before, onset.from]).min().unwrap_or(onset.from);
    first.minus(Duration::from_secs(1)).to_the_second()
}

impl Before {
    /// Of an onset; `json` is its address in the API.
    pub(super) fn new(shell: &Shell, request: &Request, onset: &Onset, now: Timestamp, json: String) -> Self {
        let places = Places::of_onset(onset);
        let cause = |change: &OnsetChange| Cause {
            line: line(shell, request, &change.entry, now),
            place: places.say_all(change),
            before: age(change.entry.observed_at, onset.from),
            rank: change.rank.as_str(),
            differences: change
                .differences
                .iter()
                .map(|difference| visible(&difference_line(difference, LETTERS)).into_owned())
                .collect(),
        };
        let causes: Vec<_> = onset.causes.iter().take(CAUSES).map(cause).collect();
        let unlisted = (onset.causes.len() - causes.len()) as u64 + onset.causes_left_out;
        let effects = onset.effects.len() as u64 + onset.effects_left_out;
        let mut further = Vec::new();
        let changes = |count: u64| if count == 1 { "change" } else { "changes" };
        further.extend((unlisted > 0).then(|| format!("{} more possible causes", grouped(unlisted))));
        further.extend((effects > 0).then(|| format!("{} follow-up {}", grouped(effects), changes(effects))));
        Before {
            heading: format!("Changes before it became {}", onset.health),
            from: Time::new(onset.from, now),
            at: moment(request, onset.from),
            window: lasted(onset.from.since(onset.looked_at_since)),
            not_before: (onset.not_before < onset.from).then(|| Time::new(onset.not_before, now)),
            causes,
            no_cause: no_cause(onset),
            further: further.join(", "),
            json,
            compare: None,
        }
    }
}
