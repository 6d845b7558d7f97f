//! The catalog as the log holds it, read and changed within the writer's transaction.
//!
//! Whoever changes the catalog decides on the state that the change meets, and nothing comes between the two: the
//! decision runs in the transaction that writes what it decided.

use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::append::{AppendError, Appended};
use super::chain;
use super::draft::Draft;
use super::error::LogError;
use super::ids;
use super::row;
use super::types::ChangeType;
use super::write::{Write, to_json};
use crate::model::{CatalogFact, CatalogKind, Offset, ResourceKey, Source, Timestamp};

type Result<T> = std::result::Result<T, LogError>;

/// A fact as a change holds it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Declared {
    #[serde(default)]
    pub(super) source: Source,
    #[serde(flatten)]
    pub(super) fact: CatalogFact,
}

/// A fact that holds, and who declared it.
#[derive(Clone, Debug, PartialEq)]
pub struct Standing {
    /// Who declared it.
    pub source: Source,
    /// What it says.
    pub fact: CatalogFact,
    /// Where it was declared last.
    pub declared: Offset,
}

/// What is to be changed.
#[derive(Clone, Debug, PartialEq)]
pub enum CatalogChange {
    /// This holds from now on.
    Declare(CatalogFact),
    /// What is declared under this name holds no longer.
    Withdraw(CatalogKind, String),
}

/// Decides on the catalog as it stands; it may be asked again where the disk was full, and has to say the same.
pub(super) type Decision = Box<dyn Fn(&mut Catalog<'_, '_>) -> Result<Vec<CatalogChange>> + Send>;

/// The catalog at the moment of a decision.
pub struct Catalog<'a, 'b> {
    write: &'a mut Write<'b>,
}

impl std::fmt::Debug for Catalog<'_, '_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Catalog")
    }
}

/// A subject of the catalog.
struct Held {
    subject: i64,
    key: ResourceKey,
    source: Source,
    declared: Option<Offset>,
}

impl Held {
    fn from_row(row: &Row<'_>, kind: CatalogKind) -> rusqlite::Result<Self> {
        let source: Option<String> = row.get(3)?;
        Ok(Held {
            subject: row.get(0)?,
            key: catalog_key(kind, &row.get::<_, String>(1)?, &row.get::<_, String>(2)?),
            source: source.and_then(|source| source.parse().ok()).unwrap_or_default(),
            declared: row.get::<_, Option<i64>>(4)?.map(Offset::from_i64),
        })
    }
}

macro_rules! select_facts {
    ($tail:literal) => {
        concat!(
            "SELECT s.id, s.namespace, s.name, l.source, l.keyframe FROM subject s JOIN live l ON l.subject_id = s.id
            WHERE s.kind_id = ?1 AND s.uid = '' AND ",
            $tail
        )
    };
}

impl Catalog<'_, '_> {
    /// The fact of this name, if it holds.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn get(&mut self, kind: CatalogKind, name: &str) -> Result<Option<Standing>> {
        let held = self.write.facts(kind, select_facts!("s.name = ?2"), name)?;
        held.into_iter().next().map(|held| self.read(&held)).transpose()
    }

    /// The facts that stand under this one, in the order in which they were first declared.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn under(&mut self, kind: CatalogKind, place: &str) -> Result<Vec<Standing>> {
        let held = self.write.facts(kind, select_facts!("s.namespace = ?2 ORDER BY s.id"), place)?;
        held.iter().map(|held| self.read(held)).collect()
    }

    /// The names of all facts of a kind that hold.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn names(&mut self, kind: CatalogKind) -> Result<Vec<String>> {
        let held = self.write.facts(kind, select_facts!("?2 = '' ORDER BY s.name"), "")?;
        Ok(held.into_iter().map(|held| held.key.name).collect())
    }

    /// Under what facts of a kind stand, after one such place, in order.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn places(&mut self, kind: CatalogKind, after: &str, limit: usize) -> Result<Vec<String>> {
        let number = self.write.state.ids.kind(self.write.connection, "", &kind.kind())?;
        let sql = "SELECT DISTINCT s.namespace FROM subject s JOIN live l ON l.subject_id = s.id
            WHERE s.kind_id = ?1 AND s.namespace > ?2 ORDER BY s.namespace LIMIT ?3";
        let mut statement = self.write.connection.prepare_cached(sql)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![number, after, limit], |row| row.get(0))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// When the change at an offset was observed.
    ///
    /// # Errors
    /// When there is no such change, or the log cannot be read.
    pub fn observed_at(&self, offset: Offset) -> Result<Timestamp> {
        let sql = r#"SELECT observed_at FROM change WHERE "offset" = ?1"#;
        let mut statement = self.write.connection.prepare_cached(sql)?;
        let found: Option<i64> = statement.query_row([offset.as_i64()], |row| row.get(0)).optional()?;
        found.map(Timestamp::from_micros).ok_or_else(|| row::missing(offset))
    }

    /// The newest offset.
    pub fn head(&self) -> Offset {
        self.write.state.head
    }

    fn read(&mut self, held: &Held) -> Result<Standing> {
        let offset = held.declared.unwrap_or_default();
        let damaged = |what: String| LogError::Damaged { offset, what };
        let Write { connection, state, .. } = &mut *self.write;
        let text = state.bodies.text_of(connection, offset)?;
        let text = text.ok_or_else(|| damaged(format!("the fact `{}` is not there", held.key.name)))?;
        let declared: Declared = serde_json::from_str(&text)
            .map_err(|error| damaged(format!("its body cannot be understood: {error}")))?;
        Ok(Standing { source: held.source, fact: declared.fact, declared: offset })
    }
}

