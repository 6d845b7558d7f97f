//! The labels of what is there, and the places under which selectors look for them.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension, Row, params};

use super::context::Apply;
use strandline_model::{Kind, ResourceId};
use strandline_relations::numbered;
use strandline_sqlite::column::{Json, VIEW};

/// The label that everything carries, so that what asks for no value finds all of a place.
pub(super) const ANY: (&str, &str) = ("", "");

/// The name under which the stem of a numbered name is kept among labels; no label has it.
pub(super) const SERIES: &str = "";

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

    /// The places of labels, and of the one that everything carries.
    fn places(self, labels: Option<&BTreeMap<String, String>>) -> BTreeSet<i64> {
        let Some(labels) = labels else { return BTreeSet::new() };
        let own = labels.iter().map(|(name, value)| self.place((name, value)));
        own.chain([self.place(ANY)]).collect()
    }
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

/// Finds a resource by exactly these labels from here on; returns whether any changed. The caller stores them.
pub(super) fn declare(
    at: &Apply<'_>,
    id: ResourceId,
    labels: &BTreeMap<String, String>,
) -> rusqlite::Result<bool> {
    if of(at, id)?.as_ref() == Some(labels) {
        return Ok(false);
    }
    let (kind, namespace) = ground(at, id)?;
    let ground = Ground { kind, namespace: &namespace };
    let (before, after) = (searchable(at, id)?, with_series(at, id, labels.clone())?);
    move_places(at, id, &ground.places(before.as_ref()), &ground.places(Some(&after)))?;
    Ok(true)
}

/// Finds a resource by no label any more. The caller removes them.
pub(super) fn withdraw(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<()> {
    let (kind, namespace) = ground(at, id)?;
    let before = Ground { kind, namespace: &namespace }.places(searchable(at, id)?.as_ref());
    move_places(at, id, &before, &BTreeSet::new())
}

fn move_places(
    at: &Apply<'_>,
    id: ResourceId,
    before: &BTreeSet<i64>,
    after: &BTreeSet<i64>,
) -> rusqlite::Result<()> {
    let delete = "DELETE FROM label_place WHERE place = ?1 AND resource_id = ?2";
    let insert = "INSERT INTO label_place (place, resource_id) VALUES (?1, ?2)";
    for (sql, places) in [(delete, before.difference(after)), (insert, after.difference(before))] {
        let mut statement = at.connection.prepare_cached(sql)?;
        for place in places {
            statement.execute(params![place, id])?;
        }
    }
    Ok(())
}

/// The labels of a resource; none where it is not there.
pub(super) fn of(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<Option<BTreeMap<String, String>>> {
    let sql = "SELECT labels FROM resource WHERE id = ?1";
    let labels = |row: &Row<'_>| VIEW.get::<Option<Json<_>>>(row, "resource.labels");
    Ok(at.connection.prepare_cached(sql)?.query_row([id], labels)?.map(|Json(labels)| labels))
}

/// The same with the stem of its name, where it is one of a series, under [`SERIES`].
pub(super) fn searchable(
    at: &Apply<'_>,
    id: ResourceId,
) -> rusqlite::Result<Option<BTreeMap<String, String>>> {
    of(at, id)?.map(|labels| with_series(at, id, labels)).transpose()
}

fn with_series(
    at: &Apply<'_>,
    id: ResourceId,
    mut labels: BTreeMap<String, String>,
) -> rusqlite::Result<BTreeMap<String, String>> {
    let sql =
        r#"SELECT k."group", k.kind, r.name FROM resource r JOIN kind k ON k.id = r.kind_id WHERE r.id = ?1"#;
    let stem = at.connection.prepare_cached(sql)?.query_row([id], |row| {
        let kind = Kind::new(row.get::<_, String>("group")?, row.get::<_, String>("kind")?);
        Ok(numbered(&kind, row.get_ref("name")?.as_str()?).map(str::to_owned))
    })?;
    labels.remove(SERIES);
    labels.extend(stem.map(|stem| (SERIES.to_owned(), stem)));
    Ok(labels)
}

/// The kind and namespace of a resource.
pub(super) fn ground(at: &Apply<'_>, id: ResourceId) -> rusqlite::Result<(i64, String)> {
    let sql = "SELECT kind_id, namespace FROM resource WHERE id = ?1";
    at.connection.prepare_cached(sql)?.query_row([id], |row| Ok((row.get("kind_id")?, row.get("namespace")?)))
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
    let sql = "SELECT 1 FROM resource WHERE id = ?1 AND kind_id = ?2 AND ?3 IN ('', namespace)";
    let found = at.connection.prepare_cached(sql)?.query_row(params![id, kind, namespace], |_| Ok(()));
    Ok(found.optional()?.is_some())
}
