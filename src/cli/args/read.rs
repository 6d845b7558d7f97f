//! Commands that read from a server.

use clap::{Args, Subcommand, ValueEnum};

use super::address::AddressArgs;
use super::filter::{EnvironmentsArgs, OverviewArgs};
use super::subject::{FindArgs, ImagesArgs, PlaceArgs, Subject};
use super::timeline::{OnsetArgs, TimelineArgs};
use super::values::{environment, moment, number, uid};
use crate::query::{Collapse, Graph, ResourceOrder, Why};
use strandline_model::{CoverageState, DeploymentStatus, EnvironmentId, Health, Uid};
use strandline_object::kube_event::EventType;

/// Commands that read, all of them but `version` from a server.
#[derive(Clone, Debug, Subcommand)]
pub enum ReadCommand {
    /// List environments, projects, agents, deployments, clusters or resources
    #[command(subcommand, arg_required_else_help = true)]
    Get(GetCommand),
    /// Find resources by kind and name, those that are gone too, the one that came last first
    #[command(after_help = "Examples:
  strandline find deploy/web
  strandline find 'pods/web-*' --env shop.web.production --gone
  strandline find cm -n shop --gone any --at 2h -o wide")]
    Find(FindArgs),
    /// List which environments have an image, or had it, since when and in how many Pods
    #[command(after_help = "Examples:
  strandline images nginx --tier production
  strandline images '**/web:2.*' --since 7d -o wide
  strandline images -e shop.web.production --at 2h")]
    Images(ImagesArgs),
    /// Count all environments of a selection in groups, what needs attention first
    #[command(after_help = "Examples:
  strandline overview --tier production --group-by region
  strandline overview --group shop --group-by group,tier --at 2h
  strandline overview --view production-by-region -l team=payments -o wide")]
    Overview(OverviewArgs),
    /// Draw an environment as a tree of what owns what, the worst first
    #[command(after_help = "Examples:
  strandline tree shop.web.production
  strandline tree shop.web.production --at 2h --all
  strandline tree shop.web.production --collapse owner     only what nothing owns, with what is below it
  strandline tree shop.web.production --collapse kind      how many there are of each kind
  strandline tree shop.web.production --under deploy/web --depth 1")]
    Tree(TreeArgs),
    /// Tell why an environment is in the state it is in: the ways from its top down to what is wrong
    #[command(after_help = "Examples:
  strandline why shop.web.production
  strandline why shop.web.production --at 2h --limit 1
  strandline why shop.web.production -o name               what stands at the end of each path")]
    Why(WhyArgs),
    /// Tell what changed just before an environment or a resource became Degraded, or whatever it is
    #[command(after_help = "Examples:
  strandline onset shop.web.production
  strandline onset shop.web.production --health Missing --window 2h --at 2026-11-20T14:05Z --effects")]
    Onset(OnsetArgs),
    /// Draw what happened to an environment or a resource over time: health, changes, warnings, deployments, gaps
    #[command(after_help = "Examples:
  strandline timeline shop.web.production --since 7d
  strandline timeline --resource 6f2c0a1e-0b8e-4a8f-9d43-0c6f3e0b7a11 --below --since 365d
  strandline timeline shop.web.production --lane deployments,health --order oldest --limit 100")]
    Timeline(TimelineArgs),
    /// List the versions of a resource, newest first
    #[command(after_help = "Examples:
  strandline history deploy/web -n shop
  strandline history deploy/web --field spec.replicas --field 'spec.template.spec.containers[name=web].image'
  strandline history 6f2c0a1e-0b8e-4a8f-9d43-0c6f3e0b7a11 --bodies -o yaml --limit 2")]
    History(HistoryArgs),
    /// List what Kubernetes' Events said of an environment or a resource, newest first
    #[command(after_help = "Examples:
  strandline events shop.web.production --type Warning
  strandline events --resource pod/web-0 --env shop.web.production --at 2h -o wide")]
    Events(EventsArgs),
    /// List what is watched of every cluster, and what is not, the gaps first
    #[command(after_help = "Examples:
  strandline coverage --state gap
  strandline coverage --cluster us-east --kind Deployment.apps --at 2h -o wide")]
    Coverage(CoverageArgs),
    /// List what a stopped environment left in its clusters, with the commands that clean up
    #[command(after_help = "Examples:
  strandline left-behind shop.web.review-17
  strandline left-behind shop.web.review-17 -o json | jq -r '.namespaces[].kubectl'")]
    LeftBehind(LeftBehindArgs),
    /// Tell this program's version
    Version(VersionArgs),
}