impl Write<'_> {
    /// Makes a source declare exactly `facts`. What another source declared under the same name is this one's from now on.
    pub(super) fn declare(&mut self, source: Source, facts: &[CatalogFact]) -> Result<Appended> {
        let mut held = Vec::new();
        for kind in CatalogKind::ALL {
            held.extend(self.facts(kind, select_facts!("l.source = ?2 ORDER BY s.id"), source.as_str())?);
        }
        let declared: std::collections::HashSet<ResourceKey> = facts.iter().map(key_of).collect();
        let (mut written, mut unchanged) = (0, 0);
        for held in held.iter().filter(|held| !declared.contains(&held.key)) {
            self.withdraw(held)?;
            written += 1;
        }
        for fact in facts {
            if self.put(source, fact)? { written += 1 } else { unchanged += 1 }
        }
        Ok(self.appended(written, unchanged))
    }

    /// Writes what a decision says.
    pub(super) fn decide(
        &mut self,
        source: Source,
        decision: &Decision,
    ) -> Result<std::result::Result<Appended, AppendError>> {
        // Nothing is written yet: what cannot be read fails whoever asked, and nobody else.
        let changes = match decision(&mut Catalog { write: self }) {
            Ok(changes) => changes,
            Err(error) => return Ok(Err(AppendError::Failed(error.to_string()))),
        };
        let (mut written, mut unchanged) = (0, 0);
        for change in &changes {
            let wrote = match change {
                CatalogChange::Declare(fact) => self.put(source, fact)?,
                CatalogChange::Withdraw(kind, name) => {
                    let held = self.facts(*kind, select_facts!("s.name = ?2"), name)?;
                    held.iter().try_for_each(|held| self.withdraw(held))?;
                    !held.is_empty()
                }
            };
            if wrote { written += 1 } else { unchanged += 1 }
        }
        Ok(Ok(self.appended(written, unchanged)))
    }

    pub(super) fn put(&mut self, source: Source, fact: &CatalogFact) -> Result<bool> {
        let key = key_of(fact);
        // Under one name there is one fact, wherever it stood before.
        let named = self.facts(fact.kind(), select_facts!("s.name = ?2"), &key.name)?;
        named.iter().filter(|held| held.key != key).try_for_each(|held| self.withdraw(held))?;
        let body = to_json(&Declared { source, fact: fact.clone() });
        let Some(offset) = self.fact(ChangeType::Declared, &key, &body, &body)? else { return Ok(false) };
        self.declared_at(&key, source, offset)?;
        Ok(true)
    }

    /// Remembers who declared a fact, and where.
    pub(super) fn declared_at(&mut self, key: &ResourceKey, source: Source, offset: Offset) -> Result<()> {
        let sql = "UPDATE live SET source = ?4, keyframe = ?5 WHERE subject_id = (SELECT id FROM subject
            WHERE kind_id = ?1 AND namespace = ?2 AND name = ?3 AND uid = '')";
        let kind = self.state.ids.kind(self.connection, "", &key.kind)?;
        let row = params![kind, key.namespace, key.name, source.as_str(), offset.as_i64()];
        self.connection.prepare_cached(sql)?.execute(row)?;
        Ok(())
    }

    fn withdraw(&mut self, held: &Held) -> Result<()> {
        self.write(Draft::bare(ChangeType::Withdrawn, held.subject, &held.key))?;
        self.bury(held.subject)
    }

    fn facts(&mut self, kind: CatalogKind, sql: &str, argument: &str) -> Result<Vec<Held>> {
        let number = self.state.ids.kind(self.connection, "", &kind.kind())?;
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map(params![number, argument], |row| Held::from_row(row, kind))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// Writes a fact unless what it says was said last; tells where it was written.
    pub(super) fn fact(
        &mut self,
        r#type: ChangeType,
        key: &ResourceKey,
        body: &str,
        said: &str,
    ) -> Result<Option<Offset>> {
        let kind = self.state.ids.kind(self.connection, &key.cluster, &key.kind)?;
        let subject = ids::subject(self.connection, kind, &key.namespace, &key.name, "")?;
        let digest = chain::body_hash(said);
        let known: Option<[u8; 16]> = self
            .connection
            .prepare_cached("SELECT digest FROM live WHERE subject_id = ?1")?
            .query_row([subject], |row| row.get(0))
            .optional()?;
        if known == Some(digest) {
            return Ok(None);
        }
        self.write_fact(r#type, key, body, said).map(Some)
    }

    /// Writes a fact, whatever was said last.
    pub(super) fn write_fact(
        &mut self,
        r#type: ChangeType,
        key: &ResourceKey,
        body: &str,
        said: &str,
    ) -> Result<Offset> {
        let kind = self.state.ids.kind(self.connection, &key.cluster, &key.kind)?;
        let subject = ids::subject(self.connection, kind, &key.namespace, &key.name, "")?;
        let packed = self.state.bodies.fact(body)?;
        let offset = self.write(Draft { body, packed: Some(packed), ..Draft::bare(r#type, subject, key) })?;
        let sql = "INSERT OR REPLACE INTO live (subject_id, resource_version, digest, deltas, seen_epoch)
            VALUES (?1, '', ?2, 0, 0)";
        self.connection.prepare_cached(sql)?.execute(params![subject, chain::body_hash(said)])?;
        Ok(offset)
    }
}

pub(super) fn key_of(fact: &CatalogFact) -> ResourceKey {
    catalog_key(fact.kind(), fact.place(), &fact.name())
}

fn catalog_key(kind: CatalogKind, place: &str, name: &str) -> ResourceKey {
    ResourceKey {
        cluster: String::new(),
        kind: kind.kind(),
        namespace: place.to_owned(),
        name: name.to_owned(),
    }
}
