//! The runtime of commands that ask others.

use tokio::runtime::{Builder, Runtime};

use super::error::CliError;

/// What a command that asks others runs on: it mostly waits, so one thread is enough.
pub(super) fn runtime() -> Result<Runtime, CliError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CliError::new("starting", error))
}
