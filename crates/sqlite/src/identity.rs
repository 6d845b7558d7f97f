//! Notices that a file or folder in use was removed or replaced: what is written to it then is lost with it.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Which files paths led to when they were opened.
#[derive(Debug, Default)]
pub struct Identities {
    paths: Vec<(PathBuf, Option<Identity>)>,
}

/// The device and the inode of a file.
type Identity = (u64, u64);

/// A path that no longer leads to the file that was opened.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{} was {} while it was in use", path.display(), if *replaced { "replaced" } else { "removed" })]
pub struct Displaced {
    /// The path.
    pub path: PathBuf,
    /// Whether something else is there now.
    pub replaced: bool,
}

impl Displaced {
    /// What to do about it.
    pub const ADVICE: &str = "stop the server, restore the data directory, and start it again";
}

impl Identities {
    /// Of what these paths lead to now. What is not there yet is taken for what was opened once it is.
    pub fn of(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let known = |path: PathBuf| {
            let identity = identity(&path).unwrap_or_default();
            (path, identity)
        };
        Identities { paths: paths.into_iter().map(known).collect() }
    }

    /// The first path that leads elsewhere. A path that the system cannot look up, for any reason but that nothing is
    /// there, is left for the next look.
    pub fn displaced(&mut self) -> Option<Displaced> {
        for (path, known) in &mut self.paths {
            let Ok(found) = identity(path) else { continue };
            match (*known, found) {
                (Some(known), Some(found)) if known != found => {
                    return Some(Displaced { path: path.clone(), replaced: true });
                }
                (Some(_), None) => return Some(Displaced { path: path.clone(), replaced: false }),
                (None, Some(_)) => *known = found,
                _ => {}
            }
        }
        None
    }
}

/// What a path leads to; none where nothing is there.
fn identity(path: &Path) -> std::io::Result<Option<Identity>> {
    match fs::metadata(path) {
        Ok(file) => Ok(Some((file.dev(), file.ino()))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn what_is_removed_or_replaced_is_noticed_and_what_changes_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, file) = (dir.path().join("data"), dir.path().join("data/file"));
        fs::create_dir(&folder).unwrap();
        let mut identities = Identities::of([folder.clone(), file.clone()]);
        assert_eq!(identities.displaced(), None, "it is still to be made");
        fs::write(&file, "one").unwrap();
        assert_eq!(identities.displaced(), None);
        fs::write(&file, "another text").unwrap();
        fs::write(folder.join("beside"), "").unwrap();
        assert_eq!(identities.displaced(), None);
        // Both are there at once, so that they cannot have the same inode.
        fs::write(folder.join("other"), "").unwrap();
        fs::rename(&file, folder.join("former")).unwrap();
        let removed = Some(Displaced { path: file.clone(), replaced: false });
        assert_eq!(identities.displaced(), removed);
        fs::rename(folder.join("other"), &file).unwrap();
        assert_eq!(identities.displaced(), Some(Displaced { path: file.clone(), replaced: true }));
        fs::rename(folder.join("former"), &file).unwrap();
        assert_eq!(identities.displaced(), None, "it is back");
        fs::rename(&folder, dir.path().join("moved")).unwrap();
        let displaced = identities.displaced().unwrap();
        assert_eq!((displaced.path, displaced.replaced), (folder, false));
    }
}
