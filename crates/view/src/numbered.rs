//! Texts that stand in many rows, by numbers.
//!
//! Whoever makes up texts takes no more than so many numbers: texts beyond stand in their rows as they are. So none has to be
//! pruned.

use std::cell::RefCell;
use std::collections::HashMap;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};

/// The most texts of a table that have a number.
pub(super) const NUMBERS_MAX: usize = 4_096;

/// The longest text that has one, in bytes.
const TEXT_MAX: usize = 256;

/// A table of such texts, with the columns `id` and `text`.
#[derive(Clone, Copy, Debug)]
pub(super) struct NumberedTable {
    /// Reads all texts, the one with number one first.
    pub(super) all: &'static str,
    /// Adds the text `?2` with the number `?1`.
    pub(super) insert: &'static str,
}

/// The texts of a table, read when they are asked for first.
#[derive(Debug)]
pub(super) struct Numbered {
    table: NumberedTable,
    known: RefCell<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    numbers: HashMap<String, usize>,
    /// The text with number one first.
    texts: Vec<String>,
}

/// A text, as columns of the type `ANY` have it: by its number, or as it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Text<'t> {
    Numbered(i64),
    Plain(&'t str),
}

impl ToSql for Text<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Text::Numbered(number) => ValueRef::Integer(*number),
            Text::Plain(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

impl Numbered {
    pub(super) const fn new(table: NumberedTable) -> Self {
        Numbered { table, known: RefCell::new(None) }
    }

    /// A text as its column is to have it; the empty one has no number.
    pub(super) fn text<'t>(&self, connection: &Connection, text: &'t str) -> rusqlite::Result<Text<'t>> {
        let number = if text.is_empty() { None } else { self.number(connection, text)? };
        Ok(number.map_or(Text::Plain(text), |number| Text::Numbered(number as i64)))
    }

    /// The number of a text, which may be new; none where it is too long, or all are taken.
    pub(super) fn number(&self, connection: &Connection, text: &str) -> rusqlite::Result<Option<usize>> {
        self.with(connection, |known| {
            if let Some(number) = known.numbers.get(text) {
                return Ok(Some(*number));
            }
            if known.texts.len() >= NUMBERS_MAX || text.len() > TEXT_MAX {
                return Ok(None);
            }
            let number = known.texts.len() + 1;
            connection.prepare_cached(self.table.insert)?.execute((number as i64, text))?;
            known.texts.push(text.to_owned());
            known.numbers.insert(text.to_owned(), number);
            Ok(Some(number))
        })
    }

    /// Passes the texts, the one with number one first.
    pub(super) fn read<T>(
        &self,
        connection: &Connection,
        of: impl FnOnce(&[String]) -> T,
    ) -> rusqlite::Result<T> {
        self.with(connection, |known| Ok(of(&known.texts)))
    }

    fn with<T>(
        &self,
        connection: &Connection,
        of: impl FnOnce(&mut Known) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let mut known = self.known.borrow_mut();
        let texts = match known.take() {
            Some(known) => known,
            None => self.load(connection)?,
        };
        of(known.insert(texts))
    }

    fn load(&self, connection: &Connection) -> rusqlite::Result<Known> {
        let mut statement = connection.prepare_cached(self.table.all)?;
        let texts =
            statement.query_map([], |row| row.get("text"))?.collect::<rusqlite::Result<Vec<String>>>()?;
        let numbers = texts.iter().cloned().zip(1..).collect();
        Ok(Known { numbers, texts })
    }
}

/// Reasons and names of rules.
pub(super) const WORDS: NumberedTable = NumberedTable {
    all: "SELECT text FROM word ORDER BY id",
    insert: "INSERT INTO word (id, text) VALUES (?1, ?2)",
};

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use rusqlite::types::Value;

    use super::*;

    #[test]
    fn a_text_keeps_its_number_and_one_that_is_empty_or_long_has_none() {
        let view = Connection::open_in_memory().unwrap();
        view.execute_batch("CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)").unwrap();
        let kept = |words: &Numbered, text: &str| -> Value {
            let text = words.text(&view, text).unwrap();
            view.query_row("SELECT ?1", [text], |row| row.get(0)).unwrap()
        };
        let (words, long) = (Numbered::new(WORDS), "x".repeat(TEXT_MAX + 1));
        for (text, number) in [("Ready", 1), ("7", 2), ("Ready", 1)] {
            assert_eq!(kept(&words, text), Value::Integer(number), "{text}");
            assert_eq!(kept(&Numbered::new(WORDS), text), Value::Integer(number), "{text} after a restart");
        }
        for text in ["", long.as_str()] {
            assert_eq!(kept(&words, text), Value::Text(text.to_owned()));
        }
    }
}
