//! Audit logs of Kubernetes: who did what, and what came of it.
//!
//! Lines of several files come in any order: a first pass notes the time and place of each that reports a change, and a
//! second one reads those in the order of their times. What is kept of a line between the passes is 32 bytes. What is not one
//! record a line (YAML, indented JSON, lists) is read as a whole.

mod event;
mod wrapped;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use self::event::{Event, Outcome};
use super::error::{Result, TransferError, io};
use super::lines::Lines;
use super::objects::imported_mark;
use super::summary::Imported;
use strandline_log::{Batch, Epoch, LogImport, Observation, Observed, Phase};
use strandline_model::{Kind, ResourceKey, ResourceVersion, Timestamp, Uid, WatchKey};
use strandline_object::manifests::{self, Found};
use strandline_redact::{Rules, TypeMeta};
use strandline_sqlite::DirectoryLock;

/// The position of a line that reports a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    time: Timestamp,
    file: u32,
    /// Its number in the file; with its place it makes messages.
    line: u32,
    at: At,
}

/// Where the text of an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    /// In the line that begins with this byte of the file.
    Byte(u64),
    /// Kept since the first pass, as its file or its line holds more than one.
    Kept(usize),
}

/// What the first pass found.
#[derive(Default)]
struct Index {
    places: Vec<Place>,
    /// Kinds by group and name of their resource; deletions often have nothing else.
    kinds: BTreeMap<(String, String), Kind>,
    /// Events that are not on a line of their own.
    kept: Vec<String>,
    /// Events of the present file, of any content.
    known: usize,
}

/// Writes the changes that audit logs of a cluster report, with who made each.
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
        return Err(TransferError::NotOlder { path, first: first.time, newest, head: log.head() });
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
        let changed = || TransferError::Changed { path: path.to_path_buf() };
        line.clear();
        match place.at {
            At::Byte(byte) => {
                seek(file, byte).map_err(io(path))?;
                file.read_line(&mut line).map_err(io(path))?;
            }
            At::Kept(number) => line.push_str(index.kept.get(number).ok_or_else(changed)?),
        }
        let unwrapped: String;
        let event = match Event::parse(line.trim_end()) {
            Ok(event) => event,
            Err(_) => {
                let mut events = wrapped::unwrap(line.trim_end()).unwrap_or_default();
                unwrapped = events.pop().and_then(std::result::Result::ok).ok_or_else(changed)?;
                Event::parse(&unwrapped).map_err(|_| changed())?
            }
        };
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
        self.known = 0;
        let mut lines = Lines::open_plain(path)?;
        let (before, mut first) = (imported.read, true);
        while let Some(line) = lines.next()? {
            if line.trim().is_empty() {
                continue;
            }
            if std::mem::take(&mut first) && !wrapped::is_record(line) {
                return self.read_whole(file, path, imported);
            }
            let (line, number, start) = (line.to_owned(), lines.number(), lines.start());
            self.record(&line, file, number, Some(start), imported, path);
        }
        if imported.read > before && self.known == 0 {
            return Err(lines.wrong(NOT_ONE));
        }
        Ok(())
    }

    /// A file in which events are not on lines of their own.
    fn read_whole(&mut self, file: u32, path: &Path, imported: &mut Imported) -> Result<()> {
        let wrong = |line: usize, why: String| TransferError::Wrong {
            path: path.to_owned(),
            line: line as u64,
            byte: 0,
            why,
        };
        let text = fs::read_to_string(path).map_err(io(path))?;
        let mut fault = None;
        for document in manifests::read(&text) {
            match document {
                Ok(Found { line, text, .. }) => self.record(&text, file, line as u64, None, imported, path),
                Err(found) => {
                    imported.read += 1;
                    imported.skip("unreadable", || format!("{}: line {}", path.display(), found.line));
                    fault.get_or_insert(found);
                }
            }
        }
        match fault {
            _ if self.known > 0 => Ok(()),
            Some(found) => Err(wrong(found.line, format!("{NOT_ONE}; it cannot be read: {}", found.why))),
            None => Err(wrong(1, NOT_ONE.to_owned())),
        }
    }

    /// A record, which is an event or holds some; `start` is where its line begins, if it has one of its own.
    fn record(
        &mut self,
        text: &str,
        file: u32,
        number: u64,
        start: Option<u64>,
        imported: &mut Imported,
        path: &Path,
    ) {
        let line = u32::try_from(number).unwrap_or(u32::MAX);
        let mut events = match Event::parse(text) {
            Ok(_) => vec![Ok(text.to_owned())],
            Err(reason) => wrapped::unwrap(text).unwrap_or_else(|| vec![Err(reason)]),
        };
        let alone = start.filter(|_| events.len() == 1);
        for event in events.drain(..) {
            imported.read += 1;
            let found = event.and_then(|text| Ok((self.tells(&text)?, text)));
            match found {
                Ok((time, text)) => {
                    let at = alone.map_or_else(|| At::Kept(self.kept.len()), At::Byte);
                    if alone.is_none() {
                        self.kept.push(text);
                    }
                    self.places.push(Place { time, file, line, at });
                }
                Err(reason) => imported.skip(reason, || format!("{}: line {number}", path.display())),
            }
        }
    }

    /// When the change happened that an event reports.
    fn tells(&mut self, text: &str) -> std::result::Result<Timestamp, &'static str> {
        let event = Event::parse(text)?;
        self.known += 1;
        if let Some((resource, kind)) = event.named_kind() {
            self.kinds.entry(resource).or_insert(kind);
        }
        event.tells()
    }
}

/// The error for a file without any event.
const NOT_ONE: &str = "there is not one event of an audit log in it: audit.k8s.io/v1 in lines, JSON or YAML, by itself or as \
                       Google Cloud, CloudWatch and Azure export it";

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
        match strandline_redact::clean(
            object,
            TypeMeta { api_version: &api_version, kind: &kind.kind },
            self.rules,
        ) {
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
