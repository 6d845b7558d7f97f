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
    let changes = state.queries.ask(scope, at, ListChanges::new(&changes, &newest())).await?.items;
    let data = data(&trend, &changes);
    Ok(Some(Rail::new(request, window, &data, shown).changing(&parameters(&filter))))
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
