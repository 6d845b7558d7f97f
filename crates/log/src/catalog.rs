//! The catalog as the log holds it, changed within the writer's transaction.
//!
//! What is to be changed was decided before (see [`super::decisions`]); the writer only looks whether that rests on what
//! holds still.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;

use super::append::Appended;
use super::bodies::Bodies;
use super::declared::{BY_ALIAS, CatalogChange, Decided, Declared, Looked, alias_of, catalog_key, key_of};
use super::draft::Draft;
use super::error::LogError;
use super::json::to_json;
use super::transaction::Write;
use super::types::ChangeType;
use strandline_model::{CatalogFact, CatalogKind, Offset, ResourceKey, Source};

type Result<T> = std::result::Result<T, LogError>;

/// The same on its way into the log.
#[derive(Serialize)]
struct Declaring<'a> {
    source: Source,
    #[serde(flatten)]
    fact: &'a CatalogFact,
}

/// A subject of the catalog.
struct Held {
    subject: i64,
    key: ResourceKey,
    declared: Option<Offset>,
}

impl Held {
    fn from_row(row: &Row<'_>, kind: CatalogKind) -> rusqlite::Result<Self> {
        Ok(Held {
            subject: row.get(0)?,
            key: catalog_key(kind, &row.get::<_, String>(1)?, &row.get::<_, String>(2)?),
            declared: row.get::<_, Option<i64>>(3)?.map(Offset::from_i64),
        })
    }
}

macro_rules! select_facts {
    ($tail:literal) => {
        concat!(
            "SELECT s.id, s.namespace, s.name, l.keyframe FROM subject s JOIN live l ON l.subject_id = s.id
            WHERE s.kind_id = ?1 AND s.uid = '' AND ",
            $tail
        )
    };
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

    /// Writes what a decision says, if what it rests on still holds; none otherwise.
    pub(super) fn decided(&mut self, decided: &Decided) -> Result<Option<Appended>> {
        for (looked, declared) in &decided.basis.0 {
            if self.declared(looked)? != *declared {
                return Ok(None);
            }
        }
        let (mut written, mut unchanged) = (0, 0);
        for change in &decided.changes {
            let wrote = match change {
                CatalogChange::Declare(fact) => self.put(decided.source, fact)?,
                CatalogChange::Withdraw(kind, name) => {
                    let held = self.facts(*kind, select_facts!("s.name = ?2"), name)?;
                    held.iter().try_for_each(|held| self.withdraw(held))?;
                    !held.is_empty()
                }
            };
            if wrote { written += 1 } else { unchanged += 1 }
        }
        Ok(Some(self.appended(written, unchanged)))
    }

    /// Where what a decision looked for is declared.
    fn declared(&mut self, looked: &Looked) -> Result<Option<Offset>> {
        match looked {
            Looked::Named(kind, name) => {
                let held = self.facts(*kind, select_facts!("s.name = ?2"), name)?;
                Ok(held.first().map(|held| held.declared.unwrap_or_default()))
            }
            Looked::Alias(alias) => {
                let mut statement = self.connection.prepare_cached(BY_ALIAS)?;
                let declared = statement.query_row([alias], |row| row.get::<_, Option<i64>>(2)).optional()?;
                Ok(declared.map(|declared| declared.map(Offset::from_i64).unwrap_or_default()))
            }
        }
    }

    pub(super) fn put(&mut self, source: Source, fact: &CatalogFact) -> Result<bool> {
        let key = key_of(fact);
        // Under one name there is one fact, wherever it stood before.
        let named = self.facts(fact.kind(), select_facts!("s.name = ?2"), &key.name)?;
        named.iter().filter(|held| held.key != key).try_for_each(|held| self.withdraw(held))?;
        let body = to_json(&Declaring { source, fact })?;
        let Some(offset) = self.fact(ChangeType::Declared, &key, &body, &body)? else { return Ok(false) };
        self.declared_at(&key, source, offset, fact)?;
        Ok(true)
    }

    /// Remembers who declared a fact, and where, and by what else it is found.
    pub(super) fn declared_at(
        &mut self,
        key: &ResourceKey,
        source: Source,
        offset: Offset,
        fact: &CatalogFact,
    ) -> Result<()> {
        let sql = "UPDATE live SET source = ?4, keyframe = ?5, alias = ?6 WHERE subject_id = (SELECT id FROM subject
            WHERE kind_id = ?1 AND namespace = ?2 AND name = ?3 AND uid = '')";
        let kind = self.state.ids.kind(self.connection, "", &key.kind)?;
        let row = params![kind, key.namespace, key.name, source.as_str(), offset.as_i64(), alias(fact)];
        let noted = self.connection.prepare_cached(sql)?.execute(row)?;
        debug_assert_eq!(noted, 1, "what was declared holds");
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
}

/// By what else than its name a fact is found.
fn alias(fact: &CatalogFact) -> Option<String> {
    match fact {
        CatalogFact::Environment(spec) => Some(alias_of(&spec.project, &spec.name)),
        _ => None,
    }
}

/// Notes by what else the facts are found that were written before that was kept.
pub(super) fn fill_aliases(connection: &mut Connection, bodies: &mut Bodies) -> Result<()> {
    let transaction = connection.transaction()?;
    let kind = CatalogKind::Environment.kind();
    let rows: Vec<(i64, Option<i64>)> = {
        let sql = r#"SELECT l.subject_id, l.keyframe FROM kind k JOIN subject s ON s.kind_id = k.id
            JOIN live l ON l.subject_id = s.id
            WHERE k.cluster = '' AND k."group" = ?1 AND k.kind = ?2 AND s.uid = '' AND l.alias IS NULL"#;
        let mut statement = transaction.prepare(sql)?;
        let rows = statement.query_map([&kind.group, &kind.kind], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    for (subject, offset) in rows {
        let offset = offset.map(Offset::from_i64).unwrap_or_default();
        let text = bodies.text_of(&transaction, offset)?.unwrap_or_default();
        // What cannot be read is found by its id, and told by whoever reads it.
        let Ok(declared) = serde_json::from_str::<Declared>(&text) else { continue };
        let sql = "UPDATE live SET alias = ?2 WHERE subject_id = ?1";
        transaction.prepare_cached(sql)?.execute(params![subject, alias(&declared.fact)])?;
    }
    Ok(transaction.commit()?)
}
