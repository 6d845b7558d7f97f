//! Copies what can be read of a damaged log into a new one, in which gaps show what it had to leave out.
//!
//! The new log has a chain of its own: its offsets and hashes are others. Nothing of the old one is changed.

use std::collections::BTreeMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::append::Epoch;
use super::bodies::Bodies;
use super::chain::{Hash, HeadFile};
use super::compaction::{Compacted, Compaction};
use super::declared::Declared;
use super::draft::Draft;
use super::error::LogError;
use super::examine::{Finding, examine};
use super::floors::{self, Floor};
use super::group::OpenGroup;
use super::ids::{self, Ids};
use super::moved_offsets::MovedOffsets;
use super::reader::LogReader;
use super::row::{self, RawRow};
use super::transaction::{Write, WriterState};
use super::types::{self, ChangeType};
use super::{columns, file, open};
use strandline_model::{CoverageMark, CoverageState, Offset, Stored, Timestamp, WatchKey, reason};
use strandline_sqlite::column::LOG;
use strandline_syntax::diagnostics::of_json;

type Result<T> = std::result::Result<T, LogError>;

/// Changes copied in one transaction.
const BATCH: usize = 1000;

/// What was salvaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Salvaged {
    /// Changes of the old log that the new one holds.
    pub copied: u64,
    /// What was damaged, and is left out where it has offsets.
    pub findings: Vec<Finding>,
    /// Where the new log ends.
    pub head: Offset,
}

