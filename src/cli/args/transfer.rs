//! The log out, and history in.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::doctor::ReportFormat;
use super::values::{environment, instant, time};
use strandline_model::{At, EnvironmentId, Timestamp};

/// Arguments of `export`.
#[derive(Clone, Debug, Args)]
pub struct ExportArgs {
    /// Data directory; may be in use by a server
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: PathBuf,
    /// Output file, such as FILE.ndjson.zst; must not exist. Default: standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Start: a time (14:05, 2026-11-20 14:05), a duration ago (7d) or an offset (1234)
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub since: Option<At>,
    /// End: a time, a duration ago or an offset; default: now
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub until: Option<At>,
    /// Only changes of these clusters, and the catalog
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub cluster: Vec<String>,
    /// Only resources that ever belonged to these environments, and the catalog without other environments
    #[arg(long, value_name = "ENVIRONMENT", value_delimiter = ',', value_parser = environment)]
    pub environment: Vec<EnvironmentId>,
}

/// Arguments of `import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArgs {
    /// Exports, dumps of objects, or audit logs; all in the same format
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Data directory: empty, or with a log whose changes are all older; must not be in use by a server
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: PathBuf,
    /// Configuration file, for its `redact` rules; default: the built-in rules
    #[arg(long, value_name = "FILE", env = "STRANDLINE_CONFIG")]
    pub config: Option<PathBuf>,
    /// Format of the files; default: detected from their content
    #[arg(long, value_enum)]
    pub form: Option<ImportForm>,
    /// Cluster of the dumps or audit logs
    #[arg(long, value_name = "NAME")]
    pub cluster: Option<String>,
    /// Time of the dump; default: read from the file name
    #[arg(long, value_name = "TIME", value_parser = instant, allow_hyphen_values = true)]
    pub at: Option<Timestamp>,
    /// Each dump is complete for its kinds and namespaces: record missing objects as deleted
    #[arg(long)]
    pub complete: bool,
    /// Output format of the summary
    #[arg(long, value_enum, default_value_t = ReportFormat::Text, value_name = "FORM")]
    pub summary: ReportFormat,
}

/// Formats of import files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ImportForm {
    /// An export of `strandline export`.
    Log,
    /// Objects as printed by `kubectl get -o yaml|json`.
    Objects,
    /// A Kubernetes audit log.
    Audit,
}
