//! The key of this installation, with which hidden values are digested.
//!
//! It has a file of its own: whoever gets hold of a copy of the log alone cannot try passwords against
//! the digests in it. Without the file every hidden value looks changed once, and nothing else happens.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use super::private;

/// The key's file in a data directory.
pub const KEY_FILE: &str = "redaction.key";

/// The key of a data directory, made on first use.
///
/// # Errors
/// When the file cannot be read or made, or is no key.
pub fn redaction_key(data: &Path) -> io::Result<[u8; 32]> {
    let path = data.join(KEY_FILE);
    match fs::read(&path) {
        Ok(bytes) => {
            bytes.try_into().map_err(|_| io::Error::new(ErrorKind::InvalidData, "it is not 32 bytes long"))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let key = new_key()?;
            write_key(data, &key)?;
            Ok(key)
        }
        Err(error) => Err(error),
    }
}

/// A key that is in no file yet.
///
/// # Errors
/// When the system gives no random numbers.
pub fn new_key() -> io::Result<[u8; 32]> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    Ok(key)
}

/// Writes the key of a data directory, which has none.
///
/// # Errors
/// When the file cannot be made.
pub fn write_key(data: &Path, key: &[u8; 32]) -> io::Result<()> {
    let path = data.join(KEY_FILE);
    // Written under another name first: a key cut short by the end of the process must not be taken for one.
    let beside = path.with_extension("new");
    let mut file = private::replace_file(&beside)?;
    file.write_all(key)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_only_its_owner_reads_it() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let key = redaction_key(one.path()).unwrap();
        assert_eq!(redaction_key(one.path()).unwrap(), key);
        assert_ne!(redaction_key(two.path()).unwrap(), key);
        let mode = fs::metadata(one.path().join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::write(one.path().join(KEY_FILE), "short").unwrap();
        assert!(redaction_key(one.path()).is_err());
    }
}
