//! Timelines: what happened to an environment or a resource over a span of time, on one axis.
//!
//! The parts of the axis are counted, whatever their number, and what happened one by one is paged beside them. Of an
//! environment the projector keeps what happened and its counts by the hour, so that a year is a few thousand rows; of
//! resources the rows themselves are read.

mod axis;
mod entries;
mod environment;
mod filter;
mod gaps;
mod place;
mod resources;

pub(super) use axis::edges;
pub(super) use entries::{happened as entry, health_entry, states};
pub use filter::{Order, TimelineFilter};
pub(super) use place::{Place, What};

use serde::Serialize;

use crate::concerns::Concerns;
use crate::error::Result;
use crate::filters::{PageRequest, ResourceRef};
use crate::moment::Moment;
use crate::page::Start;
use crate::question::{Context, Question};
use crate::resources as found;
use crate::series::{HealthSeries, VisibleRange};
use crate::spans::{self, Span};
use crate::timeline::axis::Axis;
use crate::timeline::place::EntryFilter;
use crate::{environments, series};
use strandline_log::LogReader;
use strandline_model::{EnvironmentId, Lane, Offset, Timestamp, Uid};
use strandline_protocol::{HealthHistory, PageMetadata, Timeline, TimelineBelow, TimelineGap, TimelinePage};

/// All that a timeline is made of, before a page of it is told.
struct Gathered {
    axis: Axis,
    course: HealthSeries,
    gaps: Vec<gaps::Found>,
    /// What happened, as much as the page needs.
    places: Vec<Place>,
    below: Option<TimelineBelow>,
    truncated: bool,
}

fn wanted<'a>(start: &Start, filter: &'a TimelineFilter) -> EntryFilter<'a> {
    let number = |part: usize| start.after(part).parse::<i64>().ok();
    let what = number(2).and_then(What::of_code);
    let after = match (number(0), number(1), what, number(3)) {
        (Some(time), Some(offset), Some(what), Some(subject)) => {
            Some(Place { time: Timestamp::from_micros(time), offset, what, subject })
        }
        _ => None,
    };
    let limit = usize::try_from(start.rows()).unwrap_or(usize::MAX);
    EntryFilter { lanes: &filter.lanes, order: filter.order, after, limit }
}

/// The last offset observed at or before a time or, where retention let that go, the earliest that there is.
pub(super) fn offset_at(log: &mut LogReader, time: Timestamp, limit: Offset) -> Result<Offset> {
    let compacted = log.compacted()?;
    if compacted.observed_at.is_some_and(|earliest| time < earliest) {
        return Ok(compacted.offset);
    }
    Ok(log.offset_at(time, limit)?)
}

/// The times in which something was in sight; before what is recorded and kept, nothing was.
fn seen(log: &LogReader, moment: &Moment, sight: &[VisibleRange]) -> Result<Vec<(Timestamp, Timestamp)>> {
    let kept = log.compacted()?.observed_at;
    let first = kept.or(log.observed_at(Offset::new(1))?).unwrap_or_default();
    let mut seen = Vec::new();
    for &(from, to) in sight.iter().filter(|(from, _)| *from <= moment.offset.as_i64()) {
        let from = log.observed_at(Offset::from_i64(from.max(1)))?.unwrap_or(first).max(first);
        let end = if to > moment.offset.as_i64() { None } else { log.observed_at(Offset::from_i64(to))? };
        seen.push((from, end.unwrap_or(Timestamp::from_micros(i64::MAX))));
    }
    Ok(seen)
}

