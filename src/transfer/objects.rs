//! Objects as `kubectl get -o yaml|json` prints them, at the moments at which they were printed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use super::error::{Result, TransferError, io};
use super::list::{self, ListError};
use super::summary::Imported;
use strandline_log::{Batch, Epoch, LogImport, Observed, Phase};
use strandline_model::{CoverageMark, Kind, Timestamp, WatchKey, reason};
use strandline_object::{Object, manifests};
use strandline_redact::{Observation, Rules, TypeMeta};
use strandline_sqlite::DirectoryLock;
use strandline_syntax::diagnostics::reason_of_json;

/// A dump up to this size is read as a whole, whatever form it has; a larger list in JSON is read item by item.
const WHOLE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// A file of objects, with the moment at which they were so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// The file.
    pub path: PathBuf,
    /// The moment.
    pub at: Timestamp,
}

/// Writes what the objects of a cluster were at several moments, as far as each is a change. With `complete` each dump holds
/// all objects of its kinds in its namespaces: what it misses was gone by then.
///
/// # Errors
/// When a file cannot be read, a dump is older than what is recorded, or the log cannot be written. Nothing is imported
/// then.
pub fn import_objects(
    dumps: &[Dump],
    cluster: &str,
    complete: bool,
    data: &Path,
    rules: &Rules,
) -> Result<Imported> {
    let mut dumps = dumps.to_vec();
    dumps.sort_by_key(|dump| dump.at);
    let _lock = DirectoryLock::acquire(data)?;
    let mut log = LogImport::open(data)?;
    if let (Some(newest), Some(first)) = (log.newest(), dumps.first())
        && newest > first.at
    {
        let (path, first, head) = (first.path.clone(), first.at, log.head());
        return Err(TransferError::NotOlder { path, first, newest, head });
    }
    let mut imported = Imported::default();
    for dump in &dumps {
        let mut run =
            DumpRun { log: &mut log, cluster, dump, rules, runs: BTreeMap::new(), imported: &mut imported };
        run.objects()?;
        if complete {
            run.end()?;
        }
    }
    imported.head = log.commit()?;
    Ok(imported)
}

/// The coverage of a kind in imported time: what was not imported is not known.
pub(super) fn imported_mark(cluster: &str, kind: &Kind, since: Timestamp) -> CoverageMark {
    let watch = WatchKey { cluster: cluster.to_owned(), kind: kind.clone(), namespace: String::new() };
    let message = "imported from files; changes that are not in the files are unknown";
    CoverageMark::gap(watch, since, reason::IMPORTED, message)
}

/// One dump on its way into the log.
struct DumpRun<'a> {
    log: &'a mut LogImport,
    cluster: &'a str,
    dump: &'a Dump,
    rules: &'a Rules,
    /// For each kind and namespace the list that the dump is of it.
    runs: BTreeMap<(Kind, String), Epoch>,
    imported: &'a mut Imported,
}

