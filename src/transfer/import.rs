//! Exports of a log in.

use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;

use super::error::{Result, TransferError};
use super::format::{END, End, FORMAT, Header, Line, Trailer, VERSION, unhex};
use super::lines::Lines;
use super::summary::Imported;
use strandline_log::{ChangeType, Entry, LogImport};
use strandline_model::{Kind, Offset, Timestamp, WatchKey};
use strandline_sqlite::DirectoryLock;
use strandline_syntax::diagnostics::reason_of_json;

/// What a file that is whole and sound holds.
struct Survey {
    path: PathBuf,
    trailer: Trailer,
    first: Option<Entry>,
    last: Option<(Offset, Timestamp)>,
}

/// Reads exports and writes their changes behind those of a data directory, under new offsets and at the times that they
/// tell. All files are read and checked once before anything is written.
///
/// # Errors
/// When a file is not whole and sound, overlaps in time with the log or another file, or the log cannot
/// be written. Nothing is imported then.
pub fn import_log(files: &[PathBuf], data: &Path) -> Result<Imported> {
    let mut surveys = files.iter().map(|path| survey(path)).collect::<Result<Vec<_>>>()?;
    surveys.sort_by_key(|survey| survey.first.as_ref().map(|first| first.observed_at));
    check_order(&surveys)?;
    let _lock = DirectoryLock::acquire(data)?;
    let mut log = LogImport::open(data)?;
    let mut imported = Imported { head: log.head(), ..Imported::default() };
    if let (Some(newest), Some((path, first))) = (log.newest(), earliest(&surveys))
        && newest > first
    {
        return Err(TransferError::NotOlder { path: path.to_owned(), first, newest, head: log.head() });
    }
    for survey in &surveys {
        write(&mut log, survey, &mut imported)?;
    }
    imported.head = log.commit()?;
    Ok(imported)
}

fn survey(path: &Path) -> Result<Survey> {
    let (mut first, mut last) = (None, None);
    let trailer = walk(path, |entry| {
        last = Some((entry.offset, entry.observed_at));
        first.get_or_insert(entry);
        Ok(())
    })?;
    Ok(Survey { path: path.to_owned(), trailer, first, last })
}

fn earliest(surveys: &[Survey]) -> Option<(&Path, Timestamp)> {
    surveys.iter().find_map(|survey| Some((survey.path.as_path(), survey.first.as_ref()?.observed_at)))
}

/// Files follow each other in time: each begins after the one before ends.
fn check_order(surveys: &[Survey]) -> Result<()> {
    for pair in surveys.windows(2) {
        let [earlier, later] = pair else { continue };
        if let (Some((_, last)), Some(first)) = (earlier.last, &later.first)
            && first.observed_at < last
        {
            return Err(TransferError::Overlap {
                earlier: earlier.path.clone(),
                last,
                later: later.path.clone(),
                first: first.observed_at,
            });
        }
    }
    Ok(())
}

fn write(log: &mut LogImport, survey: &Survey, imported: &mut Imported) -> Result<()> {
    let trailer = walk(&survey.path, |entry| {
        imported.saw(entry.observed_at);
        match log.entry(&entry)? {
            Some(_) => imported.written += 1,
            None => imported
                .skip("unknown_object", || format!("{}: offset {}", survey.path.display(), entry.offset)),
        }
        Ok(())
    })?;
    if trailer != survey.trailer {
        return Err(TransferError::Changed { path: survey.path.clone() });
    }
    for seen in &trailer.watches {
        let kind = Kind::new(seen.group.as_str(), seen.kind.as_str());
        let watch = WatchKey { cluster: seen.cluster.clone(), kind, namespace: seen.namespace.clone() };
        log.seen(&watch, seen.last_seen)?;
    }
    imported.read += trailer.changes;
    Ok(())
}

