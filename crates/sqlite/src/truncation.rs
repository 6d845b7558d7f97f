//! Whether a database file is truncated, by the size in its header: SQLite calls such a file malformed and no more.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::wal::{is_empty, wal};

/// A database file that is shorter than it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// How many bytes it has.
    pub found: u64,
    /// How many its header counts.
    pub written: u64,
}

/// What every database of SQLite begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// The first bytes of a database file; none where it is no such file.
fn header(path: &Path) -> Option<[u8; 100]> {
    let mut header = [0; 100];
    File::open(path).ok()?.read_exact(&mut header).ok()?;
    header.starts_with(MAGIC).then_some(header)
}

/// Whether a file begins as every database of SQLite does.
pub fn is_database(path: &Path) -> bool {
    header(path).is_some()
}

/// How a file is truncated; none where it is whole, or where what is missing may be in its WAL.
pub fn truncation(path: &Path) -> Option<Truncation> {
    let header = header(path).filter(|_| is_empty(&wal(path)))?;
    let number = |at: usize| header.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
    let page = match number(14)? & 0xffff {
        1 => 65_536,
        bytes => u64::from(bytes),
    };
    // The count of pages is valid only where the last writer updated it.
    let counted = number(24)? == number(92)?;
    let (found, written) = (std::fs::metadata(path).ok()?.len(), u64::from(number(28)?) * page);
    (counted && found < written).then_some(Truncation { found, written })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::{Role, open};

    #[test]
    fn a_truncated_file_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.db");
        assert_eq!((truncation(&path), is_database(&path)), (None, false));
        let writer = open(&path, Role::LogWriter, 7).unwrap();
        let rows = "WITH RECURSIVE n (a) AS (VALUES (1) UNION ALL SELECT a + 1 FROM n LIMIT 500)";
        writer
            .execute_batch(&format!("CREATE TABLE t (a); {rows} INSERT INTO t SELECT zeroblob(100) FROM n"))
            .unwrap();
        assert_eq!(truncation(&path), None, "the rest is in the WAL");
        drop(writer);
        let written = std::fs::metadata(&path).unwrap().len();
        assert_eq!((truncation(&path), is_database(&path)), (None, true));
        for found in [written - 1, written / 2, 100] {
            File::options().write(true).open(&path).unwrap().set_len(found).unwrap();
            assert_eq!(truncation(&path), Some(Truncation { found, written }));
        }
        for left in [99, 0] {
            File::options().write(true).open(&path).unwrap().set_len(left).unwrap();
            assert_eq!((truncation(&path), is_database(&path)), (None, false));
        }
    }
}
