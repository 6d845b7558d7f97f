//! Labels as the view keeps them: nearly all objects carry labels of the same few names, so that names have numbers.
//!
//! A set of labels is a blob: for each its name's number, or zero and the name, and its value; texts come after their
//! lengths.

use std::collections::BTreeMap;

use rusqlite::Connection;

use super::numbered::{Numbered, NumberedTable};
use strandline_sqlite::column::VIEW;

/// Names of labels.
const NAMES: NumberedTable = NumberedTable {
    all: "SELECT text FROM label_name ORDER BY id",
    insert: "INSERT INTO label_name (id, text) VALUES (?1, ?2)",
};

/// The numbers of names of labels.
#[derive(Debug)]
pub(super) struct LabelNames(Numbered);

impl Default for LabelNames {
    fn default() -> Self {
        LabelNames(Numbered::new(NAMES))
    }
}

impl LabelNames {
    /// A set of labels as its column has it.
    pub(super) fn encode(
        &self,
        connection: &Connection,
        labels: &BTreeMap<String, String>,
    ) -> rusqlite::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(16 * labels.len());
        for (name, value) in labels {
            let number = self.0.number(connection, name)?;
            push_number(&mut bytes, number.unwrap_or_default());
            if number.is_none() {
                push_text(&mut bytes, name);
            }
            push_text(&mut bytes, value);
        }
        Ok(bytes)
    }

    /// The labels of such a column.
    pub(super) fn decode(
        &self,
        connection: &Connection,
        bytes: &[u8],
    ) -> rusqlite::Result<BTreeMap<String, String>> {
        self.0.read(connection, |names| read(names, bytes))?.ok_or_else(|| {
            let shown: String = bytes.iter().take(64).map(|byte| format!("{byte:02x}")).collect();
            VIEW.impossible("resource.labels", "set of labels", shown)
        })
    }
}

fn read(names: &[String], mut bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    while !bytes.is_empty() {
        let name = match take_number(&mut bytes)? {
            0 => take_text(&mut bytes)?,
            number => names.get(number - 1)?,
        };
        labels.insert(name.to_owned(), take_text(&mut bytes)?.to_owned());
    }
    Some(labels)
}

/// Seven bits in a byte, the lowest first; all but the last byte have the highest bit set.
fn push_number(bytes: &mut Vec<u8>, mut number: usize) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<usize> {
    let mut number = 0;
    for shift in (0..usize::BITS).step_by(7) {
        let byte = bytes.split_off_first()?;
        number |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    push_number(bytes, text.len());
    bytes.extend_from_slice(text.as_bytes());
}

fn take_text<'b>(bytes: &mut &'b [u8]) -> Option<&'b str> {
    let length = take_number(bytes)?;
    std::str::from_utf8(bytes.split_off(..length)?).ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use proptest::prelude::*;

    use super::super::numbered::NUMBERS_MAX;
    use super::*;

    fn view() -> Connection {
        let view = Connection::open_in_memory().unwrap();
        view.execute_batch("CREATE TABLE label_name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)")
            .unwrap();
        view
    }

    #[test]
    fn names_beyond_the_most_are_kept_as_they_are() {
        let (view, names) = (view(), LabelNames::default());
        let labels: BTreeMap<String, String> =
            (0..NUMBERS_MAX + 3).map(|n| (format!("name-{n}"), format!("value-{n}"))).collect();
        let bytes = names.encode(&view, &labels).unwrap();
        let count: i64 = view.query_row("SELECT count(*) FROM label_name", [], |row| row.get(0)).unwrap();
        assert_eq!(count, NUMBERS_MAX as i64);
        assert_eq!(LabelNames::default().decode(&view, &bytes).unwrap(), labels, "after a restart too");
    }

    #[test]
    fn what_is_no_set_of_labels_is_told() {
        let (view, names) = (view(), LabelNames::default());
        for bytes in [&[1, 1, b'a'][..], &[0, 9, b'a'], &[0, 1, 0xff, 0], &[0xff; 12], &[0]] {
            let error = names.decode(&view, bytes).unwrap_err().to_string();
            assert!(error.contains("column `resource.labels` contains"), "{error}");
        }
    }

    proptest! {
        #![proptest_config(strandline_testkit::cases(64))]

        #[test]
        fn any_labels_come_back(sets in prop::collection::vec(prop::collection::btree_map(".{0,200}", ".{0,200}", 0..6), 1..4)) {
            let (view, names) = (view(), LabelNames::default());
            for labels in sets {
                let bytes = names.encode(&view, &labels).unwrap();
                prop_assert_eq!(names.decode(&view, &bytes).unwrap(), labels);
            }
        }
    }
}
