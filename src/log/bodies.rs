//! Decides how each body is stored: as a keyframe, or as a delta against one.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension};

use super::chain::{self, Hash};
use super::error::LogError;
use super::keyframes::Keyframes;
use crate::delta::{Codec, Dictionary};
use crate::model::Offset;

/// Keyframes kept unpacked by the writer, in bytes: those of what changes now. Others are read again.
const KEYFRAME_BYTES: usize = 8 * 1024 * 1024;

/// After this many deltas a resource gets a new keyframe, so that a delta never strays far from its base.
const DELTAS_MAX: i64 = 15;

/// A dictionary is learnt from the first keyframes, once there are this many bytes of them …
const SAMPLE_BYTES: usize = 2 * 1024 * 1024;
/// … in at least this many samples.
const SAMPLES_MIN: usize = 200;
/// Larger bodies teach little and would crowd out the others.
const SAMPLE_BYTES_MAX: usize = 64 * 1024;

/// A body as it is stored.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) frame: Vec<u8>,
    /// The keyframe of a delta.
    pub(super) base: Option<Offset>,
    pub(super) dictionary: Option<i64>,
}

/// Packs bodies for the writer.
pub(super) struct Bodies {
    codec: Codec,
    keyframes: Keyframes,
    dictionary: Option<(i64, Dictionary)>,
    samples: Vec<Vec<u8>>,
    sample_bytes: usize,
}

impl Bodies {
    pub(super) fn load(connection: &Connection) -> Result<Self, LogError> {
        let newest = "SELECT id, bytes FROM dictionary ORDER BY id DESC LIMIT 1";
        let stored = connection.query_row(newest, [], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        Ok(Bodies {
            codec: Codec::default(),
            keyframes: Keyframes::new(KEYFRAME_BYTES),
            dictionary: stored.map(|(id, bytes)| (id, Dictionary::from_bytes(bytes))),
            samples: Vec::new(),
            sample_bytes: 0,
        })
    }

    /// Packs a body that stands for itself and is not expected to change.
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
        self.learn(connection, body)?;
        let dictionary = self.dictionary.as_ref();
        let frame = self.codec.keyframe(body, dictionary.map(|(_, dictionary)| dictionary))?;
        self.keyframes.put(offset, Arc::from(body));
        Ok(Packed { frame, base: None, dictionary: self.dictionary.as_ref().map(|(id, _)| *id) })
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
        let sql = r#"SELECT body, body_hash, dictionary_id FROM change WHERE "offset" = ?1 AND base IS NULL"#;
        let mut statement = connection.prepare_cached(sql)?;
        let row = statement.query_row([offset.as_i64()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let Some((frame, hash, trained)): Option<(Vec<u8>, Hash, Option<i64>)> = row.optional()? else {
            return Ok(None);
        };
        let dictionary = self.dictionary.as_ref().filter(|(id, _)| Some(*id) == trained);
        if trained.is_some() && dictionary.is_none() {
            return Ok(None);
        }
        let read = self.codec.read_keyframe(&frame, dictionary.map(|(_, dictionary)| dictionary));
        // A damaged keyframe is for whoever reads the log to tell; nothing more is built on it.
        let Some(text) = read.ok().filter(|text| chain::body_hash(text) == hash) else { return Ok(None) };
        let text: Arc<str> = Arc::from(text);
        self.keyframes.put(offset, Arc::clone(&text));
        Ok(Some(text))
    }

    /// Collects samples until a dictionary can be learnt, and stores it with the changes that will use it.
    fn learn(&mut self, connection: &Connection, body: &str) -> Result<(), LogError> {
        if self.dictionary.is_some() || body.len() > SAMPLE_BYTES_MAX {
            return Ok(());
        }
        self.samples.push(body.as_bytes().to_vec());
        self.sample_bytes += body.len();
        if self.sample_bytes < SAMPLE_BYTES || self.samples.len() < SAMPLES_MIN {
            return Ok(());
        }
        let samples = std::mem::take(&mut self.samples);
        self.sample_bytes = 0;
        if let Some(dictionary) = Dictionary::train(&samples) {
            let id = connection
                .prepare_cached("INSERT INTO dictionary (bytes) VALUES (?1)")?
                .insert([dictionary.bytes()])?;
            self.dictionary = Some((id, dictionary));
        }
        Ok(())
    }

    /// Returns to what the database holds, after a transaction was rolled back.
    pub(super) fn reload(&mut self, connection: &Connection) -> Result<(), LogError> {
        *self = Bodies::load(connection)?;
        Ok(())
    }
}
