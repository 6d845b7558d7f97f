//! Prunes what the view has of the time before the oldest offset that can be asked for.
//!
//! A pass walks through every table once, in the order of its primary key and some rows at a time, between the batches of
//! changes. So it needs no index that each change would pay for, and costs one reading of the view. Which tables hold
//! intervals is read from the schema: each has the columns `from_offset` and `to_offset`.
//!
//! Why: docs/decisions/0008-retention-encodes-nothing-again.md.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, ToSql, TransactionBehavior, params_from_iter};

use super::columns::OPEN;
use super::options::Sizes;
use super::{floors, search_lines};
use strandline_log::Floor;
use strandline_model::Offset;

/// Pages that are given back to the disk in one transaction.
const PAGES: u32 = 500;

/// Of the rows that are looked at in one transaction, this part where each is written anew.
const REWRITTEN_PART: usize = 16;

/// What is to be pruned, since nobody may ask for it any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PruneRequest {
    /// Everything before this offset …
    pub before: Offset,
    /// … and of these kinds what is before an offset of their own.
    pub kinds: Vec<Floor>,
}

/// What the projector is to prune, and what it has pruned; clones share it.
#[derive(Clone, Debug, Default)]
pub struct Pruning {
    requested: Arc<Mutex<PruneRequest>>,
    done: Arc<Mutex<PruneRequest>>,
    rows: Arc<AtomicU64>,
}

fn lock(of: &Mutex<PruneRequest>) -> MutexGuard<'_, PruneRequest> {
    // It is replaced as a whole.
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pruning {
    /// Requests this, in the place of what was requested before.
    pub fn request(&self, request: PruneRequest) {
        *lock(&self.requested) = request;
    }

    /// Whether all that is requested is pruned from the view that is there now.
    pub fn is_done(&self) -> bool {
        *lock(&self.requested) == *lock(&self.done)
    }

    /// Rows pruned since the program began.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Another view has taken the place of the one that was pruned.
    pub(super) fn begin_anew(&self) {
        *lock(&self.done) = PruneRequest::default();
    }
}

/// A table, the columns by which it is walked, and which rows of it are pruned.
#[derive(Debug)]
struct Walk {
    table: String,
    key: Vec<String>,
    /// SQL that is true of rows to be pruned; `:floor` is the oldest offset that can be asked for.
    expired: String,
    /// SQL that is true of rows to be marked as moves of health: each is the first of those that are left.
    moves: Option<String>,
    /// Whether rows are written anew from what is left of the tables that they follow from, which takes longer.
    is_rewritten: bool,
}

/// One walk through the view.
#[derive(Debug)]
pub(super) struct Pass {
    floors: PruneRequest,
    walks: std::vec::IntoIter<Walk>,
    current: Option<Walk>,
    /// The key of the last row that was looked at; empty at the beginning of a table.
    position: Vec<Value>,
}

impl Pass {
    fn begin(view: &Connection, floors: PruneRequest) -> rusqlite::Result<Self> {
        floors::write(view, &floors.kinds)?;
        let mut walks = walks(view, !floors.kinds.is_empty())?.into_iter();
        let current = walks.next();
        Ok(Pass { floors, walks, current, position: Vec::new() })
    }
}

/// Does a part of what is wanted, in one transaction; false when there is nothing to do.
pub(super) fn step(
    view: &mut Connection,
    pass: &mut Option<Pass>,
    pruning: &Pruning,
    sizes: Sizes,
) -> rusqlite::Result<bool> {
    if pruning.is_done() {
        return Ok(false);
    }
    let wanted = lock(&pruning.requested).clone();
    if pass.as_ref().is_none_or(|pass| pass.floors != wanted) {
        *pass = Some(Pass::begin(view, wanted)?);
    }
    let Some(on) = pass else { return Ok(false) };
    let transaction = view.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let Some(walk) = &on.current else {
        let free = strandline_sqlite::incremental_vacuum(&transaction, PAGES)?;
        transaction.commit()?;
        if free == 0 {
            strandline_sqlite::truncate_wal(view)?;
            *lock(&pruning.done) = std::mem::take(&mut on.floors);
            *pass = None;
        }
        return Ok(true);
    };
    let (rows, end) = walk.step(&transaction, on.floors.before, &on.position, sizes.pruned_rows)?;
    transaction.commit()?;
    pruning.rows.fetch_add(rows, Ordering::Relaxed);
    if end.is_empty() {
        on.current = on.walks.next();
    }
    on.position = end;
    Ok(true)
}

