//! What a caller may see.
//!
//! Why: docs/decisions/0018-scopes-are-part-of-the-sql.md.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

use strandline_gitlab::Membership;
use strandline_model::{Offset, Places};

/// What a caller may see; every query takes one and puts it into its SQL.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Scope {
    /// Of what the caller is a member; none where nothing is hidden.
    membership: Option<Membership>,
    /// Which places the caller may read besides.
    places: Places,
}

impl Scope {
    /// Sees everything.
    pub fn everything() -> Self {
        Scope { membership: None, places: Places::default() }
    }

    /// What such a member sees, and nothing else: the environments of the projects, of those below
    /// the groups, and those that are shared with one of them or deployed by one of them; of an environment that an agent
    /// serves, resources only where the agent lets its members in. Besides, the clusters and namespaces that such
    /// environments look at; only offsets and the lag count changes of others.
    pub fn members(membership: Membership) -> Self {
        Scope { membership: Some(membership), places: Places::default() }
    }

    /// The same, which besides sees and reads the environments that look at places of these alone, and at some; whatever agents
    /// say, since whoever may read there needs none.
    #[must_use]
    pub fn with_places(self, places: Places) -> Self {
        Scope { places, ..self }
    }

    /// What members of these projects see.
    pub fn projects(paths: impl IntoIterator<Item = String>) -> Self {
        Scope::members(Membership::new(paths, [""; 0]))
    }

    /// Makes the sets of what this sees in a view, unless the reader has them still. Which agents let a caller in is what
    /// they say now, whatever the moment that is asked for.
    pub(super) fn resolve(&self, view: &Connection) -> rusqlite::Result<ResolvedScope> {
        let Some(membership) = &self.membership else { return Ok(ResolvedScope(None)) };
        let sql = "SELECT since FROM catalog_state";
        let since: i64 = view.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?.unwrap_or(0);
        let digest = digest(membership, &self.places);
        let sql = "SELECT narrow FROM temp.sight WHERE scope = ?1 AND since = ?2";
        let mut held = view.prepare_cached(sql)?;
        let mut narrow = || held.query_row(params![digest, since], |row| row.get(0)).optional();
        let narrow = match narrow()? {
            Some(narrow) => narrow,
            None => {
                strandline_sqlite::with_temporary(view, |view| {
                    fill(view, (membership, &self.places), &digest, since)
                })?;
                narrow()?.unwrap_or(false)
            }
        };
        Ok(ResolvedScope(Some(Sets { since, narrow })))
    }
}

/// Makes room for the sets of what a scope sees beside a view. A reader has those of the scope that asked it last: they
/// hold as long as nothing of the catalog moves, for all questions of a request and of the next ones.
pub(super) fn prepare(view: &Connection) -> rusqlite::Result<()> {
    strandline_sqlite::with_temporary(view, |view| view.execute_batch(SETS))
}

const SETS: &str = include_str!("../../../schema/sight.sql");

/// By what sets are known again that were made for these: all that they are made of, and nothing else.
fn digest(membership: &Membership, places: &Places) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    let mut path = |kind: u8, path: &str| {
        // The length in front keeps neighbouring paths from being read as one another.
        hasher.update(&[kind]).update(&(path.len() as u64).to_le_bytes()).update(path.as_bytes());
    };
    membership.named().for_each(|named| path(0, named));
    membership.below().flatten().for_each(|end| path(1, &end));
    for (cluster, namespace) in places.iter() {
        path(2, cluster);
        path(3, namespace);
    }
    hasher.finalize().into()
}

/// The audiences of what looks at places alone that may be read, found from these.
const ALLOWED: &str = "INSERT OR IGNORE INTO temp.sight_reads
    WITH looks AS (
        SELECT p.audience FROM temp.sight_allowed a CROSS JOIN audience_place p
            ON p.cluster = a.cluster AND p.namespace = a.namespace WHERE a.namespace <> ''
        UNION SELECT p.audience FROM temp.sight_allowed a CROSS JOIN audience_place p
            ON p.cluster = a.cluster WHERE a.namespace = '')
    SELECT l.audience FROM looks l WHERE NOT EXISTS (
        SELECT 1 FROM audience_place p WHERE p.audience = l.audience AND NOT EXISTS (
            SELECT 1 FROM temp.sight_allowed a WHERE a.cluster = p.cluster AND a.namespace IN ('', p.namespace)))";