/// Adds health and gaps to what happened, and makes a page of it.
fn told(
    q: &mut Context<'_>,
    mut gathered: Gathered,
    wanted: &EntryFilter<'_>,
    concerns: &Concerns<'_>,
) -> Result<TimelinePage> {
    let mut places = std::mem::take(&mut gathered.places);
    let Gathered { axis, course, gaps, below, truncated, .. } = &gathered;
    let span = axis.span();
    let within = |time: &Timestamp| span.since <= *time && *time <= span.until;
    if wanted.shows(Lane::Health) {
        places.extend(course.moves_within(span).map(|(mark, _)| Place {
            time: mark.time,
            offset: mark.offset,
            what: What::Health,
            subject: 0,
        }));
    }
    if wanted.shows(Lane::Gaps) {
        let begun = gaps.iter().filter(|found| within(&found.gap.since));
        places.extend(begun.map(|found| Place {
            time: found.gap.since,
            offset: found.offset,
            what: What::Gap,
            subject: found.kind,
        }));
    }
    wanted.cut(&mut places);
    let next = q.start.finish(q.moment.offset, &mut places, |place| {
        let [since, until] = [span.since, span.until].map(Timestamp::as_micros);
        let parts = [place.time.as_micros(), place.offset, place.what.code(), place.subject, since, until];
        parts.map(|part| part.to_string()).into()
    });
    let seen = seen(q.log, &q.moment, &course.sight)?;
    let entries = entries::told(q, &places, course, gaps)?;
    let mut gaps: Vec<_> = gaps.iter().map(|found| found.gap.clone()).collect();
    let buckets = axis.buckets(course, &gaps, &seen);
    let gaps_truncated = gaps.len() > Timeline::GAPS;
    gaps.truncate(Timeline::GAPS);
    let timeline = Timeline {
        since: span.since,
        until: span.until,
        buckets,
        totals: axis.totals(),
        health: course.history(HealthHistory::LIMIT),
        gaps,
        gaps_truncated,
        below: *below,
        truncated: *truncated,
        entries,
    };
    let snapshot = q.moment.snapshot(q.view, q.scope, concerns)?;
    Ok(TimelinePage { timeline, metadata: PageMetadata::new(snapshot, next) })
}

fn of_environment(mut q: Context<'_>, id: &EnvironmentId, filter: &TimelineFilter) -> Result<TimelinePage> {
    let (number, _) = environments::find(q.view, &q.moment, q.scope, id)?;
    let span = spans::of_pages(&q, filter.since, None, 4)?;
    let wanted = wanted(&q.start, filter);
    let course = series::series_of_environment(q.view, q.log, &q.moment, q.scope, number, span)?;
    let parts = environment::parts(q.log, q.moment.offset, &course.sight)?;
    let mut axis = Axis::new(span, filter.buckets);
    environment::count(q.view, number, &parts, span, &mut axis)?;
    let places = environment::page(q.view, number, &parts, span, &wanted)?;
    let gaps = gaps::of_environment(q.view, &q.moment, q.scope, number, span)?;
    let gathered = Gathered { axis, course, gaps, places, below: None, truncated: false };
    told(&mut q, gathered, &wanted, &Concerns::Environment(number))
}

fn of_resource(mut q: Context<'_>, resource: &ResourceRef, filter: &TimelineFilter) -> Result<TimelinePage> {
    let held = found::find(q.view, q.moment.offset, q.scope, resource, false)?;
    let (top, span) = (held.id.0, spans::of_pages(&q, filter.since, None, 4)?);
    let wanted = wanted(&q.start, filter);
    let course = series::series_of_resource(q.view, q.log, &q.moment, q.scope, top, span)?;
    let (numbers, below) = if filter.below {
        let (numbers, told) = resources::below(q.view, q.log, &q.moment, q.scope, top, span)?;
        (numbers, Some(told))
    } else {
        (vec![top], None)
    };
    let numbers = serde_json::json!(numbers).to_string();
    let (mut places, truncated) =
        resources::happened(q.view, q.log, q.moment.offset, q.scope, &numbers, top, span)?;
    let mut axis = Axis::new(span, filter.buckets);
    for place in &places {
        if let What::Happened(what) = place.what {
            axis.count(place.time, what);
        }
    }
    places.retain(|place| wanted.shows(place.what.lane()) && wanted.follows(place));
    let gaps = gaps::of_resources(q.view, &q.moment, &numbers, span)?;
    let gathered = Gathered { axis, course, gaps, places, below, truncated };
    told(&mut q, gathered, &wanted, &Concerns::Cluster(&held.resource.key.cluster))
}

