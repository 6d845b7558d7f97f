//! What search reads of resources, deployments and images: a line for each, 64 lines in a block, and which of the resources
//! and of the images of a block ever belonged to an environment.
//!
//! Blocks follow from the tables beside them alone, so that they are the same however the log was cut into transactions, and
//! are written once with the transaction. A deployment has the words of its last state.
//!
//! Why: docs/decisions/0035-search-scans-packed-lines.md.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, params};

use strandline_model::{DeploymentSpec, Offset, ResourceId};
use strandline_sqlite::column::{Json, VIEW};
use strandline_syntax::{Image, fold_letter};

/// The table of lines of resources …
pub const RESOURCES: &str = "resource_lines";
/// … of deployments …
pub const DEPLOYMENTS: &str = "deployment_lines";
/// … and of images, which follow from a table that is pruned after all others.
pub const IMAGES: &str = "image_lines";

/// A block holds the lines of two to the power of this many numbers, a bit of an integer for each.
pub const BLOCK_BITS: u32 = 6;

/// The most characters that are kept of a word: names in Kubernetes have fewer, whoever else serves objects may not.
const WORD_CHARS_MAX: usize = 512;

/// The first character of a line is this one for the first number of its block, and the next ones for the others.
const FIRST_SLOT: u8 = b'0';

/// A line with the kind and namespace of the resources after it begins with this, which no word holds.
pub const PLACE: u8 = 1;

/// The place in its block of a line that begins so.
pub const fn slot(first: u8) -> u32 {
    (first.wrapping_sub(FIRST_SLOT) & SLOT_MASK) as u32
}

const SLOT_MASK: u8 = (1 << BLOCK_BITS) - 1;

/// The block of a number …
pub const fn block_of(number: i64) -> i64 {
    number >> BLOCK_BITS
}

/// … its bit in the block …
pub const fn bit_of(number: i64) -> i64 {
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
    /// Whether one in the block is new.
    deployments: BTreeMap<i64, bool>,
    /// How often a deployment came to have other words.
    reworded: i64,
    images: BTreeSet<i64>,
    /// Bits of resources by environment and block.
    members: Members,
    /// Bits of images by environment and block …
    images_of: Members,
    /// … and resources that may have images in environments from an offset on, where they had them not before.
    users: BTreeMap<ResourceId, Offset>,
}

/// Bits by environment and block.
type Members = BTreeMap<(i64, i64), i64>;

impl SearchLines {
    /// Notes a resource that is new.
    pub(super) fn add_resource(&mut self, id: ResourceId) {
        self.resources.insert(block_of(number(id)));
    }

    /// Notes a resource that came to belong to an environment.
    pub(super) fn add_member(&mut self, environment: i64, id: ResourceId) {
        add(&mut self.members, environment, number(id));
    }

    /// Notes an image that is new.
    pub(super) fn add_image(&mut self, id: i64) {
        self.images.insert(block_of(id));
    }

    /// Notes an image that something has which belongs to an environment.
    pub(super) fn add_image_of(&mut self, environment: i64, image: i64) {
        add(&mut self.images_of, environment, image);
    }

    /// Notes a resource that came to have an image, or to belong to an environment with those that it has, at an offset.
    pub(super) fn add_user(&mut self, id: ResourceId, at: Offset) {
        self.users.entry(id).or_insert(at);
    }

    /// Notes a deployment of which something is declared, with what was declared of it before.
    pub(super) fn add_deployment(&mut self, id: i64, spec: &DeploymentSpec, before: Option<&DeploymentSpec>) {
        *self.deployments.entry(block_of(id)).or_default() |= before.is_none();
        if before.is_some_and(|before| deployment_words(before) != deployment_words(spec)) {
            self.reworded += 1;
        }
    }

    /// Writes the blocks.
    pub(super) fn write(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        for block in std::mem::take(&mut self.resources) {
            write_grown(connection, RESOURCES, block)?;
        }
        for (block, has_new) in std::mem::take(&mut self.deployments) {
            match has_new {
                true => write_grown(connection, DEPLOYMENTS, block)?,
                false => drop(write_block(connection, DEPLOYMENTS, block)?),
            }
        }
        revise(connection, DEPLOYMENTS, std::mem::take(&mut self.reworded))?;
        for block in std::mem::take(&mut self.images) {
            write_grown(connection, IMAGES, block)?;
        }
        let mut images = std::mem::take(&mut self.images_of);
        add_images_of(connection, std::mem::take(&mut self.users), &mut images)?;
        add_members(connection, "search_members", std::mem::take(&mut self.members))?;
        add_members(connection, "image_members", images)
    }
}

fn add(members: &mut Members, environment: i64, number: i64) {
    *members.entry((environment, block_of(number))).or_default() |= bit_of(number);
}

