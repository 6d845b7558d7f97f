//! Columns of the types that only the log keeps.

use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, ValueRef};
use rusqlite::{Row, ToSql};

use super::append::Epoch;
use strandline_model::Kind;

impl ToSql for Epoch {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.into())
    }
}

impl FromSql for Epoch {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_i64().map(Epoch)
    }
}

/// The kind in the columns `group` and `kind`.
pub(super) fn kind(row: &Row<'_>) -> rusqlite::Result<Kind> {
    Ok(Kind::new(row.get::<_, String>("group")?, row.get::<_, String>("kind")?))
}
