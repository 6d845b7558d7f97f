//! The log: the only record, append-only, with one writer.
//!
//! - [`Appender`] hands over what was seen and waits until it is durable.
//! - [`LogWriter`] runs on a thread of its own, decides what is a change, and commits in groups.
//! - [`LogReader`] reads records in order, single bodies, and the offset of a moment.
//! - Retention asks the writer to move the oldest offset that can be asked for ([`Appender::compact`]), to prune what
//!   lies before it a step at a time ([`Appender::sweep`]), and to return free pages ([`Appender::shrink`]). Single kinds
//!   may be pruned earlier ([`Appender::raise_floors`], [`Appender::thin`]).
//! - [`examine`] reads all of it and reports what is damaged; [`accept_loss`] and [`salvage`] go on from there.
//!
//! Nothing else touches the table of changes.
//!
//! Why: docs/decisions/0001-two-sqlite-files-a-log-and-a-view.md.

mod accept;
mod age;
mod append;
mod appender;
mod batch;
mod bodies;
mod catalog;
mod chain;
mod clock_audit;
mod clock_marks;
mod columns;
mod commits;
mod compaction;
mod copy;
mod coverage;
mod cursors;
mod decisions;
mod declared;
mod decode;
mod deletions;
pub mod delta;
mod dismissal;
mod draft;
mod entry;
mod erase;
mod erasures;
mod error;
mod examine;
mod facts;
mod file;
mod floors;
mod forget;
mod group;
mod guard;
mod health;
mod holes;
mod ids;
mod import;
mod json;
mod keyframes;
mod lanes;
mod late;
mod learning;
mod live;
mod moved_offsets;
mod offset_at;
mod open;
mod packer;
mod pending;
mod queue;
mod reader;
mod records;
mod request;
mod row;
mod runs;
mod salvage;
mod schema;
mod solid;
mod sweep;
mod thinning;
mod time_map;
mod transaction;
mod types;
mod verify;
mod writer;

#[cfg(test)]
mod tests;

pub use accept::{AcceptedLoss, accept_loss};
pub use append::{AppendError, Appended, Batch, Begin, Epoch, Identified, Observed, Phase, Session};
pub use appender::{Admitted, Appender, QueueLoad, WeakAppender};
pub use clock_audit::{WrongTimes, find_wrong_times, mend_clock};
pub use commits::CommitTimes;
pub use compaction::Compacted;
pub use copy::{Whole, copy, verify_whole};
pub use cursors::Cursor;
pub use decisions::Catalog;
pub use declared::{CatalogChange, Standing};
pub use entry::Entry;
pub use erase::{EraseStep, Erasing, Found, Holder, erase, find};
pub use error::LogError;
pub use examine::{Examination, Finding, Harm, examine};
pub use floors::Floor;
pub use forget::{Forget, ForgetRefusal, Forgotten};
pub use health::{WriterHealth, WriterProblem};
pub use import::LogImport;
pub use open::{LogState, inspect};
pub use queue::{OpenLog, Queue};
pub use reader::{LogReader, LogSnapshot};
pub use request::Shrunk;
pub use salvage::{Salvaged, salvage};
pub use strandline_redact::Observation;
pub use sweep::Swept;
pub use thinning::Thinned;
pub use types::ChangeType;
pub use verify::{Agreement, LiveObject, LivePage, LivePosition};
pub use writer::LogWriter;