impl DumpRun<'_> {
    fn objects(&mut self) -> Result<()> {
        let path = &self.dump.path;
        let mut file = File::open(path).map_err(io(path))?;
        if file.metadata().map_err(io(path))?.len() > WHOLE_BYTES_MAX
            && begins_as_json(&mut file).map_err(io(path))?
        {
            return self.list(file);
        }
        let text = fs::read_to_string(path).map_err(io(path))?;
        for document in manifests::read(&text) {
            let found = document.map_err(|unreadable| TransferError::Wrong {
                path: path.clone(),
                line: unreadable.line as u64,
                byte: byte_of(&text, unreadable.line),
                why: unreadable.why,
            })?;
            self.object(&found.text, TypeMeta { api_version: "", kind: "" }, || {
                format!("line {}", found.line)
            })?;
        }
        Ok(())
    }

    /// A large list, item by item.
    fn list(&mut self, file: File) -> Result<()> {
        let path = &self.dump.path;
        let mut number = 0;
        let read = list::each(BufReader::new(file), &mut |api_version, kind, item| {
            number += 1;
            self.object(item, TypeMeta { api_version, kind }, || format!("item {number}"))
        });
        read.map_err(|error| match error {
            ListError::Refused(error) => error,
            ListError::Unreadable(error) => {
                let (path, line, why) = (path.clone(), error.line() as u64, reason_of_json(&error));
                TransferError::Wrong { path, line, byte: error.column() as u64, why }
            }
        })
    }

    fn object(&mut self, text: &str, defaults: TypeMeta<'_>, place: impl Fn() -> String) -> Result<()> {
        self.imported.read += 1;
        let place = || format!("{}: {}", self.dump.path.display(), place());
        match strandline_redact::clean(text, defaults, self.rules) {
            Err(error) => self.imported.skip(error.code(), place),
            Ok(seen) => {
                let kind = Object::parse(&seen.body).map(|object| object.group_kind());
                match kind.ok().filter(|kind| !kind.kind.is_empty()) {
                    Some(kind) => self.saw(kind, seen)?,
                    None => self.imported.skip("no_kind", place),
                }
            }
        }
        Ok(())
    }

    fn saw(&mut self, kind: Kind, seen: Observation) -> Result<()> {
        self.imported.saw(self.dump.at);
        let watch = WatchKey { cluster: self.cluster.to_owned(), kind, namespace: seen.namespace.clone() };
        let epoch = self.run(&watch)?;
        self.append(watch, epoch, Phase::ListPage, vec![Observed::Applied(seen)])
    }

    /// The list that the dump is of a kind in a namespace.
    fn run(&mut self, watch: &WatchKey) -> Result<Epoch> {
        let key = (watch.kind.clone(), watch.namespace.clone());
        if let Some(epoch) = self.runs.get(&key) {
            return Ok(*epoch);
        }
        let mark = imported_mark(self.cluster, &watch.kind, self.dump.at);
        self.imported.written += self.log.mark(&mark)?.written as u64;
        let epoch = self.log.begin(self.dump.at, watch)?.epoch;
        self.runs.insert(key, epoch);
        Ok(epoch)
    }

    fn append(&mut self, watch: WatchKey, epoch: Epoch, phase: Phase, observed: Vec<Observed>) -> Result<()> {
        let batch = Batch { watch, epoch, phase, observed, cursor: None };
        let appended = self.log.append(self.dump.at, &batch)?;
        self.imported.written += appended.written as u64;
        self.imported.unchanged += (appended.unchanged + appended.stale) as u64;
        Ok(())
    }

    /// What the dump misses of its kinds in its namespaces is gone.
    fn end(&mut self) -> Result<()> {
        let kinds: BTreeSet<Kind> = self.runs.keys().map(|(kind, _)| kind.clone()).collect();
        let namespaces: BTreeSet<String> = self.runs.keys().map(|(_, namespace)| namespace.clone()).collect();
        for kind in kinds {
            // What has no namespace is in none.
            let nowhere = self.runs.contains_key(&(kind.clone(), String::new()));
            for namespace in namespaces.iter().filter(|namespace| namespace.is_empty() == nowhere) {
                let namespace = namespace.clone();
                let watch = WatchKey { cluster: self.cluster.to_owned(), kind: kind.clone(), namespace };
                let epoch = self.run(&watch)?;
                self.append(watch, epoch, Phase::ListEnd, Vec::new())?;
            }
        }
        Ok(())
    }
}

/// Whether a file begins as an object of JSON; what was read is read again.
fn begins_as_json(file: &mut File) -> std::io::Result<bool> {
    let mut beginning = [0; 512];
    let read = file.read(&mut beginning)?;
    file.rewind()?;
    Ok(beginning[..read].iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{'))
}

/// Where a line begins.
fn byte_of(text: &str, line: usize) -> u64 {
    text.split_inclusive('\n').take(line.saturating_sub(1)).map(|line| line.len() as u64).sum()
}
