//! Databases that nobody writes, and that are read as they are: whether they still are what they were.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::wal::{is_at_rest, is_empty, wal, wal_index};

/// Databases as they were before they were opened.
#[derive(Debug)]
pub struct Resting(Vec<(PathBuf, State)>);

/// The files of a database and of its WAL; none where somebody may be writing, who keeps to SQLite's locks.
type State = Option<[FileState; 2]>;

/// Device, inode, length, and the nanosecond of the last change; none where there is no file.
type FileState = Option<[i128; 4]>;

impl Resting {
    /// Looks at these; `unused` says that no process has them open, so that one with a WAL is left by who was killed.
    pub fn of(paths: impl IntoIterator<Item = PathBuf>, unused: bool) -> Self {
        let seen = |path: PathBuf| {
            let state = (unused || is_at_rest(&path)).then(|| state(&path));
            (path, state)
        };
        Resting(paths.into_iter().map(seen).collect())
    }

    /// The first that somebody has begun to write since, or replaced: what was read of it may be torn.
    pub fn disturbed(&self) -> Option<&Path> {
        let disturbed =
            |(path, before): &&(PathBuf, State)| before.is_some_and(|before| state(path) != before);
        self.0.iter().find(disturbed).map(|(path, _)| path.as_path())
    }
}

fn state(path: &Path) -> [FileState; 2] {
    let of = |path: &Path| {
        let file = fs::metadata(path).ok()?;
        let changed = i128::from(file.mtime()) * 1_000_000_000 + i128::from(file.mtime_nsec());
        Some([file.dev().into(), file.ino().into(), file.len().into(), changed])
    };
    [of(path), of(&wal(path))]
}

/// Whether a database has a WAL and no index of it, as only a copy has that left the index out. Reading it would make one.
pub fn lacks_wal_index(path: &Path) -> bool {
    !is_empty(&wal(path)) && !wal_index(path).exists()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::{Role, open};

    #[test]
    fn a_database_is_disturbed_by_who_begins_to_write_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        let writer = open(&path, Role::LogWriter, 7).unwrap();
        writer.execute_batch("CREATE TABLE t (a)").unwrap();
        let (beside_a_writer, killed) =
            (Resting::of([path.clone()], false), Resting::of([path.clone()], true));
        assert_eq!(killed.disturbed(), None);
        drop(writer);
        assert_eq!(beside_a_writer.disturbed(), None, "locks were in effect");
        assert_eq!(killed.disturbed(), Some(&*path), "what one left who was killed is gone on with");

        // Clocks of filesystems are coarse.
        fs::File::options().append(true).open(&path).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        let resting = Resting::of([path.clone()], false);
        assert_eq!(resting.disturbed(), None);
        let writer = open(&path, Role::LogWriter, 7).unwrap();
        writer.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        assert_eq!(resting.disturbed(), Some(&*path));
        drop(writer);
        assert_eq!(resting.disturbed(), Some(&*path), "also where it has ended again");

        let other = dir.path().join("other.db");
        fs::copy(&path, &other).unwrap();
        let resting = Resting::of([path.clone()], false);
        fs::rename(&other, &path).unwrap();
        assert_eq!(resting.disturbed(), Some(&*path));
    }

    #[test]
    fn a_copy_without_the_index_of_its_wal_is_known() {
        let dir = tempfile::tempdir().unwrap();
        let (path, copy) = (dir.path().join("x.db"), dir.path().join("copy.db"));
        let writer = open(&path, Role::LogWriter, 7).unwrap();
        writer.execute_batch("CREATE TABLE t (a)").unwrap();
        assert!(!lacks_wal_index(&path));
        fs::copy(&path, &copy).unwrap();
        assert!(!lacks_wal_index(&copy), "without a WAL it needs none");
        fs::write(wal(&copy), "").unwrap();
        assert!(!lacks_wal_index(&copy) && is_at_rest(&copy), "nor for an empty one");
        fs::copy(wal(&path), wal(&copy)).unwrap();
        assert!(lacks_wal_index(&copy) && !is_at_rest(&copy));
    }
}
