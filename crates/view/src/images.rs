//! Which images resources run, over time.
//!
//! A Pod counts until it has ended, a template unless it wants no replicas or its maker names the same. A row is written
//! when the images move: digests of the spec and of the images in the status are compared, so that a change of a status costs
//! no look into the spec.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use rusqlite::params;

use super::columns::OPEN;
use super::context::{Apply, Newcomer};
use strandline_model::ResourceId;
use strandline_object::Object;
use strandline_relations::container_images::{Running, images};
use strandline_syntax::Image;

/// Feeds a digest that is the same in every process.
struct Stable(blake3::Hasher);

impl Hasher for Stable {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let mut first = [0; 8];
        self.0.finalize_xof().fill(&mut first);
        u64::from_le_bytes(first)
    }
}

/// A digest of the images in a status.
fn digest(running: &Running) -> i64 {
    let mut hasher = Stable(blake3::Hasher::new());
    running.hash(&mut hasher);
    hasher.finish().cast_signed()
}

/// A digest of the images in an object's status. Most changes move neither those nor the object's own images, which are
/// in its spec, as its links are.
pub(super) fn status_digest(object: Option<&Object<'_>>) -> i64 {
    digest(&object.map(Running::of).unwrap_or_default())
}

/// The images of an object.
#[derive(Default)]
pub(super) struct Imaged {
    images: BTreeSet<Image>,
    /// Whether another status could give it other images: what has ended may hold them again.
    pub(super) has_any: bool,
}

impl Imaged {
    pub(super) fn of(object: Option<&Object<'_>>) -> Self {
        let Some(object) = object else { return Imaged::default() };
        let running = Running::of(object);
        let images = images(object, &running);
        Imaged { has_any: !images.is_empty() || ended(object, &running), images }
    }
}

/// Makes a resource run exactly these images from here on.
pub(super) fn declare(at: &mut Apply<'_>, id: ResourceId, found: &Imaged) -> rusqlite::Result<()> {
    let mut wanted = BTreeSet::new();
    for image in &found.images {
        wanted.insert(at.ids.image(at.connection, image, at.lines)?);
    }
    replace(at, id, &wanted)?;
    if let Some(newcomer) = at.newcomer.as_mut().filter(|newcomer| newcomer.id == id) {
        newcomer.images = wanted;
    }
    Ok(())
}

/// Notes the images of a newcomer where it belongs in the end: there was no other time at which it could have had them.
pub(super) fn note_newcomer(at: &mut Apply<'_>) {
    let Some(Newcomer { id, images }) = at.newcomer.take() else { return };
    debug_assert!(at.activity.own.is_some_and(|(own, _)| own == id), "who is new is who the record is about");
    for &environment in &at.activity.environments {
        for &image in &images {
            at.lines.add_image_of(environment, image);
        }
    }
}

/// Whether an object would have images if its status did not have them ended.
fn ended(object: &Object<'_>, running: &Running) -> bool {
    *running != Running::default() && !images(object, &Running::default()).is_empty()
}

/// What a resource runs at present.
fn current(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<BTreeSet<i64>> {
    let sql = "SELECT image_id FROM image_use WHERE resource_id = ?1 AND to_offset = ?2";
    let mut statement = at.connection.prepare_cached(sql)?;
    let rows = statement.query_map(params![id, OPEN], |row| row.get("image_id"))?;
    rows.collect()
}

fn replace(at: &mut Apply<'_>, id: ResourceId, wanted: &BTreeSet<i64>) -> rusqlite::Result<()> {
    let current = at.had(id, |at| current(at, id))?;
    if current == *wanted {
        return Ok(());
    }
    let close =
        "UPDATE image_use SET to_offset = ?3 WHERE image_id = ?2 AND resource_id = ?1 AND to_offset = ?4";
    let mut statement = at.connection.prepare_cached(close)?;
    for image in current.difference(wanted) {
        statement.execute(params![id, image, at.offset, OPEN])?;
    }
    let open =
        "INSERT INTO image_use (image_id, resource_id, from_offset, to_offset) VALUES (?2, ?1, ?3, ?4)";
    let mut statement = at.connection.prepare_cached(open)?;
    for image in wanted.difference(&current) {
        if !at.is_new(id) {
            at.lines.add_user(id, at.offset);
        }
        statement.execute(params![id, image, at.offset, OPEN])?;
    }
    Ok(())
}
