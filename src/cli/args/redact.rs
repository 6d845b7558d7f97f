//! What to erase from what was recorded.

use std::path::PathBuf;

use clap::Args;

use super::doctor::ReportFormat;

/// Arguments of `redact`.
#[derive(Clone, Debug, Args)]
pub struct RedactArgs {
    /// Data directory, which must not be in use by a server, or a backup
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: PathBuf,
    /// File with the values, one per line; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub value_file: PathBuf,
    /// Treat the whole file as one value, such as a private key
    #[arg(long)]
    pub whole_file: bool,
    /// Only in versions of the resource with this UID
    #[arg(long, value_name = "UID")]
    pub uid: Option<String>,
    /// Only list where the values occur
    #[arg(long)]
    pub dry_run: bool,
    /// Reason, which is recorded in the log
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub reason: String,
    /// Author, which is recorded in the log; default: USER@HOST
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    /// Backups to search too, or directories of backups; they are not changed
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub backups: Vec<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text)]
    pub output: ReportFormat,
}
