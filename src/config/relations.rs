//! The file of relations that users define.

use std::io::Read;
use std::path::Path;

use super::error::ConfigError;
use strandline_relations::{MAX_RELATIONS_BYTES, RelationError, Relations};

/// Reads a file of relations that users define.
///
/// # Errors
/// When the file cannot be read, or with every mistake found in it.
pub fn read_relations(path: &Path) -> Result<Relations, ConfigError> {
    let unreadable =
        |source| ConfigError::Unreadable { path: path.to_owned(), option: "--relations", source };
    let mut text = String::new();
    // One byte more than may be is enough to know that there are too many.
    let longest = MAX_RELATIONS_BYTES as u64 + 1;
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(longest).read_to_string(&mut text).map_err(unreadable)?;
    Relations::parse(&text)
        .map_err(|RelationError { mistakes }| ConfigError::Mistakes { path: path.to_owned(), mistakes })
}
