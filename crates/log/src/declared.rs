//! Facts of the catalog, and decisions on them, as changes hold them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use strandline_model::{CatalogFact, CatalogKind, Offset, ResourceKey, Source};

/// A fact as a change holds it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Declared {
    #[serde(default)]
    pub(super) source: Source,
    #[serde(flatten)]
    pub(super) fact: CatalogFact,
}

/// A fact that holds, and who declared it.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Who declared it.
    pub source: Source,
    /// The fact.
    pub fact: CatalogFact,
    /// Where it was declared last.
    pub declared: Offset,
}

/// What is to be changed.
#[derive(Clone, Debug, PartialEq)]
pub enum CatalogChange {
    /// This holds from now on.
    Declare(CatalogFact),
    /// What is declared under this name holds no longer.
    Withdraw(CatalogKind, String),
}

/// The changes that a decision makes, and the facts that it read.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) source: Source,
    pub(super) basis: DecisionBasis,
    pub(super) changes: Vec<CatalogChange>,
}

/// What a decision read: under each name the offset at which the fact was declared, or that there is none.
///
/// What was found by looking through many, as by [`Catalog::under`], is no part of it.
#[derive(Debug, Default)]
pub(super) struct DecisionBasis(pub(super) BTreeMap<FactLookup, Option<Offset>>);

/// By what a fact was looked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FactLookup {
    Named(CatalogKind, String),
    Alias(String),
}

/// An environment is found by its project and its name.
pub(super) const BY_ALIAS: &str =
    "SELECT s.name, l.source, l.keyframe FROM live l JOIN subject s ON s.id = l.subject_id
    WHERE l.alias = ?1 ORDER BY s.id";

pub(super) fn key_of(fact: &CatalogFact) -> ResourceKey {
    catalog_key(fact.kind(), fact.place(), &fact.name())
}

pub(super) fn catalog_key(kind: CatalogKind, place: &str, name: &str) -> ResourceKey {
    ResourceKey {
        cluster: String::new(),
        kind: kind.kind(),
        namespace: place.to_owned(),
        name: name.to_owned(),
    }
}

/// By what an environment is found; no path of a project holds a colon.
pub(super) fn alias_of(project: &str, name: &str) -> String {
    format!("{project}:{name}")
}
