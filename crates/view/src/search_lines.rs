//! What search reads of resources and deployments: a line for each, 64 lines in a block, and which of the resources of
//! a block ever belonged to an environment.
//!
//! Blocks follow from the tables beside them alone, so that they are the same however the log was cut into transactions, and
//! are written once with the transaction. A deployment has the words of its last state.
//!
//! Why: docs/decisions/0035-search-scans-packed-lines.md.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, params};

use strandline_model::{DeploymentSpec, ResourceId};
use strandline_sqlite::column::{Json, VIEW};

/// A block holds the lines of two to the power of this many numbers, a bit of an integer for each.
pub const BLOCK_BITS: u32 = 6;

/// The most characters that are kept of a word: names in Kubernetes have fewer, whoever else serves objects may not.
const WORD_CHARS_MAX: usize = 512;

/// The first character of a line is this one for the first number of its block, and the next ones for the others.
const FIRST_SLOT: u8 = b'0';

/// The place in its block of a line that begins so.
pub const fn slot(first: u8) -> u32 {
    (first.wrapping_sub(FIRST_SLOT) & SLOT_MASK) as u32
}

const SLOT_MASK: u8 = (1 << BLOCK_BITS) - 1;

/// The block of a number …
const fn block_of(number: i64) -> i64 {
    number >> BLOCK_BITS
}

/// … its bit in the block …
const fn bit_of(number: i64) -> i64 {
    1 << (number & SLOT_MASK as i64)
}

/// … and the numbers of a block, the last of them not included.
const fn numbers_of(block: i64) -> [i64; 2] {
    [block << BLOCK_BITS, (block + 1) << BLOCK_BITS]
}

/// Blocks that are to be written.
#[derive(Debug, Default)]
pub(super) struct SearchLines {
    resources: BTreeSet<i64>,
    deployments: BTreeSet<i64>,
    /// Bits of resources by environment and block.
    members: BTreeMap<(i64, i64), i64>,
}

impl SearchLines {
    /// Notes a resource that is new.
    pub(super) fn add_resource(&mut self, id: ResourceId) {
        self.resources.insert(block_of(number(id)));
    }

    /// Notes a resource that came to belong to an environment.
    pub(super) fn add_member(&mut self, environment: i64, id: ResourceId) {
        let id = number(id);
        *self.members.entry((environment, block_of(id))).or_default() |= bit_of(id);
    }

    /// Notes a deployment of which something is declared.
    pub(super) fn add_deployment(&mut self, id: i64) {
        self.deployments.insert(block_of(id));
    }

    /// Writes the blocks.
    pub(super) fn write(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        for block in std::mem::take(&mut self.resources) {
            write_resources(connection, block)?;
        }
        for block in std::mem::take(&mut self.deployments) {
            write_deployments(connection, block)?;
        }
        let sql = "INSERT INTO search_members (environment_id, block, members) VALUES (?1, ?2, ?3)
            ON CONFLICT DO UPDATE SET members = members | excluded.members";
        let mut statement = connection.prepare_cached(sql)?;
        for ((environment, block), members) in std::mem::take(&mut self.members) {
            statement.execute(params![environment, block, members])?;
        }
        Ok(())
    }
}

fn number(id: ResourceId) -> i64 {
    id.0
}

/// A word as lines hold it: in lower case, without what parts words and lines.
fn push_word(line: &mut String, word: &str) {
    line.push('\t');
    let lower = word.chars().take(WORD_CHARS_MAX).flat_map(char::to_lowercase);
    line.extend(lower.map(|c| if c.is_control() { ' ' } else { c }));
}

fn begin_line(lines: &mut String, number: i64) {
    // Always a printable character of ASCII.
    lines.push(char::from(FIRST_SLOT + (number & i64::from(SLOT_MASK)) as u8));
}

