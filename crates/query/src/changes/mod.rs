//! What changed across environments: one entry for each change that somebody asked for.
//!
//! The projector keeps these apart from all else that happened, in the order of the log (`feed`), so that the newest of all
//! environments are read without a look at the work of controllers, which is only counted. A page is so many rows of it; of
//! these the ones that are one change in several clusters are one entry.

mod entries;
mod environments;
mod health;
mod rows;

pub(super) use environments::Selection;
#[cfg(test)]
pub(super) use health::MOVED;
#[cfg(test)]
pub(super) use rows::{OF_ALL, OF_SOME};

use serde::Serialize;

use crate::concerns::Concerns;
use crate::error::Result;
use crate::filters::PageRequest;
use crate::question::{Context, Question};
use crate::words::Words;
use crate::{spans, timeline};
use strandline_model::{At, EnvironmentFilter, Timestamp};
use strandline_protocol::{FeedEntry, FeedKind, Page};
use strandline_syntax::Glob;

/// Which changes a feed holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChangesFilter {
    /// Of which environments; their health is not looked at.
    pub environments: EnvironmentFilter,
    /// Where the span begins, a duration being one before the moment; a day before it where nothing is given.
    pub since: Option<At>,
    /// Where the span ends, a duration being one before the moment; at the moment where nothing is given.
    pub until: Option<At>,
    /// Only these kinds; what was asked for where empty.
    pub kinds: Vec<FeedKind>,
    /// Only what somebody made whose name matches one of these: a field manager, or the user of a deployment.
    pub by: Vec<Glob>,
    /// Whether the changes that controllers ask for are entries too.
    pub controllers: bool,
}

impl ChangesFilter {
    fn kinds(&self) -> &[FeedKind] {
        if self.kinds.is_empty() { &FeedKind::REQUESTED } else { &self.kinds }
    }

    /// Whoever names makers means these, be they controllers.
    fn shows_controllers(&self) -> bool {
        self.controllers || !self.by.is_empty()
    }
}

fn list(mut q: Context<'_>, filter: &ChangesFilter) -> Result<Page<FeedEntry>> {
    let span = spans::of_pages(&q, filter.since, filter.until, 4)?;
    let before = Timestamp::from_micros(span.since.as_micros().saturating_sub(1));
    let from = timeline::offset_at(q.log, before, q.moment.offset)?.max(q.log.compacted()?.offset);
    let to = timeline::offset_at(q.log, span.until, q.moment.offset)?;
    let mut selection = Selection::new(&q, &filter.environments)?;
    let between = (from.as_i64() + 1, to.as_i64());
    let mut rows = rows::newest(&q, filter, &mut selection, between, span)?;
    let next = q.start.finish(q.moment.offset, &mut rows, |row| {
        let [since, until] = [span.since, span.until].map(Timestamp::as_micros);
        let parts =
            [row.place.offset, row.environment, row.place.what.code(), row.place.subject, since, until];
        parts.map(|part| part.to_string()).into()
    });
    let items = entries::of(&mut q, rows, &mut selection, filter.shows_controllers())?;
    let snapshot = q.moment.snapshot_over(q.view, q.scope, &Concerns::Everything, span.since)?;
    let unknown =
        |found| Words::of_environments(&filter.environments).unknown(q.view, &q.moment, q.scope, found);
    q.start.page(items, (snapshot, next), unknown)
}

/// Changes across environments, the newest first.
#[derive(Clone, Debug, Serialize)]
pub struct ListChanges {
    /// Which changes.
    pub filter: ChangesFilter,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListChanges {
    /// The question with these parts.
    pub fn new(filter: &ChangesFilter, page: &PageRequest) -> Self {
        ListChanges { filter: filter.clone(), page: page.clone() }
    }
}

impl Question for ListChanges {
    const NAME: &'static str = "changes";
    type Answer = Page<FeedEntry>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    /// # Errors
    /// [`QueryError::FutureOffset`] when the span begins or ends after the moment.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        list(context, &self.filter)
    }
}
