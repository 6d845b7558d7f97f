//! A Kubernetes object as pure functions read it: metadata at once, spec and status when someone looks.
//!
//! Whatever in an object is not of the type it should be counts as absent: a label that is a number must not
//! make the object unreadable.

use std::cell::OnceCell;
use std::fmt;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use thiserror::Error;

use crate::model::{Kind, Timestamp, Uid};

/// Why a text is no object.
#[derive(Debug, Error)]
pub enum ObjectError {
    /// It is not JSON.
    #[error("it is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It is JSON, but something else.
    #[error("it is not a JSON object")]
    NoObject,
}

/// An object, borrowed from its text.
pub struct Object<'a> {
    outline: Outline<'a>,
    metadata: Metadata,
    spec: OnceCell<Value>,
    status: OnceCell<Value>,
}

/// The top level; everything below stays text until it is asked for.
#[derive(Deserialize)]
struct Outline<'a> {
    #[serde(default, rename = "apiVersion", borrow)]
    api_version: Option<&'a RawValue>,
    #[serde(default, borrow)]
    kind: Option<&'a RawValue>,
    #[serde(default, borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(default, borrow)]
    spec: Option<&'a RawValue>,
    #[serde(default, borrow)]
    status: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    name: Value,
    namespace: Value,
    uid: Value,
    generation: Value,
    labels: Value,
    annotations: Value,
    owner_references: Value,
    creation_timestamp: Value,
    deletion_timestamp: Value,
}

/// An owner that an object names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerReference {
    /// Group and kind of the owner.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// Its identity.
    pub uid: Uid,
}

impl fmt::Debug for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Object({} {}/{})", self.kind(), self.namespace(), self.name())
    }
}

impl<'a> Object<'a> {
    /// Reads an object's text.
    ///
    /// # Errors
    /// When it is not a JSON object.
    pub fn parse(text: &'a str) -> Result<Self, ObjectError> {
        let outline: Outline<'a> = serde_json::from_str(text)?;
        // serde would also fill a struct from an array.
        if !text.trim_start().starts_with('{') {
            return Err(ObjectError::NoObject);
        }
        let metadata =
            outline.metadata.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
        Ok(Object { outline, metadata, spec: OnceCell::new(), status: OnceCell::new() })
    }

    /// Group and version, such as `apps/v1`.
    pub fn api_version(&self) -> String {
        text_of(self.outline.api_version)
    }

    /// Group and kind.
    pub fn kind(&self) -> Kind {
        Kind::from_api_version(&self.api_version(), &text_of(self.outline.kind))
    }

    /// Name.
    pub fn name(&self) -> &str {
        self.metadata.name.as_str().unwrap_or_default()
    }

    /// Namespace; empty for what is cluster-scoped.
    pub fn namespace(&self) -> &str {
        self.metadata.namespace.as_str().unwrap_or_default()
    }

    /// Identity; empty where there is none.
    pub fn uid(&self) -> &str {
        self.metadata.uid.as_str().unwrap_or_default()
    }

    /// How often the wish was changed; zero where the kind does not count.
    pub fn generation(&self) -> i64 {
        self.metadata.generation.as_i64().unwrap_or(0)
    }

    /// Labels.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        texts(&self.metadata.labels)
    }

    /// One label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.metadata.labels.get(name)?.as_str()
    }

    /// One annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata.annotations.get(name)?.as_str()
    }

    /// Its owners, those without a uid left out.
    pub fn owner_references(&self) -> impl Iterator<Item = OwnerReference> {
        let references = self.metadata.owner_references.as_array().into_iter().flatten();
        references.filter_map(|reference| {
            let text = |name: &str| reference.get(name).and_then(Value::as_str).unwrap_or_default();
            let kind = Kind::from_api_version(text("apiVersion"), text("kind"));
            let (name, uid) = (text("name").to_owned(), Uid::new(text("uid")));
            (!uid.is_empty()).then_some(OwnerReference { kind, name, uid })
        })
    }

    /// When it was created, by the cluster's clock.
    pub fn created_at(&self) -> Option<Timestamp> {
        self.metadata.creation_timestamp.as_str()?.parse().ok()
    }

    /// Whether its deletion was asked for.
    pub fn is_being_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_string()
    }

    /// The wish; null where there is none.
    pub fn spec(&self) -> &Value {
        self.spec.get_or_init(|| value_of(self.outline.spec))
    }

    /// The state; null where there is none.
    pub fn status(&self) -> &Value {
        self.status.get_or_init(|| value_of(self.outline.status))
    }

    /// A condition of the state by its type.
    pub fn condition(&self, kind: &str) -> Option<&Value> {
        self.status()["conditions"].as_array()?.iter().find(|condition| condition["type"] == kind)
    }
}

fn text_of(raw: Option<&RawValue>) -> String {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

fn value_of(raw: Option<&RawValue>) -> Value {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

fn texts(value: &Value) -> impl Iterator<Item = (&str, &str)> {
    value.as_object().into_iter().flatten().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn what_is_of_the_wrong_type_counts_as_absent() {
        let text = r#"{"apiVersion":7,"kind":"Pod","metadata":{"name":5,"uid":"u","labels":{"a":"b","n":1},
            "ownerReferences":[1,{"uid":"o","kind":"Job","apiVersion":"batch/v1"},{"name":"x"}],
            "creationTimestamp":"soon","generation":"many"},"status":[]}"#;
        let object = Object::parse(text).unwrap();
        assert_eq!(object.kind(), Kind::new("", "Pod"));
        assert_eq!((object.name(), object.uid(), object.generation()), ("", "u", 0));
        assert_eq!(object.labels().collect::<Vec<_>>(), [("a", "b")]);
        let owners: Vec<_> = object.owner_references().collect();
        assert_eq!(owners.len(), 1);
        assert_eq!(owners[0].kind, Kind::new("batch", "Job"));
        assert_eq!(object.created_at(), None);
        assert!(object.spec().is_null() && object.condition("Ready").is_none());
        for text in [r#"{"metadata":7}"#, "{}", r#"{"metadata":{"labels":[]}}"#] {
            assert_eq!(Object::parse(text).unwrap().name(), "", "{text}");
        }
        for text in ["", "[]", "7", "{"] {
            assert!(Object::parse(text).is_err(), "{text}");
        }
    }
}
