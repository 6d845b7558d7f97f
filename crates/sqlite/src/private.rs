//! Files and directories that only their owner may read, made so that nothing which others have put in their place is
//! followed.
//!
//! A data directory with the set-group-ID bit is shared with its group by choice, as Kubernetes makes the volumes of
//! `fsGroup`: what the group may do there is left as it is.
//!
//! Files are private by their own modes and by the umask: the first for the library, the second for what SQLite makes. A
//! database is never opened by anything but SQLite, since closing it would release the locks of the whole process.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::process;

/// The mode of a file.
const FILE: u32 = 0o600;

/// The mode of a directory.
const DIRECTORY: u32 = 0o700;

/// The set-group-ID bit.
const SHARED: u32 = 0o2000;

/// The files of a data directory and of a backup: names, or how they begin. Nothing else is ours to change.
const OURS: [&str; 9] = [
    "log.",
    "view.",
    "redaction.key",
    "lock",
    "backup.json",
    "erasing",
    "restoring",
    "before-restore-",
    ".strandline-",
];

/// What filesystems put into a directory that is given to us.
const NOBODYS: [&str; 1] = ["lost+found"];

/// Lets only its owner read what the process makes from now on.
pub fn keep_private() {
    process::umask(Mode::from_raw_mode(0o077));
}

/// Makes a directory, with those above it that are missing; one that is there stays as it is.
///
/// # Errors
/// When it cannot be made.
pub fn create_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(DIRECTORY).create(path)
}

/// Makes a directory that is not there yet.
///
/// # Errors
/// When it is, or cannot be made.
pub fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(DIRECTORY).create(path)
}

/// Makes a directory, or enters one that this user made before; what another has put there is not entered.
///
/// # Errors
/// When it is another's or no directory, or cannot be made.
pub fn enter_directory(path: &Path) -> io::Result<()> {
    match create_directory(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => return made,
    }
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() || found.uid() != process::geteuid().as_raw() {
        let why = "it exists and is not a directory of this user; remove it, or choose another name";
        return Err(io::Error::new(ErrorKind::AlreadyExists, why));
    }
    Ok(())
}

/// Makes a file that is not there yet.
///
/// # Errors
/// When it is, a link that leads nowhere as well, or cannot be made.
pub fn create_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(FILE).open(path)
}

/// Makes a file in the place of what an earlier attempt left there, or of what others have put there.
///
/// # Errors
/// When that cannot be removed, or the file cannot be made.
pub fn replace_file(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    create_file(path)
}

/// Opens a file to be read and written, or makes it; what it holds stays.
///
/// # Errors
/// When it is a link, or cannot be opened.
pub fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(FILE);
    options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path).map_err(|error| {
        match is_link(path) {
            true => io::Error::new(error.kind(), "it is a symbolic link; symbolic links are not followed"),
            false => error,
        }
    })
}

/// Whether a path is a link itself.
pub fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

/// What others may do with a data directory or a file of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// The directory, or the file.
    pub path: PathBuf,
    /// Its mode.
    pub mode: u32,
    /// The same without what others may do.
    pub tight: u32,
}

/// What others may do with a data directory and the files in it, the directory first; and whether it has files that are not
/// ours, so that it is not ours to close.
///
/// # Errors
/// When it cannot be read.
pub fn exposed(directory: &Path) -> io::Result<(Vec<Exposed>, bool)> {
    let itself = fs::metadata(directory)?.mode() & 0o7777;
    let others = if itself & SHARED == 0 { 0o077 } else { 0o007 };
    let mut found = Vec::new();
    let mut look = |path: PathBuf, mode: u32| {
        if mode & others != 0 {
            found.push(Exposed { path, mode, tight: mode & !others });
        }
    };
    look(directory.to_owned(), itself);
    let mut is_foreign = false;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let begins = |known: &str| name.as_encoded_bytes().starts_with(known.as_bytes());
        if OURS.iter().any(|known| begins(known)) {
            // The mode of a link means nothing, and what it leads to is not ours.
            let stat = entry.metadata()?;
            if !stat.is_symlink() {
                look(entry.path(), stat.mode() & 0o7777);
            }
        } else if !NOBODYS.iter().any(|known| name == *known) {
            is_foreign = true;
        }
    }
    Ok((found, is_foreign))
}

