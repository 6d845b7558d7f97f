//! Building the view anew while no service runs.

use std::path::Path;

use super::cache_size::CacheSize;
use super::error::ServiceError;
use strandline_log::LogReader;
use strandline_model::Offset;
use strandline_sqlite::DirectoryLock;
use strandline_view::ruleset::RuleSet;
use strandline_view::{Build, ProjectorOptions};

/// Builds the view anew from the log, or goes on where that was broken off; the service must not be running. `on_checkpoint` receives
/// the last offset in the new view and the newest of the log. All of `caches` is the build's.
///
/// # Errors
/// When another process holds the data directory, or the log cannot be read.
pub fn rebuild(
    data: &Path,
    rules: RuleSet,
    caches: CacheSize,
    mut on_checkpoint: impl FnMut(Offset, Offset),
) -> Result<Offset, ServiceError> {
    if !data.join("log.db").exists() {
        return Err(ServiceError::NoLog { data: data.to_owned() });
    }
    let _lock = DirectoryLock::acquire(data)?;
    let head = LogReader::open(data)?.head()?;
    let mut build = Build::open(data, ProjectorOptions { rules, sizes: caches.alone() })?;
    on_checkpoint(build.checkpoint(), head);
    while build.step()? {
        on_checkpoint(build.checkpoint(), head);
    }
    Ok(build.swap()?)
}
