//! Arguments of `get deployments`.

use clap::Args;

use super::filter::DeclaredArgs;
use super::output::ListArgs;
use super::values::{deployment, environment, time};
use strandline_model::{At, DeploymentStatus, EnvironmentId};
use strandline_syntax::Glob;

/// Arguments of `get deployments`.
#[derive(Clone, Debug, Args)]
pub struct DeploymentsArgs {
    /// Only the deployment with this ID
    #[arg(value_name = "NUMBER", value_parser = deployment, conflicts_with_all = [
        "environment", "tier", "region", "group", "cluster", "agent", "state", "name", "labels", "status", "refs", "by",
        "since", "until", "limit",
    ])]
    pub id: Option<u64>,
    /// Only deployments to this environment, such as shop.web.production
    #[arg(short, long, value_parser = environment)]
    pub environment: Option<EnvironmentId>,
    /// To which environments; `--project` is that of the job.
    #[command(flatten)]
    pub declared: DeclaredArgs,
    /// Only these statuses: created, blocked, running, success, failed, canceled, skipped
    #[arg(long, value_delimiter = ',')]
    pub status: Vec<DeploymentStatus>,
    /// Only of these branches or tags, such as main or 'v2.*'
    #[arg(long = "ref", value_delimiter = ',', value_name = "PATTERN")]
    pub refs: Vec<Glob>,
    /// Only by these users, such as alice
    #[arg(long, value_delimiter = ',', value_name = "PATTERN")]
    pub by: Vec<Glob>,
    /// Start: a duration before --at (1h, 30d), a time or an offset; default: everything
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub since: Option<At>,
    /// End: a duration before --at, a time or an offset; default: --at
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub until: Option<At>,
    /// How to list.
    #[command(flatten)]
    pub list: ListArgs,
}