/// The newest changes of resources of an environment and deployments to it within a span up to an offset, as many as are
/// asked for and one more where there are more, and whether there are.
pub(super) fn newest_of_environment(
    q: &Context<'_>,
    number: i64,
    course: &HealthSeries,
    span: Span,
    at: Offset,
    limit: usize,
) -> Result<(Vec<Place>, bool)> {
    let parts = environment::parts(q.log, at, &course.sight)?;
    let lanes = &[Lane::Changes, Lane::Deployments];
    let wanted = EntryFilter { lanes, order: Order::Newest, after: None, limit: limit + 1 };
    let places = environment::page(q.view, number, &parts, span, &wanted)?;
    let more = places.len() > limit;
    Ok((places, more))
}

/// The changes of resources within a span up to an offset, with the deployments to what holds the one at the top, and
/// whether there are more than are looked at.
pub(super) fn newest_of_resources(
    q: &mut Context<'_>,
    numbers: &[i64],
    top: i64,
    span: Span,
    at: Offset,
) -> Result<(Vec<Place>, bool)> {
    let numbers = serde_json::json!(numbers).to_string();
    let (mut places, cut) = resources::happened(q.view, q.log, at, q.scope, &numbers, top, span)?;
    places.retain(|place| place.what.lane() != Lane::Events);
    Ok((places, cut))
}

/// How gaps are found by time, of an environment and of resources.
#[cfg(test)]
pub(super) fn gaps_by_time() -> [&'static str; 2] {
    [gaps::OF_ENVIRONMENT.at_time, gaps::OF_RESOURCES.at_time]
}

/// The newest gaps of what an environment holds within a span.
pub(super) fn gaps_of_environment(q: &Context<'_>, number: i64, span: Span) -> Result<Vec<TimelineGap>> {
    let found = gaps::of_environment(q.view, &q.moment, q.scope, number, span)?;
    Ok(found.into_iter().map(|found| found.gap).collect())
}

/// The newest gaps of the kinds of resources where they are within a span.
pub(super) fn gaps_of_resources(q: &Context<'_>, numbers: &[i64], span: Span) -> Result<Vec<TimelineGap>> {
    let numbers = serde_json::json!(numbers).to_string();
    let found = gaps::of_resources(q.view, &q.moment, &numbers, span)?;
    Ok(found.into_iter().map(|found| found.gap).collect())
}

/// What happened in an environment over a span of time that ends at the time asked for.
#[derive(Clone, Debug, Serialize)]
pub struct GetEnvironmentTimeline {
    /// The environment.
    pub environment: EnvironmentId,
    /// What it shows.
    pub filter: TimelineFilter,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl GetEnvironmentTimeline {
    /// The question with these parts.
    pub fn new(environment: &EnvironmentId, filter: &TimelineFilter, page: &PageRequest) -> Self {
        GetEnvironmentTimeline {
            environment: environment.clone(),
            filter: filter.clone(),
            page: page.clone(),
        }
    }
}

impl Question for GetEnvironmentTimeline {
    const NAME: &'static str = "environment_timeline";
    type Answer = TimelinePage;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    /// # Errors
    /// [`QueryError::NotFound`] when the environment did not exist at that time.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        of_environment(context, &self.environment, &self.filter)
    }
}

/// What happened to a resource, existing or deleted, over a span of time that ends at the time asked for.
#[derive(Clone, Debug, Serialize)]
pub struct GetResourceTimeline {
    /// The resource.
    pub resource: ResourceRef,
    /// What it shows.
    pub filter: TimelineFilter,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl GetResourceTimeline {
    /// The question with these parts.
    pub fn new(uid: &Uid, cluster: Option<&str>, filter: &TimelineFilter, page: &PageRequest) -> Self {
        GetResourceTimeline {
            resource: ResourceRef::new(uid, cluster),
            filter: filter.clone(),
            page: page.clone(),
        }
    }
}

impl Question for GetResourceTimeline {
    const NAME: &'static str = "resource_timeline";
    type Answer = TimelinePage;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    /// # Errors
    /// [`QueryError::NotFound`] when the resource never existed up to that time, [`QueryError::Ambiguous`] when several
    /// clusters have the uid and none is named.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        of_resource(context, &self.resource, &self.filter)
    }
}
