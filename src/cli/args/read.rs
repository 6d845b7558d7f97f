//! Commands that read from a server.

use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::address::AddressArgs;
use super::changes::ChangesArgs;
use super::deployments::DeploymentsArgs;
use super::events::EventsArgs;
use super::filter::{EnvironmentsArgs, OverviewArgs};
use super::output::{ListArgs, OutputArgs, ServerArgs, WatchArgs};
use super::search::SearchArgs;
use super::subject::{FindArgs, ImagesArgs, PlaceArgs, Subject};
use super::timeline::{OnsetArgs, TimelineArgs};
use super::values::{environment, number, uid};
use strandline_model::{CoverageState, EnvironmentId, Health, Uid, parse_duration};
use strandline_protocol::{Collapse, Graph, Why};
use strandline_query::ResourceOrder;

/// Commands that read, all of them but `version` from a server.
#[derive(Clone, Debug, Subcommand)]
pub enum ReadCommand {
    /// List environments, projects, agents, deployments, clusters or resources
    #[command(subcommand, arg_required_else_help = true)]
    Get(GetCommand),
    /// Find resources by kind and name, including deleted ones, newest first
    #[command(after_help = "Examples:
  strandline find deploy/web
  strandline find 'pods/web-*' --env shop.web.production --gone
  strandline find cm -n shop --gone any --at 2h -o wide")]
    Find(FindArgs),
    /// Search everything that has a name: environments, projects, clusters, resources, images, deployments
    #[command(after_help = "Examples:
  strandline search checkout
  strandline search deploy/api payments                    all words must match
  strandline search 7fa1ecb4 --type deployments            by commit; or by user, branch or tag
  strandline search nginx:1.27 --type images,resources --limit 50 --at 2h")]
    Search(SearchArgs),
    /// List the environments that use a container image, or used it, since when and in how many Pods
    #[command(after_help = "Examples:
  strandline images nginx --tier production
  strandline images '**/web:2.*' --since 7d -o wide
  strandline images -e shop.web.production --at 2h")]
    Images(ImagesArgs),
    /// Show the health of groups of environments, such as all of a region, worst first
    #[command(after_help = "Examples:
  strandline overview --tier production --group-by region
  strandline overview --group shop --group-by group,tier --at 2h
  strandline overview --view production-by-region -l team=payments -o wide")]
    Overview(OverviewArgs),
    /// Show an environment as a tree of owners and their resources, worst first
    #[command(after_help = "Examples:
  strandline tree shop.web.production
  strandline tree shop.web.production --at 2h --all
  strandline tree shop.web.production --collapse owner     only top-level resources, with counts of their children
  strandline tree shop.web.production --collapse kind      only counts per kind
  strandline tree shop.web.production --under deploy/web --depth 1")]
    Tree(TreeArgs),
    /// Explain an environment's health: the paths from its top-level resources down to the failing ones
    #[command(after_help = "Examples:
  strandline why shop.web.production
  strandline why shop.web.production --at 2h --limit 1
  strandline why shop.web.production -o name               only the failing resources")]
    Why(WhyArgs),
    /// Show what changed just before an environment or resource became unhealthy
    #[command(after_help = "Examples:
  strandline onset shop.web.production
  strandline onset shop.web.production --health Missing --window 2h --at 2026-11-20T14:05Z --effects")]
    Onset(OnsetArgs),
    /// Show a timeline of an environment or resource: health, changes, warnings, deployments, gaps in the recording
    #[command(after_help = "Examples:
  strandline timeline shop.web.production --since 7d
  strandline timeline --resource 6f2c0a1e-0b8e-4a8f-9d43-0c6f3e0b7a11 --below --since 365d
  strandline timeline shop.web.production --lane deployments,health --order oldest --limit 100")]
    Timeline(TimelineArgs),
    /// List what people, pipelines and GitOps tools changed across environments, newest first
    #[command(after_help = "Examples:
  strandline changes --group payments --since 1h
  strandline changes --tier production --by 'argocd*' --since 7d
  strandline changes --type health,warning --region eu --since 14:00 --until 15:00")]
    Changes(ChangesArgs),
    /// List the versions of a resource, newest first
    #[command(after_help = "Examples:
  strandline history deploy/web -n shop
  strandline history deploy/web --field spec.replicas --field 'spec.template.spec.containers[name=web].image'
  strandline history 6f2c0a1e-0b8e-4a8f-9d43-0c6f3e0b7a11 --bodies -o yaml --limit 2")]
    History(HistoryArgs),
    /// List Kubernetes Events across environments, or of one environment or resource, newest first
    #[command(after_help = "Examples:
  strandline events --group payments --since 1h
  strandline events --tier production --type Warning --reason BackOff,OOMKilling --since 14:00 --until 15:00
  strandline events shop.web.production --type Warning
  strandline events --resource pod/web-0 --env shop.web.production --at 2h -o wide")]
    Events(Box<EventsArgs>),
    /// List which kinds of each cluster are watched, and which are not, gaps first
    #[command(after_help = "Examples:
  strandline coverage --state gap
  strandline coverage --cluster us-east --kind Deployment.apps --at 2h -o wide")]
    Coverage(CoverageArgs),
    /// List resources that a stopped environment left in its clusters, with commands to delete them
    #[command(after_help = "Examples:
  strandline left-behind shop.web.review-17
  strandline left-behind shop.web.review-17 -o json | jq -r '.namespaces[].kubectl'")]
    LeftBehind(LeftBehindArgs),
    /// Wait until an environment has a health, and exit with code 1 if it does not in time
    #[command(after_help = "Examples:
  strandline wait --for=health=Healthy shop.web.production --timeout 5m
  strandline wait --for=health=Healthy,Suspended shop.web.production --timeout 0s   only check")]
    Wait(WaitArgs),
    /// Print the version
    Version(VersionArgs),
}

