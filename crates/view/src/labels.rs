//! The labels of what is there, and the places under which selectors look for them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::addresses::{Address, address};
use super::context::Apply;
use strandline_model::{Labels, ResourceId};
use strandline_relations::numbered;

/// The label that everything carries, so that what asks for no value finds all of a place.
pub(super) const ANY: (&str, &str) = ("", "");

/// The name under which the stem of a numbered name is kept among labels; no label has it.
pub(super) const SERIES: &str = "";

/// The most kinds of which it is remembered by which labels they are filed.
const KINDS_MAX: usize = 100_000;

/// Where in the world a label is looked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground<'a> {
    /// The kind, which is one of a cluster.
    pub(super) kind: i64,
    /// The namespace.
    pub(super) namespace: &'a str,
}

impl Ground<'_> {
    /// The number under which a label is filed here; two labels that share one differ in their words. Its upper
    /// half is of the ground alone, so that what arrives together, as lists do, is written to the same pages. SQLite writes
    /// it in six bytes.
    pub(super) fn place(self, (name, value): (&str, &str)) -> i64 {
        let ground = half(&[&self.kind.to_le_bytes(), self.namespace.as_bytes()]);
        let label = half(&[&(name.len() as u64).to_le_bytes(), name.as_bytes(), value.as_bytes()]);
        i64::from(ground >> 9) << 24 | i64::from(label >> 8)
    }

    /// The places of labels, as far as selectors look there, and of the one that everything carries.
    fn places(self, labels: Option<&BTreeMap<String, String>>, sought: &Names) -> BTreeSet<i64> {
        let Some(labels) = labels else { return BTreeSet::new() };
        let own = labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let own = own.chain([ANY]).filter(|(name, _)| sought.have(name));
        own.map(|label| self.place(label)).collect()
    }
}

/// Names of labels by which selectors look for a kind.
#[derive(Clone, Debug, Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn have(&self, name: &str) -> bool {
        self.0.contains(name) || self.0.contains(ALL)
    }
}

/// Stands for all names of labels; no label has it for its name.
const ALL: &str = "*";

/// By which labels what is there is filed, by kind.
///
/// Most labels are no selector's. So a kind is filed by those names alone by which selectors look for it, from the first
/// selector on, and by all where many have looked by others.
#[derive(Debug, Default)]
pub(super) struct Sought {
    /// By how many names a kind is filed one by one.
    pub(super) names: usize,
    known: RefCell<HashMap<i64, Arc<Names>>>,
}

impl Sought {
    pub(super) fn new(names: usize) -> Self {
        Sought { names, ..Sought::default() }
    }

    /// The names by which a kind is filed.
    fn of(&self, connection: &Connection, kind: i64) -> rusqlite::Result<Arc<Names>> {
        let mut known = self.known.borrow_mut();
        if let Some(names) = known.get(&kind) {
            return Ok(names.clone());
        }
        let sql = "SELECT name FROM label_sought WHERE kind_id = ?1";
        let mut statement = connection.prepare_cached(sql)?;
        let names = statement.query_map([kind], |row| row.get("name"))?.collect::<rusqlite::Result<_>>()?;
        if known.len() >= KINDS_MAX {
            known.clear();
        }
        Ok(known.entry(kind).or_insert(Arc::new(Names(names))).clone())
    }
}

/// Files what is there of a kind by the labels of a name, and all that comes, unless it is filed so.
pub(super) fn file(at: &Apply<'_>, kind: i64, name: &str) -> rusqlite::Result<()> {
    let sought = at.ids.sought.of(at.connection, kind)?;
    if sought.have(name) {
        return Ok(());
    }
    let name = if sought.0.len() < at.ids.sought.names { name } else { ALL };
    let sql = "INSERT INTO label_sought (kind_id, name) VALUES (?1, ?2)";
    at.connection.prepare_cached(sql)?.execute(params![kind, name])?;
    at.ids.sought.known.borrow_mut().remove(&kind);
    let new = Names(BTreeSet::from([name.to_owned()]));
    let there: Vec<ResourceId> = {
        let sql = "SELECT id FROM resource WHERE kind_id = ?1 AND labels IS NOT NULL";
        let mut statement = at.connection.prepare_cached(sql)?;
        statement.query_map([kind], |row| row.get("id"))?.collect::<rusqlite::Result<_>>()?
    };
    for id in there {
        let address = address(at, id)?;
        let places =
            Ground { kind, namespace: &address.namespace }.places(searchable(at, id)?.as_ref(), &new);
        move_places(at, id, &BTreeSet::new(), &places)?;
    }
    Ok(())
}

/// Whether a selector looks for a kind, or ever did.
pub(super) fn is_sought(at: &Apply<'_>, kind: i64) -> rusqlite::Result<bool> {
    Ok(!at.ids.sought.of(at.connection, kind)?.0.is_empty())
}

