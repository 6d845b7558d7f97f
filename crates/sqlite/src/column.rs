//! Columns that hold more than SQLite has types for: JSON, and words of our own. What cannot be read is an error that
//! names the column, never taken for nothing.

use std::error::Error;
use std::fmt::Display;
use std::str::FromStr;

use rusqlite::Row;
use rusqlite::types::Type;
use serde::de::DeserializeOwned;
use thiserror::Error as ThisError;

use strandline_model::Stored;

/// Where a word or a number of ours stands, and what to do when this program does not know it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    column: &'static str,
    remedy: &'static str,
}

impl Place {
    /// A column of the view, as `table.column`.
    pub const fn view(column: &'static str) -> Self {
        Place { column, remedy: "rebuild the view from the log with `strandline rebuild`" }
    }

    /// A column of the log, as `table.column`.
    pub const fn log(column: &'static str) -> Self {
        let remedy =
            "it was written by a newer version, or the log is damaged: check it with `strandline doctor`";
        Place { column, remedy }
    }
}

/// A word or a number that this program does not know. It never stands for one that says less.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error("column `{column}` contains `{value}`, an unknown {what}; {remedy}")]
pub struct UnknownValue {
    /// The table and the column.
    pub column: &'static str,
    /// What is written there.
    pub value: String,
    /// What it should be.
    pub what: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

/// The value that nobody knows, where that is why a row cannot be read.
pub fn unknown(error: &rusqlite::Error) -> Option<&UnknownValue> {
    match error {
        rusqlite::Error::FromSqlConversionFailure(_, _, error) => error.downcast_ref(),
        _ => None,
    }
}

/// What a column says by a number, such as a health.
///
/// # Errors
/// When it holds no number, or one that means nothing.
pub fn number<T: Stored>(row: &Row<'_>, column: usize, place: Place) -> rusqlite::Result<T> {
    let number = row.get(column)?;
    T::of_number(number).ok_or_else(|| {
        let unknown = UnknownValue {
            column: place.column,
            value: i64::to_string(&number),
            what: T::WHAT,
            remedy: place.remedy,
        };
        rusqlite::Error::FromSqlConversionFailure(column, Type::Integer, unknown.into())
    })
}

/// The same of a column that may hold nothing.
///
/// # Errors
/// As for [`number`].
pub fn number_or_null<T: Stored>(row: &Row<'_>, column: usize, place: Place) -> rusqlite::Result<Option<T>> {
    row.get::<_, Option<i64>>(column)?.map(|_| number(row, column, place)).transpose()
}

/// How many of something a column tells; the count of nothing is 0, and nothing else is.
///
/// # Errors
/// When it holds no number, or one below 0.
pub fn count(row: &Row<'_>, column: usize, place: Place) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| {
        let unknown = UnknownValue {
            column: place.column,
            value: number.to_string(),
            what: "count",
            remedy: place.remedy,
        };
        rusqlite::Error::FromSqlConversionFailure(column, Type::Integer, unknown.into())
    })
}

use strandline_syntax::diagnostics::of_json;

/// What a column holds as JSON.
///
/// # Errors
/// When it holds no text, or no such JSON.
pub fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|error| unreadable(column, of_json(&error)))
}

/// What a column says in a word, such as a tier.
///
/// # Errors
/// When it holds no text, or no such word.
pub fn word<T: FromStr<Err: Display>>(
    row: &Row<'_>,
    column: usize,
    what: &'static str,
    place: Place,
) -> rusqlite::Result<T> {
    let word = row.get_ref(column)?.as_str_or_null()?.unwrap_or("NULL");
    word.parse().map_err(|_: T::Err| {
        let unknown =
            UnknownValue { column: place.column, value: word.to_owned(), what, remedy: place.remedy };
        unreadable(column, unknown)
    })
}

/// Says of a column that it cannot be read, and why.
pub fn unreadable(column: usize, error: impl Into<Box<dyn Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use strandline_model::{Health, Labels, Tier};

    fn read<T>(sql: &str, read: impl Fn(&Row<'_>) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        rusqlite::Connection::open_in_memory().unwrap().query_row(sql, [], |row| read(row))
    }

    #[test]
    fn json_that_cannot_be_read_names_its_column() {
        let labels = read(r#"SELECT 1, '{"a": "b"}'"#, |row| json::<Labels>(row, 1)).unwrap();
        assert_eq!(labels.get("a").map(String::as_str), Some("b"));
        for sql in ["SELECT 1, '{'", "SELECT 1, '[]'", "SELECT 1, NULL", "SELECT 1, 7"] {
            let refused = read(sql, |row| json::<Labels>(row, 1)).unwrap_err();
            assert!(unknown(&refused).is_none(), "{sql}: {refused}");
        }
    }

    #[test]
    fn an_unknown_word_or_number_names_column_and_value_and_what_to_do() {
        let place = Place::view("environment.tier");
        let tier = |sql| read(sql, |row| word::<Tier>(row, 0, "tier", place));
        assert_eq!(tier("SELECT 'staging'").unwrap(), Tier::Staging);
        assert_eq!(
            unknown(&tier("SELECT 'nowhere'").unwrap_err()).unwrap().to_string(),
            "column `environment.tier` contains `nowhere`, an unknown tier; \
             rebuild the view from the log with `strandline rebuild`"
        );
        let place = Place::log("live.health");
        let health = |sql| read(sql, |row| number_or_null::<Health>(row, 0, place));
        assert_eq!(health("SELECT 4").unwrap(), Some(Health::Degraded));
        assert_eq!(health("SELECT NULL").unwrap(), None);
        for (sql, value) in
            [("SELECT 6", "6"), ("SELECT -1", "-1"), ("SELECT 9223372036854775807", "9223372036854775807")]
        {
            let refused = health(sql).unwrap_err();
            let refused = unknown(&refused).unwrap();
            assert_eq!(
                (refused.column, refused.value.as_str(), refused.what),
                ("live.health", value, "health")
            );
            assert!(refused.remedy.contains("strandline doctor"), "{refused}");
        }
    }
}
