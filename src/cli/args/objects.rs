//! Commands that look at the objects of a file without a server, or can do so.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};

use super::output::{ColorChoice, ListArgs, OutputArgs, OutputFormat, ServerArgs};
use super::subject::{PlaceArgs, Subject};
use super::values::{environment, number, time};
use strandline_model::{At, EnvironmentId};
use strandline_protocol::HealthHistory;

/// Arguments of commands that read objects from files.
#[derive(Clone, Debug, Args)]
pub struct ObjectsArgs {
    /// File with objects (YAML or JSON documents, Lists, or NDJSON), or a directory of such files; `-` reads standard input
    #[arg(short, long = "filename", value_name = "FILE")]
    pub file: PathBuf,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = LineFormat::Table)]
    pub output: LineFormat,
    /// Do not print table headers
    #[arg(long)]
    pub no_headers: bool,
    /// When to use colours; NO_COLOR and CLICOLOR_FORCE are respected
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}

/// Arguments of `health`.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("whose").required(true).args(["environment", "resource", "file"]))]
pub struct HealthArgs {
    /// Environment, such as shop.web.production
    #[arg(value_parser = environment, conflicts_with = "PlaceArgs")]
    pub environment: Option<EnvironmentId>,
    /// Resource instead of an environment, as KIND/NAME or by its UID
    #[arg(long, value_name = "RESOURCE")]
    pub resource: Option<Subject>,
    /// Where the resource is.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Assess objects without a server: a file with YAML or JSON documents, Lists or NDJSON, or a directory of such files;
    /// `-` reads standard input
    #[arg(short, long = "filename", value_name = "FILE", conflicts_with_all = ["since", "limit", "at", "PlaceArgs"])]
    pub file: Option<PathBuf>,
    /// Treat the file as test cases `{case, want, object}`: list those whose health differs from `want`, count the
    /// others, and exit with code 1 if any differs
    #[arg(long, conflicts_with_all = ["environment", "resource"])]
    pub check: bool,
    /// Directory with Argo CD health scripts, <group>/<Kind>/health.lua, for the file's objects
    #[arg(long, value_name = "DIR", conflicts_with_all = ["environment", "resource"])]
    pub scripts: Option<PathBuf>,
    /// File with Argo CD's ConfigMap argocd-cm, whose health scripts override those of --scripts
    #[arg(long, value_name = "FILE", conflicts_with_all = ["environment", "resource"])]
    pub argocd_cm: Option<PathBuf>,
    /// Start: a duration before --at (6h, 7d), a time or an offset; default: 1d
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub since: Option<At>,
    /// Limit the number of intervals, newest first; default: 100
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
        objects(self.file.as_ref(), &self.output, "health of objects in a file")
    }
}

/// The file of objects, if one is given; its results have fewer output formats than answers of a server.
fn objects(file: Option<&PathBuf>, output: &OutputArgs, what: &str) -> Result<Option<ObjectsArgs>, String> {
    let Some(file) = file.cloned() else { return Ok(None) };
    let &OutputArgs { ref output, no_headers, color } = output;
    let output = match output {
        OutputFormat::Table => LineFormat::Table,
        OutputFormat::Json => LineFormat::Json,
        _ => return Err(format!("{what} supports only -o table and -o json")),
    };
    Ok(Some(ObjectsArgs { file, output, no_headers, color }))
}

/// Arguments of `edges`.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("subject").required(true).args(["resource", "file"]))]
pub struct EdgesArgs {
    /// Resource, as KIND/NAME or by its UID, to query a server
    #[arg(value_name = "RESOURCE")]
    pub resource: Option<Subject>,
    /// Where the resource is.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Read objects without a server: a file with YAML or JSON documents, Lists or NDJSON; `-` reads standard input
    #[arg(short, long = "filename", value_name = "FILE", conflicts_with_all = ["limit", "at", "PlaceArgs"])]
    pub file: Option<PathBuf>,
    /// File with custom relations for the file's objects, in addition to the built-in ones
    #[arg(long, value_name = "FILE", conflicts_with = "resource")]
    pub relations: Option<PathBuf>,
    /// How to list; for objects of a file as a table or as NDJSON.
    #[command(flatten)]
    pub list: ListArgs,
}

impl EdgesArgs {
    /// What to look at without a server, where a file is named.
    ///
    /// # Errors
    /// Where the output has a form that this does not come in.
    pub fn objects(&self) -> Result<Option<ObjectsArgs>, String> {
        objects(self.file.as_ref(), &self.list.output, "relations of objects in a file")
    }
}

/// Output formats for objects of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LineFormat {
    /// A table.
    Table,
    /// NDJSON: one JSON object per line.
    Json,
}