/// Adds the images that resources had in environments at any time from an offset on. What ended before is not read, so that a
/// change costs the same whatever came before it.
fn add_images_of(
    connection: &Connection,
    users: BTreeMap<ResourceId, Offset>,
    members: &mut Members,
) -> rusqlite::Result<()> {
    let sql = "SELECT m.environment_id, u.image_id FROM image_use u INDEXED BY image_use_by_resource
        CROSS JOIN membership m INDEXED BY membership_by_resource
            ON m.resource_id = u.resource_id AND m.to_offset > ?2
        WHERE u.resource_id = ?1 AND u.to_offset > ?2
            AND max(u.from_offset, m.from_offset) < min(u.to_offset, m.to_offset)";
    let mut statement = connection.prepare_cached(sql)?;
    for (id, since) in users {
        let mut rows = statement.query(params![id, since])?;
        while let Some(row) = rows.next()? {
            add(members, row.get("environment_id")?, row.get("image_id")?);
        }
    }
    Ok(())
}

fn add_members(connection: &Connection, table: &str, members: Members) -> rusqlite::Result<()> {
    let sql = format!(
        "INSERT INTO {table} (environment_id, block, members) VALUES (?1, ?2, ?3)
        ON CONFLICT DO UPDATE SET members = members | excluded.members
            WHERE members | excluded.members <> members"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    for ((environment, block), members) in members {
        statement.execute(params![environment, block, members])?;
    }
    Ok(())
}

fn number(id: ResourceId) -> i64 {
    id.0
}

/// A word as lines hold it: in lower case, without what parts words and lines.
fn push_word(line: &mut String, word: &str) {
    line.push('\t');
    push_chars(line, word.chars().take(WORD_CHARS_MAX).flat_map(fold_letter));
}

fn push_chars(line: &mut String, chars: impl Iterator<Item = char>) {
    line.extend(chars.map(|c| if c.is_control() { ' ' } else { c }));
}

fn begin_line(lines: &mut String, number: i64) {
    // Always a printable character of ASCII.
    lines.push(char::from(FIRST_SLOT + (number & i64::from(SLOT_MASK)) as u8));
}

/// A resource's name, after a line with its kind and namespace where they are not those of the resource before: what is listed
/// together shares them.
fn resource_lines(connection: &Connection, block: i64) -> rusqlite::Result<String> {
    let sql = "SELECT id, name, kind_id, namespace FROM resource WHERE id >= ?1 AND id < ?2 ORDER BY id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(numbers_of(block))?;
    let (mut lines, mut before) = (String::new(), None);
    while let Some(row) = rows.next()? {
        let place: (i64, String) = (row.get("kind_id")?, row.get("namespace")?);
        if before.as_ref() != Some(&place) {
            lines.push(char::from(PLACE));
            push_word(&mut lines, &place.0.to_string());
            push_word(&mut lines, &place.1);
            lines.push('\n');
            before = Some(place);
        }
        begin_line(&mut lines, row.get("id")?);
        push_word(&mut lines, row.get_ref("name")?.as_str()?);
        lines.push('\n');
    }
    Ok(lines)
}

/// By what besides its number a deployment is found.
fn deployment_words(spec: &DeploymentSpec) -> [&str; 5] {
    [&spec.sha, &spec.user, &spec.reference, spec.environment.as_str(), &spec.project]
}

/// A deployment's number, commit, user, branch or tag, environment and project.
fn deployment_lines(connection: &Connection, block: i64) -> rusqlite::Result<String> {
    let sql = "SELECT d.id, d.spec FROM deployment d WHERE d.id >= ?1 AND d.id < ?2
            AND d.from_offset = (SELECT max(from_offset) FROM deployment WHERE id = d.id)
        ORDER BY d.id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(numbers_of(block))?;
    let mut lines = String::new();
    while let Some(row) = rows.next()? {
        let Json(spec) = VIEW.get::<Json<DeploymentSpec>>(row, "deployment.spec")?;
        begin_line(&mut lines, row.get("id")?);
        push_word(&mut lines, &spec.id.to_string());
        for word in deployment_words(&spec) {
            push_word(&mut lines, word);
        }
        lines.push('\n');
    }
    Ok(lines)
}

/// An image's name, its digest and, where it is not in lower case, its name as it is written: names that differ in that alone are
/// of two images.
fn image_lines(connection: &Connection, block: i64) -> rusqlite::Result<String> {
    let sql = "SELECT id, repository, tag, digest FROM image WHERE id >= ?1 AND id < ?2 ORDER BY id";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(numbers_of(block))?;
    let mut lines = String::new();
    while let Some(row) = rows.next()? {
        let image =
            Image { repository: row.get("repository")?, tag: row.get("tag")?, digest: row.get("digest")? };
        let name = image.name();
        begin_line(&mut lines, row.get("id")?);
        push_word(&mut lines, &name);
        push_word(&mut lines, &image.digest);
        if name.chars().any(|c| c.is_uppercase()) {
            lines.push('\t');
            push_chars(&mut lines, name.chars().take(WORD_CHARS_MAX));
        }
        lines.push('\n');
    }
    Ok(lines)
}

