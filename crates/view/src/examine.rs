//! Reads the whole view and lists what of it is damaged.

use std::path::Path;

use rusqlite::Connection;

use super::file::{self, ViewState};
use strandline_log::LogReader;
use strandline_sqlite::Role;

/// Lines that SQLite's own check returns at most.
const LINES: u32 = 100;

/// What is wrong with the view of a data directory, which is not changed; nothing where there is none yet.
pub fn examine(directory: &Path) -> Vec<String> {
    match file::inspect(directory) {
        ViewState::Missing => return Vec::new(),
        ViewState::Outdated => return vec!["is damaged or of another version".to_owned()],
        ViewState::Current(_) => {}
    }
    let mut damage = Vec::new();
    match file::open(directory, Role::Inspector) {
        Err(error) => damage.push(error.to_string()),
        Ok(view) => {
            damage.extend(pages(&view).unwrap_or_else(|error| vec![error.to_string()]));
            damage.extend(origin(directory, &view));
        }
    }
    damage
}

fn pages(view: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = view.prepare(&format!("PRAGMA integrity_check({LINES})"))?;
    let lines = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    Ok(if lines == ["ok"] { Vec::new() } else { lines })
}

/// The last change that the view holds has to be this log's.
fn origin(directory: &Path, view: &Connection) -> Option<String> {
    let (checkpoint, hash) = match file::checkpoint(view) {
        Ok(checkpoint) => checkpoint?,
        Err(error) => return Some(format!("its checkpoint cannot be read: {error}")),
    };
    match LogReader::inspect(directory).and_then(|log| log.hash_at(checkpoint)) {
        Ok(found) if found == hash => None,
        Ok(_) => Some(format!("at offset {checkpoint}, where it ends, the log has a different change")),
        Err(error) => {
            Some(format!("the log cannot be read at offset {checkpoint}, where it ends: {}", error.told()))
        }
    }
}