/// Makes the sets; a path that the membership holds for is named by it or lies below a group of it.
fn fill(
    view: &Connection,
    (membership, places): (&Membership, &Places),
    digest: &[u8; 32],
    since: i64,
) -> rusqlite::Result<()> {
    view.execute_batch(
        "DELETE FROM temp.sight; DELETE FROM temp.sight_path; DELETE FROM temp.sight_agent; DELETE FROM temp.sight_sees;
        DELETE FROM temp.sight_reads; DELETE FROM temp.sight_project; DELETE FROM temp.sight_place;
        DELETE FROM temp.sight_allowed;",
    )?;
    for [named, below] in [
        [
            "INSERT OR IGNORE INTO temp.sight_path SELECT path FROM viewer WHERE folded = ?1",
            "INSERT OR IGNORE INTO temp.sight_path SELECT path FROM viewer WHERE folded >= ?1 AND folded < ?2",
        ],
        [
            "INSERT OR IGNORE INTO temp.sight_agent SELECT agent FROM agent_viewer WHERE path = ?1",
            "INSERT OR IGNORE INTO temp.sight_agent SELECT agent FROM agent_viewer WHERE path >= ?1 AND path < ?2",
        ],
        [
            "INSERT OR IGNORE INTO temp.sight_sees SELECT audience FROM audience_path WHERE path = ?1",
            "INSERT OR IGNORE INTO temp.sight_sees SELECT audience FROM audience_path WHERE path >= ?1 AND path < ?2",
        ],
    ] {
        let (mut named, mut below) = (view.prepare_cached(named)?, view.prepare_cached(below)?);
        for path in membership.named() {
            named.execute([path])?;
        }
        for [from, to] in membership.below() {
            below.execute([from, to])?;
        }
    }
    view.execute_batch(
        "INSERT INTO temp.sight_reads SELECT s.audience FROM temp.sight_sees s WHERE NOT EXISTS (
            SELECT 1 FROM audience_agent a WHERE a.audience = s.audience
                AND a.agent NOT IN (SELECT agent FROM temp.sight_agent));",
    )?;
    if !places.is_empty() {
        let mut allow =
            view.prepare_cached("INSERT INTO temp.sight_allowed (cluster, namespace) VALUES (?1, ?2)")?;
        places.iter().try_for_each(|(cluster, namespace)| allow.execute([cluster, namespace]).map(|_| ()))?;
        view.execute_batch(ALLOWED)?;
        view.execute_batch("INSERT OR IGNORE INTO temp.sight_sees SELECT audience FROM temp.sight_reads")?;
    }
    view.execute_batch(
        "INSERT OR IGNORE INTO temp.sight_project
            SELECT u.project FROM temp.sight_sees s CROSS JOIN audience u ON u.id = s.audience;",
    )?;
    // Last, so that sets that were broken off belong to nobody.
    let sql = "INSERT INTO temp.sight (scope, since, narrow) SELECT ?1, ?2,
        ?3 * (SELECT count(*) FROM temp.sight_sees) < (SELECT count(*) FROM audience)";
    view.prepare_cached(sql)?.execute(params![digest, since, NARROW]).map(|_| ())
}

/// Where the environments look that are read at `:at`.
const PLACES: &str = "INSERT OR IGNORE INTO temp.sight_place SELECT p.cluster_id, p.namespace
    FROM temp.sight_reads s CROSS JOIN environment_audience e INDEXED BY environment_audience_by_audience
        ON e.audience = s.audience AND e.to_offset > :at AND e.from_offset <= :at
    CROSS JOIN environment_place p INDEXED BY environment_place_by_environment
        ON p.environment_id = e.environment_id AND p.to_offset > :at AND p.from_offset <= :at";

/// A scope that sees less than this part of all audiences is asked about from its own sets on, even where others go by an
/// order and read no further than a page goes.
const NARROW: i64 = 8;

/// A scope as statements take it: the reader's sets are its own; none where nothing is hidden.
#[derive(Clone, Debug)]
pub(super) struct ResolvedScope(Option<Sets>);

#[derive(Clone, Debug)]
struct Sets {
    /// The last change of the catalog.
    since: i64,
    narrow: bool,
}

impl ResolvedScope {
    /// Whether nothing is hidden from it.
    pub(super) fn is_everything(&self) -> bool {
        self.0.is_none()
    }

