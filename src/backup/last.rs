//! The last backup of a data directory, noted in it: so that the running server can say how old it is.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::manifest::Manifest;
use strandline_model::{Offset, Timestamp};

/// The file in the data directory; it is no part of a backup.
const FILE: &str = "last-backup.json";

/// More than this no note of ours has.
const BYTES_MAX: u64 = 4096;

/// When a data directory was last backed up, and up to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastBackup {
    /// When the backup was made.
    pub made_at: Timestamp,
    /// The newest offset in it.
    pub head: Offset,
}

impl From<&Manifest> for LastBackup {
    fn from(manifest: &Manifest) -> Self {
        LastBackup { made_at: manifest.made_at, head: manifest.head }
    }
}

impl LastBackup {
    /// Notes it in the data directory.
    ///
    /// # Errors
    /// When nothing can be written there, as where the directory is mounted read-only for whoever makes backups.
    pub fn write(&self, data: &Path) -> io::Result<()> {
        let (path, beside) = (data.join(FILE), data.join(format!("{FILE}.partial")));
        let mut file = strandline_sqlite::replace_file(&beside)?;
        file.write_all(serde_json::to_string(self)?.as_bytes())?;
        // Root may make a backup of a directory that is another user's, who is to read this.
        let owner = fs::metadata(data)?;
        if file.metadata()?.uid() != owner.uid() {
            chown(&beside, Some(owner.uid()), Some(owner.gid()))?;
        }
        fs::rename(&beside, &path)
    }

    /// What is noted in a data directory; none where nothing is, or nothing that can be read.
    pub fn read(data: &Path) -> Option<Self> {
        let path = data.join(FILE);
        let about = fs::symlink_metadata(&path).ok()?;
        if !about.is_file() || about.len() > BYTES_MAX {
            return None;
        }
        serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn the_last_backup_is_noted_and_what_is_no_note_is_none() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(LastBackup::read(data.path()), None);
        for offset in [7, 9] {
            let last = LastBackup { made_at: Timestamp::from_micros(5), head: Offset::new(offset) };
            last.write(data.path()).unwrap();
            assert_eq!(LastBackup::read(data.path()), Some(last));
        }
        assert_eq!(fs::metadata(data.path().join(FILE)).unwrap().mode() & 0o777, 0o600);
        fs::write(data.path().join(FILE), "no note").unwrap();
        assert_eq!(LastBackup::read(data.path()), None);
        assert!(
            LastBackup { made_at: Timestamp::from_micros(5), head: Offset::ZERO }
                .write(&data.path().join("nowhere"))
                .is_err()
        );
    }
}
