//! One reader of the view and the log, lent to one query at a time.

use std::path::Path;

use rusqlite::{Connection, Transaction};

use crate::log::LogReader;
use crate::projection;

/// Connections of one reader.
pub(super) struct Reader {
    view: Connection,
    log: LogReader,
}

impl Reader {
    pub(super) fn open(directory: &Path) -> Result<Self, String> {
        let view = projection::open_reader(directory).map_err(|error| error.to_string())?;
        let log = LogReader::open(directory).map_err(|error| error.to_string())?;
        Ok(Reader { view, log })
    }

    /// The view in one unchanging state, and the log.
    pub(super) fn begin(&mut self) -> rusqlite::Result<(Transaction<'_>, &mut LogReader)> {
        Ok((self.view.transaction()?, &mut self.log))
    }
}
