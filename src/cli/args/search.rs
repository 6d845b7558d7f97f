//! Arguments of `search`.

use clap::Args;

use super::output::{OutputArgs, ServerArgs};
use super::values::number;
use strandline_protocol::SearchType;

/// Arguments of `search`.
#[derive(Clone, Debug, Args)]
pub struct SearchArgs {
    /// Parts of a name; all of them must match
    #[arg(required = true, value_name = "WORD")]
    pub words: Vec<String>,
    /// Only these types: environments, projects, clusters, resources, images, deployments
    #[arg(long = "type", value_delimiter = ',', value_name = "TYPE")]
    pub r#type: Vec<SearchType>,
    /// Limit the number of matches of each type, up to 100; default: 5
    #[arg(long, value_parser = number(1..=100))]
    pub limit: Option<u64>,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}
