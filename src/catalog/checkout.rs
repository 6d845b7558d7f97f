//! Files of a checkout, which others write: below its root only directories are entered and only regular files read.
//!
//! Every step opens one name below a directory that is open already, and follows no link, so that nothing leads out of the
//! checkout, whatever is renamed meanwhile. Nothing waits: a FIFO is looked at before it is opened, and not opened.
//!
//! Why: docs/decisions/0027-agents-files-come-from-checkouts.md.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, openat, statat};

/// A directory of a checkout, or its root.
#[derive(Debug)]
pub(super) struct Folder {
    descriptor: OwnedFd,
}

impl Folder {
    /// The root of a checkout. Its own path is the operator's and may lead through links, as those of worktrees and of
    /// git-sync do; it is resolved anew each time.
    pub(super) fn root(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Folder { descriptor: openat(CWD, path, flags, Mode::empty())? })
    }

    /// A directory in this one.
    pub(super) fn folder(&self, name: &str) -> io::Result<Self> {
        expect(self.found(name)?, FileType::Directory)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Folder { descriptor: openat(&self.descriptor, name, flags, Mode::empty())? })
    }

    /// What is under a name in it; none where nothing does.
    pub(super) fn kind(&self, name: &str) -> io::Result<Option<FileType>> {
        match statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(error) if io::Error::from(error).kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// All names in it, of which there may be at most so many.
    pub(super) fn names(&self, most: usize) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.descriptor)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if names.len() > most {
                return Err(io::Error::other(format!("it has more than {most} entries")));
            }
            names.push(name);
        }
        Ok(names)
    }

    /// The text of a file in it; of a longer one than `longest` one byte more than that, which is enough to know.
    pub(super) fn text(&self, name: &str, longest: u64) -> io::Result<String> {
        expect(self.found(name)?, FileType::RegularFile)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
        let descriptor = openat(&self.descriptor, name, flags, Mode::empty())?;
        // It may have become another one since it was looked at.
        expect(FileType::from_raw_mode(fstat(&descriptor)?.st_mode), FileType::RegularFile)?;
        let mut text = String::new();
        File::from(descriptor).take(longest + 1).read_to_string(&mut text)?;
        Ok(text)
    }

    fn found(&self, name: &str) -> io::Result<FileType> {
        Ok(self.kind(name)?.ok_or(ErrorKind::NotFound)?)
    }
}

fn expect(found: FileType, wanted: FileType) -> io::Result<()> {
    if found == wanted {
        return Ok(());
    }
    let (found, wanted) = (noun(found), noun(wanted));
    let message =
        format!("it is {found}, not {wanted}; only directories and regular files are read in a checkout");
    Err(io::Error::new(ErrorKind::InvalidInput, message))
}

fn noun(kind: FileType) -> &'static str {
    match kind {
        FileType::Symlink => "a symbolic link",
        FileType::Directory => "a directory",
        FileType::RegularFile => "a regular file",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::BlockDevice | FileType::CharacterDevice => "a device",
        FileType::Unknown => "of an unknown type",
    }
}
