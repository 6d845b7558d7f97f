//! Audit logs of Kubernetes: who did what, and what came of it.
//!
//! Lines of several files come in any order: a first pass notes the time and place of each that tells of a change, and a
//! second one reads those in the order of their times. What is kept of a line between the passes is 24 bytes.

mod event;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use self::event::{Event, Outcome};
use super::error::io;
use super::lines::Lines;
use super::objects::imported_mark;
use super::{ExchangeError, Imported, Result};
use crate::log::{Batch, Epoch, LogImport, Observation, Observed, Phase};
use crate::model::{Kind, ResourceKey, ResourceVersion, Timestamp, Uid, WatchKey};
use crate::redact::{self, Rules, TypeMeta};
use crate::store::DirectoryLock;

/// Where a line stands that tells of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    time: Timestamp,
    file: u32,
    /// Its number in the file; with its place it makes messages.
    line: u32,
    byte: u64,
}

/// What the first pass found.
#[derive(Default)]
struct Index {
    places: Vec<Place>,
    /// Kinds by group and name of their resource; deletions often tell nothing else.
    kinds: BTreeMap<(String, String), Kind>,
}

/// Writes what audit logs of a cluster tell, as far as each is a change, with who made it.
///
/// # Errors
/// When a file cannot be read or holds no line of an audit log, its first change is older than what is recorded, or the
/// log cannot be written. Nothing is imported then.
pub fn import_audit(files: &[PathBuf], cluster: &str, data: &Path, rules: &Rules) -> Result<Imported> {
    let mut imported = Imported::default();
    let mut index = Index::default();
    for (number, path) in files.iter().enumerate() {
        index.read(u32::try_from(number).unwrap_or(u32::MAX), path, &mut imported)?;
    }
    index.places.sort_unstable();
    let _lock = DirectoryLock::acquire(data)?;
    let mut log = LogImport::open(data)?;
    if let (Some(newest), Some(first)) = (log.newest(), index.places.first())
        && newest > first.time
    {
        let path = files.get(first.file as usize).cloned().unwrap_or_default();
        return Err(ExchangeError::NotOlder { path, first: first.time, newest, head: log.head() });
    }
    let opened =
        files.iter().map(|path| Ok((path.as_path(), BufReader::new(File::open(path).map_err(io(path))?))));
    let mut opened = opened.collect::<Result<Vec<_>>>()?;
    let mut writer = AuditWriter {
        log: &mut log,
        cluster,
        rules,
        kinds: &index.kinds,
        runs: BTreeMap::new(),
        imported: &mut imported,
    };
    let mut line = String::new();
    for place in &index.places {
        let Some((path, file)) = opened.get_mut(place.file as usize) else { continue };
        let changed = || ExchangeError::Changed { path: path.to_path_buf() };
        seek(file, place.byte).map_err(io(path))?;
        line.clear();
        file.read_line(&mut line).map_err(io(path))?;
        let event = Event::parse(line.trim_end()).map_err(|_| changed())?;
        writer.event(&event, place, || format!("{}: line {}", path.display(), place.line))?;
    }
    imported.head = log.commit()?;
    Ok(imported)
}

/// Goes to a place; what is read already and lies on the way is not read again.
fn seek(file: &mut BufReader<File>, byte: u64) -> std::io::Result<()> {
    let here = file.stream_position()?;
    match i64::try_from(byte).ok().zip(i64::try_from(here).ok()) {
        Some((there, here)) => file.seek_relative(there - here),
        None => file.seek(SeekFrom::Start(byte)).map(|_| ()),
    }
}