    /// The audiences that it belongs to, for what is kept outside of the view.
    pub(super) fn audiences(&self, view: &Connection) -> rusqlite::Result<Audiences> {
        if self.is_everything() {
            return Ok(Audiences(None));
        }
        let count = |sql: &str| view.prepare_cached(sql)?.query_row([], |row| row.get::<_, i64>(0));
        let sees = Arc::new(Numbers::read(view, "SELECT audience FROM temp.sight_sees")?);
        // What it reads, it sees.
        let reads_all =
            count("SELECT count(*) FROM temp.sight_sees")? == count("SELECT count(*) FROM temp.sight_reads")?;
        let reads = match reads_all {
            true => Arc::clone(&sees),
            false => Arc::new(Numbers::read(view, "SELECT audience FROM temp.sight_reads")?),
        };
        Ok(Audiences(Some((sees, reads))))
    }

    /// What `:scope` is bound to.
    pub(super) fn as_sql(&self) -> Option<i64> {
        self.0.as_ref().map(|sets| sets.since)
    }

    /// Whether it sees so little that a list is found faster from there than in what everybody sees.
    pub(super) fn is_narrow(&self) -> bool {
        self.0.as_ref().is_some_and(|sets| sets.narrow)
    }

    /// The same for a statement that asks where the scope looks at a moment, which is looked up where the reader has it
    /// not yet.
    pub(super) fn with_places(&self, view: &Connection, at: Offset) -> rusqlite::Result<Option<i64>> {
        let Some(since) = self.as_sql() else { return Ok(None) };
        // From the last change of the catalog on, all moments are alike.
        let at = at.as_i64().min(since);
        let sql = "SELECT 1 FROM temp.sight WHERE places_at = ?1";
        if !view.prepare_cached(sql)?.exists([at])? {
            strandline_sqlite::with_temporary(view, |view| {
                view.execute_batch("DELETE FROM temp.sight_place; UPDATE temp.sight SET places_at = NULL")?;
                view.prepare_cached(PLACES)?.execute([at])?;
                view.prepare_cached("UPDATE temp.sight SET places_at = ?1")?.execute([at])
            })?;
        }
        Ok(Some(since))
    }
}

/// The audiences whose environments a scope sees, and those of which it reads them; none where nothing is hidden.
pub(super) struct Audiences(Option<(Arc<Numbers>, Arc<Numbers>)>);

impl Audiences {
    /// Whether it sees that there is an environment of an audience.
    pub(super) fn see(&self, audience: i64) -> bool {
        self.0.as_ref().is_none_or(|(sees, _)| sees.have(audience))
    }

    /// Whether it may read what an environment of an audience holds.
    pub(super) fn read(&self, audience: i64) -> bool {
        self.0.as_ref().is_none_or(|(_, reads)| reads.have(audience))
    }
}

/// A set of audiences, a bit for each number: the view counts them up from one, so that there are not many more than audiences.
#[derive(Default)]
struct Numbers(Vec<u64>);

impl Numbers {
    /// Reads those that a statement finds.
    fn read(view: &Connection, sql: &str) -> rusqlite::Result<Self> {
        let mut statement = view.prepare_cached(sql)?;
        let mut rows = statement.query([])?;
        let mut numbers = Numbers::default();
        while let Some(row) = rows.next()? {
            let Some((word, bit)) = Self::place(row.get(0)?) else { continue };
            if numbers.0.len() <= word {
                numbers.0.resize(word + 1, 0);
            }
            numbers.0[word] |= bit;
        }
        Ok(numbers)
    }

    fn have(&self, number: i64) -> bool {
        let place = Self::place(number);
        place.is_some_and(|(word, bit)| self.0.get(word).is_some_and(|bits| bits & bit != 0))
    }

    /// Where the bit of a number is; a number of nothing has none.
    fn place(number: i64) -> Option<(usize, u64)> {
        let number = usize::try_from(number).ok()?;
        Some((number / u64::BITS as usize, 1 << (number % u64::BITS as usize)))
    }
}

/// SQL that holds where `:scope` sees that there is an environment of the audience `e.audience`; `e` may be a row of
/// `environment` or of `environment_audience`.
macro_rules! sees {
    () => {
        "(:scope IS NULL OR e.audience IN (SELECT audience FROM temp.sight_sees))"
    };
}
pub(super) use sees;

/// SQL that holds where `:scope` may read what an environment of the audience `e.audience` holds: it sees it, and every
/// agent that serves it lets it in.
macro_rules! reads {
    () => {
        "(:scope IS NULL OR e.audience IN (SELECT audience FROM temp.sight_reads))"
    };
}
pub(super) use reads;

/// SQL for the audiences that `:scope` sees, as a table to begin with.
macro_rules! seen_audiences {
    () => {
        "(SELECT id FROM audience WHERE :scope IS NULL
            UNION ALL SELECT audience FROM temp.sight_sees WHERE :scope IS NOT NULL)"
    };
}
pub(super) use seen_audiences;

