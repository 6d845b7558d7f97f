//! Decides how each body is stored: as a keyframe, or as a delta against one.

use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use super::chain::{self, Hash};
use super::erasures::Erasures;
use super::error::LogError;
use super::keyframes::Keyframes;
use super::learning::{Learning, Measure};
use crate::delta::{Codec, Dictionary};
use strandline_model::Offset;

/// Keyframes kept unpacked by the writer, in bytes: those of what changes now. Others are read again.
const KEYFRAME_BYTES: usize = 8 * 1024 * 1024;

/// After this many deltas a resource gets a new keyframe, so that a delta never strays far from its base.
const DELTAS_MAX: i64 = 15;

/// A body as it is stored.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) frame: Vec<u8>,
    /// The keyframe of a delta.
    pub(super) base: Option<Offset>,
    pub(super) dictionary: Option<i64>,
}

/// A solid frame as it is stored.
pub(super) struct PackedSolid {
    pub(super) frame: Vec<u8>,
    pub(super) dictionary: Option<i64>,
    /// What is read back from it.
    pub(super) unpacked: Vec<u8>,
}

/// Packs bodies for the writer.
pub(super) struct Bodies {
    codec: Codec,
    keyframes: Keyframes,
    /// The newest dictionary, with which bodies are packed.
    dictionary: Option<(i64, Arc<Dictionary>)>,
    /// Those with which others were packed, as far as they were needed.
    older: HashMap<i64, Arc<Dictionary>>,
    /// How many there are.
    dictionaries: usize,
    learning: Learning,
    measure: Measure,
    erasures: Erasures,
}

impl Bodies {
    pub(super) fn load(connection: &Connection) -> Result<Self, LogError> {
        Self::load_measured(connection, Measure::default())
    }

    fn load_measured(connection: &Connection, measure: Measure) -> Result<Self, LogError> {
        let newest = "SELECT id, bytes FROM dictionary ORDER BY id DESC LIMIT 1";
        let stored =
            connection.query_row(newest, [], |row| Ok((row.get("id")?, row.get("bytes")?))).optional()?;
        let count: i64 = connection.query_row("SELECT count(*) FROM dictionary", [], |row| row.get(0))?;
        Ok(Bodies {
            codec: Codec::default(),
            keyframes: Keyframes::new(KEYFRAME_BYTES),
            dictionary: stored.map(|(id, bytes)| (id, Arc::new(Dictionary::from_bytes(bytes)))),
            older: HashMap::new(),
            dictionaries: usize::try_from(count).unwrap_or(usize::MAX),
            learning: Learning::new(measure),
            measure,
            erasures: Erasures::default(),
        })
    }

    /// Keeps keyframes unpacked up to so many bytes.
    pub(super) fn keep(&mut self, bytes: usize) {
        self.keyframes = Keyframes::new(bytes);
    }

    /// Learns from less, so that a test need not write megabytes.
    #[cfg(test)]
    pub(super) fn measured(&mut self, measure: Measure) {
        self.learning = Learning::new(measure);
        self.measure = measure;
    }

    /// Packs a body without a base, which is not expected to change.
    pub(super) fn fact(&mut self, body: &str) -> Result<Packed, LogError> {
        Ok(Packed { frame: self.codec.keyframe(body, None)?, base: None, dictionary: None })
    }

    /// Packs the state of a resource to be stored at `offset`; `keyframe` is its newest one and `deltas` how
    /// many changes were stored against it.
    ///
    /// The delta needs the keyframe's text. Where that cannot be had a new keyframe is written: never a delta against
    /// something else.
    pub(super) fn state(
        &mut self,
        connection: &Connection,
        offset: Offset,
        body: &str,
        keyframe: Option<Offset>,
        deltas: i64,
    ) -> Result<Packed, LogError> {
        if deltas < DELTAS_MAX
            && let Some(base) = keyframe
            && let Some(text) = self.text_of(connection, base)?
        {
            let frame = self.codec.delta(body, &text)?;
            // A body that shares little with its base is better off as the base of those to come.
            if frame.len() * 4 < body.len() {
                return Ok(Packed { frame, base: Some(base), dictionary: None });
            }
        }
        let dictionary = self.dictionary.clone();
        let frame = self.codec.keyframe(body, dictionary.as_ref().map(|(_, dictionary)| &**dictionary))?;
        self.keyframes.put(offset, Arc::from(body));
        self.learn(connection, body, frame.len())?;
        Ok(Packed { frame, base: None, dictionary: dictionary.map(|(id, _)| id) })
    }

