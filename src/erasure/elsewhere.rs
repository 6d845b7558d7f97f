//! Values outside the log: in backups, in what a restore moved aside, and in files beside the log.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use strandline_redact::Values;

/// Read at a time, and kept of it for what lies across two readings: more than any value in any form that a file of text
/// holds.
const CHUNK: usize = 1024 * 1024;
const OVERLAP: usize = 512 * 1024;

/// The files that the log itself consists of.
const OWN: [&str; 6] = ["log.db", "log.db-wal", "log.db-shm", "log.head", "lock", store_key()];

const fn store_key() -> &'static str {
    strandline_sqlite::KEY_FILE
}

/// A place that holds values, or that could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The directory or the file.
    pub path: PathBuf,
    /// How many changes hold one; none for a file that is no log.
    pub changes: Option<u64>,
    /// Why it could not be looked at.
    pub unread: Option<String>,
}

impl Elsewhere {
    fn unread(path: &Path, why: impl ToString) -> Self {
        Elsewhere { path: path.to_owned(), changes: None, unread: Some(why.to_string()) }
    }
}

/// Looks into backups, and into whatever lies beside the log.
pub(super) fn look(data: &Path, values: &Values, backups: &[PathBuf]) -> Vec<Elsewhere> {
    let mut found = Vec::new();
    for path in backups {
        match is_log(path) {
            true => found.extend(in_log(path, values)),
            false => below(path, values, &mut found, false),
        }
    }
    below(data, values, &mut found, true);
    found
}

fn is_log(path: &Path) -> bool {
    path.join("log.db").exists()
}

/// Looks into every log below a directory, and with `files` also into every other file.
fn below(directory: &Path, values: &Values, found: &mut Vec<Elsewhere>, files: bool) {
    let mut paths: Vec<PathBuf> = match fs::read_dir(directory) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) => return found.push(Elsewhere::unread(directory, error)),
    };
    paths.sort();
    let own = |path: &Path| path.file_name().is_some_and(|name| OWN.iter().any(|own| name == *own));
    for path in paths {
        let Ok(kind) = fs::symlink_metadata(&path).map(|file| file.file_type()) else { continue };
        if kind.is_dir() {
            if is_log(&path) {
                found.extend(in_log(&path, values));
            }
            below(&path, values, found, files);
        } else if kind.is_file() && files && !own(&path) {
            match in_file(&path, values) {
                Ok(false) => {}
                Ok(true) => found.push(Elsewhere { path, changes: None, unread: None }),
                Err(error) => found.push(Elsewhere::unread(&path, error)),
            }
        }
    }
}

fn in_log(path: &Path, values: &Values) -> Option<Elsewhere> {
    match strandline_log::find(path, values, None, &mut |_| {}) {
        Ok(found) => {
            let found = found.filter(|found| found.changes > 0 || !found.kept_in.is_empty())?;
            Some(Elsewhere { path: path.to_owned(), changes: Some(found.changes), unread: None })
        }
        Err(error) => Some(Elsewhere::unread(path, error)),
    }
}

fn in_file(path: &Path, values: &Values) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut bytes = Vec::with_capacity(CHUNK + OVERLAP);
    loop {
        let read = file.by_ref().take(CHUNK as u64).read_to_end(&mut bytes)?;
        if read == 0 {
            return Ok(false);
        }
        if values.are_in(&bytes) {
            return Ok(true);
        }
        let behind = bytes.len().saturating_sub(OVERLAP);
        bytes.drain(..behind);
    }
}
