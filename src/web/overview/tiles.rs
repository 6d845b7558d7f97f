//! How many environments have each health, with how that was over the last day.

use super::selection::Selection;
use crate::format::{grouped, lasted};
use crate::http::params::HEALTH;
use crate::http::request::Request;
use crate::web::shell::Badge;
use std::time::Duration;
use strandline_model::{Health, HealthCounts, attention};
use strandline_protocol::{OverviewCounts, Trend, TrendBucket};

/// Healths that always have a tile.
const ALWAYS: [Health; 4] = [Health::Degraded, Health::Progressing, Health::Unknown, Health::Healthy];

/// How long before a count is compared with another.
const COMPARED: Duration = Duration::from_secs(3600);

/// The height of a line.
const HEIGHT: u64 = 24;

/// A health with its count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) badge: Badge,
    pub(super) count: String,
    pub(super) href: Option<String>,
    pub(super) chosen: bool,
    /// What became of the count, in words.
    pub(super) words: String,
    pub(super) line: Option<Line>,
}

/// A count over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) width: usize,
    pub(super) points: String,
    /// The parts that were not recorded.
    pub(super) gaps: Vec<(usize, usize)>,
}

impl Line {
    pub(super) const HEIGHT: u64 = HEIGHT;
}

/// The tiles of all environments of a selection.
pub(super) fn tiles(
    request: &Request,
    selection: &Selection,
    totals: &OverviewCounts,
    trend: Option<&Trend>,
) -> Vec<Tile> {
    let mut counts = totals.environments;
    let others =
        [Health::Missing, Health::Suspended].into_iter().filter(|health| *counts.slot(Some(*health)) > 0);
    let mut healths: Vec<_> = ALWAYS.into_iter().chain(others.collect::<Vec<_>>()).map(Some).collect();
    healths.sort_by_key(|health| (*health == Some(Health::Healthy), shown_place(*health)));
    if counts.none > 0 {
        healths.push(None);
    }
    let tile = |health: Option<Health>| {
        let chosen = health.is_some_and(|health| selection.filter.healths == [health]);
        let changes = [(HEALTH, health.filter(|_| !chosen).map(Health::as_str))];
        let count = *counts.slot(health);
        Tile {
            badge: Badge::new(health),
            count: grouped(count),
            href: health.map(|_| format!("/{}", request.query.with(&changes))),
            chosen,
            words: words(health, count, totals.total, trend),
            line: trend.filter(|_| health.is_some()).map(|trend| line(health, trend)),
        }
    };
    healths.into_iter().map(tile).collect()
}

/// Progressing before Unknown, as a rollout that is under way is what people look for.
fn shown_place(health: Option<Health>) -> u8 {
    match health {
        Some(Health::Progressing) => 1,
        Some(Health::Unknown) => 2,
        health => attention(health).saturating_mul(2),
    }
}

fn words(health: Option<Health>, count: u64, total: u64, trend: Option<&Trend>) -> String {
    if health == Some(Health::Healthy) {
        return format!("of {}", grouped(total));
    }
    let Some(trend) = trend.filter(|_| health.is_some()) else { return String::new() };
    let before = trend.until.minus(COMPARED);
    let then = trend.buckets.iter().rev().find(|part| part.until <= before && part.covered);
    let change = then.map(|part| {
        let mut counts = part.environments;
        let (before, ago) = (*counts.slot(health), lasted(trend.until.since(part.until)));
        match count.checked_sub(before) {
            Some(0) => format!("as {ago} ago"),
            Some(more) => format!("+{} in {ago}", grouped(more)),
            None => format!("−{} in {ago}", grouped(before - count)),
        }
    });
    let most = trend.buckets.iter().map(|part| value(health, part, true)).max().unwrap_or(0);
    let peak = (most > count)
        .then(|| format!("up to {} in {}", grouped(most), lasted(trend.until.since(trend.since))));
    change.into_iter().chain(peak).collect::<Vec<_>>().join(", ")
}

/// How many had a health in a part of the span: the most at one time, or of what is well what was left at its end.
fn value(health: Option<Health>, part: &TrendBucket, most: bool) -> u64 {
    let mut counts = if most { part.most } else { part.environments };
    *counts.slot(health)
}

fn line(health: Option<Health>, trend: &Trend) -> Line {
    let most = health != Some(Health::Healthy);
    let values: Vec<u64> = trend.buckets.iter().map(|part| value(health, part, most)).collect();
    let top = values.iter().copied().max().unwrap_or(0).max(1);
    // What is well is nearly everything, so that only its own ups and downs can be seen.
    let bottom = if most { 0 } else { values.iter().copied().min().unwrap_or(0).min(top - 1) };
    let height = |value: u64| HEIGHT - 2 - (value - bottom) * (HEIGHT - 4) / (top - bottom);
    let points = values.iter().enumerate().map(|(place, value)| format!("{place},{}", height(*value)));
    let mut gaps: Vec<(usize, usize)> = Vec::new();
    for (place, _) in trend.buckets.iter().enumerate().filter(|(_, part)| !part.covered) {
        match gaps.last_mut() {
            Some((start, length)) if *start + *length == place => *length += 1,
            _ => gaps.push((place, 1)),
        }
    }
    Line { width: values.len().saturating_sub(1).max(1), points: points.collect::<Vec<_>>().join(" "), gaps }
}

/// The states that occur, those that need attention first.
pub(super) fn states(mut counts: HealthCounts) -> impl Iterator<Item = (Option<Health>, u64)> {
    let mut states: Vec<_> = Health::ALL.into_iter().map(Some).chain([None]).collect();
    states.sort_by_key(|health| attention(*health));
    states.into_iter().map(move |health| (health, *counts.slot(health))).filter(|(_, count)| *count > 0)
}
