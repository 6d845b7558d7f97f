//! A Kubernetes object as its readers want it: metadata read once, the rest read when asked for.
//!
//! What a cluster serves is not always what the API promises, and one odd label must not cost us the object.
//! So whatever has another type than it should is left out, and only text that is no JSON object is refused.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::json::{Members, Picked, Shape, items_of_valid, pick};
use strandline_model::{Kind, Timestamp};
use strandline_syntax::diagnostics::of_json;

/// An object, borrowed from its JSON text.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    /// Group and version, such as `apps/v1`; empty when the text has none.
    pub api_version: Cow<'a, str>,
    /// Kind, such as `Deployment`; empty when the text has none.
    pub kind: Cow<'a, str>,
    /// Who it is and to whom it belongs.
    pub metadata: Metadata<'a>,
    members: Members<'a>,
    spec: OnceCell<Value>,
    status: OnceCell<Value>,
}

/// The part of an object that all kinds share.
#[derive(Clone, Debug, Default)]
pub struct Metadata<'a> {
    /// Name.
    pub name: Cow<'a, str>,
    /// Namespace; empty for what is cluster-scoped.
    pub namespace: Cow<'a, str>,
    /// Identity.
    pub uid: Cow<'a, str>,
    /// Labels whose value is text.
    pub labels: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
    /// Owners, in the order in which the object names them.
    pub owner_references: Vec<OwnerReference<'a>>,
    /// When it was created, by the cluster's clock.
    pub creation_timestamp: Option<Timestamp>,
    /// When its deletion was asked for or its grace ends; none while it is meant to stay.
    pub deletion_timestamp: Option<Timestamp>,
    /// Counts what was asked of it; zero when the kind does not count.
    pub generation: i64,
    /// Finalizers as they stand in the text; read them with [`Metadata::finalizers`].
    pub finalizers: Option<&'a str>,
    /// Annotations as they stand in the text; read one with [`Metadata::annotation`].
    pub annotations: Option<&'a str>,
}

/// An owner as its dependent names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerReference<'a> {
    /// Group and version.
    pub api_version: Cow<'a, str>,
    /// Kind.
    pub kind: Cow<'a, str>,
    /// Name.
    pub name: Cow<'a, str>,
    /// Identity.
    pub uid: Cow<'a, str>,
    /// Whether this is the owner that manages the object.
    pub controller: bool,
}

/// Why a text is not an object.
#[derive(Debug, thiserror::Error)]
#[error("not a JSON object: {}", of_json(.0))]
pub struct ObjectError(#[from] serde_json::Error);

impl<'a> Object<'a> {
    /// Reads an object; fails only where the text is not one JSON object.
    pub fn parse(text: &'a str) -> Result<Self, ObjectError> {
        let members = Members::parse(text)?;
        Ok(Object {
            api_version: members.text("apiVersion").unwrap_or_default(),
            kind: members.text("kind").unwrap_or_default(),
            metadata: members.members("metadata").map(Metadata::read).unwrap_or_default(),
            members,
            spec: OnceCell::new(),
            status: OnceCell::new(),
        })
    }

    /// Its API group; empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Its group and kind.
    pub fn group_kind(&self) -> Kind {
        Kind::from_api_version(&self.api_version, &self.kind)
    }

    /// The `spec`, parsed on first use; Null when there is none or it nests deeper than serde_json reads.
    pub fn spec(&self) -> &Value {
        self.spec.get_or_init(|| self.parsed("spec"))
    }

    /// The `spec` with these members only, for who needs a few and would pay for all: a Pod's containers are
    /// most of it. A `spec` that is no object comes as it is.
    pub fn spec_part(&self, names: &[&str]) -> Value {
        let members = self.members.get("spec").and_then(|spec| Members::named(spec, names).ok());
        let Some(members) = members else { return self.parsed("spec") };
        let part = names.iter().filter_map(|name| Some(((*name).to_owned(), members.read(name)?)));
        Value::Object(part.collect())
    }

    /// The `status`, parsed on first use; Null when there is none or it nests deeper than serde_json reads.
    pub fn status(&self) -> &Value {
        self.status.get_or_init(|| self.parsed("status"))
    }

    /// Whether it holds data of its own beside a wish and what became of it, as ConfigMaps and reports do.
    pub fn holds_data(&self) -> bool {
        let empty = |text: &str| matches!(text, "{}" | "[]" | "null" | "\"\"");
        let usual = ["apiVersion", "kind", "metadata", "spec", "status"];
        self.members.0.iter().any(|(name, value)| !usual.contains(&name.as_ref()) && !empty(value))
    }

    /// All top-level fields, as they stand in the text.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.members.0.iter().map(|(name, text)| (name.as_ref(), *text))
    }

    /// A top-level field as it stands in the text.
    pub fn field(&self, name: &str) -> Option<&'a str> {
        self.members.get(name)
    }

    /// What a shape of members wants of the object's own fields, in one pass over those; nothing for another shape.
    pub fn pick(&self, shape: &Shape) -> Picked<'a> {
        let Shape::Members(wanted) = shape else { return Picked::Absent };
        let field =
            |(name, shape): &(&'static str, Shape)| Some((*name, pick(self.members.get(name)?, shape)));
        Picked::Members(wanted.iter().filter_map(field).collect())
    }

    fn parsed(&self, name: &str) -> Value {
        self.members.read(name).unwrap_or_default()
    }
}

