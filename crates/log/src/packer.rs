//! Moves closed groups into solid frames, in the background: on the writer's thread while nothing waits to be written, and between
//! appends once too many groups wait.
//!
//! A run takes the groups that were closed longest ago and writes them in the order of cluster, namespace, kind and name,
//! so that what belongs to one namespace lies together. It goes in steps, each a small transaction: a body is removed in
//! its old form only once it was read back from the frame and its checksum is the one that was recorded.
//!
//! Why: docs/decisions/0009-closed-versions-move-into-solid-frames.md.

use std::collections::VecDeque;
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior, params};

use super::bodies::{Bodies, PackedSolid};
use super::chain::{self, Hash};
use super::error::LogError;
use super::group::deltas_of;
use super::holes::Holes;
use super::reader::LogReader;
use super::row;
use super::solid::{Solid, body_at};
use strandline_model::Offset;
use strandline_sqlite::column::LOG;

type Result<T> = std::result::Result<T, LogError>;

/// A run begins once so many groups are closed: fewer would not lie together.
const RUN_MIN: usize = 1024;

/// More runs than this that wait are no longer left to times at which nothing else is to be done.
const BEHIND: usize = 4;

/// Groups in one run, at most.
const RUN_MAX: usize = 4096;

/// Text moved in one step, about: some milliseconds in which appends wait.
const STEP_BYTES: usize = 1024 * 1024;

/// A frame is full once it holds this much text. Larger ones pack better, and whoever wants one body unpacks all of it.
const FRAME_BYTES: usize = 32 * 1024;

/// Even of one group no frame holds much more than this.
const FRAME_BYTES_MAX: usize = 256 * 1024;

/// A closed group.
#[derive(Debug)]
struct Group {
    keyframe: Offset,
    /// None where they cannot be understood.
    deltas: Option<Vec<Offset>>,
}

/// A body on its way into a frame.
struct MovedBody {
    offset: Offset,
    hash: Hash,
    at: i64,
}

/// A frame that was filled.
#[derive(Default)]
struct FilledFrame {
    solid: Solid,
    moving: Vec<MovedBody>,
}

/// Packs closed groups.
pub(super) struct Packer {
    reader: LogReader,
    plan: VecDeque<Group>,
    holes: Holes,
    run_min: usize,
    /// There was no room on the disk; nothing is tried until something was appended again.
    is_paused: bool,
}

impl Packer {
    pub(super) fn open(directory: &Path) -> Result<Self> {
        let reader = LogReader::open(directory)?;
        Ok(Packer {
            reader,
            plan: VecDeque::new(),
            holes: Holes::default(),
            run_min: RUN_MIN,
            is_paused: false,
        })
    }

    /// Keeps at most so many bytes in memory of what it reads.
    pub(super) fn with_cache(self, bytes: usize) -> Result<Self> {
        Ok(Packer { reader: self.reader.with_cache(bytes)?, ..self })
    }

    /// Begins a run for fewer groups, so that a test need not write thousands.
    #[cfg(test)]
    pub(super) fn from(self, run_min: usize) -> Self {
        Packer { run_min, ..self }
    }

    /// Whether there is anything to do, with so many groups closed.
    pub(super) fn is_due(&self, closed: usize) -> bool {
        !self.is_paused && (!self.plan.is_empty() || closed >= self.run_min || self.holes.is_due())
    }

    /// Whether so many groups are closed that they are moved between appends, too: a log in which always something waits
    /// to be written would never be packed, and appends are held up by a step for each group of them at most.
    pub(super) fn is_behind(&self, closed: usize) -> bool {
        !self.is_paused && closed >= self.run_min * BEHIND
    }

    /// Rests until something was appended.
    pub(super) fn pause(&mut self) {
        self.is_paused = true;
        self.plan.clear();
    }

    /// Something was appended, so there is room.
    pub(super) fn resume(&mut self) {
        self.is_paused = false;
    }

    /// Moves the next few groups and returns how many; between two runs, what they left is tidied instead.
    pub(super) fn step(&mut self, connection: &mut Connection, bodies: &mut Bodies) -> Result<usize> {
        if self.plan.is_empty() && self.holes.is_due() {
            self.holes.step(connection)?;
            return Ok(0);
        }
        if self.plan.is_empty() {
            self.plan = plan(connection)?;
        }
        let mut taken = Vec::new();
        let (mut frames, mut bytes) = (vec![FilledFrame::default()], 0);
        while bytes < STEP_BYTES
            && let Some(group) = self.plan.pop_front()
        {
            match &group.deltas {
                Some(deltas) => bytes += self.fill(group.keyframe, deltas, &mut frames)?,
                // Which bodies are stored against the keyframe is not known, so all of them stay where they are.
                None => tracing::error!(
                    offset = %group.keyframe,
                    "the list of bodies that depend on this keyframe is damaged; not packing them"
                ),
            }
            taken.push(group.keyframe);
        }
        let mut moved = Vec::new();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for filled in frames.iter().filter(|filled| !filled.moving.is_empty()) {
            match put(&transaction, filled, bodies) {
                // What cannot be read back stays as it is.
                Err(LogError::Damaged { offset, what }) => {
                    tracing::error!(%offset, what, "a body is damaged; not packing its group")
                }
                put => {
                    put?;
                    moved.extend(filled.moving.iter().map(|body| body.offset));
                }
            }
        }
        for keyframe in &taken {
            let sql = "DELETE FROM closed_group WHERE keyframe = ?1";
            transaction.prepare_cached(sql)?.execute([keyframe])?;
        }
        transaction.commit()?;
        moved.into_iter().for_each(|offset| self.holes.note_moved(offset));
        Ok(taken.len())
    }

