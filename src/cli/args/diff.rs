//! What to compare.

use clap::{Args, ValueEnum};

use super::values::{environment, moment, number};
use super::{ColorChoice, PlaceArgs, ServerArgs, Subject};
use strandline_model::EnvironmentId;
use strandline_object_diff::{Class, NamePair, PathRule};

/// What to compare, and how to print what differs.
#[derive(Clone, Debug, Args)]
pub struct DiffArgs {
    /// The environment, such as shop.web.production
    #[arg(value_name = "ENVIRONMENT", value_parser = environment, required_unless_present = "resource",
        conflicts_with_all = ["resource", "PlaceArgs"])]
    pub environment: Option<EnvironmentId>,
    /// Another environment to compare it with, at one moment
    #[arg(value_name = "OTHER", value_parser = environment, conflicts_with_all = ["from", "to"])]
    pub with: Option<EnvironmentId>,
    /// A resource in place of an environment, by its uid or as KIND/NAME
    #[arg(long, value_name = "RESOURCE")]
    pub resource: Option<Subject>,
    /// Where the resource is.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// The earlier moment; without it a day before the later, or of a resource the version before
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub from: Option<String>,
    /// The later moment; without it now
    #[arg(long, value_name = "MOMENT", value_parser = moment, conflicts_with = "at")]
    pub to: Option<String>,
    /// Parts of names that stand for each other, such as production:staging; without it what tells the two apart
    #[arg(long, value_name = "HERE:THERE", value_delimiter = ',', requires = "with")]
    pub map: Vec<NamePair>,
    /// What to tell besides the spec: metadata, status, noise
    #[arg(long, value_name = "CLASS", value_delimiter = ',')]
    pub include: Vec<Class>,
    /// Leave out what this names, such as spec.replicas or metadata.annotations[*]; may be repeated
    #[arg(long, value_name = "[KIND:]PATH")]
    pub ignore: Vec<PathRule>,
    /// Tell what controllers made, such as Pods, one by one
    #[arg(long, conflicts_with = "resource")]
    pub children: bool,
    /// Stop after so many resources; without it all are told
    #[arg(long, conflicts_with = "resource", value_parser = number(1..=u64::MAX))]
    pub limit: Option<u64>,
    /// End with 1 where there are differences, and with 2 or more where something failed
    #[arg(long)]
    pub exit_code: bool,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// Form of the output; a patch (RFC 6902) is of one resource
    #[arg(short, long, value_enum, default_value_t = DiffFormat::Text)]
    pub output: DiffFormat,
    /// When to use colours; NO_COLOR and CLICOLOR_FORCE are heeded
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}

/// Form of differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DiffFormat {
    /// Lines for people, with + and -.
    Text,
    /// As the API has it.
    Json,
    /// The same as YAML.
    Yaml,
    /// The operations that make the earlier state the later one, as RFC 6902 has them.
    Patch,
    /// A name on each line.
    Name,
}
