//! Questions as values: what is asked, apart from who asks it and of which time.
//!
//! Why: docs/decisions/0029-questions-are-values.md.

use rusqlite::Connection;
use serde::Serialize;

use super::error::Result;
use super::filters::PageRequest;
use super::kept::Kept;
use super::moment::Moment;
use super::page::Start;
use super::scope::ResolvedScope;
use strandline_log::LogReader;

/// A question, answered by [`Queries::ask`](super::Queries::ask).
///
/// Its serialised form, without the page, is what a page token is good for: two questions that may have different
/// answers never serialise alike.
pub trait Question: Serialize + Send + 'static {
    /// Its name in page tokens; no two questions share one unless their pages continue each other.
    const NAME: &'static str;

    /// What it is answered with.
    type Answer: Send + 'static;

    /// Which page of a list; none where the answer has no pages.
    fn page(&self) -> Option<&PageRequest> {
        None
    }

    /// Whether it is usually answered in less than a millisecond, so that handing it to another thread would cost about as
    /// much. It is asked again there where it takes longer.
    fn is_short(&self) -> bool {
        false
    }

    /// Answers it.
    ///
    /// # Errors
    /// See [`QueryError`](super::QueryError) and each question.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer>;
}

/// What a question is answered from: the view and the log, each in one unchanging state, at one moment.
#[expect(missing_debug_implementations, reason = "connections have nothing to show")]
pub struct Context<'a> {
    pub(super) view: &'a Connection,
    pub(super) log: &'a mut LogReader,
    pub(super) moment: Moment,
    pub(super) scope: &'a ResolvedScope,
    /// What is kept of the view in memory.
    pub(super) kept: &'a Kept,
    /// Where the page begins; of an answer without pages, the first page.
    pub(super) start: Start,
}
