//! How much room a disk has.

use std::io;
use std::path::Path;

/// Bytes that are free on the filesystem of a place, as far as who is not root may use them.
///
/// # Errors
/// When the place is not there or its filesystem does not report it.
pub fn free_bytes(place: &Path) -> io::Result<u64> {
    let about = rustix::fs::statvfs(place)?;
    Ok(about.f_bavail.saturating_mul(about.f_frsize))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    #[test]
    fn free_space_is_that_of_the_filesystem_and_of_nothing_where_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let about = rustix::fs::statvfs(folder.path()).unwrap();
        assert!(free_bytes(folder.path()).unwrap() <= about.f_blocks * about.f_frsize);
        assert!(free_bytes(&folder.path().join("not/there")).is_err());
    }
}