/// Copies every sound change of the log in `directory` into a new log in `target`; `progress` gets how many offsets of
/// how many are behind it, once for the look at the old log and once for the copy.
///
/// What was watched has a gap `lost` wherever changes are left out, and at the end, since every watch has to list anew.
///
/// # Errors
/// When the old log cannot be opened at all, or the new one cannot be written or is there already.
pub fn salvage(directory: &Path, target: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Salvaged> {
    let new = file::path(target);
    if new.exists() {
        return Err(LogError::Taken { directory: target.to_owned() });
    }
    let examination = examine(directory, progress)?.unwrap_or_default();
    let old = file::open_inspector(directory)?;
    let mut lost: Vec<(Offset, Offset)> = examination.findings.iter().filter_map(|f| f.offsets).collect();
    lost.sort_unstable();
    let connection = open::open_writer(target)?;
    let bodies = Bodies::load(&connection)?;
    let (hash, observed_at) = (Hash::default(), Timestamp::from_micros(i64::MIN));
    let state = WriterState {
        head: Offset::ZERO,
        hash,
        observed_at,
        ids: Ids::default(),
        bodies,
        epoch: None,
        closed: 0,
    };
    let mut copy = Copy {
        connection,
        state,
        watched: BTreeMap::new(),
        owed: None,
        copied: 0,
        compacted: Compacted::default(),
        floors: Vec::new(),
        offsets: MovedOffsets::default(),
    };
    let mut reader = LogReader::over(old);
    // What cannot be read of this is among the findings.
    copy.compacted =
        Compaction::load(reader.connection()).map_or(Compacted::default(), |known| known.compacted);
    let mut floors = reader.floors().unwrap_or_default();
    floors.sort_by_key(|floor| floor.offset);
    copy.floors = floors;
    let mut at = Offset::ZERO;
    for (first, last) in lost {
        if let Some(until) = first.get().checked_sub(1) {
            copy.sound(&mut reader, at, Offset::new(until), examination.head, progress)?;
        }
        copy.owed = Some(copy.owed.map_or((first, last), |(from, _)| (from, last)));
        at = at.max(last);
    }
    copy.sound(&mut reader, at, examination.head, examination.head, progress)?;
    copy.end(reader.connection())?;
    HeadFile::new(target)
        .write(copy.state.head, &copy.state.hash)
        .map_err(|error| LogError::Copy { path: target.join("log.head"), why: error.to_string() })?;
    copy.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(Salvaged { copied: copy.copied, findings: examination.findings, head: copy.state.head })
}

/// The new log while it is written.
struct Copy {
    connection: Connection,
    state: WriterState,
    /// What was being watched at this place.
    watched: BTreeMap<String, WatchKey>,
    /// Changes left out since the last one that was copied.
    owed: Option<(Offset, Offset)>,
    copied: u64,
    /// The oldest moment that could be asked for in the old log, until it is reached.
    compacted: Compacted,
    /// The floors of kinds that retention prunes before the rest, as far as they are not reached yet.
    floors: Vec<Floor>,
    /// The offsets of the changes in the new log.
    offsets: MovedOffsets,
}

impl Copy {
    /// Copies the changes after `from` up to `to`, all of which can be read.
    fn sound(
        &mut self,
        reader: &mut LogReader,
        from: Offset,
        to: Offset,
        head: Offset,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<()> {
        let mut at = from;
        while at < to {
            let rows = row::within(reader.connection(), at, to, BATCH)?;
            let Some(last) = rows.last().map(|row| row.offset) else { return Ok(()) };
            let Copy { connection, state, watched, owed, copied, compacted, floors, offsets } = &mut *self;
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            for row in &rows {
                let observed_at = row.observed_at;
                let is_clock = row.r#type == ChangeType::Clock.number();
                let now = if is_clock { observed_at } else { observed_at.max(state.observed_at) };
                let before = state.observed_at;
                let mut write = Write { connection: &transaction, state: &mut *state, now };
                if let Some((first, last)) = owed.take() {
                    let message = format!("changes {first} to {last} of the damaged log are lost");
                    write.unseen(watched.values(), before, &message)?;
                }
                if row.offset > compacted.offset {
                    write.earliest(std::mem::take(compacted))?;
                }
                let reached = floors.partition_point(|floor| floor.offset < row.offset);
                for floor in floors.drain(..reached) {
                    write.copy_floor(&floor)?;
                }
                if floors::is_pruned(reader.connection(), row)? {
                    continue;
                }
                let text = reader.text(row)?;
                write.again(row, &text, watched, offsets)?;
                offsets.note(row.offset, state.head);
                *copied += 1;
            }
            transaction.commit()?;
            at = last;
            progress(at.get(), head.get());
        }
        Ok(())
    }

    /// Takes over what watches are known, none of which may resume without a list.
    fn end(&mut self, old: &Connection) -> Result<()> {
        let Copy { connection, state, compacted, floors, .. } = self;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let now = state.observed_at;
        let mut write = Write { connection: &transaction, state, now };
        write.earliest(std::mem::take(compacted))?;
        for floor in floors.drain(..) {
            write.copy_floor(&floor)?;
        }
        // What cannot be read of this is known again after the next list.
        write.cursors_of(old).or_else(only_damage)?;
        write.identities_of(old).or_else(only_damage)?;
        write.lose(now, "the log was salvaged; later changes are unknown")?;
        transaction.commit()?;
        Ok(())
    }
}

fn only_damage(error: LogError) -> Result<()> {
    if error.is_damage() { Ok(()) } else { Err(error) }
}

impl Write<'_> {
    /// The new log so far is the state at the oldest time of the old one, so that nobody may ask for an earlier one.
    fn earliest(&mut self, of_old: Compacted) -> Result<()> {
        if of_old.offset > Offset::ZERO {
            let mut compaction = Compaction::load(self.connection)?;
            compaction.compacted = Compacted { offset: self.state.head, ..of_old };
            compaction.save(self.connection)?;
        }
        Ok(())
    }

    /// Between a moment and now nothing is known of what was watched.
    fn unseen<'k>(
        &mut self,
        watched: impl Iterator<Item = &'k WatchKey>,
        since: Timestamp,
        message: &str,
    ) -> Result<()> {
        for watch in watched {
            self.mark(&CoverageMark::gap(watch.clone(), since, reason::LOST, message))?;
            self.mark(&CoverageMark::watched(watch.clone(), self.now))?;
        }
        Ok(())
    }

    /// Writes a change as it was written before.
    fn again(
        &mut self,
        row: &RawRow,
        text: &str,
        watched: &mut BTreeMap<String, WatchKey>,
        offsets: &MovedOffsets,
    ) -> Result<()> {
        let unreadable = |what: &dyn std::fmt::Display| LogError::Damaged {
            offset: row.offset,
            what: format!("its body is invalid: {what}"),
        };
        let r#type = row.change_type()?;
        match r#type {
            ChangeType::Applied => self.applied_again(row, text),
            ChangeType::Deleted | ChangeType::Withdrawn => self.copy_end(r#type, row, text),
            ChangeType::Coverage => {
                let mark: CoverageMark =
                    serde_json::from_str(text).map_err(|error| unreadable(&of_json(&error)))?;
                let name = mark.watch.to_string();
                match mark.state {
                    _ if mark.until.is_some() => None,
                    CoverageState::Watched => watched.insert(name, mark.watch.clone()),
                    _ => watched.remove(&name),
                };
                self.mark(&mark).map(|_| ())
            }
            ChangeType::Clock => {
                let mark = serde_json::from_str(text).map_err(|error| unreadable(&of_json(&error)))?;
                self.clock_mark(&offsets.moved(&mark, row.offset, self.state.head.next()))
            }
            ChangeType::Erased => self.erasure(text).map(|_| ()),
            ChangeType::Declared => {
                let Declared { source, fact } =
                    serde_json::from_str(text).map_err(|error| unreadable(&of_json(&error)))?;
                self.put(source, &fact).map(|_| ())
            }
        }
    }

    fn applied_again(&mut self, row: &RawRow, text: &str) -> Result<()> {
        let (kind, subject) = self.numbers(row)?;
        let open = self.open_group(subject)?.unwrap_or_default();
        let (packed, group) = self.pack_state(text, open)?;
        let changed_by = types::changed_by(row.manager.clone(), row.managed_at);
        self.write(Draft {
            uid: &row.uid,
            resource_version: &row.resource_version,
            changed_by: changed_by.as_ref(),
            body: text,
            packed: Some(packed),
            ..Draft::bare(ChangeType::Applied, subject, &row.key)
        })?;
        // A later state may be among what was lost, so that the next list has to write this object whatever it finds: no
        // object has this digest.
        let sql = "INSERT OR REPLACE INTO live
            (subject_id, kind_id, resource_version, digest, keyframe, deltas, deltas_at, seen_epoch)
            VALUES (?1, ?2, '', zeroblob(16), ?3, ?4, ?5, 0)";
        let params = params![subject, kind, group.keyframe, group.deltas, group.deltas_at];
        self.connection.prepare_cached(sql)?.execute(params)?;
        Ok(())
    }

    fn open_group(&self, subject: i64) -> Result<Option<OpenGroup>> {
        let sql = "SELECT keyframe, deltas, deltas_at FROM live WHERE subject_id = ?1";
        let known = self.connection.prepare_cached(sql)?.query_row([subject], |row| {
            Ok(OpenGroup {
                keyframe: LOG.get(row, "live.keyframe")?,
                deltas: row.get("deltas")?,
                deltas_at: row.get::<_, Option<Vec<u8>>>("deltas_at")?.unwrap_or_default(),
            })
        });
        Ok(known.optional()?)
    }

    fn copy_end(&mut self, r#type: ChangeType, row: &RawRow, text: &str) -> Result<()> {
        let (_, subject) = self.numbers(row)?;
        let packed = match text {
            "" => None,
            text => Some(self.state.bodies.fact(text)?),
        };
        if let Some(open) = self.open_group(subject)? {
            self.close(&open)?;
        }
        let bare = Draft::bare(r#type, subject, &row.key);
        self.write(Draft { uid: &row.uid, body: text, packed, ..bare })?;
        self.mark_ended(subject)
    }

    fn numbers(&mut self, row: &RawRow) -> Result<(i64, i64)> {
        let key = &row.key;
        let kind = self.state.ids.kind(self.connection, &key.cluster, &key.kind)?;
        Ok((kind, ids::subject(self.connection, kind, &key.namespace, &key.name, &row.uid)?))
    }

    fn cursors_of(&mut self, old: &Connection) -> Result<()> {
        let sql = r#"SELECT k.cluster, k."group", k.kind, c.namespace, c.epoch, c.seen_at, c.selector, c.first_begun_at
            FROM cursor c JOIN kind k ON k.id = c.kind_id"#;
        let mut statement = old.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let cluster: String = row.get("cluster")?;
            let kind = self.state.ids.kind(self.connection, &cluster, &columns::kind(row)?)?;
            let (namespace, epoch): (String, Epoch) = (row.get("namespace")?, row.get("epoch")?);
            // Nothing is known to be complete after the last change that was copied.
            let seen_at = row.get::<_, Option<Timestamp>>("seen_at")?.map(|at| at.min(self.now));
            let (selector, begun): (String, Option<Timestamp>) =
                (row.get("selector")?, row.get("first_begun_at")?);
            let insert = "INSERT INTO cursor (kind_id, namespace, epoch, seen_at, selector, first_begun_at)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
            let params = params![kind, namespace, epoch, seen_at, selector, begun];
            self.connection.prepare_cached(insert)?.execute(params)?;
        }
        Ok(())
    }

    fn identities_of(&mut self, old: &Connection) -> Result<()> {
        let mut statement = old.prepare("SELECT cluster, uid FROM cluster_identity")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (cluster, uid): (String, String) = (row.get("cluster")?, row.get("uid")?);
            self.identify(&cluster, &uid)?;
        }
        Ok(())
    }
}
