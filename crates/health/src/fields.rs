//! Reading spec and status: what is absent has its default, what has the wrong type is an error.

use serde_json::Value;

use crate::finding::Finding;
use strandline_model::Health;
use strandline_object::Object;

/// A field has another type than the API says, so nothing can be concluded from it.
#[derive(Debug)]
pub(super) struct Malformed {
    field: String,
    expected: &'static str,
}

impl From<Malformed> for Finding {
    fn from(Malformed { field, expected }: Malformed) -> Self {
        Finding::new(Health::Unknown, "Malformed", format!("{field} is not {expected}"))
    }
}

/// A part of an object, under the name by which people find it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'a> {
    name: &'static str,
    value: &'a Value,
}

impl<'a> Section<'a> {
    pub(super) fn status(object: &'a Object<'_>) -> Self {
        Section { name: "status", value: object.status() }
    }

    /// Whether there is nothing at all.
    pub(super) fn is_absent(self) -> bool {
        self.value.is_null()
    }

    /// A part read elsewhere.
    pub(super) fn of(value: &'a Value, name: &'static str) -> Self {
        Section { name, value }
    }

    /// The value at a dotted path; none where it or anything above it is absent or null.
    pub(super) fn at(self, path: &str) -> Result<Option<&'a Value>, Malformed> {
        let mut value = self.value;
        let mut walked = 0;
        for name in path.split('.') {
            match value {
                Value::Null => return Ok(None),
                Value::Object(members) => value = members.get(name).unwrap_or(&Value::Null),
                _ => return Err(self.malformed(path[..walked].trim_end_matches('.'), "an object")),
            }
            walked += name.len() + 1;
        }
        Ok(Some(value).filter(|value| !value.is_null()))
    }

    /// Says that a field below this section is not what it should be.
    pub(super) fn malformed(self, path: &str, expected: &'static str) -> Malformed {
        let dot = if path.is_empty() { "" } else { "." };
        Malformed { field: format!("{}{dot}{path}", self.name), expected }
    }

    /// A whole number that may be absent.
    pub(super) fn integer(self, path: &str) -> Result<Option<i64>, Malformed> {
        let number = |value: &Value| value.as_i64().ok_or_else(|| self.malformed(path, "a whole number"));
        self.at(path)?.map(number).transpose()
    }

    /// A whole number, zero when absent.
    pub(super) fn count(self, path: &str) -> Result<i64, Malformed> {
        Ok(self.integer(path)?.unwrap_or(0))
    }

    /// Text, empty when absent.
    pub(super) fn text(self, path: &str) -> Result<&'a str, Malformed> {
        let text = |value: &'a Value| value.as_str().ok_or_else(|| self.malformed(path, "text"));
        Ok(self.at(path)?.map(text).transpose()?.unwrap_or(""))
    }

    /// True or false, false when absent.
    pub(super) fn flag(self, path: &str) -> Result<bool, Malformed> {
        let flag = |value: &Value| value.as_bool().ok_or_else(|| self.malformed(path, "true or false"));
        Ok(self.at(path)?.map(flag).transpose()?.unwrap_or(false))
    }

    /// The elements of a list, each a section called `name`; none when absent.
    pub(super) fn list(
        self,
        path: &str,
        name: &'static str,
    ) -> Result<impl Iterator<Item = Section<'a>> + use<'a>, Malformed> {
        let list = |value: &'a Value| value.as_array().ok_or_else(|| self.malformed(path, "a list"));
        let list = self.at(path)?.map(list).transpose()?;
        Ok(list.into_iter().flatten().map(move |value| Section { name, value }))
    }

    /// A section below this one, called `name`, if it is there.
    pub(super) fn section(self, path: &str, name: &'static str) -> Result<Option<Section<'a>>, Malformed> {
        match self.at(path)? {
            Some(value) if value.is_object() => Ok(Some(Section { name, value })),
            Some(_) => Err(self.malformed(path, "an object")),
            None => Ok(None),
        }
    }

    /// The first condition of this type in a status.
    pub(super) fn condition(self, of_type: &str) -> Result<Option<Section<'a>>, Malformed> {
        for condition in self.list("conditions", "status.conditions")? {
            if condition.text("type")? == of_type {
                return Ok(Some(condition));
            }
        }
        Ok(None)
    }
}

/// Whether the controller has seen the newest spec.
pub(super) fn observed(object: &Object<'_>, status: Section<'_>) -> Result<bool, Malformed> {
    Ok(object.metadata.generation <= status.count("observedGeneration")?)
}
