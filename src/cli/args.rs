//! What the command line understands.

mod objects;

pub use objects::{HealthArgs, LineFormat, ObjectsArgs};

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::kube_event::EventType;
use crate::model::{At, CoverageState, EnvironmentId, Health, Tier, Uid};

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
    /// Judge objects of a file by their state, without a server
    #[command(after_help = "Examples:
  kubectl get pods -o json | strandline health -f -
  strandline health -f objects.yaml -o json
  strandline health -f objects.yaml --scripts argo-cd/resource_customizations")]
    Health(HealthArgs),
    /// Reads.
    #[command(flatten)]
    Read(ReadCommand),
}

/// Commands that read, all of them but `version` from a server.
#[derive(Clone, Debug, Subcommand)]
pub enum ReadCommand {
    /// List environments, clusters or resources
    #[command(subcommand, arg_required_else_help = true)]
    Get(GetCommand),
    /// Draw an environment as a tree of what owns what, the worst first
    #[command(after_help = "Examples:
  strandline tree shop.web.production
  strandline tree shop.web.production --at 2h --all")]
    Tree(TreeArgs),
    /// List the versions of a resource, newest first
    #[command(after_help = "Examples:
  strandline history 6f2c0a1e-0b8e-4a8f-9d43-0c6f3e0b7a11
  strandline history 6f2c0a1e-0b8e-4a8f-9d43-0c6f3e0b7a11 --bodies -o yaml --limit 2")]
    History(HistoryArgs),
    /// List what Kubernetes' Events said of an environment or a resource, newest first
    #[command(after_help = "Examples:
  strandline events shop.web.production --type Warning
  strandline events --resource 6f2c0a1e-0b8e-4a8f-9d43-0c6f3e0b7a11 --at 2h -o wide")]
    Events(EventsArgs),
    /// List what is watched of every cluster, and what is not, the gaps first
    #[command(after_help = "Examples:
  strandline coverage --state gap
  strandline coverage --cluster us-east --kind Deployment.apps --at 2h -o wide")]
    Coverage(CoverageArgs),
    /// Tell this program's version
    Version(VersionArgs),
}

/// What to list.
#[derive(Clone, Debug, Subcommand)]
pub enum GetCommand {
    /// Environments with their health
    #[command(visible_aliases = ["environment", "env"], after_help = "Examples:
  strandline get environments --tier production --region us
  strandline get environments --health Degraded,Unknown --at 2026-11-20T14:05Z -o wide")]
    Environments {
        /// Only these tiers: production, staging, testing, development, other
        #[arg(long, value_delimiter = ',')]
        tier: Vec<Tier>,
        /// Only these regions
        #[arg(long, value_delimiter = ',')]
        region: Vec<String>,
        /// Only these projects, such as shop/web
        #[arg(long, value_delimiter = ',')]
        project: Vec<String>,
        /// Only these healths: Healthy, Suspended, Progressing, Missing, Degraded, Unknown
        #[arg(long, value_delimiter = ',')]
        health: Vec<Health>,
        /// How to list.
        #[command(flatten)]
        list: ListArgs,
    },
    /// Clusters with what of them is watched
    #[command(visible_alias = "cluster")]
    Clusters {
        /// How to list.
        #[command(flatten)]
        list: ListArgs,
    },
    /// The resources of an environment
    #[command(
        visible_alias = "resource",
        after_help = "Examples:
  strandline get resources -e shop.web.production --kind Pod
  strandline get resources -e shop.web.production --health Degraded -o name"
    )]
    Resources {
        /// The environment, such as shop.web.production
        #[arg(short, long, value_parser = environment)]
        environment: EnvironmentId,
        /// Only these kinds, such as Pod
        #[arg(long, value_delimiter = ',')]
        kind: Vec<String>,
        /// Only these healths: Healthy, Suspended, Progressing, Missing, Degraded, Unknown
        #[arg(long, value_delimiter = ',')]
        health: Vec<Health>,
        /// How to list.
        #[command(flatten)]
        list: ListArgs,
    },
}