impl Walk {
    /// Looks at so many rows after a position; returns how many went and the last key, which is empty at the table's end.
    fn step(
        &self,
        view: &Connection,
        floor: Offset,
        position: &[Value],
        rows: usize,
    ) -> rusqlite::Result<(u64, Vec<Value>)> {
        let key = self.key.join(", ");
        let rows = if self.is_rewritten { rows.div_ceil(REWRITTEN_PART) } else { rows };
        let after =
            if position.is_empty() { String::new() } else { format!("({key}) > ({})", marks(1, &self.key)) };
        let after_or_all = if after.is_empty() { "TRUE" } else { &after };
        let sql = format!(
            "SELECT {key} FROM {} WHERE {after_or_all} ORDER BY {key} LIMIT 1 OFFSET {}",
            self.table,
            rows.saturating_sub(1)
        );
        let read = |row: &rusqlite::Row<'_>| (0..self.key.len()).map(|column| row.get(column)).collect();
        let mut statement = view.prepare_cached(&sql)?;
        let end: Vec<Value> =
            statement.query_row(params_from_iter(position), read).optional()?.unwrap_or_default();
        let until = if end.is_empty() {
            "TRUE".to_owned()
        } else {
            format!("({key}) <= ({})", marks(1 + position.len(), &self.key))
        };
        let values: Vec<&dyn ToSql> = position.iter().chain(&end).map(|value| value as &dyn ToSql).collect();
        // A number of ours, the same for a whole pass; not every condition asks for it.
        let floor = floor.as_i64().to_string();
        let within = format!("{after_or_all} AND {until}");
        if self.is_rewritten {
            let sql = format!("SELECT {key} FROM {} WHERE {within}", self.table);
            let mut statement = view.prepare_cached(&sql)?;
            let read = |row: &rusqlite::Row<'_>| (0..self.key.len()).map(|column| row.get(column)).collect();
            let keys =
                statement.query_map(values.as_slice(), read)?.collect::<rusqlite::Result<Vec<Vec<i64>>>>()?;
            keys.iter().try_for_each(|key| search_lines::rewrite(view, &self.table, key))?;
            return Ok((0, end));
        }
        let expired = self.expired.replace(":floor", &floor);
        let sql = format!("DELETE FROM {} WHERE {within} AND ({expired})", self.table);
        let rows = view.prepare_cached(&sql)?.execute(values.as_slice())?;
        if let Some(moves) = &self.moves {
            let moves = moves.replace(":floor", &floor);
            let sql =
                format!("UPDATE {} SET moved = 1 WHERE {within} AND moved = 0 AND ({moves})", self.table);
            view.prepare_cached(&sql)?.execute(values.as_slice())?;
        }
        Ok((rows as u64, end))
    }
}

/// `?1, ?2, …`, one for each column.
fn marks(first: usize, columns: &[String]) -> String {
    let marks: Vec<String> = (first..first + columns.len()).map(|mark| format!("?{mark}")).collect();
    marks.join(", ")
}

/// All walks: first through the intervals, then through what only they need.
fn walks(view: &Connection, any_kinds: bool) -> rusqlite::Result<Vec<Walk>> {
    let mut statement = view.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")?;
    let tables: Vec<String> =
        statement.query_map([], |row| row.get("name"))?.collect::<rusqlite::Result<_>>()?;
    let mut walks = Vec::new();
    for table in tables {
        let columns = columns(view, &table)?;
        let has = |name: &str| columns.iter().any(|(column, _)| column == name);
        if !has("from_offset") || !has("to_offset") {
            continue;
        }
        let expired = |floor: &str| match table.as_str() {
            // What is gone has no later row that needs it, and neither has the last count of an Event.
            "version" => format!("to_offset <= {floor} OR (deleted = 1 AND from_offset <= {floor})"),
            "kube_event_count" => {
                format!("to_offset <= {floor} OR (to_offset = {OPEN} AND from_offset <= {floor})")
            }
            _ => format!("to_offset <= {floor}"),
        };
        if table == "stretch_health" {
            // A row here is open where it ends after its stretch; stretches go as a whole, below.
            continue;
        }
        let holds = |floor: &str| format!("(from_offset <= {floor} AND to_offset > {floor})");
        let of_kinds = floor_of_kind(&table).filter(|_| any_kinds);
        let each = |sql: &dyn Fn(&str) -> String| match &of_kinds {
            Some(floor) => format!("{} OR {}", sql(":floor"), sql(floor)),
            None => sql(":floor"),
        };
        let moves = has("moved").then(|| each(&holds));
        walks.push(Walk { expired: each(&expired), moves, ..Walk::of(view, &table)? });
    }
    for (table, expired) in dependents(any_kinds) {
        walks.push(Walk { expired, ..Walk::of(view, table)? });
    }
    let rewritten = |table| Ok::<_, rusqlite::Error>(Walk { is_rewritten: true, ..Walk::of(view, table)? });
    for table in search_lines::TABLES {
        walks.push(rewritten(table)?);
    }
    // Not before it is said of no environment that it had the image: another one may get the number.
    walks.push(Walk { expired: unused("image", "image_use", "image_id"), ..Walk::of(view, "image")? });
    walks.push(rewritten(search_lines::IMAGES)?);
    Ok(walks)
}

