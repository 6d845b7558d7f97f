//! Columns that hold more than SQLite has types for: JSON, and words of our own. What cannot be read is an error that
//! names the column, never taken for nothing.

use std::error::Error;
use std::fmt::Display;
use std::str::FromStr;

use rusqlite::Row;
use rusqlite::types::Type;
use serde::de::DeserializeOwned;

/// What a column holds as JSON.
///
/// # Errors
/// When it holds no text, or no such JSON.
pub fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    serde_json::from_str(row.get_ref(column)?.as_str()?).map_err(|error| unreadable(column, error))
}

/// What a column says in a word, such as a tier.
///
/// # Errors
/// When it holds no text, or no such word.
pub fn word<T: FromStr<Err: Display>>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    row.get_ref(column)?.as_str()?.parse().map_err(|error: T::Err| unreadable(column, error.to_string()))
}

/// Says of a column that it cannot be read, and why.
pub fn unreadable(column: usize, error: impl Into<Box<dyn Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::model::{Labels, Tier};

    fn read<T>(sql: &str, read: impl Fn(&Row<'_>) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        rusqlite::Connection::open_in_memory().unwrap().query_row(sql, [], |row| read(row))
    }

    #[test]
    fn what_cannot_be_read_names_its_column() {
        let labels = read(r#"SELECT 1, '{"a": "b"}'"#, |row| json::<Labels>(row, 1)).unwrap();
        assert_eq!(labels.get("a").map(String::as_str), Some("b"));
        assert_eq!(read("SELECT 'staging'", |row| word::<Tier>(row, 0)).unwrap(), Tier::Staging);
        for sql in ["SELECT 1, '{'", "SELECT 1, '[]'", "SELECT 1, NULL", "SELECT 1, 7"] {
            assert!(read(sql, |row| json::<Labels>(row, 1)).is_err(), "{sql}");
        }
        let refused = read("SELECT 1, 'nowhere'", |row| word::<Tier>(row, 1)).unwrap_err();
        let named = matches!(refused, rusqlite::Error::FromSqlConversionFailure(1, ..));
        assert!(named && refused.to_string().contains("nowhere"), "{refused}");
    }
}
