//! Takes off the disk what is no longer in the log: a copy of it holds nothing else, and takes its place.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::step::EraseStep;
use crate::copy::copy;
use crate::error::LogError;
use crate::{file, open};

type Result<T> = std::result::Result<T, LogError>;

/// Where the copy is made. As long as this is there, the log may hold what was erased in pages that are free.
fn place(directory: &Path) -> PathBuf {
    directory.join("erasing")
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> LogError {
    let path = path.to_owned();
    move |error| LogError::Copy { path, why: error.to_string() }
}

/// Says that values are about to be erased, to whoever opens the log after this was broken off.
pub(super) fn announce(directory: &Path) -> Result<()> {
    let place = place(directory);
    strandline_sqlite::create_directories(&place).map_err(failed(&place))?;
    sync(directory)
}

/// Brings to its end what was broken off.
pub(crate) fn resume(directory: &Path) -> Result<()> {
    if !place(directory).exists() {
        return Ok(());
    }
    tracing::info!("an erasure was interrupted; removing the erased values from the disk first");
    match scrub(directory, &mut |_| {}) {
        // The next who opens the log tries again.
        Err(error @ LogError::Busy { .. }) => {
            tracing::warn!(%error, "the log is in use, so erased values are still on the disk; restart later to remove them");
            Ok(())
        }
        done => done,
    }
}

/// Puts a copy in the place of the log.
pub(super) fn scrub(directory: &Path, watch: &mut dyn FnMut(EraseStep)) -> Result<()> {
    let (place, path) = (place(directory), file::path(directory));
    fs::remove_dir_all(&place).map_err(failed(&place))?;
    strandline_sqlite::create_directory(&place).map_err(failed(&place))?;
    let mode = fs::metadata(&path).map_err(failed(&path))?.permissions();
    copy(directory, &place)?;
    watch(EraseStep::Copied);
    empty_wal(directory)?;
    let copied = file::path(&place);
    fs::set_permissions(&copied, mode).map_err(failed(&copied))?;
    fs::rename(&copied, &path).map_err(failed(&path))?;
    sync(directory)?;
    watch(EraseStep::Replaced);
    fs::remove_dir_all(&place).map_err(failed(&place))?;
    sync(directory)
}

/// Leaves the log as one file, without a WAL that would be taken for the copy's.
fn empty_wal(directory: &Path) -> Result<()> {
    let path = file::path(directory);
    let connection = open::open_writer(directory)?;
    let busy: bool = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
    drop(connection);
    match busy || ["log.db-wal", "log.db-shm"].iter().any(|name| directory.join(name).exists()) {
        true => Err(LogError::Busy { path }),
        false => Ok(()),
    }
}

fn sync(directory: &Path) -> Result<()> {
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed(directory))
}