/// SQL for the offset from which on the kind of a row is known whole; NULL, before which nothing is pruned, where the kind
/// has no floor of its own.
fn floor_of_kind(table: &str) -> Option<String> {
    let floor = |of: &str, is: &str| {
        format!(
            r#"(SELECT max(f.floor) FROM {of} JOIN cluster c ON c.id = o.cluster_id
                JOIN kind_floor f ON f.cluster = c.name AND {is})"#
        )
    };
    let named = r#"f."group" = o."group" AND f.kind = o.kind"#;
    let events = "f.kind = 'Event'";
    match table {
        "membership" => Some(floor("(SELECT * FROM kind WHERE id = membership.kind_id) o", named)),
        "version" => {
            let kind = "(SELECT k.* FROM resource r JOIN kind k ON k.id = r.kind_id WHERE r.id = version.resource_id) o";
            Some(floor(kind, named))
        }
        "kube_event_count" => {
            Some(floor("(SELECT cluster_id FROM kube_event WHERE id = kube_event_count.event_id) o", events))
        }
        "kube_event_object" => Some(floor("(SELECT kube_event_object.cluster_id) o", events)),
        _ => None,
    }
}

/// SQL that is true of rows of a table that no row of another names.
fn unused(table: &str, by: &str, column: &str) -> String {
    format!("NOT EXISTS (SELECT 1 FROM {by} WHERE {by}.{column} = {table}.id)")
}

/// What only intervals need, or what they count.
fn dependents(any_kinds: bool) -> [(&'static str, String); 18] {
    let kept = "(SELECT max(from_offset) FROM stretch WHERE from_offset <= :floor)";
    let of_no_audience =
        |table: &str| format!("NOT EXISTS (SELECT 1 FROM audience u WHERE u.id = {table}.audience)");
    let happened = |table: &str| {
        format!(
            r#""offset" <= :floor
                OR (what <= 4 AND NOT EXISTS (SELECT 1 FROM resource r WHERE r.id = {table}.subject))
                OR (what IN (5, 6) AND NOT EXISTS (SELECT 1 FROM kube_event v WHERE v.id = {table}.subject))"#
        )
    };
    let counted_before = match floor_of_kind("kube_event_object").filter(|_| any_kinds) {
        Some(floor) => format!("last_offset <= :floor OR last_offset <= {floor}"),
        None => "last_offset <= :floor".to_owned(),
    };
    [
        ("stretch_health", format!("stretch < {kept}")),
        ("stretch", format!("from_offset < {kept}")),
        // A row shows a count, and goes with it.
        (
            "event_feed",
            r#"NOT EXISTS (SELECT 1 FROM kube_event_count n
                WHERE n.event_id = event_feed.event_id AND n.from_offset = event_feed."offset")"#
                .to_owned(),
        ),
        ("kube_event", unused("kube_event", "kube_event_count", "event_id")),
        ("kube_event_object", counted_before),
        ("resource", unused("resource", "version", "resource_id")),
        // What happened is pruned with what it happened to.
        ("happening", happened("happening")),
        ("feed", happened("feed")),
        (
            "controller",
            "NOT EXISTS (SELECT 1 FROM environment e WHERE e.id = controller.environment_id)".to_owned(),
        ),
        (
            "manager",
            "id NOT IN (SELECT manager_id FROM feed WHERE manager_id IS NOT NULL UNION SELECT manager_id FROM controller)"
                .to_owned(),
        ),
        // Counts of an hour go with the last of what they count.
        (
            "happening_count",
            "NOT EXISTS (SELECT 1 FROM happening h WHERE h.hour = happening_count.hour
                AND h.environment_id = happening_count.environment_id)"
                .to_owned(),
        ),
        ("home_count", "total = 0 AND last_offset <= :floor".to_owned()),
        ("far", unused("far", "edge", "far_id")),
        (
            "agent_deployment",
            "NOT EXISTS (SELECT 1 FROM deployment WHERE deployment.id = agent_deployment.deployment_id)"
                .to_owned(),
        ),
        // An environment that comes back meanwhile gets a new one, whose number nothing has yet.
        ("audience", unused("audience", "environment_audience", "audience")),
        ("audience_path", of_no_audience("audience_path")),
        ("audience_agent", of_no_audience("audience_agent")),
        ("audience_place", of_no_audience("audience_place")),
    ]
}

impl Walk {
    fn of(view: &Connection, table: &str) -> rusqlite::Result<Self> {
        let mut key = columns(view, table)?;
        key.retain(|(_, place)| *place > 0);
        key.sort_by_key(|(_, place)| *place);
        let key = key.into_iter().map(|(column, _)| format!("\"{column}\"")).collect();
        Ok(Walk { table: table.to_owned(), key, expired: String::new(), moves: None, is_rewritten: false })
    }
}

/// The columns of a table, each with its place in the primary key, or zero.
fn columns(view: &Connection, table: &str) -> rusqlite::Result<Vec<(String, i64)>> {
    let mut statement = view.prepare_cached("SELECT name, pk FROM pragma_table_info(?1)")?;
    let columns = statement.query_map([table], |row| Ok((row.get("name")?, row.get("pk")?)))?;
    columns.collect()
}
