//! The manifest of a backup.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

use super::error::{BackupError, Result};
use super::files::{FILES, KEY, io};
use strandline_log::{LogError, LogReader, Whole};
use strandline_model::{Offset, Timestamp};
use strandline_syntax::diagnostics::of_json;

/// The manifest's file; it is written last, so that a directory without it is no backup.
pub(super) const MANIFEST: &str = "backup.json";

const FORMAT: &str = "strandline.backup";
const VERSION: u32 = 1;

/// What a backup holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    format: String,
    version: u32,
    /// The program that made it.
    pub program: String,
    /// When it was made.
    pub made_at: Timestamp,
    /// The newest offset in it.
    pub head: Offset,
    /// The hash of the change there, which covers all changes before it.
    pub head_hash: String,
    /// When that change was observed; none in an empty log.
    pub observed_at: Option<Timestamp>,
    /// The oldest offset in it that can be asked for; zero where retention has let nothing go.
    #[serde(default)]
    pub complete_from: Offset,
    /// When the change there was observed.
    #[serde(default)]
    pub complete_since: Option<Timestamp>,
    /// Its files.
    pub files: Vec<FileEntry>,
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    name: String,
    bytes: u64,
    blake3: String,
}

impl FileEntry {
    fn of(directory: &Path, name: &str) -> Result<Self> {
        let path = directory.join(name);
        let mut hasher = blake3::Hasher::new();
        let mut file = File::open(&path).map_err(io(&path))?;
        let bytes = io::copy(&mut file, &mut hasher).map_err(io(&path))?;
        Ok(FileEntry { name: name.to_owned(), bytes, blake3: hasher.finalize().to_hex().to_string() })
    }
}

impl Manifest {
    /// Of the files in a directory.
    pub(super) fn of(directory: &Path, whole: &Whole, made_at: Timestamp) -> Result<Self> {
        let there = FILES.iter().filter(|name| directory.join(name).exists());
        Ok(Manifest {
            format: FORMAT.to_owned(),
            version: VERSION,
            program: env!("CARGO_PKG_VERSION").to_owned(),
            made_at,
            head: whole.head,
            head_hash: HEXLOWER.encode(&whole.hash),
            observed_at: whole.observed_at,
            complete_from: whole.compacted.offset,
            complete_since: whole.compacted.observed_at,
            files: there.map(|name| FileEntry::of(directory, name)).collect::<Result<_>>()?,
        })
    }

    /// How large all of it is.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Whether the key that hides secrets is part of it; without it every hidden value will look changed once.
    pub fn has_key(&self) -> bool {
        self.files.iter().any(|file| file.name == KEY)
    }

    /// Whether a log continues the one that was backed up.
    pub(super) fn is_continued_by(&self, log: &LogReader) -> std::result::Result<bool, LogError> {
        Ok(HEXLOWER.encode(&log.hash_at(self.head)?) == self.head_hash)
    }

    /// Whether this log is the one that was backed up.
    pub(super) fn holds(&self, whole: &Whole) -> bool {
        self.head == whole.head && self.head_hash == HEXLOWER.encode(&whole.hash)
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        let mut text = serde_json::to_string_pretty(self).map_err(|error| io(path)(error.into()))?;
        text.push('\n');
        let mut file = strandline_sqlite::create_file(path).map_err(io(path))?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(io(path))
    }

    /// The manifest of a backup.
    pub(super) fn read(from: &Path) -> Result<Self> {
        let no_backup = |why: String| BackupError::NoBackup { from: from.to_owned(), why };
        let text = fs::read_to_string(from.join(MANIFEST))
            .map_err(|error| no_backup(format!("its {MANIFEST} cannot be read: {error}")))?;
        let manifest: Manifest = serde_json::from_str(&text)
            .map_err(|error| no_backup(format!("its {MANIFEST} is invalid: {}", of_json(&error))))?;
        if manifest.format != FORMAT || manifest.version != VERSION {
            let (format, version) = (&manifest.format, manifest.version);
            return Err(no_backup(format!(
                "its format is `{format}` {version}, this program reads `{FORMAT}` {VERSION}"
            )));
        }
        Ok(manifest)
    }

    /// That every file in a directory is the one that was backed up; those of no backup are not looked at.
    pub(super) fn check_files(&self, directory: &Path) -> Result<()> {
        for name in FILES {
            let Some(told) = self.files.iter().find(|file| file.name == name) else { continue };
            let path = directory.join(name);
            let altered = |why: String| BackupError::Altered { path: path.clone(), why };
            let found = FileEntry::of(directory, name)?;
            if found.bytes != told.bytes {
                return Err(altered(format!("it has {} bytes instead of {}", found.bytes, told.bytes)));
            }
            if found.blake3 != told.blake3 {
                return Err(altered("its digest does not match".to_owned()));
            }
        }
        Ok(())
    }
}