/// What to list.
#[derive(Clone, Debug, Subcommand)]
pub enum GetCommand {
    /// Environments with their health
    #[command(visible_aliases = ["environment", "env"], after_help = "Examples:
  strandline get environments --tier production --region us
  strandline get environments --health Degraded,Unknown --at 2026-11-20T14:05Z -o wide
  strandline get env --group shop --name 'review/**' -l 'team=payments,criticality in (high,critical)'
  strandline get env --tier production --health Degraded -w")]
    Environments(EnvironmentsArgs),
    /// GitLab groups, from the paths of projects
    #[command(visible_alias = "group")]
    Groups {
        /// Only this one, such as shop
        #[arg(value_name = "GROUP", conflicts_with = "limit")]
        id: Option<String>,
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
    /// GitLab agents with their environments
    #[command(visible_alias = "agent")]
    Agents {
        /// Only this one, such as ops/agents:production
        #[arg(value_name = "AGENT", conflicts_with = "limit")]
        id: Option<String>,
        /// How to list.
        #[command(flatten)]
        list: ListArgs,
    },
    /// Deployments, newest first; --project is that of the job
    #[command(
        visible_alias = "deployment",
        after_help = "Examples:
  strandline get deployments --group payments --since 1h
  strandline get deployments --tier production --by alice --ref 'v2.*' --since 7d --status failed
  strandline get deployments -e shop.web.production --status success --limit 5
  strandline get deployments --project ops/deploy --at 2h -o wide
  strandline get deployment 512                            with the reason if its job may not use the agent"
    )]
    Deployments(Box<DeploymentsArgs>),
    /// Clusters with the state of their recording
    #[command(visible_alias = "cluster")]
    Clusters {
        /// Only this one, such as us-east
        #[arg(value_name = "CLUSTER", conflicts_with = "limit")]
        id: Option<String>,
        /// How to list.
        #[command(flatten)]
        list: ListArgs,
    },
    /// Resources of an environment or of a kind, or one resource with its object; `get pods` and `get deploy/web` are the same
    #[command(
        visible_alias = "resource",
        after_help = "Examples:
  strandline get pods -e shop.web.production
  strandline get resources -e shop.web.production --kind Pod --watch
  strandline get deployments.apps -n shop --cluster us-east
  strandline get deploy/web -n shop -o yaml | kubectl diff -f -
  strandline get resources -e shop.web.production --kind Pod
  strandline get resources -e shop.web.production --health Degraded -o name
  strandline get resources -e shop.web.production --order health --limit 20 -o wide
  strandline get resources -e shop.web.production --owner 6f2c0a1e-0b8e-4a8f-9d43-0c6f3e0b7a11
  strandline get resource deploy/web -n shop -o yaml --at 2h"
    )]
    Resources {
        /// Only this resource, as KIND/NAME or by its UID; -o json and -o yaml print its object
        #[arg(
            value_name = "RESOURCE", required_unless_present_any = ["within", "kind"],
            conflicts_with_all = [
                "kind", "health", "owner", "order", "limit", "all_namespaces", "watch", "watch_only",
            ],
        )]
        resource: Option<Subject>,
        /// With RESOURCE and -o json or -o yaml: the whole answer of the API, in which the object is one field
        #[arg(long, requires = "resource", conflicts_with_all = ["kind", "health", "owner", "order", "limit"])]
        answer: bool,
        /// Resources of all namespaces, as without --namespace
        #[arg(short = 'A', long, conflicts_with = "namespace")]
        all_namespaces: bool,
        /// Where.
        #[command(flatten)]
        place: PlaceArgs,
        /// Only these kinds, by any name that kubectl takes, such as Pod or deploy
        #[arg(long, value_delimiter = ',')]
        kind: Vec<String>,
        /// Only these health states: Healthy, Suspended, Progressing, Missing, Degraded, Unknown
        #[arg(long, value_delimiter = ',')]
        health: Vec<Health>,
        /// Only direct children of the resource with this UID
        #[arg(long, value_name = "UID", value_parser = uid)]
        owner: Option<Uid>,
        /// Sort order: name (kind, namespace, name) or health (worst first)
        #[arg(long)]
        order: Option<ResourceOrder>,
        /// Whether to watch.
        #[command(flatten)]
        watch: WatchArgs,
        /// How to list.
        #[command(flatten)]
        list: ListArgs,
    },
}

