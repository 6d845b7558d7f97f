//! Commands that look at the objects of a file without a server, or can do so.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

use super::values::{environment, moment, number};
use super::{ColorChoice, ListArgs, OutputArgs, OutputFormat, PlaceArgs, ServerArgs, Subject};
use crate::query::HealthHistory;
use strandline_model::EnvironmentId;

/// Which objects to look at, and how to print what was found.
#[derive(Clone, Debug, Args)]
pub struct ObjectsArgs {
    /// The objects, in YAML or JSON, as documents, lists or one a line, or a directory of such files; `-` reads standard input
    #[arg(short, long = "filename", value_name = "FILE")]
    pub file: PathBuf,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = LineFormat::Table)]
    pub output: LineFormat,
    /// Leave the headers of tables out
    #[arg(long)]
    pub no_headers: bool,
    /// When to use colours; NO_COLOR and CLICOLOR_FORCE are heeded
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}

/// Whose health to tell, or what to judge.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("whose").required(true).args(["environment", "resource", "file"]))]
pub struct HealthArgs {
    /// The environment, such as shop.web.production
    #[arg(value_parser = environment, conflicts_with = "PlaceArgs")]
    pub environment: Option<EnvironmentId>,
    /// A resource in place of an environment, by its uid or as KIND/NAME
    #[arg(long, value_name = "RESOURCE")]
    pub resource: Option<Subject>,
    /// Where the resource is.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Objects to judge without a server, in YAML or JSON, as documents, lists or one a line, or a directory of such files;
    /// `-` reads standard input
    #[arg(short, long = "filename", value_name = "FILE", conflicts_with_all = ["since", "limit", "at", "PlaceArgs"])]
    pub file: Option<PathBuf>,
    /// Take the file's documents for cases, each `{case, want, object}`: list those whose verdict is not the health that
    /// they want, count the others, and end with 1 where any differs
    #[arg(long, conflicts_with_all = ["environment", "resource"])]
    pub check: bool,
    /// Folder of Lua scripts in Argo CD's layout, <group>/<Kind>/health.lua, to judge the file's objects
    #[arg(long, value_name = "DIR", conflicts_with_all = ["environment", "resource"])]
    pub scripts: Option<PathBuf>,
    /// Argo CD's ConfigMap argocd-cm, whose health scripts go before those of the folder
    #[arg(long, value_name = "FILE", conflicts_with_all = ["environment", "resource"])]
    pub argocd_cm: Option<PathBuf>,
    /// Where to begin: a duration before the moment (6h, 7d), a time or an offset; without it a day before
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub since: Option<String>,
    /// The most intervals to list, the newest first; without it 100
    #[arg(long, value_parser = number(1..=HealthHistory::LIMIT as u64))]
    pub limit: Option<u64>,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// How to print; of a file's objects as a table or JSON, a verdict a line.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl HealthArgs {
    /// What to judge without a server, where a file is named.
    ///
    /// # Errors
    /// Where the output has a form that verdicts do not come in.
    pub fn objects(&self) -> Result<Option<ObjectsArgs>, String> {
        objects(self.file.as_ref(), &self.output, "verdicts on a file's objects")
    }
}

/// The objects of a file, if one is named; what is found in them comes in fewer forms than answers of a server.
fn objects(file: Option<&PathBuf>, output: &OutputArgs, what: &str) -> Result<Option<ObjectsArgs>, String> {
    let Some(file) = file.cloned() else { return Ok(None) };
    let &OutputArgs { output, no_headers, color } = output;
    let output = match output {
        OutputFormat::Table => LineFormat::Table,
        OutputFormat::Json => LineFormat::Json,
        _ => return Err(format!("{what} are printed as a table or as json")),
    };
    Ok(Some(ObjectsArgs { file, output, no_headers, color }))
}

/// Whose edges to tell.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("subject").required(true).args(["resource", "file"]))]
pub struct EdgesArgs {
    /// The resource, by its uid or as KIND/NAME, to ask a server
    #[arg(value_name = "RESOURCE")]
    pub resource: Option<Subject>,
    /// Where the resource is.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Objects to look at without a server, in YAML or JSON, as documents, lists or one a line; `-` reads standard input
    #[arg(short, long = "filename", value_name = "FILE", conflicts_with_all = ["limit", "at", "PlaceArgs"])]
    pub file: Option<PathBuf>,
    /// Relations of your own for the file's objects, besides those that are built in
    #[arg(long, value_name = "FILE", conflicts_with = "resource")]
    pub relations: Option<PathBuf>,
    /// How to list; what a file's objects tell comes as a table or JSON, an object a line.
    #[command(flatten)]
    pub list: ListArgs,
}

impl EdgesArgs {
    /// What to look at without a server, where a file is named.
    ///
    /// # Errors
    /// Where the output has a form that this does not come in.
    pub fn objects(&self) -> Result<Option<ObjectsArgs>, String> {
        objects(self.file.as_ref(), &self.list.output, "edges of a file's objects")
    }
}

/// Form of what is found, object by object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LineFormat {
    /// Columns for people.
    Table,
    /// A JSON object on each line.
    Json,
}
