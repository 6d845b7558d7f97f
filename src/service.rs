//! Runs the service. A stub: the real one replaces this file.

use crate::cli::{CliError, DemoArgs, RebuildArgs, ServeArgs};

/// STUB. Watches clusters, records their changes, and serves the API and the pages.
pub fn serve(_args: &ServeArgs) -> Result<(), CliError> {
    Err(CliError::new("serving", "not built"))
}

/// STUB. Serves a simulated fleet.
pub fn demo(_args: &DemoArgs) -> Result<(), CliError> {
    Err(CliError::new("serving the demo", "not built"))
}

/// STUB. Builds the view anew from the log.
pub fn rebuild(_args: &RebuildArgs) -> Result<(), CliError> {
    Err(CliError::new("rebuilding the view", "not built"))
}
