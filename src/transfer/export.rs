//! The log out: lines of JSON, packed with zstd.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;

use data_encoding::HEXLOWER;
use serde::Serialize;

use super::error::{Result, TransferError, io};
use super::format::{End, FORMAT, Header, Line, Seen, Trailer, VERSION};
use strandline_log::{ChangeType, Entry, LogReader};
use strandline_model::{At, CatalogFact, CatalogKind, EnvironmentId, Offset, Timestamp};
use strandline_sqlite::DirectoryLock;
use strandline_view::Members;

/// Records read at a time.
const BATCH: usize = 500;

/// How hard to pack: the log's bodies repeat themselves, and more would take longer than reading them.
const LEVEL: i32 = 6;

/// What of the log to export.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// From the first change at or after this moment on.
    pub since: Option<At>,
    /// Up to the last change at or before this moment.
    pub until: Option<At>,
    /// Changes of these clusters, and the catalog; of all where there are none.
    pub clusters: Vec<String>,
    /// What ever belonged to these environments, the marks of its clusters, and the catalog but for other environments;
    /// everything where there are none.
    pub environments: Vec<EnvironmentId>,
}

/// What was exported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// The first offset of the range.
    pub from: Offset,
    /// The last one.
    pub to: Offset,
    /// From here on nothing is missing because retention has let it go.
    pub complete_from: Offset,
    /// How many changes of it.
    pub changes: u64,
    /// How many bytes they have before they are packed.
    pub bytes: u64,
}

/// Writes a part of the log into a file, which gets its name once it is whole; a server may write the log meanwhile.
///
/// # Errors
/// When the log cannot be read, or the file is there already or cannot be written.
pub fn export_file(data: &Path, selection: &Selection, now: Timestamp, to: &Path) -> Result<Exported> {
    if to.symlink_metadata().is_ok() {
        return Err(TransferError::Exists { to: to.to_owned() });
    }
    let mut name = to.as_os_str().to_owned();
    name.push(".partial");
    let partial = Path::new(&name);
    let file = strandline_sqlite::replace_file(partial).map_err(io(partial))?;
    let written = export(data, selection, now, &file, to)
        .and_then(|exported| file.sync_all().map_err(io(partial)).map(|()| exported));
    match written {
        Ok(exported) => {
            fs::rename(partial, to).map_err(io(to))?;
            Ok(exported)
        }
        Err(error) => {
            // What is left of it is no export; should it stay, the next attempt writes over it.
            let _ = fs::remove_file(partial);
            Err(error)
        }
    }
}

/// Writes a part of the log; `name` is what errors call the other end.
///
/// # Errors
/// When the log cannot be read or the other end takes no more.
pub fn export(
    data: &Path,
    selection: &Selection,
    now: Timestamp,
    out: impl Write,
    name: &Path,
) -> Result<Exported> {
    if !data.join("log.db").exists() {
        return Err(TransferError::NoLog { data: data.to_owned() });
    }
    let mut log = LogReader::open(data)?;
    // As everything that reads a record without a server: of one that nobody goes on with, now is where it ends.
    let end = if DirectoryLock::is_held(data) { None } else { log.recorded_until()? };
    let range = Range::of(&mut log, selection, end.unwrap_or(now))?;
    let filter = Filter::of(data, selection, range.to)?;
    let mut sink = Sink::new(out).map_err(io(name))?;
    sink.line(&range.header(&log, selection, now)?).map_err(io(name))?;
    let (mut at, mut changes) = (range.before, 0);
    while at < range.to {
        let entries = log.entries_after(at, BATCH)?;
        let Some(last) = entries.last() else { break };
        at = last.offset;
        for entry in entries.iter().take_while(|entry| entry.offset <= range.to) {
            if filter.wants(entry) {
                sink.line(&Line::of(entry)).map_err(io(name))?;
                changes += 1;
            }
        }
    }
    let watches = range.watches(&log, selection)?;
    let bytes = sink.end(changes, watches).map_err(io(name))?;
    let (from, complete_from) = (range.before.next(), range.complete_from());
    Ok(Exported { from, to: range.to, complete_from, changes, bytes })
}

