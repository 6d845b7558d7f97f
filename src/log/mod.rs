//! The log: the only record, append-only, with one writer.
//!
//! - [`Appender`] hands over what was seen and waits until it is durable.
//! - [`LogWriter`] runs on a thread of its own, decides what is a change, and commits in groups.
//! - [`LogReader`] reads records in order, single bodies, and the offset of a moment.
//!
//! Nothing else touches the table of changes.

mod append;
mod appender;
mod bodies;
mod catalog;
mod chain;
mod draft;
mod error;
mod file;
mod ids;
mod keyframes;
mod open;
mod reader;
mod runs;
mod types;
mod write;
mod writer;

#[cfg(test)]
mod tests;

pub use crate::redact::Observation;
pub use append::{AppendError, Appended, Batch, Begin, Epoch, Identified, Observed, Phase, Session};
pub use appender::{Appender, WeakAppender};
pub use catalog::{Catalog, CatalogChange, Standing};
pub use error::LogError;
pub use open::{LogState, inspect};
pub use reader::{Cursor, LogReader};
pub use writer::{LogWriter, WriterHealth};
