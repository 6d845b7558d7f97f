//! Rows of the catalog that hold over an interval.

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params_from_iter};

use super::super::OPEN;
use super::super::context::Apply;

/// A table of which each key has one row at a time.
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) key: &'static str,
    pub(super) columns: &'static [&'static str],
}

/// Puts a row, or none, in the place of the one that holds; tells whether that differs.
pub(super) fn exchange(
    at: &Apply<'_>,
    table: &Table,
    key: Value,
    wanted: Option<Vec<Value>>,
) -> rusqlite::Result<bool> {
    let Table { name, key: key_column, columns } = table;
    let list = columns.join(", ");
    let select = format!("SELECT {list} FROM {name} WHERE {key_column} = ?1 AND to_offset = {OPEN}");
    let read = |row: &rusqlite::Row<'_>| (0..columns.len()).map(|column| row.get(column)).collect();
    let held: Option<Vec<Value>> =
        at.connection.prepare_cached(&select)?.query_row([&key], read).optional()?;
    if held == wanted {
        return Ok(false);
    }
    if held.is_some() {
        let close =
            format!("UPDATE {name} SET to_offset = ?2 WHERE {key_column} = ?1 AND to_offset = {OPEN}");
        at.connection.prepare_cached(&close)?.execute((&key, at.offset.as_i64()))?;
    }
    if let Some(wanted) = wanted {
        let places = vec!["?"; columns.len()].join(", ");
        // What was settled before within the same change was never to be seen.
        let insert = format!(
            "INSERT OR REPLACE INTO {name} ({key_column}, from_offset, to_offset, {list}) VALUES (?, ?, {OPEN}, {places})"
        );
        let row = [key, Value::Integer(at.offset.as_i64())].into_iter().chain(wanted);
        at.connection.prepare_cached(&insert)?.execute(params_from_iter(row))?;
    }
    let moved = "INSERT OR REPLACE INTO catalog_state (id, since) VALUES (1, ?1)";
    at.connection.prepare_cached(moved)?.execute([at.offset.as_i64()])?;
    Ok(true)
}

/// A value's JSON, as columns keep it.
pub(super) fn json(value: &impl serde::Serialize) -> Value {
    Value::Text(serde_json::json!(value).to_string())
}

/// A text as a column keeps it.
pub(super) fn text(value: impl Into<String>) -> Value {
    Value::Text(value.into())
}

/// A number as a column keeps it; NULL for none, and for one that is too large to be true.
pub(super) fn number(value: Option<u64>) -> Value {
    value.and_then(|value| i64::try_from(value).ok()).map_or(Value::Null, Value::Integer)
}
