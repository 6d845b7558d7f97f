//! Building the view anew while no service runs.

use std::path::Path;

use super::error::ServiceError;
use strandline_log::LogReader;
use strandline_model::Offset;
use strandline_sqlite::DirectoryLock;
use strandline_view::Build;
use strandline_view::ruleset::RuleSet;

/// Builds the view anew from the log, or goes on where that was broken off; the service must not be running. `on_checkpoint` receives
/// the last offset in the new view and the newest of the log.
///
/// # Errors
/// When another process holds the data directory, or the log cannot be read.
pub fn rebuild(
    data: &Path,
    rules: RuleSet,
    mut on_checkpoint: impl FnMut(Offset, Offset),
) -> Result<Offset, ServiceError> {
    if !data.join("log.db").exists() {
        return Err(ServiceError::NoLog { data: data.to_owned() });
    }
    let _lock = DirectoryLock::acquire(data)?;
    let head = LogReader::open(data)?.head()?;
    let mut build = Build::open(data, rules)?;
    on_checkpoint(build.checkpoint(), head);
    while build.step()? {
        on_checkpoint(build.checkpoint(), head);
    }
    Ok(build.swap()?)
}
