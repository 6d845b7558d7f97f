//! Decisions on the catalog, made outside of the writer.
//!
//! A decision reads the catalog in one unchanging state of the log, over a connection of its own, however long it takes
//! to think. What it read becomes its [`DecisionBasis`]; the writer takes its changes only if that basis still holds, which it
//! sees by a point read each. So nothing comes between a look and a change, and whoever is slow waits alone.
//!
//! Why: docs/decisions/0016-the-catalog-is-decided-beside-the-writer.md.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rusqlite::{OptionalExtension, Row, params};
use tokio::sync::Semaphore;

use super::append::AppendError;
use super::declared::{BY_ALIAS, CatalogChange, DecisionBasis, Declared, FactLookup, Standing, alias_of};
use super::error::LogError;
use super::reader::{LogReader, LogSnapshot};
use super::row;
use strandline_clock::{Mark, mark};
use strandline_model::{AgentId, CatalogFact, CatalogKind, Offset, Source, Timestamp};
use strandline_sqlite::column::{Count, LOG};
use strandline_syntax::diagnostics::of_json;

type Result<T> = std::result::Result<T, LogError>;

/// How many decisions are made at a time; each holds a reader of the log.
const AT_ONCE: usize = 2;

/// What each of their readers keeps in memory of the log, in bytes: facts are small, and few are read for a decision.
const CACHE_BYTES: usize = 1024 * 1024;

/// The longest that a decision may take, so that the few that are made at a time are not taken by one caller.
const LONGEST: Duration = Duration::from_secs(10);

/// The catalog as a decision finds it.
pub struct Catalog<'a, 'b> {
    log: &'a mut LogSnapshot<'b>,
    source: Source,
    began: Mark,
    basis: DecisionBasis,
    /// The changes that the decision has made so far, which its next lookups find.
    assumed: Vec<CatalogFact>,
}

impl std::fmt::Debug for Catalog<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Catalog")
    }
}

/// A fact that holds, before its body is read.
struct FactRow {
    name: String,
    source: Source,
    declared: Offset,
}

impl FactRow {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(FactRow {
            name: row.get("name")?,
            source: LOG.get(row, "live.source")?,
            declared: LOG.get::<Option<Offset>>(row, "live.keyframe")?.unwrap_or_default(),
        })
    }
}

/// The fact of a kind by its name, by an index that SQLite would not take by itself (see [`super::catalog::BY_NAME`]).
pub(super) const BY_NAME: &str = r#"
    SELECT s.name, l.source, l.keyframe
    FROM kind k JOIN subject s INDEXED BY subject_by_name ON s.kind_id = k.id JOIN live l ON l.subject_id = s.id
    WHERE k.cluster = '' AND k."group" = ?1 AND k.kind = ?2 AND s.uid = '' AND s.name = ?3"#;

/// The facts of a kind below another one, in the order in which they were first declared.
const BY_PARENT: &str = r#"
    SELECT s.name, l.source, l.keyframe
    FROM kind k JOIN subject s ON s.kind_id = k.id JOIN live l ON l.subject_id = s.id
    WHERE k.cluster = '' AND k."group" = ?1 AND k.kind = ?2 AND s.uid = '' AND s.namespace = ?3
    ORDER BY s.id"#;

/// The facts of a kind whose names begin with a text; no character sorts behind the last one that Unicode has.
const BY_PREFIX: &str = r#"
    SELECT s.name, l.source, l.keyframe
    FROM kind k JOIN subject s ON s.kind_id = k.id JOIN live l ON l.subject_id = s.id
    WHERE k.cluster = '' AND k."group" = ?1 AND k.kind = ?2 AND s.uid = '' AND s.name >= ?3 AND s.name < ?3 || char(1114111)
    ORDER BY s.name"#;

/// All facts of a kind; the third parameter is empty.
const ALL: &str = r#"
    SELECT s.name, l.source, l.keyframe
    FROM kind k JOIN subject s ON s.kind_id = k.id JOIN live l ON l.subject_id = s.id
    WHERE k.cluster = '' AND k."group" = ?1 AND k.kind = ?2 AND s.uid = '' AND ?3 = ''
    ORDER BY s.name"#;

