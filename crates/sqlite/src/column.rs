//! Columns read by name. What cannot be read is an error that names the column, never taken for nothing.
//!
//! Types of ours implement rusqlite's `ToSql` and `FromSql`: those of the model under its feature `rusqlite`, those of one
//! table beside its statements, and here the ones that any table may have, [`Json`] and [`Count`]. So a statement takes
//! them as they are, and a row gives them by the name of their column:
//!
//! ```
//! # use strandline_model::{Health, Timestamp};
//! # use strandline_sqlite::column::VIEW;
//! # let connection = rusqlite::Connection::open_in_memory()?;
//! # connection.execute_batch("CREATE TABLE version (health INTEGER, observed_at INTEGER)")?;
//! let sql = "INSERT INTO version (health, observed_at) VALUES (?1, ?2)";
//! connection.execute(sql, (Health::Degraded, Timestamp::from_micros(7)))?;
//! let sql = "SELECT health, observed_at FROM version";
//! let (health, observed_at) = connection.query_row(sql, [], |row| {
//!     Ok((VIEW.get::<Option<Health>>(row, "version.health")?, row.get("observed_at")?))
//! })?;
//! assert_eq!((health, observed_at), (Some(Health::Degraded), Timestamp::from_micros(7)));
//! # Ok::<_, rusqlite::Error>(())
//! ```
//!
//! [`VIEW`] and [`LOG`] read what can be unknown: their errors name the table too, and what to do. For plain texts,
//! numbers and times `row.get("name")` serves. A name is looked up for each row, which costs about what reading the column
//! does: loops over many rows look it up once per statement, with `Statement::column_index` and [`Columns::get_at`].

use std::error::Error;
use std::fmt::Display;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, Type, ValueRef};
use rusqlite::{Row, ToSql};
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error as ThisError;

use strandline_model::columns::UnknownStored;
use strandline_syntax::diagnostics::of_json;

/// The columns of one of our databases.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    remedy: &'static str,
}

/// The columns of the view.
pub const VIEW: Columns = Columns { remedy: "rebuild the view from the log with `strandline rebuild`" };

/// The columns of the log.
pub const LOG: Columns = Columns {
    remedy: "it was written by a newer version, or the log is damaged: check it with `strandline doctor`",
};

impl Columns {
    /// Reads a column, given as `table.column`. The row has it under the name after the dot.
    ///
    /// # Errors
    /// When the row has no such column, or its value is not of this type: [`UnknownValue`] where it has no meaning.
    pub fn get<T: FromSql>(self, row: &Row<'_>, column: &'static str) -> rusqlite::Result<T> {
        let name = column.rsplit_once('.').map_or(column, |(_, name)| name);
        self.get_at(row, row.as_ref().column_index(name)?, column)
    }

    /// The same of a column whose index is known, as loops over many rows have it.
    ///
    /// # Errors
    /// As for [`Columns::get`].
    pub fn get_at<T: FromSql>(
        self,
        row: &Row<'_>,
        index: usize,
        column: &'static str,
    ) -> rusqlite::Result<T> {
        row.get(index).map_err(|error| self.with_column(error, column))
    }

    /// The error for a value that was worked out from a column, and cannot be.
    pub fn impossible(
        self,
        column: &'static str,
        what: &'static str,
        value: impl Display,
    ) -> rusqlite::Error {
        let error = UnknownValue { column, value: value.to_string(), what, remedy: self.remedy };
        rusqlite::Error::FromSqlConversionFailure(0, Type::Integer, error.into())
    }

    /// Adds to an error what only the reader knows: the column, and what to do.
    fn with_column(self, error: rusqlite::Error, column: &'static str) -> rusqlite::Error {
        let rusqlite::Error::FromSqlConversionFailure(index, r#type, error) = error else { return error };
        let error = match error.downcast::<UnknownStored>() {
            Ok(unknown) => {
                let UnknownStored { value, what } = *unknown;
                UnknownValue { column, value, what, remedy: self.remedy }.into()
            }
            Err(source) => UnreadableColumn { column, source }.into(),
        };
        rusqlite::Error::FromSqlConversionFailure(index, r#type, error)
    }
}

/// A column that does not contain what it should.
#[derive(Debug, ThisError)]
#[error("column `{column}` cannot be read: {source}")]
struct UnreadableColumn {
    column: &'static str,
    source: Box<dyn Error + Send + Sync>,
}

/// A value that a column keeps as JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let read = serde_json::from_str(value.as_str()?);
        read.map(Json).map_err(|error| FromSqlError::Other(of_json(&error).into()))
    }
}

