//! What Kubernetes' Events said across environments, the newest first.
//!
//! The projector keeps for each environment which count of an Event it shows from which offset on, in the order in which
//! that was said (`event_feed`). So a page is read in its order, of all environments or of each that is asked for, and no
//! further than it goes.

use rusqlite::{OptionalExtension, named_params};
use serde::Serialize;

use crate::changes::Selection;
use crate::concerns::Concerns;
use crate::error::Result;
use crate::events::{self, EventFilter};
use crate::filters::PageRequest;
use crate::question::{Context, Question};
use crate::scope::{one_of, reads};
use crate::spans::Span;
use crate::words::Words;
use crate::{environments, spans};
use strandline_model::{At, EnvironmentFilter, EnvironmentId, Offset, Timestamp};
use strandline_object::kube_event::EventType;
use strandline_protocol::{FeedEvent, Page};
use strandline_view::reason_mark;

/// Into how many parts a span is divided at first where each environment is read by itself, and by how much each part is
/// longer than the one after it: so that a page is not chosen from all that there is.
const PARTS: i64 = 64;
const GROWTH: i64 = 4;

/// Up to how many pages of what was ever said with a reason are read whole, instead of all that was said within the span.
const RARE: usize = 10;

/// Which Events a list across environments holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EventFeedFilter {
    /// Of which environments; their health is not looked at.
    pub environments: EnvironmentFilter,
    /// Of this environment alone; none where the caller may not read what it holds.
    pub environment: Option<EnvironmentId>,
    /// Where the span begins, a duration being one before the moment; a day before it where nothing is given.
    pub since: Option<At>,
    /// Where the span ends, a duration being one before the moment; at the moment where nothing is given.
    pub until: Option<At>,
    /// Which Events.
    pub events: EventFilter,
}

/// What an environment shows of an Event.
struct Row {
    said_at: i64,
    offset: i64,
    environment: i64,
    event: i64,
    /// From where on it is shown.
    from: i64,
}

/// Rows of `$from` that hold at a moment, or held until after the span, as far as the scope could read the environment when
/// it began to show them.
macro_rules! select {
    ($from:expr) => {
        concat!(
            r#"SELECT f.said_at, f."offset", f.environment_id, f.event_id, f.from_offset FROM "#,
            $from,
            r#" WHERE f.said_at BETWEEN :since AND :to
                AND (f.said_at, f."offset", f.environment_id) < (:said_at, :offset, :environment)
                AND f.from_offset <= :at AND (f.to_offset > :at OR f.said_again_at > :until)
                AND (:warned IS NULL OR f.warned = :warned)
                AND (:marks IS NULL OR f.reason_mark IN (SELECT value FROM json_each(:marks)))
                AND EXISTS (SELECT 1 FROM environment_audience e WHERE e.environment_id = f.environment_id
                    AND e.from_offset <= f.from_offset AND e.to_offset > f.from_offset AND "#,
            reads!(),
            r#") ORDER BY f.said_at DESC, f."offset" DESC, f.environment_id DESC"#
        )
    };
}

/// In the order of the table, so that it is read no further than a page goes …
pub(crate) const OF_ALL: &str = select!("event_feed f NOT INDEXED");
/// … and of some environments alone.
pub(crate) const OF_SOME: &str = select!(
    "json_each(:environments) i CROSS JOIN event_feed f INDEXED BY event_feed_by_environment ON f.environment_id = i.value"
);

/// Counts of Events with a reason that is asked for.
macro_rules! said_with_reason {
    () => {
        "kube_event k INDEXED BY kube_event_by_reason CROSS JOIN kube_event_count n ON n.event_id = k.id
            AND k.reason_mark IN (SELECT value FROM json_each(:marks))"
    };
}

/// The same of what was said with a reason that is rare.
pub(crate) const OF_RARE: &str = select!(concat!(
    said_with_reason!(),
    r#" CROSS JOIN event_feed f ON f.said_at = n.said_at AND f."offset" = n.from_offset"#
));

/// What of an Event is looked at row by row.
struct Wanted<'a> {
    filter: &'a EventFilter,
    /// Whether it is a warning, where that decides.
    warned: Option<bool>,
    marks: Option<String>,
}