/// The facts of a kind that a source declared.
const BY_SOURCE: &str = r#"
    SELECT s.name, l.source, l.keyframe
    FROM kind k JOIN subject s ON s.kind_id = k.id JOIN live l ON l.subject_id = s.id
    WHERE k.cluster = '' AND k."group" = ?1 AND k.kind = ?2 AND s.uid = '' AND l.source = ?3
    ORDER BY s.name"#;

/// How many facts of a kind are below another one.
const COUNT_BY_PARENT: &str = r#"
    SELECT count(*) AS count
    FROM kind k JOIN subject s ON s.kind_id = k.id JOIN live l ON l.subject_id = s.id
    WHERE k.cluster = '' AND k."group" = ?1 AND k.kind = ?2 AND s.uid = '' AND s.namespace = ?3"#;

/// The parents of facts of a kind, a page of them.
const PARENTS: &str = r#"
    SELECT DISTINCT s.namespace
    FROM kind k JOIN subject s ON s.kind_id = k.id JOIN live l ON l.subject_id = s.id
    WHERE k.cluster = '' AND k."group" = ?1 AND k.kind = ?2 AND s.uid = '' AND s.namespace > ?3
    ORDER BY s.namespace LIMIT ?4"#;

/// The first fact of a kind whose name is this text whatever its case; one that is written just so comes before others.
const ANY_CASE_BY_NAME: &str = r#"
    SELECT s.id, s.name AS path
    FROM kind k JOIN subject s INDEXED BY subject_by_name ON s.kind_id = k.id JOIN live l ON l.subject_id = s.id
    WHERE k.cluster = '' AND k."group" = ?1 AND k.kind = ?2 AND s.uid = '' AND s.name = ?3 COLLATE NOCASE
    ORDER BY s.name <> ?3, s.id LIMIT 1"#;

/// The first fact of a kind below one whose name is this text whatever its case.
const ANY_CASE_BY_PARENT: &str = r#"
    SELECT s.id, s.namespace AS path
    FROM kind k JOIN subject s INDEXED BY subject_by_key ON s.kind_id = k.id JOIN live l ON l.subject_id = s.id
    WHERE k.cluster = '' AND k."group" = ?1 AND k.kind = ?2 AND s.uid = '' AND s.namespace = ?3 COLLATE NOCASE
    ORDER BY s.namespace <> ?3, s.id LIMIT 1"#;

