//! The catalog as the log holds it, changed within the writer's transaction.
//!
//! What is to be changed was decided before (see [`super::decisions`]); the writer only looks whether that rests on what
//! holds still.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;

use super::append::Appended;
use super::bodies::Bodies;
use super::declared::{
    BY_ALIAS, CatalogChange, Decided, Declared, FactLookup, alias_of, catalog_key, key_of,
};
use super::draft::Draft;
use super::error::LogError;
use super::json::to_json;
use super::transaction::Write;
use super::types::ChangeType;
use strandline_model::{CatalogFact, CatalogKind, Offset, ResourceKey, Source};

use strandline_sqlite::column::LOG;

type Result<T> = std::result::Result<T, LogError>;

/// The same on its way into the log.
#[derive(Serialize)]
struct Declaring<'a> {
    source: Source,
    #[serde(flatten)]
    fact: &'a CatalogFact,
}

/// A subject of the catalog.
struct CatalogSubject {
    subject: i64,
    key: ResourceKey,
    declared: Option<Offset>,
}

impl CatalogSubject {
    fn from_row(row: &Row<'_>, kind: CatalogKind) -> rusqlite::Result<Self> {
        Ok(CatalogSubject {
            subject: row.get("id")?,
            key: catalog_key(kind, &row.get::<_, String>("namespace")?, &row.get::<_, String>("name")?),
            declared: LOG.get(row, "live.keyframe")?,
        })
    }
}

/// The facts of a kind that a source declared, in the order in which they were first declared.
const DECLARED_BY: &str = "
    SELECT s.id, s.namespace, s.name, l.keyframe
    FROM subject s JOIN live l ON l.subject_id = s.id
    WHERE s.kind_id = ?1 AND s.uid = '' AND l.source = ?2
    ORDER BY s.id";

/// The fact of a kind by its name. Left alone, SQLite takes a kind to have few facts, and goes through all of them.
pub(super) const BY_NAME: &str = "
    SELECT s.id, s.namespace, s.name, l.keyframe
    FROM subject s INDEXED BY subject_by_name JOIN live l ON l.subject_id = s.id
    WHERE s.kind_id = ?1 AND s.uid = '' AND s.name = ?2";

