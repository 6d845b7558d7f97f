//! The log out, and history in.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ReportFormat;
use super::values::{environment, moment};
use strandline_model::{EnvironmentId, Timestamp};

/// What of the log to export, and where to.
#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    /// The data directory; a server may be using it
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: PathBuf,
    /// The file, such as FILE.ndjson.zst; it must not be there yet. Without it standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// From this moment on: a time (2026-11-20T14:05:00Z), a duration ago (7d) or an offset (1234)
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub since: Option<String>,
    /// Up to this moment
    #[arg(long, value_name = "MOMENT", value_parser = moment)]
    pub until: Option<String>,
    /// Only what was told of these clusters, and the catalog
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub cluster: Vec<String>,
    /// Only what ever belonged to these environments, and the catalog but for others
    #[arg(long, value_name = "ENVIRONMENT", value_delimiter = ',', value_parser = environment)]
    pub environment: Vec<EnvironmentId>,
}

/// What to import, and where to.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// Exports of a log, dumps of objects, or audit logs; all of one form
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The data directory: empty, or with a log whose changes are all older; no server may be using it
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: PathBuf,
    /// The configuration whose `redact` says what is hidden; without it the program's own rules do
    #[arg(long, value_name = "FILE", env = "STRANDLINE_CONFIG")]
    pub config: Option<PathBuf>,
    /// What the files hold; without it their beginning tells
    #[arg(long, value_enum)]
    pub form: Option<ImportForm>,
    /// The cluster of which dumps and audit logs tell
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// When the objects of a dump were so; without it the names of the files tell
    #[arg(long, value_name = "TIME")]
    pub at: Option<Timestamp>,
    /// Each dump holds all objects of its kinds in its namespaces: what it misses was gone
    #[arg(long)]
    pub complete: bool,
    /// Form of the summary
    #[arg(long, value_enum, default_value_t = ReportFormat::Text, value_name = "FORM")]
    pub summary: ReportFormat,
}

/// What files hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImportForm {
    /// An export of a log.
    Log,
    /// Objects as `kubectl get -o yaml|json` prints them.
    Objects,
    /// Lines of an audit log of Kubernetes.
    Audit,
}