impl Catalog<'_, '_> {
    /// The path of a project as it was first declared, by itself or by what is below it: paths are the same whatever their
    /// case, as in GitLab. One that is not there yet is as it is given.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn project_path(&mut self, path: &str) -> Result<String> {
        self.check_time_limit()?;
        let below = [CatalogKind::Environment, CatalogKind::Agent];
        // Nearly always it is written as it was declared, and an index leads there.
        if !self.facts(CatalogKind::Project, BY_NAME, path)?.is_empty() {
            return Ok(path.to_owned());
        }
        for kind in below {
            if self.count_under(kind, path)? > 0 {
                return Ok(path.to_owned());
            }
        }
        let mut found: Vec<(i64, String)> = Vec::new();
        let parents = below.map(|kind| (kind, ANY_CASE_BY_PARENT));
        for (kind, sql) in [(CatalogKind::Project, ANY_CASE_BY_NAME)].into_iter().chain(parents) {
            let of = kind.kind();
            let mut statement = self.log.connection().prepare_cached(sql)?;
            let row = |row: &Row<'_>| Ok((row.get("id")?, row.get("path")?));
            found.extend(statement.query_row(params![of.group, of.kind, path], row).optional()?);
        }
        Ok(found.into_iter().min().map_or_else(|| path.to_owned(), |(_, path)| path))
    }

    /// The agent of this id, its project as it was first declared.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn agent_id(&mut self, id: &AgentId) -> Result<AgentId> {
        Ok(AgentId::new(self.project_path(id.project())?, id.name()))
    }

    /// The fact of this name, if it holds.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn get(&mut self, kind: CatalogKind, name: &str) -> Result<Option<Standing>> {
        if let Some(fact) = self.assumed.iter().rev().find(|fact| fact.kind() == kind && fact.name() == name)
        {
            return Ok(Some(self.assumed_fact(fact.clone())));
        }
        let found = self.facts(kind, BY_NAME, name)?;
        let found = found.into_iter().next();
        self.note_lookup(
            FactLookup::Named(kind, name.to_owned()),
            found.as_ref().map(|found| found.declared),
        );
        found.map(|found| self.read(&found)).transpose()
    }

    /// The environment of this name in a project.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn environment_named(&mut self, project: &str, name: &str) -> Result<Option<Standing>> {
        let is_it = |fact: &CatalogFact| match fact {
            CatalogFact::Environment(spec) => spec.project == project && spec.name == name,
            _ => false,
        };
        if let Some(fact) = self.assumed.iter().rev().find(|fact| is_it(fact)) {
            return Ok(Some(self.assumed_fact(fact.clone())));
        }
        self.check_time_limit()?;
        let alias = alias_of(project, name);
        let found: Vec<FactRow> = {
            let mut statement = self.log.connection().prepare_cached(BY_ALIAS)?;
            let rows = statement.query_map([&alias], FactRow::from_row)?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        self.note_lookup(FactLookup::Alias(alias), found.first().map(|found| found.declared));
        for found in &found {
            let standing = self.read(found)?;
            if is_it(&standing.fact) {
                return Ok(Some(standing));
            }
        }
        Ok(None)
    }

    /// The facts below this one, in the order in which they were first declared.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn under(&mut self, kind: CatalogKind, place: &str) -> Result<Vec<Standing>> {
        let found = self.facts(kind, BY_PARENT, place)?;
        found.iter().map(|found| self.read(found)).collect()
    }

    /// The facts whose names begin so, by name.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn beginning(&mut self, kind: CatalogKind, prefix: &str) -> Result<Vec<Standing>> {
        let found = self.facts(kind, BY_PREFIX, prefix)?;
        found.iter().map(|found| self.read(found)).collect()
    }

    /// The names of all facts of a kind that hold.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn names(&mut self, kind: CatalogKind) -> Result<Vec<String>> {
        Ok(self.facts(kind, ALL, "")?.into_iter().map(|found| found.name).collect())
    }

    /// The names of the facts of a kind that a source declared and that hold.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn names_of(&mut self, kind: CatalogKind, source: Source) -> Result<Vec<String>> {
        Ok(self.facts(kind, BY_SOURCE, source.as_str())?.into_iter().map(|found| found.name).collect())
    }

    /// How many facts of a kind are below this one.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn count_under(&mut self, kind: CatalogKind, place: &str) -> Result<u64> {
        let of = kind.kind();
        let mut statement = self.log.connection().prepare_cached(COUNT_BY_PARENT)?;
        let Count(count) =
            statement.query_row(params![of.group, of.kind, place], |row| LOG.get(row, "subject.count"))?;
        // What the log has already is counted there.
        let known = |name: &String| {
            let looked = FactLookup::Named(kind, name.clone());
            self.basis.0.get(&looked).is_some_and(Option::is_some)
        };
        let assumed = self.assumed.iter().filter(|fact| fact.kind() == kind && fact.place() == place);
        let new: BTreeSet<String> = assumed.map(CatalogFact::name).filter(|name| !known(name)).collect();
        Ok(count + new.len() as u64)
    }

    /// The parents of facts of a kind, after one of them, in order.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn places(&mut self, kind: CatalogKind, after: &str, limit: usize) -> Result<Vec<String>> {
        let (of, limit) = (kind.kind(), i64::try_from(limit).unwrap_or(i64::MAX));
        let mut statement = self.log.connection().prepare_cached(PARENTS)?;
        let rows = statement.query_map(params![of.group, of.kind, after, limit], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// When the change at an offset was observed.
    ///
    /// # Errors
    /// When there is no such change, or the log cannot be read.
    pub fn observed_at(&self, offset: Offset) -> Result<Timestamp> {
        let sql = r#"SELECT observed_at FROM change WHERE "offset" = ?1"#;
        let mut statement = self.log.connection().prepare_cached(sql)?;
        let found = statement.query_row([offset], |row| row.get(0)).optional()?;
        found.ok_or_else(|| row::missing(offset))
    }

    /// The newest offset.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn head(&self) -> Result<Offset> {
        self.log.head()
    }

    /// Goes on as if this had been declared: what is decided next finds it.
    pub fn assume(&mut self, fact: CatalogFact) {
        self.assumed.push(fact);
    }

    /// Whoever decides looks something up again and again.
    fn check_time_limit(&self) -> Result<()> {
        if self.began.elapsed() > LONGEST { Err(LogError::TooLong) } else { Ok(()) }
    }

    fn assumed_fact(&self, fact: CatalogFact) -> Standing {
        Standing { source: self.source, fact, declared: Offset::ZERO }
    }

    fn note_lookup(&mut self, looked: FactLookup, declared: Option<Offset>) {
        self.basis.0.insert(looked, declared);
    }

    fn facts(&self, kind: CatalogKind, sql: &str, argument: &str) -> Result<Vec<FactRow>> {
        self.check_time_limit()?;
        let of = kind.kind();
        let mut statement = self.log.connection().prepare_cached(sql)?;
        let rows = statement.query_map(params![of.group, of.kind, argument], FactRow::from_row)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    fn read(&mut self, found: &FactRow) -> Result<Standing> {
        let offset = found.declared;
        let row = self.log.row(offset)?;
        let text = self.log.text(&row)?;
        let declared: Declared = serde_json::from_str(&text).map_err(|error| LogError::Damaged {
            offset,
            what: format!("its body is invalid: {}", of_json(&error)),
        })?;
        Ok(Standing { source: found.source, fact: declared.fact, declared: offset })
    }
}