/// The number by which a target that asks for a label is found; never zero, which stands for one that asks for none.
pub(super) fn anchor((name, value): (&str, &str)) -> i64 {
    i64::from(half(&[&(name.len() as u64).to_le_bytes(), name.as_bytes(), value.as_bytes()])) + 1
}

/// A digest of parts of which all but the last have a known length.
fn half(parts: &[&[u8]]) -> u32 {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }
    let mut first = [0; 4];
    hasher.finalize_xof().fill(&mut first);
    u32::from_le_bytes(first)
}

/// Finds a resource by exactly these labels from here on; returns whether any changed. The caller stores them, and gives what it had
/// stored before.
pub(super) fn declare(
    at: &Apply<'_>,
    id: ResourceId,
    before: Option<&[u8]>,
    labels: &BTreeMap<String, String>,
) -> rusqlite::Result<bool> {
    let before = before.map(|before| at.ids.label_names.decode(at.connection, before)).transpose()?;
    if before.as_ref() == Some(labels) {
        return Ok(false);
    }
    if !is_sought(at, address(at, id)?.kind_id)? {
        return Ok(true);
    }
    let before = before.map(|labels| with_series(at, id, labels)).transpose()?;
    move_labels(at, id, before.as_ref(), Some(&with_series(at, id, labels.clone())?))?;
    Ok(true)
}

/// Finds a resource by no label any more. The caller removes them.
pub(super) fn withdraw(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<()> {
    move_labels(at, id, searchable(at, id)?.as_ref(), None)
}

fn move_labels(
    at: &Apply<'_>,
    id: ResourceId,
    before: Option<&BTreeMap<String, String>>,
    after: Option<&BTreeMap<String, String>>,
) -> rusqlite::Result<()> {
    let Address { kind_id, namespace, .. } = &*address(at, id)?;
    let (ground, sought) = (Ground { kind: *kind_id, namespace }, at.ids.sought.of(at.connection, *kind_id)?);
    move_places(at, id, &ground.places(before, &sought), &ground.places(after, &sought))
}

fn move_places(
    at: &Apply<'_>,
    id: ResourceId,
    before: &BTreeSet<i64>,
    after: &BTreeSet<i64>,
) -> rusqlite::Result<()> {
    let delete = "DELETE FROM label_place WHERE place = ?1 AND resource_id = ?2";
    let insert = "INSERT OR IGNORE INTO label_place (place, resource_id) VALUES (?1, ?2)";
    for (sql, places) in [(delete, before.difference(after)), (insert, after.difference(before))] {
        let mut statement = at.connection.prepare_cached(sql)?;
        for place in places {
            statement.execute(params![place, id])?;
        }
    }
    Ok(())
}

/// The labels of a resource; none where it is not there.
pub(super) fn of(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Option<Arc<Labels>>> {
    if let Some((_, labels)) = at.labels.as_ref().filter(|(own, _)| *own == id) {
        return Ok(Some(labels.clone()));
    }
    let sql = "SELECT labels FROM resource WHERE id = ?1";
    let mut statement = at.connection.prepare_cached(sql)?;
    let mut rows = statement.query([id])?;
    let row = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let labels = row.get_ref("labels")?.as_blob_or_null()?;
    labels.map(|labels| at.ids.label_names.decode(at.connection, labels).map(Arc::new)).transpose()
}

/// The same with the stem of its name, where it is one of a series, under [`SERIES`].
pub(super) fn searchable(
    at: &Apply<'_>,
    id: ResourceId,
) -> rusqlite::Result<Option<BTreeMap<String, String>>> {
    of(at, id)?.map(|labels| with_series(at, id, Arc::unwrap_or_clone(labels))).transpose()
}

fn with_series(
    at: &Apply<'_>,
    id: ResourceId,
    mut labels: BTreeMap<String, String>,
) -> rusqlite::Result<BTreeMap<String, String>> {
    let address = address(at, id)?;
    let stem = numbered(&address.kind, &address.name).map(str::to_owned);
    labels.remove(SERIES);
    labels.extend(stem.map(|stem| (SERIES.to_owned(), stem)));
    Ok(labels)
}

/// The resources that are filed under a place and may carry its label.
pub(super) fn resources_at(at: &Apply<'_>, place: i64) -> rusqlite::Result<Vec<ResourceId>> {
    let mut statement =
        at.connection.prepare_cached("SELECT resource_id FROM label_place WHERE place = ?1")?;
    let rows = statement.query_map([place], |row| row.get("resource_id"))?;
    rows.collect()
}

/// Whether a resource is of a kind and, unless that is empty, in a namespace.
pub(super) fn is_at(at: &Apply<'_>, id: ResourceId, kind: i64, namespace: &str) -> rusqlite::Result<bool> {
    let address = address(at, id)?;
    Ok(address.kind_id == kind && ["", &address.namespace].contains(&namespace))
}
