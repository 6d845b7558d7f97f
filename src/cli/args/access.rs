//! Commands that try an agent's configuration.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::doctor::ReportFormat;

/// Subcommands of `access`.
#[derive(Clone, Debug, Subcommand)]
pub enum AccessCommand {
    /// Check whether an agent's configuration lets a CI/CD job deploy, by which rule, and to which namespace
    #[command(after_help = "Examples:
  strandline access check --config .gitlab/agents/prod/config.yaml --project shop/web --environment production
  strandline access check --config config.yaml --project shop/web --ref main --var CI_DEFAULT_BRANCH=main
  strandline access check --config config.yaml --project shop/web --environment review/1 -o json | jq .namespace

Exit codes: 0 allowed, 1 denied, 2 usage error or invalid file.")]
    Check(AccessCheckArgs),
}

/// Arguments of `access check`.
#[derive(Clone, Debug, Args)]
pub struct AccessCheckArgs {
    /// The agent's configuration file, .gitlab/agents/NAME/config.yaml; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Full path of the job's project
    #[arg(long, value_name = "PATH")]
    pub project: String,
    /// Full path of another group of the project, besides those in its path; may be repeated
    #[arg(long = "group", value_name = "PATH")]
    pub groups: Vec<String>,
    /// Full path of the project that the agent belongs to
    #[arg(long, value_name = "PATH")]
    pub agent_project: Option<String>,
    /// Branch or tag that the job runs for
    #[arg(long = "ref", value_name = "NAME")]
    pub ref_name: Option<String>,
    /// The ref is a tag, not a branch
    #[arg(long, requires = "ref_name")]
    pub tag: bool,
    /// The ref is protected
    #[arg(long)]
    pub protected: bool,
    /// Environment that the job deploys to; its slug and tier are derived as GitLab does
    #[arg(long, value_name = "NAME")]
    pub environment: Option<String>,
    /// Kubernetes namespace that the job requests
    #[arg(long)]
    pub namespace: Option<String>,
    /// CI/CD variable of the job, which overrides a derived one; may be repeated
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = variable)]
    pub variables: Vec<(String, String)>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text)]
    pub output: ReportFormat,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let wrong = || format!("invalid variable `{text}`: write it as NAME=VALUE");
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    let letters = name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
    if !letters || name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err(format!("invalid variable name `{name}`: use letters, digits and `_`"));
    }
    Ok((name.to_owned(), value.to_owned()))
}
