//! Writes anew what holds values, and what was packed with the help of it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use rusqlite::{Connection, params};

use crate::chain;
use crate::chain::Hash;
use crate::delta::{Codec, Dictionary};
use crate::error::LogError;
use crate::reader::LogReader;
use crate::row::RawRow;
use crate::solid::Solid;
use strandline_model::Offset;
use strandline_redact::Values;
use strandline_sqlite::column::LOG;

type Result<T> = std::result::Result<T, LogError>;

/// A body that was written anew: where, the digest of what was recorded, and of what is left.
pub(super) type Digests = (Offset, Hash, Hash);

/// One transaction that erases values.
pub(super) struct Rewrite<'a> {
    connection: &'a Connection,
    /// Reads what stood there before.
    before: &'a mut LogReader,
    values: &'a Values,
    /// The changes that hold one of the values.
    held_by: BTreeSet<Offset>,
    /// Dictionaries that hold a part of a value, without it.
    dictionaries: HashMap<i64, Arc<Dictionary>>,
    codec: Codec,
    digests: Vec<Digests>,
}

impl<'a> Rewrite<'a> {
    pub(super) fn new(
        connection: &'a Connection,
        before: &'a mut LogReader,
        values: &'a Values,
        held_by: BTreeSet<Offset>,
    ) -> Self {
        let (dictionaries, codec, digests) = (HashMap::new(), Codec::default(), Vec::new());
        Rewrite { connection, before, values, held_by, dictionaries, codec, digests }
    }

    pub(super) fn all(&mut self) -> Result<()> {
        self.dictionaries()?;
        self.bodies()?;
        self.frames()
    }

    pub(super) fn into_digests(self) -> Vec<Digests> {
        self.digests
    }

    /// A dictionary is made of texts that many bodies share, and holds them as they are.
    fn dictionaries(&mut self) -> Result<()> {
        let mut statement = self.connection.prepare("SELECT id, bytes FROM dictionary")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (id, mut bytes): (i64, Vec<u8>) = (row.get("id")?, row.get("bytes")?);
            if self.values.blank_fragments(&mut bytes) {
                self.dictionaries.insert(id, Arc::new(Dictionary::from_bytes(bytes)));
            }
        }
        for (id, dictionary) in &self.dictionaries {
            let sql = "UPDATE dictionary SET bytes = ?2 WHERE id = ?1";
            self.connection.prepare_cached(sql)?.execute(params![id, dictionary.bytes()])?;
        }
        Ok(())
    }

    /// Bodies in rows of their own: those with a value, deltas against such, and what is packed with a
    /// dictionary that is another one now.
    fn bodies(&mut self) -> Result<()> {
        let mut due = self.held_by.clone();
        let sql = r#"SELECT "offset", base, dictionary_id FROM change
            WHERE (base IS NOT NULL OR dictionary_id IS NOT NULL) AND body IS NOT NULL"#;
        let mut statement = self.before.connection().prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let base: Option<Offset> = LOG.get(row, "change.base")?;
            let dictionary: Option<i64> = row.get("dictionary_id")?;
            if base.is_some_and(|base| self.held_by.contains(&base))
                || dictionary.is_some_and(|id| self.dictionaries.contains_key(&id))
            {
                due.insert(LOG.get(row, "change.offset")?);
            }
        }
        drop(rows);
        drop(statement);
        for offset in due {
            let row = self.before.row(offset)?;
            if row.frame.is_none() {
                self.body(&row)?;
            }
        }
        Ok(())
    }

    fn body(&mut self, row: &RawRow) -> Result<()> {
        let text = self.left(row)?;
        let frame = match row.base {
            Some(base) => {
                let keyframe = self.before.keyframe(base)?;
                let erased = self.erased(base, &keyframe);
                self.codec.delta(&text, erased.as_deref().unwrap_or(&keyframe))?
            }
            None => {
                let dictionary = self.dictionary(row.dictionary)?;
                self.codec.keyframe(&text, dictionary.as_deref())?
            }
        };
        let sql = r#"UPDATE change SET body = ?2 WHERE "offset" = ?1"#;
        self.connection.prepare_cached(sql)?.execute(params![row.offset, frame])?;
        Ok(())
    }

    /// Solid frames, with whatever lies in them that belongs to no change any more.
    fn frames(&mut self) -> Result<()> {
        let mut due: HashMap<i64, Vec<Offset>> = HashMap::new();
        let mut statement = self.connection.prepare("SELECT id, dictionary_id, bytes FROM frame")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (id, trained): (i64, Option<i64>) = (row.get("id")?, row.get("dictionary_id")?);
            let bytes: Vec<u8> = row.get("bytes")?;
            let dictionary = trained.map(|id| self.before.dictionary(id)).transpose()?;
            let unpacked = self.codec.unpack(&bytes, dictionary.as_deref())?;
            if trained.is_some_and(|id| self.dictionaries.contains_key(&id)) || self.values.are_in(&unpacked)
            {
                due.insert(id, Vec::new());
            }
        }
        let sql = r#"SELECT "offset", frame_id FROM change WHERE frame_id IS NOT NULL ORDER BY "offset""#;
        let mut statement = self.before.connection().prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(changes) = due.get_mut(&row.get("frame_id")?) {
                changes.push(LOG.get(row, "change.offset")?);
            }
        }
        drop(rows);
        drop(statement);
        for (frame, changes) in &due {
            self.frame(*frame, changes)?;
        }
        Ok(())
    }

    fn frame(&mut self, id: i64, changes: &[Offset]) -> Result<()> {
        let mut solid = Solid::default();
        for offset in changes {
            let row = self.before.row(*offset)?;
            let text = self.left(&row)?;
            let at = solid.add(&text).ok_or_else(|| row.damaged("its body is too long for a solid frame"))?;
            let sql = r#"UPDATE change SET frame_at = ?2 WHERE "offset" = ?1"#;
            self.connection.prepare_cached(sql)?.execute(params![offset, at])?;
        }
        let sql = "SELECT dictionary_id FROM frame WHERE id = ?1";
        let trained: Option<i64> = self.connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))?;
        let dictionary = self.dictionary(trained)?;
        let bytes = self.codec.pack(solid.bytes(), dictionary.as_deref())?;
        let sql = "UPDATE frame SET bytes = ?2 WHERE id = ?1";
        self.connection.prepare_cached(sql)?.execute(params![id, bytes])?;
        Ok(())
    }

    /// What is left of a body, of which note is taken.
    fn left(&mut self, row: &RawRow) -> Result<String> {
        let text = self.before.text(row)?;
        let Some(left) = self.erased(row.offset, &text) else { return Ok(text) };
        self.digests.push((row.offset, row.body_hash, chain::body_hash(&left)));
        Ok(left)
    }

    fn erased(&self, offset: Offset, text: &str) -> Option<String> {
        let erased = self.held_by.contains(&offset).then(|| self.values.erase(text)).flatten();
        erased.map(|erased| erased.text)
    }

    fn dictionary(&mut self, id: Option<i64>) -> Result<Option<Arc<Dictionary>>> {
        let Some(id) = id else { return Ok(None) };
        match self.dictionaries.get(&id) {
            Some(dictionary) => Ok(Some(Arc::clone(dictionary))),
            None => self.before.dictionary(id).map(Some),
        }
    }
}
