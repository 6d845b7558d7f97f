//! What a resource carries that links it to others: its labels, its edges, and the marks of inventories.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use super::context::Apply;
use super::{catalog, edges, inventories, labels, regions, selectors};
use crate::edges::UNREAD;
use crate::inventory::marks;
use crate::model::{Inventory, ResourceId};
use crate::object::Object;

/// What changed with a resource's links, besides the resource itself.
#[derive(Debug, Default)]
pub(super) struct Relinked {
    /// Resources it came to own, or owns no longer, by its own word.
    pub(super) owned: Vec<ResourceId>,
}

/// Makes a resource carry exactly the links of its object from here on; none where nothing changed from which they
/// are found. What cannot be read has none.
pub(super) fn declare(
    at: &mut Apply<'_>,
    id: ResourceId,
    object: Option<&Object<'_>>,
) -> rusqlite::Result<Option<Relinked>> {
    let marks = object.map(marks).unwrap_or_default().iter().map(Inventory::to_string).collect();
    let source = source(at, object, &marks);
    let sql = "SELECT links FROM resource WHERE id = ?1";
    let held: Option<i64> = at.connection.prepare_cached(sql)?.query_row([id.0], |row| row.get(0))?;
    if held == Some(source) {
        return Ok(None);
    }
    let relations = &at.rules.set.relations;
    let found = object.map(|object| crate::edges::edges(object, relations)).unwrap_or_default();
    let labels = object.map(labels_of).unwrap_or_default();
    let relabelled = labels::declare(at, id, &labels)?;
    keep(at.connection, id, Some((&labels, source)))?;
    inventories::declare(at, id, &marks)?;
    regions::declare(at, id, object)?;
    catalog::declare(at, id, object)?;
    let mut relinked = Relinked { owned: edges::declare(at, id, &found)? };
    relinked.owned.extend(selectors::declare(at, id, &found)?);
    if relabelled {
        selectors::settle(at, id)?;
    }
    Ok(Some(relinked))
}

fn labels_of(object: &Object<'_>) -> BTreeMap<String, String> {
    let labels = object.metadata.labels.iter();
    labels.map(|(name, value)| (name.to_string(), value.to_string())).collect()
}

/// A digest of all from which links are found. Most changes move a status alone, and finding edges costs more than
/// telling that there is nothing new to be found.
fn source(at: &Apply<'_>, object: Option<&Object<'_>>, marks: &BTreeSet<String>) -> i64 {
    let mut hasher = blake3::Hasher::new();
    let mut add = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    };
    if let Some(object) = object {
        // Relations of users may look anywhere.
        let all = !at.rules.set.relations.is_empty();
        for (name, text) in object.fields().filter(|(name, _)| all || !UNREAD.contains(name)) {
            add(name);
            add(text);
        }
        for (name, value) in &object.metadata.labels {
            add(name);
            add(value);
        }
        for owner in &object.metadata.owner_references {
            [&owner.api_version, &owner.kind, &owner.name, &owner.uid].into_iter().for_each(|text| add(text));
        }
    }
    marks.iter().for_each(|mark| add(mark));
    // Other rules may find others in the same.
    hasher.update(&at.rules.id.to_le_bytes());
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    i64::from_le_bytes(first)
}

/// Ends all links of a resource that is gone.
pub(super) fn withdraw(at: &mut Apply<'_>, id: ResourceId) -> rusqlite::Result<Relinked> {
    labels::withdraw(at, id)?;
    keep(at.connection, id, None)?;
    inventories::declare(at, id, &BTreeSet::new())?;
    regions::declare(at, id, None)?;
    catalog::declare(at, id, None)?;
    let mut relinked = Relinked { owned: edges::declare(at, id, &[])? };
    relinked.owned.extend(selectors::declare(at, id, &[])?);
    selectors::settle(at, id)?;
    Ok(relinked)
}

/// Keeps the labels of a resource, with the digest of all from which its links are found.
fn keep(
    connection: &Connection,
    id: ResourceId,
    links: Option<(&BTreeMap<String, String>, i64)>,
) -> rusqlite::Result<()> {
    let (labels, source) = links.unzip();
    let labels = labels.map(|labels| serde_json::json!(labels).to_string());
    let sql = "UPDATE resource SET labels = ?2, links = ?3 WHERE id = ?1";
    connection.prepare_cached(sql)?.execute(params![id.0, labels, source])?;
    Ok(())
}
