//! What lines say of environments, resources and gaps, in trees and on paths alike.

use std::path::Path;

use super::output::Paint;
use crate::format::gaps::{ClusterGaps, by_cluster};
use crate::format::{age, clock_time, sign, visible, why_so, word};
use crate::service::RecordEnd;
use strandline_model::{Health, Timestamp};
use strandline_protocol::{Environment, Resource, Snapshot};

/// How lines are written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) paint: Paint,
    /// The moment from which ages count.
    pub(super) now: Timestamp,
    /// Whether lines say more than reading them needs.
    pub(super) wide: bool,
}

/// What a line says of a resource besides what the resource says itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Beside {
    /// Where it is, where that is not clear.
    pub(super) place: Option<String>,
    /// Owners besides the one that it is below.
    pub(super) further_owners: usize,
    /// What is below it and not drawn.
    pub(super) below: Option<String>,
}

impl Style {
    /// Sign and word of a health, apart from what is before; nothing where there is none.
    pub(super) fn badge(self, health: Option<Health>) -> String {
        match health {
            Some(_) => {
                format!("  {}", self.paint.health(health, &format!("{} {}", sign(health), word(health))))
            }
            None => String::new(),
        }
    }

    /// What an environment is at which moment, and what of it was not watched.
    pub(super) fn header(self, environment: &Environment, snapshot: &Snapshot) -> String {
        let health = &environment.health;
        let known = health.last_known.map(|known| format!(" (was {known})")).unwrap_or_default();
        format!(
            "{}{}{known} for {}   {}\n{}{}",
            self.paint.bold(&visible(environment.id.as_str())),
            self.badge(health.state),
            age(health.since, self.now),
            moment(snapshot),
            self.unwatched(snapshot),
            self.odd(environment)
        )
    }

    /// A line for each reason why an environment may show less than people expect.
    fn odd(self, environment: &Environment) -> String {
        let warnings = environment.warnings.iter().map(|warning| visible(&warning.message));
        warnings.map(|line| self.paint.health(Some(Health::Missing), &format!("! {line}")) + "\n").collect()
    }

    /// A line for each cluster of which not everything was watched.
    pub(super) fn unwatched(self, snapshot: &Snapshot) -> String {
        let line = |gap: String| self.paint.health(Some(Health::Unknown), &format!("! {gap}")) + "\n";
        gaps(snapshot, self.now).into_iter().map(line).collect()
    }

    /// Everything that a line says of a resource.
    pub(super) fn resource(self, resource: &Resource, beside: &Beside) -> String {
        let Style { paint, now, wide } = self;
        let mut out = format!("{}/", visible(&resource.key.kind.kind));
        out.push_str(&paint.bold(&visible(&resource.key.name)));
        if let Some(place) = &beside.place {
            out.push_str(&format!("  {}", paint.dim(&visible(&format!("in {place}")))));
        }
        out.push_str(&self.badge(resource.health));
        if wide && resource.health.is_some() {
            out.push_str(&format!(" for {}", age(resource.health_since, now)));
        }
        if let Some(since) = resource.terminating_since {
            out.push_str(&format!("  Terminating for {}", age(since, now)));
        }
        let why = why_so(resource);
        if !why.is_empty() {
            out.push_str(&format!("  {}", visible(&why)));
        }
        if beside.further_owners > 0 {
            out.push_str(&format!("  (+{} owners)", beside.further_owners));
        }
        if let Some(below) = &beside.below {
            out.push_str(&format!("  {}", paint.dim(&visible(&format!("(below: {below})")))));
        }
        if let Some(created) = resource.created_at {
            out.push_str(&format!("  {}", paint.dim(&age(created, now))));
        }
        if wide {
            out.push_str(&format!("  {}", paint.dim(&visible(resource.id.as_str()))));
        }
        out
    }
}

/// The moment that an answer holds for.
pub(super) fn moment(snapshot: &Snapshot) -> String {
    let time = snapshot.at.or(snapshot.time).map(|time| format!(", {}", clock_time(time)));
    let lag = match snapshot.lag_changes {
        0 => String::new(),
        lag => format!(", {lag} changes behind"),
    };
    // An empty answer for such a moment does not mean that there was nothing.
    let unrecorded = if snapshot.offset.get() == 0 { ", before the first recorded change" } else { "" };
    let stale = if snapshot.not_recording { ", recording stopped" } else { "" };
    format!("offset {}{}{lag}{unrecorded}{stale}", snapshot.offset, time.unwrap_or_default())
}

/// Where the record of a data directory ends that no server goes on with.
pub(super) fn record_end(data: &Path, end: &RecordEnd) -> String {
    let data = data.display();
    let record = match end.time {
        Some(time) => format!("its record ends at {} (offset {})", clock_time(time), end.offset),
        None => "its record is empty".to_owned(),
    };
    let lag = match end.lag {
        0 => String::new(),
        lag => format!(
            "; answers lack its last {lag} changes, until \"strandline rebuild --data {data}\" or a server adds them"
        ),
    };
    visible(&format!("note: no server uses {data}: {record}{lag}")).into_owned()
}

/// What was not watched, a line for each cluster.
pub(super) fn gaps(snapshot: &Snapshot, now: Timestamp) -> Vec<String> {
    let line = |ClusterGaps { cluster, what, since, until, why }: ClusterGaps| {
        let when = match until {
            Some(until) => format!("from {} until {}", clock_time(since), clock_time(until)),
            None => format!("since {} ({} ago)", clock_time(since), age(since, now)),
        };
        visible(&format!("cluster {cluster}: {what} not watched {when}: {why}")).into()
    };
    by_cluster(&snapshot.coverage.gaps, now).into_iter().map(line).collect()
}
