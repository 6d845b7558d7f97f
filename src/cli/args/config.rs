//! Commands about the configuration file.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Subcommands of `config`.
#[derive(Clone, Debug, Subcommand)]
pub enum ConfigCommand {
    /// Check a configuration file and the environment variables STRANDLINE__*, without connecting to anything
    #[command(after_help = "Examples:
  strandline config check strandline.yaml
  STRANDLINE__RETENTION__AGE=7d strandline config check strandline.yaml

Exit code 2 if anything is wrong; every mistake is listed with its line. `strandline doctor` also tries the clusters.")]
    Check(ConfigFileArgs),
    /// Print the configuration that is in effect, with defaults and environment variables, without secrets
    #[command(after_help = "Examples:
  strandline config print strandline.yaml
  STRANDLINE__CLUSTERS__0__NAME=eu STRANDLINE__CLUSTERS__0__IN_CLUSTER=true strandline config print /dev/null")]
    Print(ConfigFileArgs),
    /// Print the JSON Schema of the configuration file, for editors and for checks in CI
    #[command(after_help = "Examples:
  strandline config schema > strandline.schema.json

The YAML language server of editors reads it from the first line of a file:
  # yaml-language-server: $schema=strandline.schema.json")]
    Schema,
}

/// Which configuration file.
#[derive(Clone, Debug, Args)]
pub struct ConfigFileArgs {
    /// Configuration file
    #[arg(value_name = "FILE", env = "STRANDLINE_CONFIG")]
    pub config: PathBuf,
}