/// Arguments of `wait`.
#[derive(Clone, Debug, Args)]
pub struct WaitArgs {
    /// Environment, such as shop.web.production
    #[arg(value_parser = environment)]
    pub environment: EnvironmentId,
    /// Health to wait for, one or several: health=Healthy, health=Healthy,Suspended
    #[arg(long = "for", value_name = "CONDITION")]
    pub condition: WaitCondition,
    /// How long to wait, such as 30s or 5m; 0s checks once
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    pub timeout: Duration,
    /// Which server.
    #[command(flatten)]
    pub address: AddressArgs,
}

/// What is waited for: one of these healths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitCondition(pub Vec<Health>);

impl FromStr for WaitCondition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words = text.strip_prefix("health=").ok_or("use health=HEALTH, such as health=Healthy")?;
        words.split(',').map(str::parse).collect::<Result<_, _>>().map(WaitCondition)
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| "use a duration such as 30s or 5m".to_owned())
}

/// Arguments of `tree`.
#[derive(Clone, Debug, Args)]
pub struct TreeArgs {
    /// Environment, such as shop.web.production
    #[arg(value_parser = environment)]
    pub environment: EnvironmentId,
    /// Show only this resource, as KIND/NAME or by its UID, and its descendants
    #[arg(long, value_name = "RESOURCE")]
    pub under: Option<Subject>,
    /// Cluster, if the resource exists in several
    #[arg(long, requires = "under")]
    pub cluster: Option<String>,
    /// Namespace of KIND/NAME
    #[arg(short, long, requires = "under")]
    pub namespace: Option<String>,
    /// Number of levels below the top; default: all
    #[arg(long, value_parser = number(0..=1000))]
    pub depth: Option<u64>,
    /// Show counts instead of single resources: none; siblings (more than fifty); owner (all with an owner); kind
    #[arg(long, value_name = "WHAT")]
    pub collapse: Option<Collapse>,
    /// Limit the number of resources shown one by one; default: 500
    #[arg(long, value_parser = number(1..=Graph::LIMIT as u64))]
    pub limit: Option<u64>,
    /// Show every resource, without grouping siblings
    #[arg(long, conflicts_with_all = ["collapse", "limit"])]
    pub all: bool,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `why`.
#[derive(Clone, Debug, Args)]
pub struct WhyArgs {
    /// Environment, such as shop.web.production
    #[arg(value_parser = environment)]
    pub environment: EnvironmentId,
    /// Limit the number of paths; default: 10
    #[arg(long, value_parser = number(1..=Why::LIMIT as u64))]
    pub limit: Option<u64>,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `left-behind`.
#[derive(Clone, Debug, Args)]
pub struct LeftBehindArgs {
    /// Environment, such as shop.web.review-17
    #[arg(value_parser = environment)]
    pub environment: EnvironmentId,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `history`.
#[derive(Clone, Debug, Args)]
pub struct HistoryArgs {
    /// Resource, as KIND/NAME or by its UID
    pub resource: Subject,
    /// Where the resource is.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Show only the values of this field over time and who changed them, such as spec.replicas or
    /// 'spec.template.spec.containers[name=web].image'; may be repeated
    #[arg(long, value_name = "PATH", conflicts_with = "bodies")]
    pub field: Vec<String>,
    /// Include the object of each version in -o json and -o yaml
    #[arg(long)]
    pub bodies: bool,
    /// How to list.
    #[command(flatten)]
    pub list: ListArgs,
}

/// Arguments of `coverage`.
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

/// Arguments of `version`.
#[derive(Clone, Debug, Args)]
pub struct VersionArgs {
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}
