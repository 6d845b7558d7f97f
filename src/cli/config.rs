//! `strandline config`: what can be said of a configuration without a server.

use super::args::{ConfigCommand, OutputFormat};
use super::error::CliError;
use super::output::{document, write};

/// Runs a subcommand.
pub(super) fn run(command: ConfigCommand) -> Result<(), CliError> {
    match command {
        ConfigCommand::Schema => {
            let text = document(OutputFormat::Json, &crate::config::schema()).transpose()?;
            write(&text.unwrap_or_default())
        }
    }
}