    /// Packs the bodies of a solid frame, and reads them back.
    pub(super) fn solid(&mut self, bytes: &[u8]) -> Result<PackedSolid, LogError> {
        let (id, dictionary) = self.dictionary.clone().unzip();
        let frame = self.codec.pack(bytes, dictionary.as_deref())?;
        let unpacked = self.codec.unpack(&frame, dictionary.as_deref())?;
        Ok(PackedSolid { frame, dictionary: id, unpacked })
    }

    /// The text of a keyframe: kept, or else read again.
    pub(super) fn text_of(
        &mut self,
        connection: &Connection,
        offset: Offset,
    ) -> Result<Option<Arc<str>>, LogError> {
        if let Some(text) = self.keyframes.get(offset) {
            return Ok(Some(text));
        }
        let sql = r#"SELECT body, body_hash, dictionary_id FROM change
            WHERE "offset" = ?1 AND base IS NULL AND body IS NOT NULL"#;
        let mut statement = connection.prepare_cached(sql)?;
        let row = statement.query_row([offset], |row| {
            Ok((row.get("body")?, row.get("body_hash")?, row.get("dictionary_id")?))
        });
        let Some((frame, hash, trained)): Option<(Vec<u8>, Hash, Option<i64>)> = row.optional()? else {
            return Ok(None);
        };
        let dictionary = match trained {
            Some(id) => match self.dictionary(connection, id)? {
                Some(dictionary) => Some(dictionary),
                None => return Ok(None),
            },
            None => None,
        };
        let read = self.codec.read_keyframe(&frame, dictionary.as_deref());
        // Readers of the log report a damaged keyframe; no more deltas refer to it.
        let Ok(text) = read else { return Ok(None) };
        let digest = chain::body_hash(&text);
        if digest != hash && !self.erasures.allow(connection, offset, &hash, &digest)? {
            return Ok(None);
        }
        let text: Arc<str> = Arc::from(text);
        self.keyframes.put(offset, Arc::clone(&text));
        Ok(Some(text))
    }

    fn dictionary(&mut self, connection: &Connection, id: i64) -> Result<Option<Arc<Dictionary>>, LogError> {
        let newest = self.dictionary.as_ref().filter(|(newest, _)| *newest == id);
        if let Some(dictionary) = newest.map(|(_, dictionary)| dictionary).or_else(|| self.older.get(&id)) {
            return Ok(Some(Arc::clone(dictionary)));
        }
        let sql = "SELECT bytes FROM dictionary WHERE id = ?1";
        let bytes = connection.prepare_cached(sql)?.query_row([id], |row| row.get(0)).optional()?;
        let Some(bytes) = bytes else { return Ok(None) };
        let dictionary = Arc::new(Dictionary::from_bytes(bytes));
        self.older.insert(id, Arc::clone(&dictionary));
        Ok(Some(dictionary))
    }

    /// Takes note of a keyframe and stores a dictionary where one was learnt, with the changes that will use it.
    fn learn(&mut self, connection: &Connection, body: &str, packed: usize) -> Result<(), LogError> {
        self.learning.note(body, packed);
        let present = self.dictionary.as_ref().map(|(_, dictionary)| &**dictionary);
        let Some(learnt) = self.learning.learn(present, self.dictionaries, &mut self.codec) else {
            return Ok(());
        };
        let id = connection
            .prepare_cached("INSERT INTO dictionary (bytes) VALUES (?1)")?
            .insert([learnt.bytes()])?;
        self.dictionaries += 1;
        if let Some((id, before)) = self.dictionary.replace((id, Arc::new(learnt))) {
            self.older.insert(id, before);
        }
        Ok(())
    }

    /// Returns to what the database holds, after a transaction was rolled back.
    pub(super) fn reload(&mut self, connection: &Connection) -> Result<(), LogError> {
        *self = Bodies::load_measured(connection, self.measure)?;
        Ok(())
    }
}
