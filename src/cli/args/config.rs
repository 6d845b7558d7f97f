//! Commands about the configuration file.

use clap::Subcommand;

/// Subcommands of `config`.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print the JSON Schema of the configuration file, for editors and for checks in CI
    #[command(after_help = "Examples:
  strandline config schema > strandline.schema.json

The YAML language server of editors reads it from the first line of a file:
  # yaml-language-server: $schema=strandline.schema.json")]
    Schema,
}
