//! An object as Lua tables.
//!
//! Numbers are Lua's, as exact as a float is; lists begin at 1, and null is nothing: neither a member nor a place
//! in a list. A member at the top that nests deeper than serde_json reads is absent, as everywhere.

use std::fmt;

use mlua::{Lua, Table, Value};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::budget::{Limit, OBJECT_BYTES};
use strandline_object::Object;

/// An object that scripts can read, and the bytes of the longest text in it.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) object: Table,
    pub(super) longest_bytes: usize,
}

/// Turns an object into tables of this machine.
///
/// # Errors
/// When the object is too large, by its text or by what it takes in the machine.
pub(super) fn of_object(lua: &Lua, object: &Object<'_>) -> Result<Tables, Limit> {
    let text_bytes: usize = object.fields().map(|(name, text)| name.len() + text.len()).sum();
    if text_bytes > OBJECT_BYTES {
        return Err(Limit::Object);
    }
    let mut writer = Writer { lua, longest_bytes: 0, full: false };
    let table = lua.create_table().map_err(|_| Limit::Object)?;
    for (name, text) in object.fields() {
        let value = writer.deserialize(&mut serde_json::Deserializer::from_str(text));
        if writer.full || table.raw_set(name, value.unwrap_or(Value::Nil)).is_err() {
            return Err(Limit::Object);
        }
    }
    Ok(Tables { object: table, longest_bytes: writer.longest_bytes })
}

/// Writes JSON into a machine as it is read.
struct Writer<'a> {
    lua: &'a Lua,
    longest_bytes: usize,
    /// Whether the machine's memory did not suffice.
    full: bool,
}

impl Writer<'_> {
    /// Reports what the machine refused in the words of the reader.
    fn kept<T, E: serde::de::Error>(&mut self, made: mlua::Result<T>) -> Result<T, E> {
        made.map_err(|error| {
            self.full = true;
            E::custom(error)
        })
    }
}

impl<'de> DeserializeSeed<'de> for &mut Writer<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Writer<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Nil)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::Number(value as f64), Value::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.longest_bytes = self.longest_bytes.max(value.len());
        let text = self.lua.create_string(value);
        self.kept(text).map(Value::String)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let table = self.lua.create_table();
        let table: Table = self.kept(table)?;
        let mut next = 1_usize;
        while let Some(value) = list.next_element_seed(&mut *self)? {
            if !value.is_nil() {
                let set = table.raw_set(next, value);
                self.kept::<_, A::Error>(set)?;
                next += 1;
            }
        }
        Ok(Value::Table(table))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let table = self.lua.create_table();
        let table: Table = self.kept(table)?;
        while let Some(name) = members.next_key::<std::borrow::Cow<'de, str>>()? {
            let value = members.next_value_seed(&mut *self)?;
            let set = table.raw_set(name.as_ref(), value);
            self.kept::<_, A::Error>(set)?;
        }
        Ok(Value::Table(table))
    }
}