/// Reads an export from its header to its end, and hands over each change once it was checked.
fn walk(path: &Path, mut take: impl FnMut(Entry) -> Result<()>) -> Result<Trailer> {
    let mut lines = Lines::open(path)?;
    let mut hasher = blake3::Hasher::new();
    let header = header(&mut lines)?;
    hasher.update(lines.bytes());
    let mut last: Option<(Offset, Timestamp)> = None;
    let mut changes = 0;
    let mut chain = Chain::new(&header);
    let trailer = loop {
        let parsed = match lines.next()? {
            None => return Err(lines.wrong("the file ends before its last line; it was cut off")),
            Some(line) if line.starts_with(END) => serde_json::from_str::<End>(line).map(Err),
            Some(line) => serde_json::from_str::<Line<'_>>(line).map(|line| Ok(line.entry())),
        };
        let entry = match parsed {
            Err(error) => return Err(lines.wrong(format!("not a change: {}", reason_of_json(&error)))),
            Ok(Err(End { end })) => break end,
            Ok(Ok(entry)) => entry,
        };
        hasher.update(lines.bytes());
        check(&entry, &header, last).map_err(|why| lines.wrong(why))?;
        last = Some((entry.offset, entry.observed_at));
        changes += 1;
        chain.follow(&entry);
        take(entry)?;
    };
    if trailer.changes != changes {
        let told = trailer.changes;
        return Err(lines.wrong(format!("expected {told} changes, found {changes}")));
    }
    if trailer.blake3 != hasher.finalize().to_hex().as_str() {
        return Err(lines.wrong("the digest of the lines does not match"));
    }
    match lines.next()? {
        None if !chain.leads_to(&header) => {
            Err(lines.wrong("the changes do not match the hash in the header; the file was altered"))
        }
        None => Ok(trailer),
        Some(_) => Err(lines.wrong("unexpected data after the last line")),
    }
}

fn header(lines: &mut Lines) -> Result<Header> {
    let parsed = match lines.next()? {
        None => return Err(lines.wrong("the file is empty")),
        Some(line) => serde_json::from_str::<Version>(line)
            .map_err(|error| format!("not the header of an export: {}", reason_of_json(&error)))
            .and_then(|version| version.check())
            .and_then(|()| {
                serde_json::from_str::<Header>(line)
                    .map_err(|error| format!("invalid header: {}", reason_of_json(&error)))
            }),
    };
    parsed.map_err(|why| lines.wrong(why))
}

/// The hashes of changes, as far as none between them was left out.
struct Chain {
    at: Offset,
    hash: Option<[u8; 16]>,
}

impl Chain {
    fn new(header: &Header) -> Self {
        let at = Offset::new(header.from.get().saturating_sub(1));
        Chain { at, hash: unhex(&header.previous_hash) }
    }

    fn follow(&mut self, entry: &Entry) {
        self.hash = self.hash.filter(|_| entry.offset == self.at.next()).map(|hash| entry.hash_after(&hash));
        self.at = entry.offset;
    }

    /// Whether the last change is the one that the header names; true where that is unknown.
    fn leads_to(&self, header: &Header) -> bool {
        self.at != header.to || self.hash.is_none_or(|hash| HEXLOWER.encode(&hash) == header.head_hash)
    }
}

/// What of a header can be read in any version.
#[derive(serde::Deserialize)]
struct Version {
    format: String,
    version: u32,
}

impl Version {
    fn check(&self) -> std::result::Result<(), String> {
        match (self.format.as_str(), self.version) {
            (FORMAT, VERSION) => Ok(()),
            (FORMAT, found) => {
                Err(format!("version {found} is not supported; this program reads version {VERSION}"))
            }
            _ => Err("not an export of a log".to_owned()),
        }
    }
}

/// Checks that a change may have its position.
fn check(
    entry: &Entry,
    header: &Header,
    last: Option<(Offset, Timestamp)>,
) -> std::result::Result<(), String> {
    let (offset, time) = (entry.offset, entry.observed_at);
    if offset < header.from || offset > header.to {
        return Err(format!(
            "offset {offset} is outside the range {} to {} of the header",
            header.from, header.to
        ));
    }
    if let Some((before, earlier)) = last {
        if offset == before {
            return Err(format!("offset {offset} occurs twice"));
        }
        if offset < before {
            return Err(format!("offset {offset} comes after {before}"));
        }
        if time < earlier && entry.r#type != ChangeType::Clock {
            return Err(format!("it was observed at {time}, before the change above it"));
        }
    }
    entry.check()
}
