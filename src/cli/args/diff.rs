//! What to compare.

use clap::{Args, ValueEnum};

use super::output::{ColorChoice, ServerArgs};
use super::subject::{PlaceArgs, Subject};
use super::values::{environment, number, time};
use strandline_model::{At, EnvironmentId};
use strandline_object_diff::{Class, NameMapping, PathRule};

/// Arguments of `diff`.
#[derive(Clone, Debug, Args)]
pub struct DiffArgs {
    /// Environment, such as shop.web.production
    #[arg(value_name = "ENVIRONMENT", value_parser = environment, required_unless_present = "resource",
        conflicts_with_all = ["resource", "PlaceArgs"])]
    pub environment: Option<EnvironmentId>,
    /// Environment to compare with, at the same time
    #[arg(value_name = "OTHER", value_parser = environment, conflicts_with_all = ["from", "to"])]
    pub with: Option<EnvironmentId>,
    /// Resource instead of an environment, as KIND/NAME or by its UID
    #[arg(long, value_name = "RESOURCE")]
    pub resource: Option<Subject>,
    /// Where the resource is.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Earlier time; default: a day before the later one, or for a resource its previous version
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub from: Option<At>,
    /// Later time; default: now
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true, conflicts_with = "at")]
    pub to: Option<At>,
    /// Corresponding name parts, such as production:staging, or none to show what differs only in names; default: the
    /// parts in which the environments' names differ
    #[arg(long, value_name = "HERE:THERE", value_delimiter = ',', requires = "with")]
    pub map: Vec<NameMapping>,
    /// Parts to compare besides the spec: metadata, status, noise
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    pub include: Vec<Class>,
    /// Ignore this path, such as spec.replicas or metadata.annotations[*]; may be repeated
    #[arg(long, value_name = "[KIND:]PATH")]
    pub ignore: Vec<PathRule>,
    /// List resources created by controllers, such as Pods, one by one
    #[arg(long, conflicts_with = "resource")]
    pub children: bool,
    /// Limit the number of resources; default: all
    #[arg(long, conflicts_with = "resource", value_parser = number(1..=u64::MAX))]
    pub limit: Option<u64>,
    /// Exit with code 1 if there are differences, and with 2 or higher on failure
    #[arg(long)]
    pub exit_code: bool,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Output format; `patch` (RFC 6902) needs --resource
    #[arg(short, long, value_enum, default_value_t = DiffFormat::Text)]
    pub output: DiffFormat,
    /// When to use colours; NO_COLOR and CLICOLOR_FORCE are respected
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}

/// Output formats of `diff`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// Text with + and - lines.
    Text,
    /// JSON, as returned by the API.
    Json,
    /// YAML with the fields of the JSON.
    Yaml,
    /// A JSON Patch (RFC 6902) from the earlier state to the later one.
    Patch,
    /// One name per line.
    Name,
}
