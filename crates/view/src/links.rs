//! What a resource carries that links it to others: its labels, its edges, and the marks of inventories.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{Connection, OptionalExtension, params};

use super::context::{Apply, Rules};
use super::images::Imaged;
use super::{catalog, edges, feed, images, inventories, labels, selectors};
use strandline_model::{Inventory, ResourceId};
use strandline_object::Object;
use strandline_object::gitops_marks::{managed_marks, marks};
use strandline_relations::{EdgeRef, UNREAD, annotations_read};
use strandline_sqlite::column::Json;

/// What changed with a resource's links, besides the resource itself.
#[derive(Debug, Default)]
pub(super) struct Relinked {
    /// Resources it came to own, or owns no longer, by its own declaration.
    pub(super) owned: Vec<ResourceId>,
}

/// The most resources of which it is remembered what they carried.
const KNOWN_MAX: usize = 131_072;

/// What the objects of resources carried when they were read last.
#[derive(Default)]
pub(super) struct Known(HashMap<ResourceId, (i64, i64)>);

impl Known {
    fn has(&mut self, id: ResourceId, carried: (i64, i64)) -> bool {
        if self.0.len() >= KNOWN_MAX {
            self.0.clear();
        }
        self.0.insert(id, carried) == Some(carried)
    }
}

/// What an object carries, as far as it takes to know whether anything of it is new.
pub(super) struct Carried {
    marks: BTreeSet<String>,
    /// A digest of all from which its links are found.
    links: i64,
    /// A digest of the images in its status.
    images: i64,
    /// A digest of what is asked of it.
    spec: Option<i64>,
    /// None where it carried the same before, so that nobody will ask.
    found: Option<FoundLinks>,
}

impl Carried {
    /// What cannot be read carries nothing.
    pub(super) fn of(
        id: ResourceId,
        object: Option<&Object<'_>>,
        rules: Rules<'_>,
        known: &mut Known,
    ) -> Self {
        let inventories = object.map(marks).unwrap_or_default();
        let managed = object.map(managed_marks).unwrap_or_default();
        let marks = inventories.iter().map(Inventory::to_string).chain(managed).collect();
        let (links, images) = (source(rules, object, &marks), images::status_digest(object));
        let found = (!known.has(id, (links, images))).then(|| FoundLinks::of(object, rules));
        Carried { marks, links, images, spec: object.and_then(feed::spec_digest), found }
    }
}

/// What an object carries.
struct FoundLinks {
    labels: BTreeMap<String, String>,
    edges: Vec<EdgeRef>,
    images: Imaged,
    /// Whether it may change what is known of its cluster, or declare an environment.
    is_declaring: bool,
}

impl FoundLinks {
    fn of(object: Option<&Object<'_>>, rules: Rules<'_>) -> Self {
        let relations = &rules.set.relations;
        FoundLinks {
            labels: object.map(labels_of).unwrap_or_default(),
            edges: object.map(|object| strandline_relations::edges(object, relations)).unwrap_or_default(),
            images: Imaged::of(object),
            is_declaring: object.is_none_or(catalog::is_declaring),
        }
    }
}

/// Makes a resource carry exactly the links of its object from here on; none where nothing changed from which they
/// are found. What cannot be read has none.
pub(super) fn declare(
    at: &mut Apply<'_>,
    id: ResourceId,
    carried: &Carried,
    body: &str,
) -> rusqlite::Result<Option<Relinked>> {
    let sql = "SELECT links, images, spec FROM resource WHERE id = ?1";
    let (links, images, spec): (Option<i64>, Option<i64>, Option<i64>) =
        at.connection
            .prepare_cached(sql)?
            .query_row([id], |row| Ok((row.get("links")?, row.get("images")?, row.get("spec")?)))?;
    if spec != carried.spec {
        let sql = "UPDATE resource SET spec = ?2 WHERE id = ?1";
        at.connection.prepare_cached(sql)?.execute(params![id, carried.spec])?;
    }
    at.activity.set_spec(spec, carried.spec);
    let respecified = links != Some(carried.links);
    if !respecified && images.is_none_or(|images| images == carried.images) {
        return Ok(None);
    }
    // The view may hold less than was known to whoever read: what was deleted comes again, or an attempt failed.
    let read;
    let found = match &carried.found {
        Some(found) => found,
        None => {
            read = FoundLinks::of(Object::parse(body).ok().as_ref(), at.rules);
            &read
        }
    };
    images::declare(at, id, &found.images, carried.images)?;
    if !respecified {
        return Ok(None);
    }
    let relabelled = labels::declare(at, id, &found.labels)?;
    keep(at.connection, id, Some((&found.labels, carried.links)))?;
    inventories::declare(at, id, &carried.marks)?;
    if found.is_declaring {
        let object = Object::parse(body).ok();
        catalog::declare(at, id, object.as_ref())?;
    }
    let mut relinked = Relinked { owned: edges::declare(at, id, &found.edges)? };
    relinked.owned.extend(selectors::declare(at, id, &found.edges)?);
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
fn source(rules: Rules<'_>, object: Option<&Object<'_>>, marks: &BTreeSet<String>) -> i64 {
    let mut hasher = blake3::Hasher::new();
    let mut add = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
    };
    if let Some(object) = object {
        // Relations of users may look anywhere.
        let all = !rules.set.relations.is_empty();
        for (name, text) in object.fields().filter(|(name, _)| all || !UNREAD.contains(name)) {
            add(name);
            add(text);
        }
        for annotation in annotations_read(object) {
            add(annotation);
            add(object.metadata.annotation(annotation).as_deref().unwrap_or_default());
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
    hasher.update(&rules.id.to_le_bytes());
    let mut first = [0; 8];
    hasher.finalize_xof().fill(&mut first);
    i64::from_le_bytes(first)
}

/// Ends all links of a resource that is gone.
pub(super) fn withdraw(at: &mut Apply<'_>, id: ResourceId) -> rusqlite::Result<Relinked> {
    let sql = "SELECT spec FROM resource WHERE id = ?1";
    let spec =
        at.connection.prepare_cached(sql)?.query_row([id], |row| row.get("spec")).optional()?.flatten();
    at.activity.set_spec(spec, None);
    labels::withdraw(at, id)?;
    keep(at.connection, id, None)?;
    images::declare(at, id, &Imaged::default(), images::status_digest(None))?;
    inventories::declare(at, id, &BTreeSet::new())?;
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
    // What is gone is asked for nothing.
    let sql = "UPDATE resource SET labels = ?2, links = ?3, spec = iif(?3 IS NULL, NULL, spec) WHERE id = ?1";
    connection.prepare_cached(sql)?.execute(params![id, labels.map(Json), source])?;
    Ok(())
}
