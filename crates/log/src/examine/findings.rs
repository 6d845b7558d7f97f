//! What was found damaged, put together into ranges.

use std::fmt;

use crate::row::RawRow;
use strandline_model::{Offset, ResourceKey, Timestamp};

/// Resources named in one finding.
const TOUCHED: usize = 20;

/// In which way something is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Harm {
    /// Changes are not there.
    Missing,
    /// Changes are there and cannot be read.
    Unreadable,
    /// The content of a change is not what was recorded.
    Link,
    /// A body is not the one that was recorded.
    Body,
    /// The end of the log, which was acknowledged, is not there.
    End,
    /// Something beside the changes themselves.
    Beside,
}

/// Something that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The table, or the file, that is damaged.
    pub place: String,
    /// In which way.
    pub harm: Harm,
    /// The offsets concerned, first and last; none for what has no offset.
    pub offsets: Option<(Offset, Offset)>,
    /// When the last sound change before them was observed, and the first after them.
    pub time: (Option<Timestamp>, Option<Timestamp>),
    /// The resources whose changes they are, as far as that can be read; at most 20.
    pub touched: Vec<ResourceKey>,
    /// How many more there are.
    pub touched_more: usize,
    /// What was found, in a sentence.
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)?;
        match self.offsets {
            Some((first, last)) if first == last => write!(f, ", offset {first}")?,
            Some((first, last)) => write!(f, ", offsets {first} to {last}")?,
            None => {}
        }
        match self.time {
            (Some(after), Some(before)) => write!(f, ", between {after} and {before}")?,
            (Some(after), None) => write!(f, ", after {after}")?,
            (None, Some(before)) => write!(f, ", before {before}")?,
            (None, None) => {}
        }
        write!(f, ": {}", self.what)?;
        for (n, key) in self.touched.iter().enumerate() {
            write!(f, "{} {key}", if n == 0 { "; affected:" } else { "," })?;
        }
        match self.touched_more {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// Findings as they come, in the order of offsets.
#[derive(Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    /// When the last sound change was observed.
    sound: Option<Timestamp>,
    /// From where on no sound change has followed yet.
    open: usize,
}

impl Findings {
    /// A sound change, which ends what was damaged before it.
    pub(super) fn sound(&mut self, observed_at: Timestamp) {
        for finding in &mut self.list[self.open..] {
            if finding.offsets.is_some() {
                finding.time.1 = Some(observed_at);
            }
        }
        self.open = self.list.len();
        self.sound = Some(observed_at);
    }

    /// A change of which nothing can be read.
    pub(super) fn change(&mut self, offset: Offset, harm: Harm, what: String) {
        let open =
            self.list[self.open..].iter_mut().rfind(|found| found.harm == harm && follows(found, offset));
        if let Some(Finding { offsets: Some((_, end)), .. }) = open {
            *end = offset;
            return;
        }
        self.put("change", harm, Some((offset, offset)), what);
    }

    /// A change that can be read, though not as it was recorded.
    pub(super) fn of_row(&mut self, row: &RawRow, harm: Harm, what: &str) {
        let known = self.list[self.open..]
            .iter()
            .rposition(|found| found.harm == harm && found.what == what && follows(found, row.offset));
        let at = match known {
            Some(at) => self.open + at,
            None => {
                self.put("change", harm, Some((row.offset, row.offset)), what.to_owned());
                self.list.len() - 1
            }
        };
        let finding = &mut self.list[at];
        if let Some((_, end)) = &mut finding.offsets {
            *end = row.offset;
        }
        if !finding.touched.contains(&row.key) {
            match finding.touched.len() {
                TOUCHED => finding.touched_more += 1,
                _ => finding.touched.push(row.key.clone()),
            }
        }
    }

    /// A table of which a part is damaged.
    pub(super) fn table(&mut self, table: &str, what: impl fmt::Display) {
        let finding = self.finding(table, Harm::Beside, None, what.to_string());
        self.list.push(Finding { time: (None, None), ..finding });
    }

    /// The head beside the log.
    pub(super) fn head_file(&mut self, what: &str) {
        self.table("log.head", what);
    }

    /// Changes that were acknowledged and come after all there is.
    pub(super) fn lost_end(&mut self, first: Offset, last: Offset) {
        let what = "these acknowledged changes are missing at the end of the log".to_owned();
        self.put("change", Harm::End, Some((first, last)), what);
    }

    pub(super) fn into_list(self) -> Vec<Finding> {
        self.list
    }

    fn put(&mut self, place: &str, harm: Harm, offsets: Option<(Offset, Offset)>, what: String) {
        let finding = self.finding(place, harm, offsets, what);
        self.list.push(finding);
    }

    fn finding(&self, place: &str, harm: Harm, offsets: Option<(Offset, Offset)>, what: String) -> Finding {
        Finding {
            place: place.to_owned(),
            harm,
            offsets,
            time: (self.sound, None),
            touched: Vec::new(),
            touched_more: 0,
            what,
        }
    }
}

/// Whether a change lies at the end of a range or right behind it.
fn follows(finding: &Finding, offset: Offset) -> bool {
    finding.offsets.is_some_and(|(_, end)| end == offset || end.next() == offset)
}