impl<'a> Metadata<'a> {
    /// The value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels.get(name).map(Cow::as_ref)
    }

    /// The value of an annotation, if it is text; looked up in the text each time.
    pub fn annotation(&self, name: &str) -> Option<Cow<'a, str>> {
        Members::of_valid(self.annotations?).ok()?.text(name)
    }

    /// Who holds the object back from its deletion; empty where the list is none of texts.
    pub fn finalizers(&self) -> Vec<Cow<'a, str>> {
        self.finalizers.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
    }

    fn read(members: Members<'a>) -> Self {
        let text = |name| members.text(name).unwrap_or_default();
        let labels = members.members("labels").unwrap_or_default();
        let owners = members.get("ownerReferences").into_iter().flat_map(items_of_valid);
        Metadata {
            name: text("name"),
            namespace: text("namespace"),
            uid: text("uid"),
            labels: labels.texts().collect(),
            owner_references: owners.filter_map(OwnerReference::read).collect(),
            creation_timestamp: text("creationTimestamp").parse().ok(),
            deletion_timestamp: text("deletionTimestamp").parse().ok(),
            generation: members.read("generation").unwrap_or_default(),
            finalizers: members.get("finalizers"),
            annotations: members.get("annotations"),
        }
    }
}

impl<'a> OwnerReference<'a> {
    /// The owner's group and kind.
    pub fn group_kind(&self) -> Kind {
        Kind::from_api_version(&self.api_version, &self.kind)
    }

