//! How columns of SQLite keep the types of this crate: numbers, times and positions as integers, the rest as text.
//!
//! Built with the feature `rusqlite` alone, which whoever only wants the types leaves out. A stored value that has no
//! meaning is an error, never the next best value.

use std::fmt::Display;
use std::str::FromStr;

pub use rusqlite;
use rusqlite::ToSql;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSqlOutput, ValueRef};
use thiserror::Error;

use crate::deployment::{DeploymentId, DeploymentStatus};
use crate::environment::{EnvironmentState, Tier};
use crate::happening::Hour;
use crate::ids::{AgentId, EnvironmentId, Offset, ResourceId, ResourceVersion, Uid};
use crate::source::Source;
use crate::stored::Stored;
use crate::time::Timestamp;

/// A stored value that this program does not know.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{value}` is an unknown {what}")]
pub struct UnknownStored {
    /// What the column contains.
    pub value: String,
    /// What it should be.
    pub what: &'static str,
}

impl UnknownStored {
    /// The error by which reading a column fails.
    pub fn error(what: &'static str, value: impl Display) -> FromSqlError {
        FromSqlError::other(UnknownStored { value: value.to_string(), what })
    }
}

/// Reads a value that a column keeps as a number.
///
/// # Errors
/// When the column holds no number, or one without a meaning.
pub fn read_number<T: Stored>(value: ValueRef<'_>) -> FromSqlResult<T> {
    let number = value.as_i64()?;
    T::of_number(number).ok_or_else(|| UnknownStored::error(T::WHAT, number))
}

/// Reads a value that a column keeps as a word.
///
/// # Errors
/// When the column holds no text, or a word without a meaning.
pub fn read_word<T: FromStr>(what: &'static str, value: ValueRef<'_>) -> FromSqlResult<T> {
    let word = value.as_str_or_null()?.unwrap_or("NULL");
    word.parse().map_err(|_| UnknownStored::error(what, word))
}

/// Lets columns keep a type by its numbers, [`Stored`].
#[macro_export]
macro_rules! number_column {
    ($type:ident) => {
        impl $crate::columns::rusqlite::ToSql for $type {
            fn to_sql(
                &self,
            ) -> $crate::columns::rusqlite::Result<$crate::columns::rusqlite::types::ToSqlOutput<'_>> {
                Ok($crate::Stored::number(*self).into())
            }
        }

        impl $crate::columns::rusqlite::types::FromSql for $type {
            fn column_result(
                value: $crate::columns::rusqlite::types::ValueRef<'_>,
            ) -> $crate::columns::rusqlite::types::FromSqlResult<Self> {
                $crate::columns::read_number(value)
            }
        }
    };
}

/// Lets columns keep an enum by its words, `as_str` and `FromStr`.
#[macro_export]
macro_rules! word_column {
    ($type:ident, $what:literal) => {
        impl $crate::columns::rusqlite::ToSql for $type {
            fn to_sql(
                &self,
            ) -> $crate::columns::rusqlite::Result<$crate::columns::rusqlite::types::ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }

        impl $crate::columns::rusqlite::types::FromSql for $type {
            fn column_result(
                value: $crate::columns::rusqlite::types::ValueRef<'_>,
            ) -> $crate::columns::rusqlite::types::FromSqlResult<Self> {
                $crate::columns::read_word($what, value)
            }
        }
    };
}

word_column!(Tier, "tier");
word_column!(EnvironmentState, "state of environments");
word_column!(Source, "source of the catalog");
word_column!(DeploymentStatus, "status of a deployment");

impl ToSql for AgentId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.to_string().into())
    }
}

impl FromSql for AgentId {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        read_word("name of an agent", value)
    }
}

/// Integers that mean themselves.
macro_rules! integer_column {
    ($type:ident, $column:ident => $read:expr, $value:ident => $write:expr) => {
        impl ToSql for $type {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                let $value = *self;
                Ok(ToSqlOutput::from($write))
            }
        }

        impl FromSql for $type {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let $column = value.as_i64()?;
                $read
            }
        }
    };
}

integer_column!(Timestamp, micros => Ok(Timestamp::from_micros(micros)), time => time.as_micros());
integer_column!(ResourceId, number => Ok(ResourceId(number)), id => id.0);
integer_column!(Hour, number => Ok(Hour(number)), hour => hour.0);
// GitLab's numbers, and ours above them, take all 64 bits.
integer_column!(DeploymentId, bits => Ok(DeploymentId(bits.cast_unsigned())), id => id.0.cast_signed());
integer_column!(
    Offset,
    number => u64::try_from(number).map(Offset::new).map_err(|_| UnknownStored::error("offset", number)),
    offset => offset.as_i64()
);

macro_rules! text_column {
    ($($type:ident),+) => {
        $(impl ToSql for $type {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(self.as_str().into())
            }
        }

        impl FromSql for $type {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                value.as_str().map(Self::new).map_err(FromSqlError::from)
            }
        })+
    };
}

text_column!(Uid, EnvironmentId, ResourceVersion);
