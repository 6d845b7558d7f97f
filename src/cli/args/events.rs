//! Arguments of `events`.

use clap::Args;

use super::filter::DeclaredArgs;
use super::output::ListArgs;
use super::subject::{PlaceArgs, Subject};
use super::values::{environment, time};
use strandline_model::{At, EnvironmentId};
use strandline_object::kube_event::EventType;

/// Arguments of `events`.
#[derive(Clone, Debug, Args)]
pub struct EventsArgs {
    /// Only of this environment, such as shop.web.production
    #[arg(value_parser = environment, conflicts_with_all = ["resource", "DeclaredArgs"])]
    pub environment: Option<EnvironmentId>,
    /// Only of this resource, as KIND/NAME or by its UID; with --cluster if it exists in several
    #[arg(long, value_name = "RESOURCE", conflicts_with_all = [
        "tier", "region", "project", "group", "agent", "state", "name", "labels", "since", "until",
    ])]
    pub resource: Option<Subject>,
    /// Only of resources in this namespace; with --resource the namespace of KIND/NAME
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// Of all namespaces, as without --namespace
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
    /// Environment of KIND/NAME, current or former
    #[arg(
        short = 'e', long = "environment", value_name = "ENVIRONMENT", visible_alias = "env", value_parser = environment,
        requires = "resource",
    )]
    pub within: Option<EnvironmentId>,
    /// In which environments.
    #[command(flatten)]
    pub declared: DeclaredArgs,
    /// Start: a duration before --at (1h, 30d), a time or an offset; default: 1d, for one environment everything
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub since: Option<At>,
    /// End: a duration before --at, a time or an offset; default: --at
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub until: Option<At>,
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

impl EventsArgs {
    /// Where the resource is.
    pub fn place(&self) -> PlaceArgs {
        let cluster = self.declared.cluster.first().cloned();
        PlaceArgs { cluster, namespace: self.namespace.clone(), within: self.within.clone() }
    }
}