impl Write<'_> {
    /// Makes a source declare exactly `facts`. What another source declared under the same name is this one's from now on.
    pub(super) fn declare(&mut self, source: Source, facts: &[CatalogFact]) -> Result<Appended> {
        let mut found = Vec::new();
        for kind in CatalogKind::ALL {
            found.extend(self.facts(kind, DECLARED_BY, source.as_str())?);
        }
        let declared: std::collections::HashSet<ResourceKey> = facts.iter().map(key_of).collect();
        if source == Source::Config {
            // Before they leave the catalog, so that no offset has them undeclared and complete.
            let clusters = facts.iter().filter_map(|fact| match fact {
                CatalogFact::Cluster(cluster) => Some(cluster.name.as_str()),
                _ => None,
            });
            self.end_undeclared(&clusters.collect())?;
        }
        let (mut written, mut unchanged) = (0, 0);
        for found in found.iter().filter(|found| !declared.contains(&found.key)) {
            self.withdraw(found)?;
            written += 1;
        }
        for fact in facts {
            if self.take(source, fact)? { written += 1 } else { unchanged += 1 }
        }
        Ok(self.appended(written, unchanged))
    }

    /// Writes the changes of a decision if the facts that it read still hold; none otherwise.
    pub(super) fn decided(&mut self, decided: &Decided) -> Result<Option<Appended>> {
        for (looked, declared) in &decided.basis.0 {
            if self.declared(looked)? != *declared {
                return Ok(None);
            }
        }
        let (mut written, mut unchanged) = (0, 0);
        for change in &decided.changes {
            let wrote = match change {
                CatalogChange::Declare(fact) => self.take(decided.source, fact)?,
                CatalogChange::Withdraw(kind, name) => {
                    let found = self.facts(*kind, BY_NAME, name)?;
                    found.iter().try_for_each(|found| self.withdraw(found))?;
                    !found.is_empty()
                }
            };
            if wrote { written += 1 } else { unchanged += 1 }
        }
        Ok(Some(self.appended(written, unchanged)))
    }

    /// Where what a decision looked for is declared.
    fn declared(&mut self, looked: &FactLookup) -> Result<Option<Offset>> {
        match looked {
            FactLookup::Named(kind, name) => {
                let found = self.facts(*kind, BY_NAME, name)?;
                Ok(found.first().map(|found| found.declared.unwrap_or_default()))
            }
            FactLookup::Alias(alias) => {
                let mut statement = self.connection.prepare_cached(BY_ALIAS)?;
                let declared = statement
                    .query_row([alias], |row| LOG.get::<Option<Offset>>(row, "live.keyframe"))
                    .optional()?;
                Ok(declared.map(Option::unwrap_or_default))
            }
        }
    }

    /// Writes a fact that somebody declares, unless it repeats what holds.
    fn take(&mut self, source: Source, fact: &CatalogFact) -> Result<bool> {
        if let CatalogFact::Cluster(cluster) = fact {
            self.begin_unwatched(&cluster.name)?;
        }
        self.put(source, fact)
    }

    pub(super) fn put(&mut self, source: Source, fact: &CatalogFact) -> Result<bool> {
        let key = key_of(fact);
        // Under one name there is one fact, wherever it stood before.
        let named = self.facts(fact.kind(), BY_NAME, &key.name)?;
        named.iter().filter(|found| found.key != key).try_for_each(|found| self.withdraw(found))?;
        let body = to_json(&Declaring { source, fact })?;
        let Some(offset) = self.fact(ChangeType::Declared, &key, &body, &body)? else { return Ok(false) };
        self.record_declaration(&key, source, offset, fact)?;
        Ok(true)
    }

    /// Remembers who declared a fact, and where, and by what else it is found.
    pub(super) fn record_declaration(
        &mut self,
        key: &ResourceKey,
        source: Source,
        offset: Offset,
        fact: &CatalogFact,
    ) -> Result<()> {
        let sql = "UPDATE live SET source = ?4, keyframe = ?5, alias = ?6 WHERE subject_id = (SELECT id FROM subject
            WHERE kind_id = ?1 AND namespace = ?2 AND name = ?3 AND uid = '')";
        let kind = self.state.ids.kind(self.connection, "", &key.kind)?;
        let row = params![kind, key.namespace, key.name, source, offset, alias(fact)];
        let noted = self.connection.prepare_cached(sql)?.execute(row)?;
        debug_assert_eq!(noted, 1, "what was declared holds");
        Ok(())
    }

    fn withdraw(&mut self, found: &CatalogSubject) -> Result<()> {
        self.write(Draft::bare(ChangeType::Withdrawn, found.subject, &found.key))?;
        self.mark_ended(found.subject)
    }

    fn facts(&mut self, kind: CatalogKind, sql: &str, argument: &str) -> Result<Vec<CatalogSubject>> {
        let number = self.state.ids.kind(self.connection, "", &kind.kind())?;
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows =
            statement.query_map(params![number, argument], |row| CatalogSubject::from_row(row, kind))?;
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
    let rows: Vec<(i64, Option<Offset>)> = {
        let sql = r#"SELECT l.subject_id, l.keyframe FROM kind k JOIN subject s ON s.kind_id = k.id
            JOIN live l ON l.subject_id = s.id
            WHERE k.cluster = '' AND k."group" = ?1 AND k.kind = ?2 AND s.uid = '' AND l.alias IS NULL"#;
        let mut statement = transaction.prepare(sql)?;
        let rows = statement.query_map([&kind.group, &kind.kind], |row| {
            Ok((row.get("subject_id")?, LOG.get(row, "live.keyframe")?))
        })?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    for (subject, offset) in rows {
        let offset = offset.unwrap_or_default();
        let text = bodies.text_of(&transaction, offset)?.unwrap_or_default();
        // What cannot be read is found by its id, and reported by whoever reads it.
        let Ok(declared) = serde_json::from_str::<Declared>(&text) else { continue };
        let sql = "UPDATE live SET alias = ?2 WHERE subject_id = ?1";
        transaction.prepare_cached(sql)?.execute(params![subject, alias(&declared.fact)])?;
    }
    Ok(transaction.commit()?)
}
