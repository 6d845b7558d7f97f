//! Timelines: what happened to an environment or a resource over a span of time, on one axis.
//!
//! The parts of the axis are counted, whatever their number, and what happened one by one is paged beside them. Of an
//! environment the projector keeps what happened and its counts by the hour, so that a year is a few thousand rows; of
//! resources the rows themselves are read.

mod axis;
mod entries;
mod environment;
mod gaps;
mod resources;

pub(super) use entries::{happened as entry, states};

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use self::axis::Axis;
use super::health::{self, Course, Seen, Span};
use super::moment::{Concerns, Moment};
use super::page::Start;
use super::scope::Scope;
use super::{PageRequest, Queries, Question, Result, environments, resources as found};
use strandline_log::LogReader;
use strandline_model::{At, EnvironmentId, Happening, Lane, Offset, Stored, Timestamp, Uid};
use strandline_protocol::{HealthHistory, PageMetadata, Timeline, TimelineBelow, TimelineGap, TimelinePage};

/// What a timeline shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimelineFilter {
    /// Where it begins, a duration being one before its end; a day before where nothing is said.
    pub since: Option<At>,
    /// Parts of the span, 1 to [`Timeline::BUCKETS`].
    pub buckets: usize,
    /// Only entries of these lanes; empty for all.
    pub lanes: Vec<Lane>,
    /// In which order entries are.
    pub order: Order,
    /// Of a resource, whether also what was below it along *owns* is told of.
    pub below: bool,
}

impl Default for TimelineFilter {
    fn default() -> Self {
        let (lanes, order) = (Vec::new(), Order::default());
        TimelineFilter { since: None, buckets: Timeline::BUCKETS_DEFAULT, lanes, order, below: false }
    }
}

/// In which order entries are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Order {
    /// The newest first.
    #[default]
    Newest,
    /// The oldest first.
    Oldest,
}

impl Order {
    /// All orders.
    pub const ALL: [Order; 2] = [Order::Newest, Order::Oldest];

    /// The word for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Order::Newest => "newest",
            Order::Oldest => "oldest",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let known = Order::ALL.into_iter().find(|order| order.as_str() == text);
        known.ok_or_else(|| format!("invalid order `{text}`; use one of newest, oldest"))
    }
}

/// Where something stands among all that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) time: Timestamp,
    pub(super) offset: i64,
    pub(super) what: What,
    /// The resource, the Event or the deployment.
    pub(super) subject: i64,
}

/// What stands there, in the order in which what stands at one change is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    /// Something happened to a resource, was said of one, or was deployed.
    Happened(Happening),
    /// The health became another.
    Health,
    /// A gap began.
    Gap,
}

impl What {
    /// The number in page tokens and in ids of entries; health and gaps follow on the numbers of the view.
    fn code(self) -> i64 {
        match self {
            What::Happened(happening) => happening.number(),
            What::Health => 100,
            What::Gap => 101,
        }
    }

    fn of_code(code: i64) -> Option<Self> {
        let others = [What::Health, What::Gap].into_iter().find(|what| what.code() == code);
        others.or_else(|| Happening::of_number(code).map(What::Happened))
    }

    /// The lane on which it is drawn.
    fn lane(self) -> Lane {
        match self {
            What::Happened(happening) => happening.lane(),
            What::Health => Lane::Health,
            What::Gap => Lane::Gaps,
        }
    }
}

/// Which entries a page holds.
struct Wanted<'a> {
    lanes: &'a [Lane],
    order: Order,
    after: Option<Place>,
    /// One more than the page holds.
    limit: usize,
}

impl Wanted<'_> {
    fn shows(&self, lane: Lane) -> bool {
        self.lanes.is_empty() || self.lanes.contains(&lane)
    }

    fn follows(&self, place: &Place) -> bool {
        match (self.after, self.order) {
            (None, _) => true,
            (Some(after), Order::Newest) => *place < after,
            (Some(after), Order::Oldest) => *place > after,
        }
    }

    /// Offsets, both included, cut to where the page can begin. Health may change later than the change that lets it, so
    /// that the offset it stands at says nothing of what came between.
    fn offsets(&self, from: i64, to: i64) -> (i64, i64) {
        match self.after.filter(|after| matches!(after.what, What::Happened(_))) {
            Some(after) if self.order == Order::Newest => (from, to.min(after.offset)),
            Some(after) => (from.max(after.offset), to),
            None => (from, to),
        }
    }

    /// Puts what happened into order and cuts it to what a page needs.
    fn cut(&self, places: &mut Vec<Place>) {
        places.retain(|place| self.follows(place));
        places.sort_unstable();
        if self.order == Order::Newest {
            places.reverse();
        }
        places.truncate(self.limit);
    }
}

/// All that a timeline is made of, before a page of it is told.
struct Gathered {
    axis: Axis,
    course: Course,
    gaps: Vec<gaps::Found>,
    /// What happened, as much as the page needs.
    places: Vec<Place>,
    below: Option<TimelineBelow>,
    truncated: bool,
}

/// The span: of a later page that of the first, which its token tells.
fn span(q: &Question<'_>, filter: &TimelineFilter) -> Result<Span> {
    let told = |part: usize| q.start.after(part).parse().ok().map(Timestamp::from_micros);
    match (told(4), told(5)) {
        (Some(since), Some(until)) => Ok(Span { since, until }),
        _ => health::span(q.log, &q.moment, filter.since),
    }
}