    fn read(raw: &'a str) -> Option<Self> {
        let members = Members::of_valid(raw).ok()?;
        let text = |name| members.text(name).unwrap_or_default();
        Some(OwnerReference {
            api_version: text("apiVersion"),
            kind: text("kind"),
            name: text("name"),
            uid: text("uid"),
            controller: members.read("controller").unwrap_or_default(),
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot read its own fixture has failed")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const POD: &str = r#"{
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "web-0", "namespace": "shop", "uid": "u-1", "generation": 3,
            "creationTimestamp": "2026-11-20T14:05:00Z", "deletionTimestamp": null,
            "finalizers": ["example.org/keep"],
            "labels": {"app": "web", "odd": 7, "none": null, "quo\"ted": "a\nb"},
            "annotations": {"note": "a \"word\"", "n": 1},
            "ownerReferences": [
                {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u-0", "controller": true},
                "nonsense",
                {"kind": 4, "uid": "u-9"}
            ]
        },
        "spec": {"restartPolicy": "Always"},
        "data": {"k": [1, 2]}
    }"#;

    #[test]
    fn an_object_is_read_with_its_metadata() {
        let pod = Object::parse(POD).unwrap();
        let metadata = &pod.metadata;
        assert_eq!((&*pod.api_version, &*pod.kind, pod.group()), ("v1", "Pod", ""));
        assert_eq!((&*metadata.name, &*metadata.namespace, &*metadata.uid), ("web-0", "shop", "u-1"));
        assert_eq!(metadata.generation, 3);
        assert_eq!(metadata.creation_timestamp, "2026-11-20T14:05:00Z".parse().ok());
        assert_eq!(metadata.deletion_timestamp, None);
        assert_eq!(metadata.finalizers(), ["example.org/keep"]);
        assert_eq!(metadata.label("app"), Some("web"));
        assert_eq!(metadata.label("quo\"ted"), Some("a\nb"));
        assert_eq!(metadata.labels.len(), 2, "labels that are not text are left out");
        assert_eq!(metadata.annotation("note").as_deref(), Some("a \"word\""));
        assert_eq!(metadata.annotation("n"), None);
        assert_eq!(pod.spec()["restartPolicy"], "Always");
        assert!(pod.status().is_null());
        assert_eq!(pod.field("data").unwrap(), r#"{"k": [1, 2]}"#);
        assert!(matches!(metadata.name, Cow::Borrowed(_)), "plain text is not copied");
    }

    #[test]
    fn owners_that_are_no_objects_are_left_out() {
        let pod = Object::parse(POD).unwrap();
        let [first, second] = &pod.metadata.owner_references[..] else { panic!("{:?}", pod.metadata) };
        assert_eq!(first.group_kind(), Kind::new("apps", "StatefulSet"));
        assert_eq!((&*first.name, &*first.uid, first.controller), ("web", "u-0", true));
        assert_eq!((&*second.kind, &*second.uid, second.controller), ("", "u-9", false));
    }

    #[test]
    fn wrong_types_never_cost_the_object() {
        let metadata = [
            "7",
            "[]",
            "null",
            r#""text""#,
            r#"{"name": 1, "uid": {}, "generation": "2", "labels": [], "annotations": 4, "finalizers": {}}"#,
            r#"{"ownerReferences": {}, "creationTimestamp": "yesterday", "deletionTimestamp": 12}"#,
        ];
        for metadata in metadata {
            let json = format!(r#"{{"apiVersion": 1, "kind": [], "metadata": {metadata}, "spec": 3}}"#);
            let object = Object::parse(&json).unwrap();
            assert_eq!((&*object.kind, &*object.metadata.name), ("", ""), "{metadata}");
            assert_eq!(object.metadata.generation, 0);
            assert_eq!(object.metadata.deletion_timestamp, None);
            assert_eq!(object.metadata.annotation("a"), None);
            assert!(object.metadata.finalizers().is_empty());
            assert!(object.metadata.owner_references.is_empty());
        }
    }

    #[test]
    fn of_two_members_of_one_name_the_last_counts() {
        let object = Object::parse(r#"{"kind": "A", "kind": "B"}"#).unwrap();
        assert_eq!(object.kind, "B");
    }

    #[test]
    fn deep_nesting_is_survived() {
        let deep = format!(r#"{{"kind": "A", "spec": {}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
        let object = Object::parse(&deep).unwrap();
        assert_eq!(object.kind, "A");
        assert!(object.spec().is_null());
    }

    #[test]
    fn only_an_object_is_one() {
        for text in ["", "7", "[]", "null", r#"{"a":"#, r#"{} {}"#] {
            let problem = Object::parse(text).unwrap_err().to_string();
            assert!(problem.starts_with("not a JSON object: "), "{problem}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r#"[\{\}\[\]":,a-z0-9 \\]{0,60}"#) {
            let _ = Object::parse(&text);
        }
    }
}
