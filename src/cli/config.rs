//! `strandline config`: what can be said of a configuration without a server.

use super::args::{ConfigCommand, OutputFormat};
use super::error::CliError;
use super::output::{document, write};
use super::serve::{load, unusable};
use crate::format::visible;

/// Runs a subcommand.
pub(super) fn run(command: &ConfigCommand) -> Result<(), CliError> {
    match command {
        ConfigCommand::Check(args) => {
            let config = load(&args.config)?;
            let file = args.config.display().to_string();
            write(&format!(
                "{}: ok: {} clusters, {} environments, {} agents and {} folders of agents, {} tokens\n",
                visible(&file),
                config.clusters.len(),
                config.environments.len(),
                config.agents.len(),
                config.agent_folders.len(),
                config.access.tokens.len()
            ))
        }
        ConfigCommand::Print(args) => {
            let effective = crate::config::effective(&args.config).map_err(unusable)?;
            print(OutputFormat::Yaml, &crate::config::printable(effective))
        }
        ConfigCommand::Schema => print(OutputFormat::Json, &crate::config::schema()),
    }
}

fn print(format: OutputFormat, value: &serde_json::Value) -> Result<(), CliError> {
    let text = document(format, value).transpose()?;
    write(&text.unwrap_or_default())
}