fn wanted<'a>(start: &Start, filter: &'a TimelineFilter) -> Wanted<'a> {
    let number = |part: usize| start.after(part).parse::<i64>().ok();
    let what = number(2).and_then(What::of_code);
    let after = match (number(0), number(1), what, number(3)) {
        (Some(time), Some(offset), Some(what), Some(subject)) => {
            Some(Place { time: Timestamp::from_micros(time), offset, what, subject })
        }
        _ => None,
    };
    let limit = usize::try_from(start.rows()).unwrap_or(usize::MAX);
    Wanted { lanes: &filter.lanes, order: filter.order, after, limit }
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
fn seen(log: &LogReader, moment: &Moment, sight: &[Seen]) -> Result<Vec<(Timestamp, Timestamp)>> {
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
    q: &mut Question<'_>,
    mut gathered: Gathered,
    wanted: &Wanted<'_>,
    concerns: &Concerns<'_>,
) -> Result<TimelinePage> {
    let mut places = std::mem::take(&mut gathered.places);
    let Gathered { axis, course, gaps, below, truncated, .. } = &gathered;
    let span = axis.span();
    let within = |time: &Timestamp| span.since <= *time && *time <= span.until;
    if wanted.shows(Lane::Health) {
        let marks = course.marks.iter().filter(|mark| within(&mark.time));
        places.extend(marks.map(|mark| Place {
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

fn of_environment(mut q: Question<'_>, id: &EnvironmentId, filter: &TimelineFilter) -> Result<TimelinePage> {
    let (number, _) = environments::find(q.view, &q.moment, q.scope, id)?;
    let span = span(&q, filter)?;
    let wanted = wanted(&q.start, filter);
    let course = health::course_of_environment(q.view, q.log, &q.moment, q.scope, number, span)?;
    let parts = environment::parts(q.log, q.moment.offset, &course.sight)?;
    let mut axis = Axis::new(span, filter.buckets);
    environment::count(q.view, number, &parts, span, &mut axis)?;
    let places = environment::page(q.view, number, &parts, span, &wanted)?;
    let gaps = gaps::of_environment(q.view, &q.moment, q.scope, number, span)?;
    let gathered = Gathered { axis, course, gaps, places, below: None, truncated: false };
    told(&mut q, gathered, &wanted, &Concerns::Environment(number))
}

fn of_resource(
    mut q: Question<'_>,
    (uid, cluster): (&Uid, Option<&str>),
    filter: &TimelineFilter,
) -> Result<TimelinePage> {
    let held = found::find(q.view, q.moment.offset, q.scope, uid, cluster, false)?;
    let (top, span) = (held.id.0, span(&q, filter)?);
    let wanted = wanted(&q.start, filter);
    let course = health::course_of_resource(q.view, q.log, &q.moment, q.scope, top, span)?;
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
    q: &Question<'_>,
    number: i64,
    course: &Course,
    span: Span,
    at: Offset,
    limit: usize,
) -> Result<(Vec<Place>, bool)> {
    let parts = environment::parts(q.log, at, &course.sight)?;
    let lanes = &[Lane::Changes, Lane::Deployments];
    let wanted = Wanted { lanes, order: Order::Newest, after: None, limit: limit + 1 };
    let places = environment::page(q.view, number, &parts, span, &wanted)?;
    let more = places.len() > limit;
    Ok((places, more))
}

/// The changes of resources within a span up to an offset, with the deployments to what holds the one at the top, and
/// whether there are more than are looked at.
pub(super) fn newest_of_resources(
    q: &mut Question<'_>,
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
pub(super) fn gaps_of_environment(q: &Question<'_>, number: i64, span: Span) -> Result<Vec<TimelineGap>> {
    let found = gaps::of_environment(q.view, &q.moment, q.scope, number, span)?;
    Ok(found.into_iter().map(|found| found.gap).collect())
}

/// The newest gaps of the kinds of resources where they are within a span.
pub(super) fn gaps_of_resources(q: &Question<'_>, numbers: &[i64], span: Span) -> Result<Vec<TimelineGap>> {
    let numbers = serde_json::json!(numbers).to_string();
    let found = gaps::of_resources(q.view, &q.moment, &numbers, span)?;
    Ok(found.into_iter().map(|found| found.gap).collect())
}

impl Queries {
    /// What happened to an environment over a span of time that ends at the moment.
    ///
    /// # Errors
    /// [`super::QueryError::NotFound`] when the environment was not declared at that moment.
    pub async fn environment_timeline(
        &self,
        scope: &Scope,
        at: At,
        id: &EnvironmentId,
        filter: &TimelineFilter,
        page: &PageRequest,
    ) -> Result<TimelinePage> {
        let (of, wanted) = (id.clone(), filter.clone());
        let answer = move |q: Question<'_>| of_environment(q, &of, &wanted);
        self.ask(scope, at, "environment_timeline", &(id, filter), page, answer).await
    }

    /// What happened to a resource over a span of time that ends at the moment, be it there or gone.
    ///
    /// # Errors
    /// As for [`Queries::resource_history`].
    pub async fn resource_timeline(
        &self,
        scope: &Scope,
        at: At,
        uid: &Uid,
        cluster: Option<&str>,
        filter: &TimelineFilter,
        page: &PageRequest,
    ) -> Result<TimelinePage> {
        let (of, in_cluster, wanted) = (uid.clone(), cluster.map(str::to_owned), filter.clone());
        let answer = move |q: Question<'_>| of_resource(q, (&of, in_cluster.as_deref()), &wanted);
        self.ask(scope, at, "resource_timeline", &(uid, cluster, filter), page, answer).await
    }
}
