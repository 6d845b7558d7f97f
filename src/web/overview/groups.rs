//! Groups of environments, each in one line: how they are, and what is not as it should be.

use super::selection::{Selection, narrowing};
use crate::format::visible;
use crate::http::params::{HEALTH, Parameter};
use crate::http::request::Request;
use crate::web::shell::{Badge, Shell, Time};
use strandline_model::{Health, HealthCounts, attention};
use strandline_protocol::{Overview, OverviewCounts, OverviewEnvironment, OverviewGroup};
use strandline_syntax::percent_encode;

/// A count of environments in a state of health, with the address that shows them alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) badge: Badge,
    pub(super) count: u64,
    /// None where no address can say it: what has no health cannot be asked for by it.
    pub(super) href: Option<String>,
    pub(super) chosen: bool,
}

/// A part of a bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) class: &'static str,
    pub(super) start: u64,
    pub(super) length: u64,
}

/// An environment that needs attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Urgent {
    pub(super) badge: Badge,
    pub(super) project: String,
    pub(super) name: String,
    pub(super) href: String,
    pub(super) since: Time,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Glance {
    pub(super) name: String,
    pub(super) href: Option<String>,
    pub(super) total: u64,
    pub(super) denied: u64,
    pub(super) bar: Vec<Part>,
    pub(super) tallies: Vec<Tally>,
    pub(super) urgent: Vec<Urgent>,
    /// How many more need attention.
    pub(super) further: u64,
}

/// All groups of an overview.
pub(super) fn glances(
    request: &Request,
    selection: &Selection,
    shell: &Shell,
    overview: &Overview,
    now: strandline_model::Timestamp,
) -> Vec<Glance> {
    let glance = |group: &OverviewGroup| {
        let narrowed = narrowed(selection, overview, group);
        let counts = &group.counts;
        let needing: u64 = states(counts.environments)
            .filter(|(health, _)| health.is_some_and(Health::needs_attention))
            .map(|(_, count)| count)
            .sum();
        let changes =
            |narrowed: &[(Parameter, String)]| format!("/{}", request.query.with(&optional(narrowed)));
        Glance {
            name: name(selection, group),
            href: narrowed.as_deref().map(changes),
            total: counts.total,
            denied: counts.denied,
            bar: bar(counts),
            tallies: tallies(request, selection, counts, narrowed.as_deref()),
            urgent: group.attention.iter().map(|one| urgent(shell, one, now)).collect(),
            further: needing.saturating_sub(u64::try_from(group.attention.len()).unwrap_or(u64::MAX)),
        }
    };
    overview.groups.iter().map(glance).collect()
}

fn optional(pairs: &[(Parameter, String)]) -> Vec<(Parameter, Option<&str>)> {
    pairs.iter().map(|(parameter, value)| (*parameter, Some(value.as_str()))).collect()
}

/// What narrows an address to a group; none where no address can.
fn narrowed(
    selection: &Selection,
    overview: &Overview,
    group: &OverviewGroup,
) -> Option<Vec<(Parameter, String)>> {
    let keys = overview.group_by.iter().zip(&group.keys);
    keys.map(|(by, key)| narrowing(selection, by, key)).collect()
}

fn name(selection: &Selection, group: &OverviewGroup) -> String {
    let keys = selection.group_by.iter().zip(&group.keys);
    let word = |(by, key): (&strandline_model::GroupBy, &String)| match key.as_str() {
        "" => format!("No {}", by.to_string().trim_start_matches("label:")),
        key => visible(key).into_owned(),
    };
    keys.map(word).collect::<Vec<_>>().join(" · ")
}

fn urgent(shell: &Shell, one: &OverviewEnvironment, now: strandline_model::Timestamp) -> Urgent {
    Urgent {
        badge: Badge::new(Some(one.health)),
        project: visible(&one.project).into_owned(),
        name: visible(&one.name).into_owned(),
        href: format!("/environments/{}{}", percent_encode(one.id.as_str()), shell.keep),
        since: Time::new(one.since, now),
    }
}

/// The states that occur, those that need attention first.
fn states(mut counts: HealthCounts) -> impl Iterator<Item = (Option<Health>, u64)> {
    let mut states: Vec<_> = Health::ALL.into_iter().map(Some).chain([None]).collect();
    states.sort_by_key(|health| attention(*health));
    states.into_iter().map(move |health| (health, *counts.slot(health))).filter(|(_, count)| *count > 0)
}

/// One part for each state, as long as it has environments.
fn bar(counts: &OverviewCounts) -> Vec<Part> {
    let mut start = 0;
    let part = |(health, length): (Option<Health>, u64)| {
        start += length;
        Part { class: Badge::new(health).class, start: start - length, length }
    };
    states(counts.environments).map(part).collect()
}

/// How many environments are in each state, whatever health is chosen; with a narrowing they lead to it.
pub(super) fn tallies(
    request: &Request,
    selection: &Selection,
    counts: &OverviewCounts,
    narrowed: Option<&[(Parameter, String)]>,
) -> Vec<Tally> {
    let tally = |(health, count): (Option<Health>, u64)| {
        let chosen = health.is_some_and(|health| selection.filter.healths == [health]);
        let mut changes = optional(narrowed.unwrap_or_default());
        changes.retain(|(parameter, _)| *parameter != HEALTH);
        changes.push((HEALTH, health.filter(|_| !chosen).map(Health::as_str)));
        let href = narrowed.map(|_| format!("/{}", request.query.with(&changes)));
        Tally { badge: Badge::new(health), count, href: href.filter(|_| health.is_some()), chosen }
    };
    states(counts.environments).map(tally).collect()
}

/// How many environments have something wrong with them, or nobody knows.
pub(super) const fn troubled(counts: &OverviewCounts) -> u64 {
    let by = counts.environments;
    by.degraded + by.unknown + by.missing
}