/// What to list.
#[derive(Clone, Debug, Subcommand)]
pub enum GetCommand {
    /// Environments with their health
    #[command(visible_aliases = ["environment", "env"], after_help = "Examples:
  strandline get environments --tier production --region us
  strandline get environments --health Degraded,Unknown --at 2026-11-20T14:05Z -o wide
  strandline get env --group shop --name 'review/**' -l 'team=payments,criticality in (high,critical)'")]
    Environments(EnvironmentsArgs),
    /// Groups that the paths of projects name
    #[command(visible_alias = "group")]
    Groups {
        /// How to list.
        #[command(flatten)]
        list: ListArgs,
    },
    /// Projects
    #[command(visible_alias = "project")]
    Projects {
        /// Only this one, such as shop/web
        #[arg(value_name = "PROJECT", conflicts_with = "limit")]
        id: Option<String>,
        /// How to list.
        #[command(flatten)]
        list: ListArgs,
    },
    /// Agents with the environments that they serve
    #[command(visible_alias = "agent")]
    Agents {
        /// Only this one, such as ops/agents:production
        #[arg(value_name = "AGENT", conflicts_with = "limit")]
        id: Option<String>,
        /// How to list.
        #[command(flatten)]
        list: ListArgs,
    },
    /// Deployments, the newest first
    #[command(
        visible_alias = "deployment",
        after_help = "Examples:
  strandline get deployments -e shop.web.production --status success --limit 5
  strandline get deployments --project ops/deploy --at 2h -o wide
  strandline get deployment 512                            and why its job may not use the agent"
    )]
    Deployments {
        /// Only the one with this number
        #[arg(value_name = "NUMBER", value_parser = number(0..=u64::MAX), conflicts_with_all = ["environment", "status", "limit"])]
        id: Option<u64>,
        /// Only those to this environment, such as shop.web.production
        #[arg(short, long, value_parser = environment)]
        environment: Option<EnvironmentId>,
        /// Only those by jobs of these projects, such as shop/web or 'shop/**'; of one number, by a job of this project
        #[arg(long, value_delimiter = ',')]
        project: Vec<String>,
        /// Only those that stand like this: created, blocked, running, success, failed, canceled, skipped
        #[arg(long, value_delimiter = ',')]
        status: Vec<DeploymentStatus>,
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
    /// The resources of an environment, or one with its object
    #[command(
        visible_alias = "resource",
        after_help = "Examples:
  strandline get resources -e shop.web.production --kind Pod
  strandline get resources -e shop.web.production --health Degraded -o name
  strandline get resources -e shop.web.production --order health --limit 20 -o wide
  strandline get resources -e shop.web.production --owner 6f2c0a1e-0b8e-4a8f-9d43-0c6f3e0b7a11
  strandline get resource deploy/web -n shop -o yaml --at 2h"
    )]
    Resources {
        /// Only this one, by its uid or as KIND/NAME, with its object in JSON and YAML
        #[arg(
            value_name = "RESOURCE", required_unless_present = "within",
            conflicts_with_all = ["kind", "health", "owner", "order", "limit"],
        )]
        resource: Option<Subject>,
        /// Where.
        #[command(flatten)]
        place: PlaceArgs,
        /// Only these kinds, such as Pod
        #[arg(long, value_delimiter = ',')]
        kind: Vec<String>,
        /// Only these healths: Healthy, Suspended, Progressing, Missing, Degraded, Unknown
        #[arg(long, value_delimiter = ',')]
        health: Vec<Health>,
        /// Only what stands directly below the resource of this uid
        #[arg(long, value_name = "UID", value_parser = uid)]
        owner: Option<Uid>,
        /// By kind, namespace and name, or what needs attention first: name, health
        #[arg(long)]
        order: Option<ResourceOrder>,
        /// How to list.
        #[command(flatten)]
        list: ListArgs,
    },
}

/// How to list.
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// Stop after so many items; without it all are listed
    #[arg(long, value_parser = number(1..=u64::MAX))]
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
    /// Which server.
    #[command(flatten)]
    pub address: AddressArgs,
    /// The moment: a time (2026-11-20T14:05:00Z), a duration ago (2h, 1d12h) or an offset (1234)
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub at: Option<String>,
    /// The argument that gave the moment, where that is another one.
    #[arg(skip)]
    pub at_argument: Option<&'static str>,
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
    /// Draw only this resource, by its uid or as KIND/NAME, and what is below it
    #[arg(long, value_name = "RESOURCE")]
    pub under: Option<Subject>,
    /// The cluster, where several hold the resource
    #[arg(long, requires = "under")]
    pub cluster: Option<String>,
    /// The namespace of what is named as KIND/NAME
    #[arg(short, long, requires = "under")]
    pub namespace: Option<String>,
    /// Levels to draw below the first; without it all of them
    #[arg(long, value_parser = number(0..=1000))]
    pub depth: Option<u64>,
    /// What to count instead of drawing it: none; siblings beyond fifty; owner, whatever has one; kind, all of a kind
    #[arg(long, value_name = "WHAT")]
    pub collapse: Option<Collapse>,
    /// The most resources to draw one by one; without it 500
    #[arg(long, value_parser = number(1..=Graph::LIMIT as u64))]
    pub limit: Option<u64>,
    /// Draw every sibling, however many of a kind there are
    #[arg(long, conflicts_with_all = ["collapse", "limit"])]
    pub all: bool,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What to explain.
#[derive(Clone, Debug, Args)]
pub struct WhyArgs {
    /// The environment, such as shop.web.production
    #[arg(value_parser = environment)]
    pub environment: EnvironmentId,
    /// The most paths to tell; without it 10
    #[arg(long, value_parser = number(1..=Why::LIMIT as u64))]
    pub limit: Option<u64>,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Whose remains to list.
#[derive(Clone, Debug, Args)]
pub struct LeftBehindArgs {
    /// The environment, such as shop.web.review-17
    #[arg(value_parser = environment)]
    pub environment: EnvironmentId,
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
    /// The resource, by its uid or as KIND/NAME
    pub resource: Subject,
    /// Where the resource is.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Tell in place of versions the values that this field took and who changed it, such as spec.replicas or
    /// 'spec.template.spec.containers[name=web].image'; may be repeated
    #[arg(long, value_name = "PATH", conflicts_with = "bodies")]
    pub field: Vec<String>,
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
    #[arg(
        value_parser = environment, required_unless_present = "resource",
        conflicts_with_all = ["resource", "PlaceArgs"],
    )]
    pub environment: Option<EnvironmentId>,
    /// A resource in place of an environment, by its uid or as KIND/NAME
    #[arg(long, value_name = "RESOURCE")]
    pub resource: Option<Subject>,
    /// Where the resource is.
    #[command(flatten)]
    pub place: PlaceArgs,
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