    /// Adds the bodies of a group to the frame that is being filled, or to new ones; returns the bytes of text.
    fn fill(&mut self, keyframe: Offset, deltas: &[Offset], frames: &mut Vec<FilledFrame>) -> Result<usize> {
        let mut read = Vec::new();
        for offset in std::iter::once(keyframe).chain(deltas.iter().copied()) {
            // Retention may have pruned some of them.
            let Some(row) = row::at(self.reader.connection(), offset)?.filter(|row| row.body.is_some())
            else {
                continue;
            };
            match self.reader.text(&row) {
                Ok(text) => read.push((offset, chain::body_hash(&text), text)),
                // It stays where it is; readers of the log report it.
                Err(LogError::Damaged { offset, what }) => {
                    tracing::error!(%offset, what, "a body is damaged; not packing its group");
                    return Ok(0);
                }
                Err(error) => return Err(error),
            }
        }
        let bytes: usize = read.iter().map(|(.., text)| text.len()).sum();
        let begun = frames.last().map_or(0, |last| last.solid.bytes().len());
        if begun > 0 && begun + bytes > FRAME_BYTES {
            frames.push(FilledFrame::default());
        }
        for (offset, hash, text) in read {
            if frames.last().is_none_or(|last| last.solid.bytes().len() > FRAME_BYTES_MAX) {
                frames.push(FilledFrame::default());
            }
            if let Some(last) = frames.last_mut()
                && let Some(at) = last.solid.add(&text)
            {
                last.moving.push(MovedBody { offset, hash, at });
            }
        }
        Ok(bytes)
    }
}

/// The next run.
fn plan(connection: &Connection) -> Result<VecDeque<Group>> {
    let sql = r#"SELECT g.keyframe, g.deltas
        FROM (SELECT keyframe, deltas FROM closed_group ORDER BY keyframe LIMIT ?1) g
        LEFT JOIN change c ON c."offset" = g.keyframe LEFT JOIN subject s ON s.id = c.subject_id
        LEFT JOIN kind k ON k.id = s.kind_id
        ORDER BY k.cluster, s.namespace, k."group", k.kind, s.name, s.id, g.keyframe"#;
    let mut statement = connection.prepare_cached(sql)?;
    let groups = statement.query_map([RUN_MAX as i64], |row| {
        let (keyframe, deltas) = (LOG.get(row, "closed_group.keyframe")?, row.get::<_, Vec<u8>>("deltas")?);
        Ok(Group { keyframe, deltas: deltas_of(keyframe, &deltas) })
    })?;
    Ok(groups.collect::<rusqlite::Result<_>>()?)
}

/// Writes a frame and removes the bodies that it contains now, after it was read back.
fn put(connection: &Connection, filled: &FilledFrame, bodies: &mut Bodies) -> Result<()> {
    let PackedSolid { frame, dictionary, unpacked } = bodies.solid(filled.solid.bytes())?;
    for MovedBody { offset, hash, at } in &filled.moving {
        if body_at(&unpacked, *at).is_none_or(|body| chain::body_hash(body) != *hash) {
            let what = "its body is not read back from a solid frame as it was recorded".to_owned();
            return Err(LogError::Damaged { offset: *offset, what });
        }
    }
    let sql = "INSERT INTO frame (dictionary_id, changes, bytes) VALUES (?1, ?2, ?3)";
    let changes = i64::try_from(filled.moving.len()).unwrap_or(i64::MAX);
    let frame = connection.prepare_cached(sql)?.insert(params![dictionary, changes, frame])?;
    let sql = r#"UPDATE change SET body = NULL, frame_id = ?2, frame_at = ?3 WHERE "offset" = ?1"#;
    let mut moved = connection.prepare_cached(sql)?;
    for MovedBody { offset, at, .. } in &filled.moving {
        let changed = moved.execute(params![offset, frame, at])?;
        assert_eq!(changed, 1, "the change at offset {offset} is there while its body moves");
    }
    Ok(())
}

/// How many groups wait.
pub(super) fn closed(connection: &Connection) -> Result<usize> {
    let count: i64 = connection.query_row("SELECT count(*) FROM closed_group", [], |row| row.get(0))?;
    Ok(usize::try_from(count).unwrap_or(usize::MAX))
}
