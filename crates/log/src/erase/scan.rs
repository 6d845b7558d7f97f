//! Finds values in the log.

use std::collections::{BTreeMap, BTreeSet};

use super::names;
use super::step::EraseStep;
use crate::entry::Entry;
use crate::error::LogError;
use crate::reader::LogReader;
use crate::row;
use strandline_model::{Offset, Timestamp, Uid};
use strandline_redact::Values;

type Result<T> = std::result::Result<T, LogError>;

/// Changes read at a time.
const BATCH: usize = 500;

/// A resource, a watch or a fact of the catalog of which changes hold a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its address, without the values.
    pub name: String,
    /// Its identity; empty where it is no resource.
    pub uid: String,
    /// How many of its changes hold one.
    pub changes: u64,
    /// In which fields.
    pub fields: BTreeSet<String>,
}

/// Where values were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// How many changes hold one.
    pub changes: u64,
    /// Of what they are, in the order in which they were first recorded.
    pub holders: Vec<Holder>,
    /// The first of them, and when it was recorded.
    pub first: Option<(Offset, Timestamp)>,
    /// The last one.
    pub last: Option<(Offset, Timestamp)>,
    /// Values that cannot be erased, since the record depends on them.
    pub kept_in: Vec<String>,
}

/// What is found, and at which offsets.
pub(super) struct Scanned {
    pub(super) found: Found,
    pub(super) held_by: BTreeSet<Offset>,
}

/// Looks at every body and every name.
pub(super) fn scan(
    reader: &mut LogReader,
    values: &Values,
    uid: Option<&Uid>,
    watch: &mut dyn FnMut(EraseStep),
) -> Result<Scanned> {
    let mut scan = Scanned { found: Found::default(), held_by: BTreeSet::new() };
    let mut places: BTreeMap<i64, usize> = BTreeMap::new();
    let (head, mut at) = (reader.head()?, Offset::ZERO);
    loop {
        let rows = row::after(reader.connection(), at, BATCH)?;
        let Some(last) = rows.last() else { break };
        at = last.offset;
        for row in rows {
            if uid.is_some_and(|uid| uid.as_str() != row.uid) {
                continue;
            }
            let text = match reader.text(&row) {
                Ok(text) => text,
                // Retention has pruned it.
                Err(LogError::Compacted { .. }) => continue,
                Err(error) => return Err(error),
            };
            let Some(erased) = values.erase(&text) else { continue };
            let (subject, offset, uid) = (row.subject, row.offset, row.uid.clone());
            let name = values.hide(&row.key.to_string());
            let observed_at = row.observed_at;
            let left = Entry { body: erased.text, ..reader.entry(row)? };
            if let Err(why) = left.check() {
                scan.found.kept_in.push(format!("the change at offset {offset}, {name}: without it, {why}"));
                continue;
            }
            let holders = &mut scan.found.holders;
            let place = *places.entry(subject).or_insert_with(|| {
                holders.push(Holder { name, uid, changes: 0, fields: BTreeSet::new() });
                holders.len() - 1
            });
            if let Some(holder) = holders.get_mut(place) {
                holder.changes += 1;
                holder.fields.extend(erased.fields);
            }
            scan.found.changes += 1;
            scan.found.first.get_or_insert((offset, observed_at));
            scan.found.last = Some((offset, observed_at));
            scan.held_by.insert(offset);
        }
        watch(EraseStep::Looked(at.get(), head.get()));
    }
    scan.found.kept_in.extend(names::holding(reader.connection(), values)?);
    Ok(scan)
}
