//! `strandline config`: what can be said of a configuration without a server.

use super::args::ConfigCommand;
use super::error::CliError;
use super::output::{json_text, write, yaml_text};
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
            write(&yaml_text(&crate::config::printable(effective))?)
        }
        ConfigCommand::Schema => write(&json_text(&crate::config::schema())?),
    }
}