/// Writes a block of one of the tables of lines as it follows from what they are of; whether it is another one than before.
fn write_block(connection: &Connection, table: &str, block: i64) -> rusqlite::Result<bool> {
    let lines = match table {
        RESOURCES => resource_lines(connection, block)?,
        DEPLOYMENTS => deployment_lines(connection, block)?,
        _ => image_lines(connection, block)?,
    };
    let rows = if lines.is_empty() {
        let sql = format!("DELETE FROM {table} WHERE block = ?1");
        connection.prepare_cached(&sql)?.execute([block])?
    } else {
        let sql = format!(
            "INSERT INTO {table} (block, lines) VALUES (?1, ?2)
            ON CONFLICT DO UPDATE SET lines = excluded.lines WHERE lines <> excluded.lines"
        );
        connection.prepare_cached(&sql)?.execute(params![block, lines])?
    };
    Ok(rows > 0)
}

/// The same where a line came to it: into a block that others follow where a number is given again, after something was pruned.
fn write_grown(connection: &Connection, table: &str, block: i64) -> rusqlite::Result<()> {
    let is_followed = format!("SELECT 1 FROM {table} WHERE block > ?1");
    let is_old =
        write_block(connection, table, block)? && connection.prepare_cached(&is_followed)?.exists([block])?;
    revise(connection, table, i64::from(is_old))
}

fn revise(connection: &Connection, table: &str, times: i64) -> rusqlite::Result<()> {
    if times > 0 {
        let sql = "INSERT INTO lines_revision (lines, revision) VALUES (?1, ?2)
            ON CONFLICT DO UPDATE SET revision = revision + excluded.revision";
        connection.prepare_cached(sql)?.execute(params![table, times])?;
    }
    Ok(())
}

/// A number that is greater once a block that others follow is another one: under one revision such a block stays as it is.
///
/// # Errors
/// When the view cannot be read.
pub fn revision(view: &Connection, table: &str) -> rusqlite::Result<i64> {
    let sql = "SELECT revision FROM lines_revision WHERE lines = ?1";
    Ok(view.prepare_cached(sql)?.query_row([table], |row| row.get("revision")).optional()?.unwrap_or(0))
}

/// Writes a block of one of the tables here anew after what it follows from was pruned; `key` is its primary key.
pub(super) fn rewrite(connection: &Connection, table: &str, key: &[i64]) -> rusqlite::Result<()> {
    match (table, key) {
        (RESOURCES | DEPLOYMENTS | IMAGES, [block]) => {
            let is_other = write_block(connection, table, *block)?;
            revise(connection, table, i64::from(is_other))
        }
        ("search_members", [environment, block]) => {
            let sql = "SELECT DISTINCT resource_id FROM membership INDEXED BY membership_by_resource
                WHERE environment_id = ?1 AND resource_id >= ?2 AND resource_id < ?3";
            write_members(connection, [table, sql], *environment, *block)
        }
        ("image_members", [environment, block]) => {
            let sql = "SELECT DISTINCT u.image_id FROM membership m
                CROSS JOIN image_use u INDEXED BY image_use_by_resource ON u.resource_id = m.resource_id
                WHERE m.environment_id = ?1 AND u.image_id >= ?2 AND u.image_id < ?3
                    AND max(u.from_offset, m.from_offset) < min(u.to_offset, m.to_offset)";
            write_members(connection, [table, sql], *environment, *block)
        }
        _ => Ok(()),
    }
}

/// The tables here that a pass of pruning writes anew, but for [`IMAGES`].
pub(super) const TABLES: [&str; 4] = [RESOURCES, DEPLOYMENTS, "search_members", "image_members"];

/// Writes which numbers of a block are left, as `sql` reads them.
fn write_members(
    connection: &Connection,
    [table, sql]: [&str; 2],
    environment: i64,
    block: i64,
) -> rusqlite::Result<()> {
    let [from, to] = numbers_of(block);
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![environment, from, to])?;
    let mut members = 0;
    while let Some(row) = rows.next()? {
        members |= bit_of(row.get(0)?);
    }
    let current = format!("SELECT members FROM {table} WHERE environment_id = ?1 AND block = ?2");
    let key = params![environment, block];
    let current: Option<i64> =
        connection.prepare_cached(&current)?.query_row(key, |row| row.get("members")).optional()?;
    let sql = match members {
        _ if current == Some(members) => return Ok(()),
        0 => format!("DELETE FROM {table} WHERE environment_id = ?1 AND block = ?2 AND ?3 = 0"),
        _ => format!("UPDATE {table} SET members = ?3 WHERE environment_id = ?1 AND block = ?2"),
    };
    connection.prepare_cached(&sql)?.execute(params![environment, block, members])?;
    Ok(())
}