impl<T: Serialize> ToSql for Json<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let json = serde_json::to_value(&self.0).map_err(|error| of_json(&error));
        let json = json.map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        Ok(json.to_string().into())
    }
}

/// How many there are of something: never below 0. One that is too large for a column is kept as the largest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count(pub u64);

impl FromSql for Count {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = value.as_i64()?;
        u64::try_from(number).map(Count).map_err(|_| UnknownStored::error("count", number))
    }
}

impl ToSql for Count {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(i64::try_from(self.0).unwrap_or(i64::MAX).into())
    }
}

/// A uid, as columns of the view keep it: that of a UUID, as Kubernetes writes it, in sixteen bytes, and any other text as it
/// is. UUIDs stand after the other texts, in the order of theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PackedUid<T>(pub T);

/// Where a UUID has its dashes.
const DASHES: [usize; 4] = [8, 13, 18, 23];

impl<T: AsRef<str>> ToSql for PackedUid<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let text = self.0.as_ref();
        Ok(match packed(text) {
            Some(bytes) => bytes.to_vec().into(),
            None => text.into(),
        })
    }
}

impl FromSql for PackedUid<String> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let ValueRef::Blob(bytes) = value else { return value.as_str().map(str::to_owned).map(PackedUid) };
        let bytes: [u8; 16] = bytes
            .try_into()
            .map_err(|_| FromSqlError::InvalidBlobSize { expected_size: 16, blob_size: bytes.len() })?;
        let mut text = String::with_capacity(36);
        for byte in bytes {
            if DASHES.contains(&text.len()) {
                text.push('-');
            }
            let digits = [byte >> 4, byte & 0xf].map(|digit| char::from_digit(digit.into(), 16));
            text.extend(digits.into_iter().flatten());
        }
        Ok(PackedUid(text))
    }
}

/// The bytes of a UUID; none of any other text, which would come back as another.
fn packed(text: &str) -> Option<[u8; 16]> {
    let text = text.as_bytes();
    if text.len() != 36 || DASHES.iter().any(|dash| text[*dash] != b'-') {
        return None;
    }
    let mut digits =
        text.iter().enumerate().filter(|(place, _)| !DASHES.contains(place)).map(|(_, digit)| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        });
    let mut bytes = [0; 16];
    for byte in &mut bytes {
        *byte = digits.next()?? << 4 | digits.next()??;
    }
    Some(bytes)
}

/// A stored value that this program does not know. It is never read as another one.
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

/// The unknown value, where that is why a row cannot be read.
pub fn unknown(error: &rusqlite::Error) -> Option<&UnknownValue> {
    match error {
        rusqlite::Error::FromSqlConversionFailure(_, _, error) => error.downcast_ref(),
        _ => None,
    }
}

