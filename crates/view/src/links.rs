//! What a resource carries that links it to others: its labels, its edges, and the marks of inventories.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use rusqlite::{OptionalExtension, params};

use super::context::{Apply, Rules};
use super::images::Imaged;
use super::{catalog, edges, feed, images, inventories, labels, selectors};
use strandline_model::{Inventory, Labels, ResourceId};
use strandline_object::Object;
use strandline_object::gitops_marks::{managed_marks, marks};
use strandline_relations::{EdgeRef, UNREAD, annotations_read};

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
    /// Not found yet where it carried the same before, so that hardly anybody will ask.
    found: OnceCell<FoundLinks>,
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
        let found = match known.has(id, (links, images)) {
            true => OnceCell::new(),
            false => OnceCell::from(FoundLinks::of(object, rules)),
        };
        Carried { marks, links, images, spec: object.and_then(feed::spec_digest), found }
    }

    /// What its object, given by its body, carries. The view may hold less than was known to whoever read: what was deleted
    /// comes again, or an attempt failed.
    fn found(&self, body: &str, rules: Rules<'_>) -> &FoundLinks {
        self.found.get_or_init(|| FoundLinks::of(Object::parse(body).ok().as_ref(), rules))
    }

    /// What is to be kept of its object.
    pub(super) fn kept(&self, at: &Apply<'_>, body: &str) -> rusqlite::Result<Kept> {
        let found = self.found(body, at.rules);
        Ok(Kept {
            labels: Some(at.ids.label_names.encode(at.connection, &found.labels)?),
            links: Some(self.links),
            images: self.kept_images(found),
            spec: self.spec,
        })
    }

    fn kept_images(&self, found: &FoundLinks) -> Option<i64> {
        found.images.has_any.then_some(self.images)
    }
}

/// What an object carries.
struct FoundLinks {
    labels: Arc<Labels>,
    edges: Vec<EdgeRef>,
    images: Imaged,
    /// Whether it may change what is known of its cluster, or declare an environment.
    is_declaring: bool,
}

impl FoundLinks {
    fn of(object: Option<&Object<'_>>, rules: Rules<'_>) -> Self {
        let relations = &rules.set.relations;
        FoundLinks {
            labels: Arc::new(object.map(labels_of).unwrap_or_default()),
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
    // The row of a newcomer had all of it from the start.
    let before = if at.is_new(id) { Kept::default() } else { Kept::read(at, id)? };
    at.activity.set_spec(before.spec, carried.spec);
    let respecified = before.links != Some(carried.links);
    if !respecified && before.images.is_none_or(|images| images == carried.images) {
        if before.spec != carried.spec {
            Kept { spec: carried.spec, ..before }.write(at, id)?;
        }
        return Ok(None);
    }
    let found = carried.found(body, at.rules);
    images::declare(at, id, &found.images)?;
    if !respecified {
        Kept { images: carried.kept_images(found), spec: carried.spec, ..before }.write(at, id)?;
        return Ok(None);
    }
    let relabelled = labels::declare(at, id, before.labels.as_deref(), &found.labels)?;
    if !at.is_new(id) {
        carried.kept(at, body)?.write(at, id)?;
    }
    at.labels = Some((id, found.labels.clone()));
    inventories::declare(at, id, &carried.marks)?;
    if found.is_declaring {
        // What it declares may look where it is itself.
        at.newcomer = None;
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

fn labels_of(object: &Object<'_>) -> Labels {
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
    at.activity.set_spec(Kept::read(at, id)?.spec, None);
    labels::withdraw(at, id)?;
    images::declare(at, id, &Imaged::default())?;
    // What is gone is asked for nothing.
    Kept::default().write(at, id)?;
    inventories::declare(at, id, &BTreeSet::new())?;
    catalog::declare(at, id, None)?;
    let mut relinked = Relinked { owned: edges::declare(at, id, &[])? };
    relinked.owned.extend(selectors::declare(at, id, &[])?);
    selectors::settle(at, id)?;
    Ok(relinked)
}

/// What is kept of a resource's object, to know what is new in the next; nothing once it is gone.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// Its labels, as their column has them.
    pub(super) labels: Option<Vec<u8>>,
    /// A digest of all from which its links are found.
    pub(super) links: Option<i64>,
    /// A digest of the images in its status; none where no status could give it any.
    pub(super) images: Option<i64>,
    /// A digest of what is asked of it.
    pub(super) spec: Option<i64>,
}

impl Kept {
    fn read(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Self> {
        let sql = "SELECT labels, links, images, spec FROM resource WHERE id = ?1";
        let kept = at.connection.prepare_cached(sql)?.query_row([id], |row| {
            let (labels, links) = (row.get("labels")?, row.get("links")?);
            Ok(Kept { labels, links, images: row.get("images")?, spec: row.get("spec")? })
        });
        Ok(kept.optional()?.unwrap_or_default())
    }

    fn write(&self, at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<()> {
        let Kept { labels, links, images, spec } = self;
        let sql = "UPDATE resource SET labels = ?2, links = ?3, images = ?4, spec = ?5 WHERE id = ?1";
        at.connection.prepare_cached(sql)?.execute(params![id, labels, links, images, spec])?;
        Ok(())
    }
}
