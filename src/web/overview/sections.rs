//! Groups of environments, each with those of the page that are in it; groups in which nothing is wrong are folded.

use super::rows::{Row, row};
use super::selection::{Selection, narrowing};
use super::tiles::states;
use crate::format::visible;
use crate::http::params::{HEALTH, Parameter};
use crate::http::request::Request;
use crate::web::shell::{Badge, Shell};
use strandline_model::{GroupBy, Health, Timestamp};
use strandline_protocol::{Overview, OverviewCounts, OverviewGroup, OverviewPage};

/// A count of environments in a state of health, with the address that shows them alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) badge: Badge,
    pub(super) count: u64,
    /// None where no address can say it: what has no health cannot be asked for by it.
    pub(super) href: Option<String>,
}

/// A part of a bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Part {
    pub(super) class: &'static str,
    pub(super) start: u64,
    pub(super) length: u64,
}

/// A group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) name: String,
    /// What keeps it the same when the page is loaded again.
    pub(super) key: String,
    /// The address that shows it alone.
    pub(super) href: Option<String>,
    pub(super) is_open: bool,
    /// Whether it is the first that shows a table, which has the links that order it.
    pub(super) is_first: bool,
    pub(super) total: u64,
    pub(super) denied: u64,
    pub(super) bar: Vec<Part>,
    pub(super) tallies: Vec<Tally>,
    pub(super) rows: Vec<Row>,
    /// How many of it are not on this page.
    pub(super) further: u64,
}

/// All groups of an overview with the environments of a page. Of a later page only those that are on it.
pub(super) fn sections(
    request: &Request,
    selection: &Selection,
    shell: &Shell,
    (overview, page): (&Overview, &OverviewPage),
    now: Timestamp,
) -> Vec<Section> {
    let later = selection.after.is_some();
    let only = overview.groups.len() == 1;
    let section = |group: &OverviewGroup| {
        let rows: Vec<Row> = page
            .items
            .iter()
            .filter(|one| one.keys.contains(&group.keys))
            .map(|one| row(shell, selection.several_tiers(), one, overview, now))
            .collect();
        let counts = &group.counts;
        let wanted = wanted(selection, counts);
        let narrowed = narrowed(selection, &overview.group_by, &group.keys);
        let href =
            |narrowed: &Vec<(Parameter, String)>| format!("/{}", request.query.with(&optional(narrowed)));
        let calls = rows.iter().any(|row| row.is_urgent);
        Section {
            name: name(&overview.group_by, &group.keys),
            key: visible(&format!("group {}", group.keys.join(" · "))).into_owned(),
            href: narrowed.as_ref().map(href),
            is_open: only || later || (calls && !rows.is_empty()),
            is_first: false,
            total: wanted,
            denied: counts.denied,
            bar: bar(counts),
            tallies: tallies(request, counts, narrowed.as_deref()),
            further: wanted.saturating_sub(rows.len() as u64),
            rows,
        }
    };
    let mut sections: Vec<_> = overview.groups.iter().map(section).collect();
    sections.retain(|section| section.total > 0 && (!later || !section.rows.is_empty()));
    // Where nothing calls for attention, what is there is still to be seen at once on a small page.
    if sections.iter().all(|section| !section.is_open)
        && let Some(first) = sections.iter_mut().find(|section| !section.rows.is_empty())
    {
        first.is_open = true;
    }
    if let Some(first) = sections.iter_mut().find(|section| !section.rows.is_empty()) {
        first.is_first = true;
    }
    sections
}

/// How many environments of a group the page is about: those of the healths that are chosen.
fn wanted(selection: &Selection, counts: &OverviewCounts) -> u64 {
    let mut by = counts.environments;
    match selection.filter.healths.as_slice() {
        [] => counts.total,
        healths => healths.iter().map(|health| *by.slot(Some(*health))).sum(),
    }
}

pub(super) fn optional(pairs: &[(Parameter, String)]) -> Vec<(Parameter, Option<&str>)> {
    pairs.iter().map(|(parameter, value)| (*parameter, Some(value.as_str()))).collect()
}

/// What narrows an address to a group; none where no address can.
pub(super) fn narrowed(
    selection: &Selection,
    by: &[GroupBy],
    keys: &[String],
) -> Option<Vec<(Parameter, String)>> {
    by.iter().zip(keys).map(|(by, key)| narrowing(selection, by, key)).collect()
}

fn name(by: &[GroupBy], keys: &[String]) -> String {
    by.iter().zip(keys).map(|(by, key)| key_name(by, key)).collect::<Vec<_>>().join(" · ")
}

/// A key as people read it.
pub(super) fn key_name(by: &GroupBy, key: &str) -> String {
    match key {
        "" => format!("No {}", by.to_string().trim_start_matches("label:")),
        key => visible(key).into_owned(),
    }
}

/// One part for each state, as long as it has environments.
pub(in super::super) fn bar(counts: &OverviewCounts) -> Vec<Part> {
    let mut start = 0;
    let part = |(health, length): (Option<Health>, u64)| {
        start += length;
        Part { class: Badge::new(health).class, start: start - length, length }
    };
    states(counts.environments).map(part).collect()
}

/// How many environments are in each state, whatever health is chosen; with a narrowing they lead to it.
fn tallies(
    request: &Request,
    counts: &OverviewCounts,
    narrowed: Option<&[(Parameter, String)]>,
) -> Vec<Tally> {
    let tally = |(health, count): (Option<Health>, u64)| {
        let mut changes = optional(narrowed.unwrap_or_default());
        changes.retain(|(parameter, _)| *parameter != HEALTH);
        changes.push((HEALTH, health.map(Health::as_str)));
        let href = narrowed.map(|_| format!("/{}", request.query.with(&changes)));
        Tally { badge: Badge::new(health), count, href: href.filter(|_| health.is_some()) }
    };
    states(counts.environments).map(tally).collect()
}