/// How to list.
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// Stop after so many items; without it all are listed
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub limit: Option<u64>,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Where to read from, and for which moment.
#[derive(Clone, Debug, Args)]
pub struct ServerArgs {
    /// Address of the server
    #[arg(long, value_name = "URL", env = "STRANDLINE_SERVER", default_value = "http://127.0.0.1:7979")]
    pub server: String,
    /// The moment: a time (2026-11-20T14:05:00Z), a duration ago (2h, 1d12h) or an offset (1234)
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub at: Option<String>,
}

/// How to print.
#[derive(Clone, Debug, Args)]
pub struct OutputArgs {
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = OutputFormat::Table)]
    pub output: OutputFormat,
    /// Leave the headers of tables out
    #[arg(long)]
    pub no_headers: bool,
    /// When to use colours; NO_COLOR and CLICOLOR_FORCE are heeded
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}

/// Form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// Columns for people.
    Table,
    /// More columns.
    Wide,
    /// As the API has it.
    Json,
    /// The same as YAML.
    Yaml,
    /// A name on each line.
    Name,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Which tree to draw.
#[derive(Clone, Debug, Args)]
pub struct TreeArgs {
    /// The environment, such as shop.web.production
    #[arg(value_parser = environment)]
    pub environment: EnvironmentId,
    /// Draw every sibling, however many of a kind there are
    #[arg(long)]
    pub all: bool,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Whose history to list.
#[derive(Clone, Debug, Args)]
pub struct HistoryArgs {
    /// The resource's uid
    #[arg(value_parser = uid)]
    pub uid: Uid,
    /// The cluster, where several hold the uid
    #[arg(long)]
    pub cluster: Option<String>,
    /// With the object of each version, in JSON and YAML
    #[arg(long)]
    pub bodies: bool,
    /// How to list.
    #[command(flatten)]
    pub list: ListArgs,
}

/// Whose Events to list.
#[derive(Clone, Debug, Args)]
pub struct EventsArgs {
    /// The environment, such as shop.web.production
    #[arg(value_parser = environment, required_unless_present = "resource", conflicts_with = "resource")]
    pub environment: Option<EnvironmentId>,
    /// A resource's uid, in place of an environment
    #[arg(long, value_name = "UID", value_parser = uid)]
    pub resource: Option<Uid>,
    /// The cluster, where several hold the uid
    #[arg(long, conflicts_with = "environment")]
    pub cluster: Option<String>,
    /// Only these types: Normal, Warning
    #[arg(long, value_delimiter = ',')]
    pub r#type: Vec<EventType>,
    /// Only these reasons, such as BackOff
    #[arg(long, value_delimiter = ',')]
    pub reason: Vec<String>,
    /// How to list.
    #[command(flatten)]
    pub list: ListArgs,
}

/// Whose coverage to list.
#[derive(Clone, Debug, Args)]
pub struct CoverageArgs {
    /// Only these clusters
    #[arg(long, value_delimiter = ',')]
    pub cluster: Vec<String>,
    /// Only these kinds, such as Pod or Deployment.apps
    #[arg(long, value_delimiter = ',')]
    pub kind: Vec<String>,
    /// Only these states: watched, gap, excluded
    #[arg(long, value_delimiter = ',')]
    pub state: Vec<CoverageState>,
    /// How to list.
    #[command(flatten)]
    pub list: ListArgs,
}

/// How to tell the version.
#[derive(Clone, Debug, Args)]
pub struct VersionArgs {
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
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
    /// Where the log and the view are kept
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: PathBuf,
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

/// Checks a moment here, so that a slip of the finger costs no round trip; the server reads it again.
fn moment(text: &str) -> Result<String, String> {
    text.parse::<At>().map(|_| text.to_owned())
}

fn environment(text: &str) -> Result<EnvironmentId, String> {
    if text.is_empty() {
        Err("an environment's name is not empty".into())
    } else {
        Ok(EnvironmentId::new(text))
    }
}

fn uid(text: &str) -> Result<Uid, String> {
    if text.is_empty() { Err("a uid is not empty".into()) } else { Ok(Uid::new(text)) }
}

#[cfg(test)]
mod tests;