/// An error of a column whose text is valid and whose meaning is not.
pub fn unreadable(column: usize, error: impl Into<Box<dyn Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, error.into())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use strandline_model::{
        AgentId, DeploymentId, EnvironmentId, Health, Labels, Offset, ResourceId, Source, Tier, Timestamp,
        Uid,
    };

    fn read<T>(sql: &str, read: impl Fn(&Row<'_>) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        rusqlite::Connection::open_in_memory().unwrap().query_row(sql, [], |row| read(row))
    }

    #[test]
    fn a_uid_comes_back_as_it_was_and_a_uuid_takes_sixteen_bytes() {
        let kept = |uid: &str| {
            let connection = rusqlite::Connection::open_in_memory().unwrap();
            let sql = "SELECT ?1 AS uid, length(CAST(?1 AS BLOB)) AS size";
            connection
                .query_row(sql, [PackedUid(uid)], |row| {
                    Ok((row.get::<_, PackedUid<String>>("uid")?.0, row.get::<_, i64>("size")?))
                })
                .unwrap()
        };
        let uuid = "01234567-89ab-cdef-0123-456789abcdef";
        assert_eq!(kept(uuid), (uuid.to_owned(), 16));
        for other in [
            "",
            "uid-1",
            "01234567-89AB-cdef-0123-456789abcdef",
            "01234567-89ab-cdef-0123-456789abcdeg",
            "0123456789ab-cdef-0123-456789abcdef0",
            "01234567-89ab-cdef-0123-456789abcde",
            "01234567-89ab-cdef-0123-456789abc-ef",
            "é1234567-89ab-cdef-0123-456789abcde",
        ] {
            assert_eq!(kept(other), (other.to_owned(), other.len() as i64));
        }
    }

    #[test]
    fn json_that_cannot_be_read_names_its_column() {
        let labels = |sql| read(sql, |row| VIEW.get::<Json<Labels>>(row, "environment.labels"));
        let Json(read) = labels(r#"SELECT 1, '{"a": "b"}' AS labels"#).unwrap();
        assert_eq!(read.get("a").map(String::as_str), Some("b"));
        for sql in ["SELECT '{' AS labels", "SELECT '[]' AS labels"] {
            let refused = labels(sql).unwrap_err();
            assert!(
                refused.to_string().contains("column `environment.labels` cannot be read: "),
                "{refused}"
            );
            assert!(unknown(&refused).is_none(), "{sql}: {refused}");
        }
        for sql in ["SELECT NULL AS labels", "SELECT 7 AS labels", "SELECT '{}' AS other"] {
            let refused = labels(sql).unwrap_err();
            assert!(
                refused.to_string().contains("labels") && unknown(&refused).is_none(),
                "{sql}: {refused}"
            );
        }
    }

    #[test]
    fn an_unknown_word_or_number_names_column_and_value_and_what_to_do() {
        let tier = |sql| read(sql, |row| VIEW.get::<Tier>(row, "environment.tier"));
        assert_eq!(tier("SELECT 'staging' AS tier").unwrap(), Tier::Staging);
        assert_eq!(
            unknown(&tier("SELECT 'nowhere' AS tier").unwrap_err()).unwrap().to_string(),
            "column `environment.tier` contains `nowhere`, an unknown tier; \
             rebuild the view from the log with `strandline rebuild`"
        );
        assert_eq!(unknown(&tier("SELECT NULL AS tier").unwrap_err()).unwrap().value, "NULL");
        let health = |sql| read(sql, |row| LOG.get::<Option<Health>>(row, "live.health"));
        assert_eq!(health("SELECT 4 AS health").unwrap(), Some(Health::Degraded));
        assert_eq!(health("SELECT NULL AS health").unwrap(), None);
        let far = "9223372036854775807";
        for (sql, value) in [
            ("SELECT 6 AS health", "6"),
            ("SELECT -1 AS health", "-1"),
            ("SELECT 9223372036854775807 AS health", far),
        ] {
            let refused = health(sql).unwrap_err();
            let refused = unknown(&refused).unwrap();
            assert_eq!(
                (refused.column, refused.value.as_str(), refused.what),
                ("live.health", value, "health")
            );
            assert!(refused.remedy.contains("strandline doctor"), "{refused}");
        }
        let count = |sql| read(sql, |row| VIEW.get_at::<Count>(row, 0, "member_count.total"));
        assert_eq!(count("SELECT 7").unwrap(), Count(7));
        let refused = count("SELECT -7").unwrap_err();
        assert_eq!(
            unknown(&refused).map(|unknown| (unknown.column, unknown.what)),
            Some(("member_count.total", "count"))
        );
        let offset = read("SELECT -1 AS at", |row| VIEW.get::<Offset>(row, "checkpoint.at")).unwrap_err();
        assert_eq!(unknown(&offset).unwrap().what, "offset");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        let labels = Labels::from([("a".to_owned(), "b".to_owned())]);
        let agent: AgentId = "shop/web:agent".parse().unwrap();
        let row = (
            (Health::Missing, None::<Health>, Source::Api, Tier::Production),
            (Timestamp::from_micros(-7), Offset::new(7), ResourceId(3), DeploymentId(u64::MAX)),
            (Uid::new("u"), EnvironmentId::new("e"), Count(u64::MAX), Json(labels)),
        );
        let ((health, none, source, tier), (time, offset, id, deployment), (uid, environment, count, labels)) =
            &row;
        let sql =
            "SELECT ?1 AS health, ?2 AS none, ?3 AS source, ?4 AS tier, ?5 AS time, ?6 AS position, ?7 AS id,
            ?8 AS deployment, ?9 AS uid, ?10 AS environment, ?11 AS count, ?12 AS labels, ?13 AS agent";
        let values = rusqlite::params![
            health,
            none,
            source,
            tier,
            time,
            offset,
            id,
            deployment,
            uid,
            environment,
            count,
            labels,
            agent
        ];
        let read = connection.query_row(sql, values, |row| {
            let count: i64 = row.get("count")?;
            assert_eq!((count, row.get::<_, AgentId>("agent")?), (i64::MAX, agent.clone()));
            Ok((
                (row.get("health")?, row.get("none")?, row.get("source")?, row.get("tier")?),
                (row.get("time")?, row.get("position")?, row.get("id")?, row.get("deployment")?),
                (row.get("uid")?, row.get("environment")?, Count(u64::MAX), row.get("labels")?),
            ))
        });
        assert_eq!(read.unwrap(), row);
    }
}