impl<'a> Wanted<'a> {
    fn new(filter: &'a EventFilter) -> Self {
        let is = |one: EventType| filter.types.iter().all(|r#type| *r#type == one);
        let warned = match filter.types.as_slice() {
            [] => None,
            _ if is(EventType::Normal) => Some(false),
            _ if is(EventType::Warning) => Some(true),
            _ => None,
        };
        Wanted { filter, warned, marks: one_of(&filter.reasons, |reason| reason_mark(reason)) }
    }

    /// Whether reasons are asked for with which little was ever said.
    fn is_rare(&self, q: &Context<'_>) -> Result<bool> {
        let Some(marks) = &self.marks else { return Ok(false) };
        let most = rows(q).saturating_mul(RARE) as i64;
        // There are no fewer counts than Events, which the index alone tells.
        let events = "SELECT count(*) FROM (SELECT 1 FROM kube_event INDEXED BY kube_event_by_reason
            WHERE reason_mark IN (SELECT value FROM json_each(:marks)) LIMIT :most)";
        let counts = concat!("SELECT count(*) FROM (SELECT 1 FROM ", said_with_reason!(), " LIMIT :most)");
        for sql in [events, counts] {
            let params = named_params! { ":marks": marks, ":most": most };
            let found: i64 = q.view.prepare_cached(sql)?.query_row(params, |row| row.get(0))?;
            if found >= most {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether it is one that is asked for, which a mark alone cannot tell.
    fn matches(&self, q: &Context<'_>, event: i64) -> Result<bool> {
        let EventFilter { types, reasons } = self.filter;
        if types.is_empty() && reasons.is_empty() {
            return Ok(true);
        }
        let sql = "SELECT type, reason FROM kube_event WHERE id = ?1";
        let found = q.view.prepare_cached(sql)?.query_row([event], |row| {
            let (r#type, reason) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
            Ok((types.is_empty() || types.iter().any(|one| one.as_str() == r#type))
                && (reasons.is_empty() || reasons.iter().any(|one| one.eq_ignore_ascii_case(reason))))
        });
        Ok(found.optional()?.unwrap_or(false))
    }
}

/// As many rows as a page needs.
fn newest(
    q: &Context<'_>,
    filter: &EventFeedFilter,
    selection: &mut Selection<'_>,
    span: Span,
) -> Result<Vec<Row>> {
    let wanted = Wanted::new(&filter.events);
    let (since, until) = (span.since.as_micros(), span.until.as_micros());
    let to = q.start.after(0).parse().map_or(until, |said_at| until.min(said_at));
    let mut found = Vec::new();
    // Who sees little reads what is theirs, and pays nothing for what others have.
    if !q.scope.is_narrow() && wanted.is_rare(q)? {
        read(q, &wanted, selection, Source::RareReasons, (since, to, until), &mut found)?;
        return Ok(found);
    }
    let is_few = selection.is_few()?;
    let Some(numbers) = selection.numbers().filter(|_| is_few) else {
        read(q, &wanted, selection, Source::All, (since, to, until), &mut found)?;
        return Ok(found);
    };
    let mut part = until.saturating_sub(since) / PARTS;
    let mut end = to;
    while end >= since && found.len() < rows(q) {
        let begin = since.max(end.saturating_sub(part));
        read(q, &wanted, selection, Source::Environments(&numbers), (begin, end, until), &mut found)?;
        (end, part) = (begin - 1, part.max(1).saturating_mul(GROWTH));
    }
    Ok(found)
}

fn rows(q: &Context<'_>) -> usize {
    usize::try_from(q.start.rows()).unwrap_or(usize::MAX)
}

/// From where rows are read.
#[derive(Clone, Copy)]
enum Source<'a> {
    All,
    /// What environments show, by their numbers as a JSON array.
    Environments(&'a str),
    /// What was said with the reasons that are asked for.
    RareReasons,
}

/// Reads rows that were said between two times.
fn read(
    q: &Context<'_>,
    wanted: &Wanted<'_>,
    selection: &mut Selection<'_>,
    source: Source<'_>,
    (since, to, until): (i64, i64, i64),
    found: &mut Vec<Row>,
) -> Result<()> {
    let number = |part: usize| q.start.after(part).parse().unwrap_or(i64::MAX);
    let (said_at, offset, environment) = (number(0), number(1), number(2));
    let (at, scope) = (q.moment.offset.as_i64(), q.scope.as_sql());
    let mut statement = q.view.prepare_cached(match source {
        Source::All => OF_ALL,
        Source::Environments(_) => OF_SOME,
        Source::RareReasons => OF_RARE,
    })?;
    let mut params: Vec<(&str, &dyn rusqlite::ToSql)> = vec![
        (":since", &since),
        (":to", &to),
        (":until", &until),
        (":said_at", &said_at),
        (":offset", &offset),
        (":environment", &environment),
        (":at", &at),
        (":warned", &wanted.warned),
        (":marks", &wanted.marks),
        (":scope", &scope),
    ];
    if let Source::Environments(numbers) = &source {
        params.push((":environments", numbers));
    }
    let mut rows_read = statement.query(params.as_slice())?;
    while found.len() < rows(q)
        && let Some(row) = rows_read.next()?
    {
        let row = Row {
            said_at: row.get(0)?,
            offset: row.get(1)?,
            environment: row.get(2)?,
            event: row.get(3)?,
            from: row.get(4)?,
        };
        if selection.get(row.environment)?.is_some() && wanted.matches(q, row.event)? {
            found.push(row);
        }
    }
    Ok(())
}

fn list(q: Context<'_>, filter: &EventFeedFilter) -> Result<Page<FeedEvent>> {
    let span = spans::of_pages(&q, filter.since, filter.until, 3)?;
    let only = filter.environment.as_ref().map(|id| environments::seen(q.view, &q.moment, q.scope, id));
    let only = only.transpose()?.map(|found| found.number);
    let mut selection = match only {
        Some(number) => Selection::only(&q, &filter.environments, number)?,
        None => Selection::new(&q, &filter.environments)?,
    };
    let mut rows = newest(&q, filter, &mut selection, span)?;
    let next = q.start.finish(q.moment.offset, &mut rows, |row| {
        let [since, until] = [span.since, span.until].map(Timestamp::as_micros);
        [row.said_at, row.offset, row.environment, since, until].map(|part| part.to_string()).into()
    });
    let mut items: Vec<FeedEvent> = Vec::with_capacity(rows.len());
    for of_one in rows.chunk_by(|one, other| one.offset == other.offset) {
        let Some(event) =
            of_one.first().map(|row| events::as_of(q.view, row.event, row.offset)).transpose()?
        else {
            continue;
        };
        let mut environments = Vec::with_capacity(of_one.len());
        for row in of_one {
            environments.extend(selection.get(row.environment)?.cloned());
        }
        let offset = Offset::from_i64(of_one.iter().map(|row| row.from).max().unwrap_or_default());
        items.extend(event.map(|event| FeedEvent { offset, environments, event }));
    }
    let concerns = only.map_or(Concerns::Everything, Concerns::Environment);
    let snapshot = q.moment.snapshot_over(q.view, q.scope, &concerns, span.since)?;
    let unknown =
        |found| Words::of_environments(&filter.environments).unknown(q.view, &q.moment, q.scope, found);
    q.start.page(items, (snapshot, next), unknown)
}

/// Kubernetes Events across environments, those that were said last first.
#[derive(Clone, Debug, Serialize)]
pub struct ListEvents {
    /// Which Events.
    pub filter: EventFeedFilter,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListEvents {
    /// The question with these parts.
    pub fn new(filter: &EventFeedFilter, page: &PageRequest) -> Self {
        ListEvents { filter: filter.clone(), page: page.clone() }
    }
}

impl Question for ListEvents {
    const NAME: &'static str = "events";
    type Answer = Page<FeedEvent>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    /// # Errors
    /// [`QueryError::NotFound`](crate::QueryError::NotFound) when the environment did not exist at that time,
    /// [`QueryError::FutureOffset`](crate::QueryError::FutureOffset) when the span begins or ends after the moment.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        list(context, &self.filter)
    }
}