/// A resource's name and, where they are not those of the line before, its kind and namespace: what is listed together
/// shares them.
fn write_resources(connection: &Connection, block: i64) -> rusqlite::Result<()> {
    let sql = "SELECT id, name, kind_id, namespace FROM resource WHERE id >= ?1 AND id < ?2 ORDER BY id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(numbers_of(block))?;
    let (mut lines, mut before) = (String::new(), None);
    while let Some(row) = rows.next()? {
        begin_line(&mut lines, row.get("id")?);
        push_word(&mut lines, row.get_ref("name")?.as_str()?);
        let place: (i64, String) = (row.get("kind_id")?, row.get("namespace")?);
        if before.as_ref() != Some(&place) {
            push_word(&mut lines, &place.0.to_string());
            push_word(&mut lines, &place.1);
            before = Some(place);
        }
        lines.push('\n');
    }
    put(connection, ["resource_lines", "DELETE FROM resource_lines WHERE block = ?1"], block, &lines)
}

/// A deployment's number, commit, user, branch or tag, environment and project.
fn write_deployments(connection: &Connection, block: i64) -> rusqlite::Result<()> {
    let sql = "SELECT d.id, d.spec FROM deployment d WHERE d.id >= ?1 AND d.id < ?2
            AND d.from_offset = (SELECT max(from_offset) FROM deployment WHERE id = d.id)
        ORDER BY d.id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(numbers_of(block))?;
    let mut lines = String::new();
    while let Some(row) = rows.next()? {
        let Json(spec) = VIEW.get::<Json<DeploymentSpec>>(row, "deployment.spec")?;
        begin_line(&mut lines, row.get("id")?);
        let (number, environment) = (spec.id.to_string(), spec.environment.as_str());
        for word in [&number, &spec.sha, &spec.user, &spec.reference, environment, &spec.project] {
            push_word(&mut lines, word);
        }
        lines.push('\n');
    }
    put(connection, ["deployment_lines", "DELETE FROM deployment_lines WHERE block = ?1"], block, &lines)
}

fn put(connection: &Connection, [table, delete]: [&str; 2], block: i64, lines: &str) -> rusqlite::Result<()> {
    if lines.is_empty() {
        connection.prepare_cached(delete)?.execute([block])?;
        return Ok(());
    }
    let sql = format!(
        "INSERT INTO {table} (block, lines) VALUES (?1, ?2)
        ON CONFLICT DO UPDATE SET lines = excluded.lines WHERE lines <> excluded.lines"
    );
    connection.prepare_cached(&sql)?.execute(params![block, lines])?;
    Ok(())
}

/// Writes a block of one of the tables here anew after what it follows from was pruned; `key` is its primary key.
pub(super) fn rewrite(connection: &Connection, table: &str, key: &[i64]) -> rusqlite::Result<()> {
    match (table, key) {
        ("resource_lines", [block]) => write_resources(connection, *block),
        ("deployment_lines", [block]) => write_deployments(connection, *block),
        ("search_members", [environment, block]) => write_members(connection, *environment, *block),
        _ => Ok(()),
    }
}

/// The tables here, with what a pass of pruning writes anew.
pub(super) const TABLES: [&str; 3] = ["resource_lines", "deployment_lines", "search_members"];

fn write_members(connection: &Connection, environment: i64, block: i64) -> rusqlite::Result<()> {
    let sql = "SELECT DISTINCT resource_id FROM membership INDEXED BY membership_by_resource
        WHERE resource_id >= ?1 AND resource_id < ?2 AND environment_id = ?3";
    let [from, to] = numbers_of(block);
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![from, to, environment])?;
    let mut members = 0;
    while let Some(row) = rows.next()? {
        members |= bit_of(row.get("resource_id")?);
    }
    let current = "SELECT members FROM search_members WHERE environment_id = ?1 AND block = ?2";
    let key = params![environment, block];
    let current: Option<i64> =
        connection.prepare_cached(current)?.query_row(key, |row| row.get("members")).optional()?;
    let sql = match members {
        _ if current == Some(members) => return Ok(()),
        0 => "DELETE FROM search_members WHERE environment_id = ?1 AND block = ?2 AND ?3 = 0",
        _ => "UPDATE search_members SET members = ?3 WHERE environment_id = ?1 AND block = ?2",
    };
    connection.prepare_cached(sql)?.execute(params![environment, block, members])?;
    Ok(())
}
