//! How many bytes a data directory holds.

use std::io;
use std::path::Path;

/// Bytes of a data directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::service) struct Sizes {
    /// By file, those that are always there.
    pub(in crate::service) files: [(&'static str, u64); 4],
    /// Of all files together, also those that nobody knows, and the folders in it.
    pub(in crate::service) total: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes { files: ["log.db", "log.db-wal", "view.db", "view.db-wal"].map(|file| (file, 0)), total: 0 }
    }
}

impl Sizes {
    pub(in crate::service) fn of(directory: &Path) -> io::Result<Self> {
        let mut sizes = Sizes::default();
        sizes.add(directory, true)?;
        Ok(sizes)
    }

    fn add(&mut self, directory: &Path, top: bool) -> io::Result<()> {
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let about = match entry.metadata() {
                Ok(about) => about,
                // SQLite and builds of the view make and remove files at any time.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            if about.is_dir() {
                self.add(&entry.path(), false)?;
                continue;
            }
            self.total += about.len();
            let name = entry.file_name();
            let known = self.files.iter_mut().find(|(known, _)| top && name == *known);
            if let Some((_, bytes)) = known {
                *bytes = about.len();
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn all_that_lies_in_the_directory_is_counted() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("log.db.d")).unwrap();
        for (name, bytes) in [("log.db", 5), ("log.db-wal", 7), ("other", 11), ("log.db.d/view.db", 13)] {
            std::fs::write(dir.path().join(name), vec![0; bytes]).unwrap();
        }
        let sizes = Sizes::of(dir.path()).unwrap();
        assert_eq!(sizes.total, 36);
        assert_eq!(sizes.files, [("log.db", 5), ("log.db-wal", 7), ("view.db", 0), ("view.db-wal", 0)]);
    }
}