/// Takes from others what they may do with a data directory and its files, and logs it. A directory with files that are
/// not ours is left open. What cannot be changed is no failure: a volume can belong to somebody else.
pub(super) fn tighten(directory: &Path) {
    let (found, is_foreign) = match exposed(directory) {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(directory = %directory.display(), %error, "checking the permissions of the data directory failed");
            return;
        }
    };
    for Exposed { path, mode, tight } in found {
        let (shown, from, to) = (path.display(), format!("{mode:04o}"), format!("{tight:04o}"));
        if path == directory && is_foreign {
            tracing::warn!(path = %shown, mode = from, "other users have access to the data directory, which has other files too; use a separate directory");
            continue;
        }
        match fs::set_permissions(&path, fs::Permissions::from_mode(tight)) {
            Ok(()) => tracing::info!(path = %shown, from, to, "removed the access of other users"),
            Err(error) => {
                tracing::warn!(path = %shown, mode = from, %error, "other users have access, and removing it failed");
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).unwrap().mode() & 0o7777
    }

    fn open_to_all(path: &Path, bits: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
    }

    #[test]
    fn nothing_that_was_planted_is_followed() {
        let dir = tempfile::tempdir().unwrap();
        let (precious, planted) = (dir.path().join("precious"), dir.path().join("planted"));
        fs::write(&precious, "precious").unwrap();
        for target in [precious.as_path(), Path::new("nowhere")] {
            symlink(target, &planted).unwrap();
            assert!(create_file(&planted).is_err());
            let refused = open_file(&planted).unwrap_err().to_string();
            assert!(refused.contains("symbolic link"), "{refused}");
            assert!(create_directory(&planted).is_err() && enter_directory(&planted).is_err());
            drop(replace_file(&planted).unwrap());
            assert_eq!(
                (fs::read_to_string(&precious).unwrap().as_str(), mode(&planted)),
                ("precious", 0o600)
            );
            fs::remove_file(&planted).unwrap();
        }
        symlink(dir.path(), &planted).unwrap();
        assert!(enter_directory(&planted).is_err(), "a link to a directory");
        assert!(!dir.path().join("nowhere").exists());
    }

    #[test]
    fn what_others_may_read_is_closed_to_them_unless_it_is_not_ours() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        create_directories(&data).unwrap();
        assert_eq!(mode(&data), 0o700);
        let (log, foreign) = (data.join("log.db"), data.join("notes.txt"));
        for path in [&log, &foreign] {
            fs::write(path, "").unwrap();
            open_to_all(path, 0o644);
        }
        open_to_all(&data, 0o755);
        tighten(&data);
        assert_eq!([mode(&data), mode(&log), mode(&foreign)], [0o755, 0o600, 0o644]);
        fs::remove_file(&foreign).unwrap();
        symlink("/etc/hostname", data.join("log.head")).unwrap();
        tighten(&data);
        assert_eq!([mode(&data), mode(&log)], [0o700, 0o600]);
        assert_eq!(exposed(&data).unwrap(), (Vec::new(), false));
    }

    #[test]
    fn a_directory_that_is_shared_with_its_group_by_choice_stays_so() {
        let data = tempfile::tempdir().unwrap();
        let log = data.path().join("log.db");
        fs::write(&log, "").unwrap();
        open_to_all(&log, 0o664);
        open_to_all(data.path(), 0o2775);
        tighten(data.path());
        assert_eq!([mode(data.path()), mode(&log)], [0o2770, 0o660]);
    }
}