impl Index {
    fn read(&mut self, file: u32, path: &Path, imported: &mut Imported) -> Result<()> {
        let mut lines = Lines::open_plain(path)?;
        let mut known = 0;
        while let Some(line) = lines.next()? {
            if line.trim().is_empty() {
                continue;
            }
            imported.read += 1;
            let found = Event::parse(line).and_then(|event| {
                known += 1;
                if let Some((resource, kind)) = event.named_kind() {
                    self.kinds.entry(resource).or_insert(kind);
                }
                event.tells()
            });
            let number = lines.number();
            match found {
                Ok(time) => {
                    let line = u32::try_from(number).unwrap_or(u32::MAX);
                    self.places.push(Place { time, file, line, byte: lines.start() });
                }
                Err(reason) => imported.skip(reason, || format!("{}: line {number}", path.display())),
            }
        }
        if imported.read > 0 && known == 0 {
            return Err(lines.wrong("not one line is an event of an audit log (audit.k8s.io/v1)"));
        }
        Ok(())
    }
}

struct AuditWriter<'a> {
    log: &'a mut LogImport,
    cluster: &'a str,
    rules: &'a Rules,
    kinds: &'a BTreeMap<(String, String), Kind>,
    runs: BTreeMap<Kind, Epoch>,
    imported: &'a mut Imported,
}

impl AuditWriter<'_> {
    fn event(&mut self, event: &Event<'_>, place: &Place, told: impl Fn() -> String) -> Result<()> {
        self.imported.saw(place.time);
        for outcome in event.outcomes(self.kinds) {
            match outcome {
                Outcome::State { kind, object } => {
                    if let Some(seen) = self.clean(&kind, object, &told) {
                        let changed_by = Some(event.changed_by(place.time));
                        self.append(
                            &kind,
                            place.time,
                            Observed::Applied(Observation { changed_by, ..seen }),
                        )?;
                    }
                }
                Outcome::Gone { kind, namespace, name, uid } if uid.is_empty() => {
                    self.run(&kind, place.time)?;
                    let key = ResourceKey { cluster: self.cluster.to_owned(), kind, namespace, name };
                    self.imported.written += self.log.gone(place.time, &key)? as u64;
                }
                Outcome::Gone { kind, namespace, name, uid } => {
                    let resource_version = ResourceVersion::default();
                    let observed =
                        Observed::Deleted { namespace, name, uid: Uid::new(uid), resource_version };
                    self.append(&kind, place.time, observed)?;
                }
                Outcome::Skipped(reason) => self.imported.skip(reason, &told),
            }
        }
        Ok(())
    }

    fn clean(&mut self, kind: &Kind, object: &str, told: &impl Fn() -> String) -> Option<Observation> {
        let api_version = if kind.group.is_empty() { "v1".to_owned() } else { format!("{}/v1", kind.group) };
        match redact::clean(object, TypeMeta { api_version: &api_version, kind: &kind.kind }, self.rules) {
            Ok(seen) => Some(seen),
            Err(error) => {
                self.imported.skip(error.code(), told);
                None
            }
        }
    }

    /// The watch that audit logs are of a kind.
    fn run(&mut self, kind: &Kind, time: Timestamp) -> Result<(WatchKey, Epoch)> {
        let namespace = String::new();
        let watch = WatchKey { cluster: self.cluster.to_owned(), kind: kind.clone(), namespace };
        if let Some(epoch) = self.runs.get(kind) {
            return Ok((watch, *epoch));
        }
        let mark = imported_mark(self.cluster, kind, time);
        self.imported.written += self.log.mark(&mark)?.written as u64;
        let epoch = self.log.begin(time, &watch)?.epoch;
        self.runs.insert(kind.clone(), epoch);
        Ok((watch, epoch))
    }

    fn append(&mut self, kind: &Kind, time: Timestamp, observed: Observed) -> Result<()> {
        let (watch, epoch) = self.run(kind, time)?;
        let batch = Batch { watch, epoch, phase: Phase::Watch, observed: vec![observed], cursor: None };
        let appended = self.log.append(time, &batch)?;
        self.imported.written += appended.written as u64;
        self.imported.unchanged += (appended.unchanged + appended.stale) as u64;
        Ok(())
    }
}
