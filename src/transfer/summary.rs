//! What an import has done.

use std::collections::BTreeMap;

use serde::Serialize;

use strandline_model::{Offset, Timestamp};

/// What was not imported, by reason, with the place of the first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// How many.
    pub count: u64,
    /// The position of the first of them.
    pub first: String,
}

/// What an import has done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// Lines or objects that were read.
    pub read: u64,
    /// Changes that were written.
    pub written: u64,
    /// Objects that were as they were recorded before.
    pub unchanged: u64,
    /// What was skipped, by a stable word for the reason.
    pub skipped: BTreeMap<&'static str, Skipped>,
    /// The newest offset of the log.
    pub head: Offset,
    /// The earliest imported time.
    pub first: Option<Timestamp>,
    /// The last one.
    pub last: Option<Timestamp>,
}

impl Imported {
    pub(super) fn skip(&mut self, reason: &'static str, place: impl FnOnce() -> String) {
        let skipped = self.skipped.entry(reason).or_default();
        if skipped.count == 0 {
            skipped.first = place();
        }
        skipped.count += 1;
    }

    pub(super) fn saw(&mut self, time: Timestamp) {
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
    }
}