/// SQL that holds where `:scope` looks, bound [`ResolvedScope::with_places`]: at a cluster `c` or, as `looked_at!(namespace)`, at
/// what a row of coverage `g` tells of it, which is the scope's where it speaks of all namespaces or of one that the
/// scope looks at.
///
/// A scope looks where the targets of its projects' environments are: into all namespaces, where a target names none.
macro_rules! looked_at {
    (cluster) => {
        "(:scope IS NULL OR EXISTS (SELECT 1 FROM temp.sight_place p WHERE p.cluster_id = c.id))"
    };
    (namespace) => {
        "(:scope IS NULL OR CASE g.namespace WHEN ''
            THEN EXISTS (SELECT 1 FROM temp.sight_place p WHERE p.cluster_id = c.id)
            ELSE EXISTS (SELECT 1 FROM temp.sight_place p WHERE p.cluster_id = c.id
                AND p.namespace IN ('', g.namespace)) END)"
    };
}
pub(super) use looked_at;

/// SQL of the targets `t` of the environment asked about, `:environment`, at `:at`; of none where `:scope` does not read it.
macro_rules! targets_asked_about {
    () => {
        concat!(
            "json_each((SELECT e.targets FROM environment e
                WHERE e.id = :environment AND e.to_offset > :at AND e.from_offset = (SELECT max(from_offset)
                    FROM environment WHERE id = :environment AND from_offset <= :at) AND ",
            $crate::scope::reads!(),
            ")) t"
        )
    };
}
pub(super) use targets_asked_about;

/// SQL of the clusters that an answer is about, as a table to begin with: those of the environment asked about, as far as
/// `:scope` reads it, or the one named `:cluster`, or where neither is given all.
///
/// That there is an environment is asked before its targets are: a set of their clusters would be made in every answer, of nothing.
macro_rules! clusters_asked_about {
    () => {
        concat!(
            "(SELECT id, name FROM cluster WHERE :environment IS NULL AND :cluster IS NULL
                UNION ALL SELECT id, name FROM cluster WHERE name = :cluster
                UNION ALL SELECT id, name FROM cluster
                    WHERE :environment IS NOT NULL AND name IN (SELECT t.value ->> '$.cluster' FROM ",
            $crate::scope::targets_asked_about!(),
            "))"
        )
    };
}
pub(super) use clusters_asked_about;

/// SQL that holds where the environment asked about, `:environment`, is read by `:scope` at `:at` and has a target `t` in the
/// cluster `c`, with what else is asked of that target; and where no environment is asked about, as `$otherwise` says.
/// What is the environment's concern is looked at by all who read it.
macro_rules! concerned {
    ($narrower:literal, $otherwise:expr) => {
        concat!(
            "CASE WHEN :environment IS NULL THEN ",
            $otherwise,
            " ELSE EXISTS (SELECT 1 FROM ",
            $crate::scope::targets_asked_about!(),
            " WHERE t.value ->> '$.cluster' = c.name",
            $narrower,
            ") END"
        )
    };
}
pub(super) use concerned;

/// SQL that holds where the resource `r` is in sight of `:scope` at `:at`: it belongs to one of its environments.
macro_rules! in_sight {
    () => {
        concat!(
            "(:scope IS NULL OR EXISTS (SELECT 1 FROM membership m
                    CROSS JOIN environment_audience e ON e.environment_id = m.environment_id
                WHERE m.resource_id = r.id AND m.from_offset <= :at AND m.to_offset > :at
                    AND e.from_offset <= :at AND e.to_offset > :at AND ",
            $crate::scope::reads!(),
            "))"
        )
    };
}
pub(super) use in_sight;

/// SQL that holds where the membership `m` and the row `e` of `environment_audience` share an offset up to `:at`.
macro_rules! belonged {
    () => {
        "m.from_offset <= :at AND e.from_offset <= :at AND m.from_offset < m.to_offset AND e.from_offset < e.to_offset
            AND m.from_offset < e.to_offset AND e.from_offset < m.to_offset"
    };
}
pub(super) use belonged;

/// A filter's values as a JSON array for `json_each`, or NULL where the filter is not set.
pub(super) fn one_of<'a, T, V: serde::Serialize>(
    values: &'a [T],
    value: impl Fn(&'a T) -> V,
) -> Option<String> {
    let list: Vec<serde_json::Value> = values.iter().map(|item| serde_json::json!(value(item))).collect();
    (!list.is_empty()).then(|| serde_json::Value::Array(list).to_string())
}
