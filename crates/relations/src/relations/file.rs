//! A file of relations as it is written, before it is checked.

use serde::{Deserialize, Serialize};
use serde_saphyr::Spanned;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub(super) relations: Vec<Entry>,
}

/// An entry of `relations`.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) name: Spanned<String>,
    pub(super) edge: Spanned<String>,
    pub(super) direction: Spanned<String>,
    pub(super) object: Pattern,
    pub(super) target: Option<Target>,
    pub(super) path: Option<Spanned<String>>,
    pub(super) label: Option<Spanned<String>>,
    pub(super) annotation: Option<Spanned<String>>,
    pub(super) selector: Option<Spanned<String>>,
    pub(super) reference: Option<Spanned<String>>,
    pub(super) pattern: Option<Spanned<String>>,
}

/// The `object` of a relation.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pattern {
    pub(super) group: Option<Spanned<String>>,
    pub(super) kind: Spanned<String>,
}

/// The `target` of a relation.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Target {
    pub(super) group: Option<Spanned<String>>,
    pub(super) kind: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) cluster_scoped: Vec<Spanned<String>>,
    pub(super) namespace: Option<Namespace>,
}

/// The `namespace` of a target: a word, or a mapping with one key.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Namespace {
    /// The object's own.
    Own,
    /// None: the target is cluster-scoped, or what a selector picks may be anywhere.
    None,
    /// This one.
    Fixed(Spanned<String>),
    /// What a path of the object finds.
    Path(Spanned<String>),
    /// What a label of the object says.
    Label(Spanned<String>),
    /// What an annotation of the object says.
    Annotation(Spanned<String>),
}
