//! The rail of a page about many environments: how many had which health, and what people and pipelines changed in them.

use super::find::{Asked, asked, newest};
use super::{Course, Happened, MARKS, Part, Rail, RailData, Span};
use crate::app::AppState;
use crate::format::{entry_subject, grouped, visible};
use crate::http::params::AT;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::web::live::parameters;
use crate::web::shell::counts;
use std::time::Duration;
use strandline_model::{At, EnvironmentFilter, GroupBy, Timestamp};
use strandline_protocol::{FeedEntry, FeedKind, Gap, Snapshot, Trend, TrendBucket};
use strandline_query::{ChangesFilter, GetOverview, ListChanges, Scope, TrendFilter};

/// How often the span after what is shown is halved at most.
const HALVES: usize = 12;

/// The span of the trend that a page has asked for by itself.
const DAY: Duration = Duration::from_secs(24 * 3600);

/// The rail of the environments in use that pass a filter, whatever their health. A page of now that has the trend of the
/// last day already gives it.
pub(in crate::web) async fn of_environments(
    state: &AppState,
    scope: &Scope,
    request: &Request,
    (filter, known): (&EnvironmentFilter, Option<&Trend>),
    span: Span,
    snapshot: &Snapshot,
) -> Result<Option<Rail>, Problem> {
    let Asked { shown, window, moments: [(at, _), _] } = asked(state, request, span, snapshot);
    let filter = EnvironmentFilter { healths: Vec::new(), ..filter.clone() }.in_use_by_default();
    let since = Some(At::Time(window.since));
    let is_same = at == At::Now && window.until.since(window.since) == DAY && request.query.one(AT).is_none();
    let trend = match known.filter(|_| is_same) {
        Some(trend) => Some(trend.clone()),
        None => {
            let question = GetOverview {
                filter: filter.clone(),
                group_by: vec![GroupBy::Tier],
                limit: Some(1),
                trend: Some(TrendFilter { since, buckets: window.parts }),
                environments: None,
            };
            state.queries.ask(scope, at, question).await?.value.trend
        }
    };
    let Some(trend) = trend else { return Ok(None) };
    let changes = ChangesFilter { environments: filter.clone(), since, ..ChangesFilter::default() };
    let found = state.queries.ask(scope, at, ListChanges::new(&changes, &newest())).await?;
    let mut data = data(&trend, &found.items);
    // What is cut off lies before the oldest mark.
    let oldest = found.items.last().map(|entry| entry.entry.observed_at);
    if let Some(oldest) = oldest.filter(|oldest| found.metadata.next.is_some() && shown <= *oldest) {
        let mut beside = beside(state, scope, (at, &changes), (window.since, shown, oldest)).await?;
        let marked = found.items.iter().rev().find(|entry| entry.entry.observed_at > shown);
        beside[1] = beside[1].take().or_else(|| marked.map(happened));
        data.beside = Some(beside);
    }
    Ok(Some(Rail::new(request, window, &data, shown).changing(&parameters(&filter))))
}

/// What happened last before what is shown, and first after it: as lists are of the newest first, the span after it is halved
/// until a list holds all of its beginning.
async fn beside(
    state: &AppState,
    scope: &Scope,
    (at, changes): (At, &ChangesFilter),
    (since, shown, oldest): (Timestamp, Timestamp, Timestamp),
) -> Result<[Option<Happened>; 2], Problem> {
    let between = |since: Timestamp, until: Timestamp| ChangesFilter {
        since: Some(At::Time(since)),
        until: Some(At::Time(until)),
        ..changes.clone()
    };
    let instant = Duration::from_micros(1);
    let before = between(since, shown.minus(instant));
    let before = state.queries.ask(scope, at, ListChanges::new(&before, &newest())).await?.items;
    let (mut from, mut until, mut next) = (shown.plus(instant), oldest, None);
    for _ in 0..HALVES {
        if from > until {
            break;
        }
        let found = state.queries.ask(scope, at, ListChanges::new(&between(from, until), &newest())).await?;
        match found.items.last() {
            Some(first) => {
                next = Some(happened(first));
                if found.metadata.next.is_none() {
                    break;
                }
            }
            // All of it lies in the later half.
            None => {
                (from, until) = (until.plus(instant), until.plus(until.since(from)).min(oldest));
                continue;
            }
        }
        until = from.plus(until.since(from) / 2);
    }
    Ok([before.first().map(happened), next])
}

fn data(trend: &Trend, changes: &[FeedEntry]) -> RailData {
    let counted = || trend.buckets.iter().filter(|bucket| bucket.until > trend.counted_since);
    let course = |bucket: &TrendBucket| Course {
        from: bucket.from.max(trend.counted_since),
        until: bucket.until,
        counts: bucket.environments,
    };
    let part = |bucket: &TrendBucket| {
        let mut words: Vec<_> = counts(bucket.environments)
            .into_iter()
            .map(|(badge, count)| format!("{} {}", grouped(count), badge.word))
            .collect();
        words.extend((!bucket.covered).then(|| "gap in the recording".to_owned()));
        Part { until: bucket.until, words: words.join(", ") }
    };
    let gap = |gap: &Gap| (gap.since.max(trend.since), gap.until.unwrap_or(trend.until));
    let mut gaps: Vec<(Timestamp, Timestamp)> = trend.gaps.iter().map(gap).collect();
    gaps.sort_unstable();
    gaps.dedup();
    RailData {
        courses: counted().map(course).collect(),
        parts: counted().map(part).collect(),
        happened: changes.iter().take(MARKS).map(happened).collect(),
        gaps,
        beside: None,
    }
}

fn happened(entry: &FeedEntry) -> Happened {
    let names: Vec<&str> = entry.environments.iter().map(|one| one.id.as_str()).collect();
    let place = match names.as_slice() {
        [] => String::new(),
        [one] => format!(" in {one}"),
        [one, more @ ..] => format!(" in {one} and {} more", more.len()),
    };
    let words = format!("{}{place} {}", entry_subject(&entry.entry), entry.summary);
    Happened {
        time: entry.entry.observed_at,
        class: if entry.kind == FeedKind::Deployment { "deployment" } else { "change" },
        words: visible(words.trim_end()).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::NOON;
    use strandline_model::{Health, HealthCounts};

    #[test]
    fn health_counts_become_courses_from_where_they_are_known() {
        let hours = |hours: u64| NOON.minus(Duration::from_secs(3600 * hours));
        let mut one = HealthCounts::default();
        *one.slot(Some(Health::Degraded)) += 2;
        let bucket = |hour: u64, covered| TrendBucket {
            from: hours(hour + 1),
            until: hours(hour),
            environments: one,
            most: one,
            covered,
        };
        let trend = Trend {
            since: hours(3),
            until: NOON,
            counted_since: NOON.minus(Duration::from_secs(90 * 60)),
            buckets: vec![bucket(2, true), bucket(1, false), bucket(0, true)],
            gaps: vec![],
        };
        let data = data(&trend, &[]);
        let courses: Vec<_> = data.courses.iter().map(|course| (course.from, course.until)).collect();
        assert_eq!(courses, [(trend.counted_since, hours(1)), (hours(1), NOON)]);
        let words: Vec<_> = data.parts.iter().map(|part| part.words.as_str()).collect();
        assert_eq!(words, ["2 Degraded, gap in the recording", "2 Degraded"]);
    }
}
