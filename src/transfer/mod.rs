//! The log on its way out and history on its way in.
//!
//! An export is the log as lines of JSON, packed with zstd: a header, a line for each change, and an end with their
//! number and digest. It is imported into an empty log, or behind one whose changes are all older. So is history from
//! before anybody recorded: objects as `kubectl get` prints them, and audit logs of Kubernetes; they pass `redact` and the
//! log's own rules like changes from a cluster. Whatever comes in becomes durable in one transaction: all of it or nothing.

mod audit;
mod error;
mod export;
mod format;
mod import;
mod lines;
mod list;
mod named_time;
mod objects;
mod summary;

#[cfg(test)]
mod tests;

pub use audit::import_audit;
pub use error::TransferError;
pub use export::{Exported, Selection, export, export_file};
pub use import::import_log;
pub use lines::{Content, content_of};
pub use named_time::time_in_name;
pub use objects::{Dump, import_objects};
pub use summary::{Imported, Skipped};
