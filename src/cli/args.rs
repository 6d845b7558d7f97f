//! What the command line understands.

mod access;
mod filter;
mod objects;
mod read;

pub use access::{AccessCheckArgs, AccessCommand};
pub use filter::{EnvironmentsArgs, FilterArgs, OverviewArgs};
pub use objects::{EdgesArgs, HealthArgs, LineFormat, ObjectsArgs};
pub use read::{
    ColorChoice, CoverageArgs, EventsArgs, GetCommand, HistoryArgs, LeftBehindArgs, ListArgs, OutputArgs,
    OutputFormat, ReadCommand, ServerArgs, TokenText, TreeArgs, VersionArgs, WhyArgs,
};

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::model::EnvironmentId;

/// What runs in every environment of an organization's Kubernetes clusters, now and at any past moment.
#[derive(Clone, Debug, Parser)]
#[command(name = "strandline", version, about, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Watch clusters, record their changes, and serve the API and the pages
    Serve(ServeArgs),
    /// Serve a simulated fleet, to see what this is
    Demo(DemoArgs),
    /// Build the view anew from the log
    Rebuild(RebuildArgs),
    /// List the kinds that are followed, and why others are not
    #[command(after_help = "Examples:
  strandline kinds                                       what is not followed unless included
  strandline kinds --config strandline.yaml -o wide      what each cluster has")]
    Kinds(KindsArgs),
    /// Check whether a configuration can be carried out, without changing anything
    #[command(after_help = "Examples:
  strandline doctor --config strandline.yaml
  strandline doctor --config strandline.yaml -o json | jq -r '.missing[].yaml'")]
    Doctor(DoctorArgs),
    /// Tell the health of an environment or a resource over time, or judge objects of a file without a server
    #[command(after_help = "Examples:
  strandline health shop.web.production --since 7d
  strandline health --resource 6f2c0a1e-0b8e-4a8f-9d43-0c6f3e0b7a11 --at 2h -o wide
  kubectl get pods -o json | strandline health -f -
  strandline health -f objects.yaml -o json
  strandline health -f objects.yaml --scripts argo-cd/resource_customizations")]
    Health(HealthArgs),
    /// List what a resource is linked to, or tell which links objects of a file tell of without a server
    #[command(after_help = "Examples:
  strandline edges 6f2c0a1e-0b8e-4a8f-9d43-0c6f3e0b7a11 --at 2h
  kubectl get deployments,services,ingresses -o json | strandline edges -f -
  strandline edges -f objects.yaml --relations relations.yaml -o json")]
    Edges(EdgesArgs),
    /// Make a token, and print it with its entry for the configuration
    #[command(after_help = "Examples:
  strandline token --name ci-of-shop --project shop/web --write
  strandline token --name admins --everything")]
    Token(TokenArgs),
    /// Try an agent's configuration file, without a server
    #[command(subcommand)]
    Access(AccessCommand),
    /// Reads.
    #[command(flatten)]
    Read(ReadCommand),
}

/// What to serve.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// The configuration
    #[arg(long, value_name = "FILE", env = "STRANDLINE_CONFIG")]
    pub config: PathBuf,
    /// Where to listen; goes before what the configuration says
    #[arg(long, value_name = "ADDR:PORT", env = "STRANDLINE_LISTEN")]
    pub listen: Option<SocketAddr>,
    /// Where the log and the view are kept; goes before what the configuration says
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: Option<PathBuf>,
}

/// What to simulate.
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// Where to listen
    #[arg(long, value_name = "ADDR:PORT", env = "STRANDLINE_LISTEN", default_value = "127.0.0.1:7979")]
    pub listen: SocketAddr,
    /// Where the log and the view are kept; without it, in a directory that ends with the demo
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Decides what happens in the simulated fleet
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
}

/// What to rebuild.
#[derive(Clone, Debug, Args)]
pub struct RebuildArgs {
    /// Where the log and the view are kept; goes before what the configuration says
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA", required_unless_present = "config")]
    pub data: Option<PathBuf>,
    /// The configuration whose rules judge; without it the program's own do
    #[arg(long, value_name = "FILE", env = "STRANDLINE_CONFIG")]
    pub config: Option<PathBuf>,
}

/// Whose kinds to list.
#[derive(Clone, Debug, Args)]
pub struct KindsArgs {
    /// Ask the clusters of this configuration; without it the defaults are listed
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Only this cluster
    #[arg(long, value_name = "NAME", requires = "config")]
    pub cluster: Option<String>,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What to check.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// The configuration
    #[arg(long, value_name = "FILE", env = "STRANDLINE_CONFIG")]
    pub config: PathBuf,
    /// The data directory; goes before what the configuration says
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: Option<PathBuf>,
    /// Of the clusters only this one
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text)]
    pub output: ReportFormat,
}

/// What the token is to be for.
#[derive(Clone, Debug, Args)]
pub struct TokenArgs {
    /// Its name, which logs tell
    #[arg(long, default_value = "new-token", value_parser = token_name)]
    pub name: String,
    /// Whose it is
    #[arg(long)]
    pub user: Option<String>,
    /// Full paths of projects whose environments it sees
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub project: Vec<String>,
    /// Full paths of groups below which it sees every project
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub group: Vec<String>,
    /// It may also write, of what it sees
    #[arg(long)]
    pub write: bool,
    /// It sees everything
    #[arg(long)]
    pub everything: bool,
}

fn token_name(text: &str) -> Result<String, String> {
    match EnvironmentId::new(text).is_plain() {
        true => Ok(text.to_owned()),
        false => Err("use letters, digits, `-`, `_` and `.`".to_owned()),
    }
}

/// Form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// A line for each check, then the YAML of missing permissions.
    Text,
    /// One document.
    Json,
    /// The same as YAML.
    Yaml,
}

#[cfg(test)]
mod tests;