/// The offsets of what was asked for.
struct Range {
    /// The one before the first.
    before: Offset,
    to: Offset,
    /// From here on retention has let nothing go.
    whole: Offset,
    /// When the last was observed, where the log continues after it.
    ends_at: Option<Timestamp>,
}

impl Range {
    fn of(log: &mut LogReader, selection: &Selection, now: Timestamp) -> Result<Self> {
        let (since, until) = (selection.since, selection.until);
        let range = Range::between(log, since, until, now)?;
        match (since, until) {
            // Whoever names the later time first means the same span.
            (Some(_), Some(_)) if range.before > range.to => Range::between(log, until, since, now),
            _ => Ok(range),
        }
        .map(|range| Range { before: range.before.min(range.to), ..range })
    }

    fn between(log: &mut LogReader, since: Option<At>, until: Option<At>, now: Timestamp) -> Result<Self> {
        let head = log.head()?;
        let at = |log: &mut LogReader, time| log.offset_at(time, head);
        let to = match until.unwrap_or_default() {
            At::Now => head,
            At::Offset(offset) => offset.min(head),
            At::Time(time) => at(log, time)?,
            At::Ago(ago) => at(log, now.minus(ago))?,
        };
        let just_before = |time: Timestamp| Timestamp::from_micros(time.as_micros().saturating_sub(1));
        let before = match since {
            None => Offset::ZERO,
            Some(At::Now) => at(log, just_before(now))?,
            Some(At::Offset(offset)) => Offset::new(offset.get().saturating_sub(1)),
            Some(At::Time(time)) => at(log, just_before(time))?,
            Some(At::Ago(ago)) => at(log, just_before(now.minus(ago)))?,
        };
        // Of pruned changes only the last state is left; a smaller selection gets all of it.
        let compacted = log.compacted()?.offset;
        let before = if before < compacted { Offset::ZERO } else { before };
        let ends_at = if to < head { log.observed_at(to)? } else { None };
        let whole = log.floors()?.iter().map(|floor| floor.offset).max().unwrap_or_default().max(compacted);
        Ok(Range { before, to, ends_at, whole })
    }

    fn complete_from(&self) -> Offset {
        self.before.next().max(self.whole)
    }

    fn header(&self, log: &LogReader, selection: &Selection, now: Timestamp) -> Result<Header> {
        let names = selection.environments.iter().map(|id| id.as_str().to_owned());
        Ok(Header {
            format: FORMAT.to_owned(),
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            exported_at: now,
            from: self.before.next(),
            to: self.to,
            complete_from: self.complete_from(),
            previous_hash: HEXLOWER.encode(&log.hash_at(self.before)?),
            head_hash: HEXLOWER.encode(&log.hash_at(self.to)?),
            clusters: selection.clusters.clone(),
            environments: names.collect(),
        })
    }

    /// The time up to which each watch is complete, as far as it is in the range.
    fn watches(&self, log: &LogReader, selection: &Selection) -> Result<Vec<Seen>> {
        // A selection from watches does not show that the rest is complete.
        if !selection.environments.is_empty() {
            return Ok(Vec::new());
        }
        let wanted = |cluster: &String| selection.clusters.is_empty() || selection.clusters.contains(cluster);
        let seen = log.watches()?.into_iter().filter(|(watch, _)| wanted(&watch.cluster));
        let told = seen.filter_map(|(watch, last_seen)| {
            let last_seen = last_seen?;
            Some(Seen {
                cluster: watch.cluster,
                group: watch.kind.group,
                kind: watch.kind.kind,
                namespace: watch.namespace,
                last_seen: self.ends_at.map_or(last_seen, |ends_at| last_seen.min(ends_at)),
            })
        });
        Ok(told.collect())
    }
}

