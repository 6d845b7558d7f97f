//! What a resource carries that links it to others: its labels and its edges.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

use rusqlite::{Connection, params};

use super::context::Apply;
use super::{edges, labels, selectors};
use crate::edges::EdgeRef;
use crate::model::ResourceId;

/// Labels and edges of a resource.
#[derive(Default, Hash)]
pub(super) struct Links {
    pub(super) labels: BTreeMap<String, String>,
    pub(super) edges: Vec<EdgeRef>,
}

/// What changed with a resource's links, besides the resource itself.
#[derive(Debug, Default)]
pub(super) struct Relinked {
    /// Resources it came to own, or owns no longer, by its own word.
    pub(super) owned: Vec<ResourceId>,
}

/// Makes a resource carry exactly these links from here on; none where it carries them already.
pub(super) fn declare(
    at: &mut Apply<'_>,
    id: ResourceId,
    links: &Links,
) -> rusqlite::Result<Option<Relinked>> {
    let digest = digest(links);
    let sql = "SELECT links FROM resource WHERE id = ?1";
    let held: Option<i64> = at.connection.prepare_cached(sql)?.query_row([id.0], |row| row.get(0))?;
    if held == Some(digest) {
        return Ok(None);
    }
    let relabelled = labels::declare(at, id, &links.labels)?;
    let mut relinked = Relinked { owned: edges::declare(at, id, &links.edges)? };
    relinked.owned.extend(selectors::declare(at, id, &links.edges)?);
    if relabelled {
        selectors::settle(at, id)?;
    }
    keep(at.connection, id, Some(digest))?;
    Ok(Some(relinked))
}

/// Ends all links of a resource that is gone.
pub(super) fn withdraw(at: &mut Apply<'_>, id: ResourceId) -> rusqlite::Result<Relinked> {
    labels::withdraw(at, id)?;
    let mut relinked = Relinked { owned: edges::declare(at, id, &[])? };
    relinked.owned.extend(selectors::declare(at, id, &[])?);
    selectors::settle(at, id)?;
    keep(at.connection, id, None)?;
    Ok(relinked)
}

fn keep(connection: &Connection, id: ResourceId, digest: Option<i64>) -> rusqlite::Result<()> {
    connection
        .prepare_cached("UPDATE resource SET links = ?2 WHERE id = ?1")?
        .execute(params![id.0, digest])?;
    Ok(())
}

/// Tells one set of links from another; not chosen by whoever writes the objects, as a plain hash could be.
fn digest(links: &impl Hash) -> i64 {
    let mut digest = Digest(blake3::Hasher::new());
    links.hash(&mut digest);
    digest.finish().cast_signed()
}

struct Digest(blake3::Hasher);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let mut first = [0; 8];
        self.0.finalize_xof().fill(&mut first);
        u64::from_le_bytes(first)
    }
}
