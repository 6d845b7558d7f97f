//! The chain of hashes that ties every change to all before it, and the head kept beside the log.
//!
//! The hash covers the content of a change, not its encoding, so that re-encoding a body keeps the hash.
//!
//! Why: docs/decisions/0007-every-change-is-chained.md.

use std::path::{Path, PathBuf};
use std::{fs, io};

use data_encoding::HEXLOWER;
use strandline_model::Offset;

/// A link of the chain, or the digest of a body: the first 16 bytes of BLAKE3.
pub(super) type Hash = [u8; 16];

/// What one link covers.
pub(super) struct Link<'a> {
    pub(super) offset: Offset,
    pub(super) observed_at: i64,
    pub(super) r#type: i64,
    /// Cluster, group, kind, namespace, name and uid.
    pub(super) subject: [&'a str; 6],
    pub(super) resource_version: &'a str,
    /// Manager, operation and subresource.
    pub(super) manager: [&'a str; 3],
    pub(super) managed_at: Option<i64>,
    pub(super) body_hash: Hash,
}

/// The digest of a body.
pub(super) fn body_hash(body: &str) -> Hash {
    shorten(&blake3::hash(body.as_bytes()))
}

impl Link<'_> {
    /// The hash of this change after `previous`.
    pub(super) fn hash(&self, previous: &Hash) -> Hash {
        let mut hasher = blake3::Hasher::new();
        hasher.update(previous);
        hasher.update(&self.offset.get().to_le_bytes());
        hasher.update(&self.observed_at.to_le_bytes());
        hasher.update(&self.r#type.to_le_bytes());
        hasher.update(&self.managed_at.map_or(i64::MIN, |at| at).to_le_bytes());
        let texts = self.subject.iter().chain(&self.manager).chain(std::iter::once(&self.resource_version));
        for text in texts {
            // The length in front keeps neighbouring texts from being read as one another.
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.update(&self.body_hash);
        shorten(&hasher.finalize())
    }
}

fn shorten(hash: &blake3::Hash) -> Hash {
    let mut short = [0; 16];
    short.copy_from_slice(&hash.as_bytes()[..16]);
    short
}

/// The content of the file beside the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeadOnFile {
    /// There is none.
    Missing,
    /// It is no head, or cannot be read.
    Unreadable,
    /// Up to here the log was acknowledged.
    Known(Offset, Hash),
}

/// The newest offset and its hash, kept in a small file beside the log.
///
/// It is written after each commit, so it can lag behind the log but never lead it; a log that ends before it
/// has lost changes that were acknowledged.
#[derive(Debug)]
pub(super) struct HeadFile {
    path: PathBuf,
}

impl HeadFile {
    pub(super) fn new(directory: &Path) -> Self {
        HeadFile { path: directory.join("log.head") }
    }

    pub(super) fn write(&self, offset: Offset, hash: &Hash) -> io::Result<()> {
        use std::os::unix::fs::FileExt;
        let file = strandline_sqlite::open_file(&self.path)?;
        // One write of constant length is not torn by the end of the process.
        file.write_all_at(Self::line(offset, hash).as_bytes(), 0)
    }

    /// The head that was written last, where it can be read.
    pub(super) fn read(&self) -> Option<(Offset, Hash)> {
        match self.read_state() {
            HeadOnFile::Known(offset, hash) => Some((offset, hash)),
            HeadOnFile::Missing | HeadOnFile::Unreadable => None,
        }
    }

    /// The state of the file.
    pub(super) fn read_state(&self) -> HeadOnFile {
        match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => HeadOnFile::Missing,
            Err(_) => HeadOnFile::Unreadable,
            Ok(bytes) => {
                let known = String::from_utf8(bytes).ok().and_then(|text| Self::parse(&text));
                known.map_or(HeadOnFile::Unreadable, |(offset, hash)| HeadOnFile::Known(offset, hash))
            }
        }
    }

    fn parse(text: &str) -> Option<(Offset, Hash)> {
        let (offset, hash) = text.trim_end().split_once(' ')?;
        let hash = HEXLOWER.decode(hash.as_bytes()).ok()?;
        Some((Offset::new(offset.parse().ok()?), hash.try_into().ok()?))
    }

    fn line(offset: Offset, hash: &Hash) -> String {
        format!("{:020} {}\n", offset.get(), HEXLOWER.encode(hash))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn the_head_file_is_read_as_written_and_garbage_is_no_head() {
        let dir = tempfile::tempdir().unwrap();
        let head = HeadFile::new(dir.path());
        assert_eq!(head.read(), None);
        head.write(Offset::new(70_000), &[0xab; 16]).unwrap();
        head.write(Offset::new(9), &[7; 16]).unwrap();
        assert_eq!(head.read(), Some((Offset::new(9), [7; 16])));
        fs::write(dir.path().join("log.head"), "x").unwrap();
        assert_eq!(head.read(), None);
    }
}