/// Which changes are wanted.
struct Filter<'a> {
    clusters: &'a [String],
    environments: &'a [EnvironmentId],
    members: Option<Members>,
    clusters_of_members: BTreeSet<String>,
}

impl<'a> Filter<'a> {
    fn of(data: &Path, selection: &'a Selection, to: Offset) -> Result<Self> {
        let mut members: Option<Members> = None;
        for id in &selection.environments {
            let environment = || id.as_str().to_owned();
            let found = strandline_view::members_ever(data, id).map_err(|why| TransferError::NoMembers {
                environment: environment(),
                why: why.to_string(),
            })?;
            let Some(found) = found.filter(|found| found.checkpoint >= to) else {
                let why = "the view is missing, incomplete, or behind the log".to_owned();
                return Err(TransferError::NoMembers { environment: environment(), why });
            };
            match &mut members {
                Some(members) => members.resources.extend(found.resources),
                None => members = Some(found),
            }
        }
        let clusters_of_members = members.iter().flat_map(|members| &members.clusters).cloned().collect();
        let (clusters, environments) = (&selection.clusters[..], &selection.environments[..]);
        Ok(Filter { clusters, environments, members, clusters_of_members })
    }

    fn wants(&self, entry: &Entry) -> bool {
        let cluster = &entry.key.cluster;
        if !self.clusters.is_empty() && !cluster.is_empty() && !self.clusters.contains(cluster) {
            return false;
        }
        let Some(members) = &self.members else { return true };
        match entry.r#type {
            ChangeType::Applied | ChangeType::Deleted => members.resources.contains(&entry.id),
            ChangeType::Coverage => self.clusters_of_members.contains(cluster),
            ChangeType::Declared | ChangeType::Withdrawn => self.wants_fact(entry),
            // Without them recorded times cannot be understood.
            ChangeType::Clock => true,
            // It names nothing but digests.
            ChangeType::Erased => true,
        }
    }

    /// The catalog, but for other environments and what was deployed to them.
    fn wants_fact(&self, entry: &Entry) -> bool {
        let named = |id: &str| self.environments.iter().any(|environment| environment.as_str() == id);
        match CatalogKind::of(&entry.key.kind) {
            Some(CatalogKind::Environment) => named(&entry.key.name),
            Some(CatalogKind::Deployment) => match serde_json::from_str::<CatalogFact>(&entry.body) {
                Ok(CatalogFact::Deployment(deployment)) => named(deployment.environment.as_str()),
                _ => false,
            },
            _ => true,
        }
    }
}

/// Writes lines, packs them, and keeps their digest.
struct Sink<W: Write> {
    out: BufWriter<zstd::stream::write::Encoder<'static, W>>,
    hasher: blake3::Hasher,
    line: Vec<u8>,
    bytes: u64,
}

impl<W: Write> Sink<W> {
    fn new(out: W) -> std::io::Result<Self> {
        let mut encoder = zstd::stream::write::Encoder::new(out, LEVEL)?;
        encoder.include_checksum(true)?;
        Ok(Sink { out: BufWriter::new(encoder), hasher: blake3::Hasher::new(), line: Vec::new(), bytes: 0 })
    }

    fn line(&mut self, value: &impl Serialize) -> std::io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value)?;
        self.line.push(b'\n');
        self.hasher.update(&self.line);
        self.bytes += self.line.len() as u64;
        self.out.write_all(&self.line)
    }

    fn end(mut self, changes: u64, watches: Vec<Seen>) -> std::io::Result<u64> {
        let blake3 = self.hasher.finalize().to_hex().to_string();
        self.line(&End { end: Trailer { changes, blake3, watches } })?;
        self.out.flush()?;
        let encoder = self.out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        encoder.finish()?.flush()?;
        Ok(self.bytes)
    }
}