/// What a decision came to.
pub(super) struct Decision<T> {
    pub(super) basis: DecisionBasis,
    pub(super) changes: Vec<CatalogChange>,
    pub(super) value: T,
    /// The newest offset of the state that was looked at.
    pub(super) head: Offset,
}

/// Makes decisions, a few at a time.
#[derive(Debug)]
pub(super) struct Decisions {
    /// Set once the log is open.
    directory: OnceLock<PathBuf>,
    idle: Mutex<Vec<LogReader>>,
    permits: Arc<Semaphore>,
}

impl Default for Decisions {
    fn default() -> Self {
        let (directory, idle) = (OnceLock::new(), Mutex::default());
        Decisions { directory, idle, permits: Arc::new(Semaphore::new(AT_ONCE)) }
    }
}

impl Decisions {
    /// From here on the log of this directory can be read.
    pub(super) fn read_from(&self, directory: &Path) {
        // A log is opened once; should that change, the first directory stays the one that is locked.
        let _ = self.directory.set(directory.to_owned());
    }

    /// Makes a decision on a thread of its own.
    pub(super) async fn make<T: Send + 'static>(
        self: &Arc<Self>,
        source: Source,
        decision: Arc<
            impl Fn(&mut Catalog<'_, '_>) -> Result<(Vec<CatalogChange>, T)> + Send + Sync + 'static,
        >,
    ) -> std::result::Result<Decision<T>, AppendError> {
        let permits = Arc::clone(&self.permits);
        let permit = permits.acquire_owned().await.map_err(|_| AppendError::Closed)?;
        let of = Arc::clone(self);
        let made = tokio::task::spawn_blocking(move || {
            // It belongs to the work, which continues when nobody waits for it any more.
            let _permit = permit;
            of.made(source, &*decision)
        });
        match made.await {
            Ok(made) => made,
            Err(error) => Err(AppendError::Failed(format!("the decision failed: {error}"))),
        }
    }

    fn made<T>(
        &self,
        source: Source,
        decision: &impl Fn(&mut Catalog<'_, '_>) -> Result<(Vec<CatalogChange>, T)>,
    ) -> std::result::Result<Decision<T>, AppendError> {
        let Some(directory) = self.directory.get() else { return Err(AppendError::Busy) };
        let failed = |error: LogError| match error {
            LogError::TooLong => AppendError::TooLong,
            error => AppendError::Failed(error.to_string()),
        };
        let idle = self.idle().pop();
        let open = || LogReader::open(directory)?.with_cache(CACHE_BYTES);
        let mut reader = idle.map_or_else(open, Ok).map_err(failed)?;
        let made = {
            let mut log = reader.begin().map_err(failed)?;
            let head = log.head().map_err(failed)?;
            let (basis, assumed) = (DecisionBasis::default(), Vec::new());
            let mut catalog = Catalog { log: &mut log, source, began: mark(), basis, assumed };
            let (changes, value) = decision(&mut catalog).map_err(failed)?;
            Decision { basis: catalog.basis, changes, value, head }
        };
        self.idle().push(reader);
        Ok(made)
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<LogReader>> {
        // Each change of it is whole, so a panic elsewhere cannot have broken it.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
