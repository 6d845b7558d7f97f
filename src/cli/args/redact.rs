//! What to erase from what was recorded.

use std::path::PathBuf;

use clap::Args;

use super::ReportFormat;

/// What to erase, and where.
#[derive(Clone, Debug, Args)]
pub struct RedactArgs {
    /// The data directory, which no server may be using, or a backup
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: PathBuf,
    /// File with the values, one a line; `-` for standard input
    #[arg(long, value_name = "FILE")]
    pub value_file: PathBuf,
    /// The whole file is one value, as of a private key
    #[arg(long)]
    pub whole_file: bool,
    /// Only from the versions of the resource with this uid
    #[arg(long, value_name = "UID")]
    pub uid: Option<String>,
    /// Only tell where the values stand
    #[arg(long)]
    pub dry_run: bool,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub reason: String,
    /// Who erases it, for the record; without it the user and the machine
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    /// Backups to be looked at too, or directories of backups; nothing is erased from them
    #[arg(long, value_name = "DIR", num_args = 1..)]
    pub backups: Vec<PathBuf>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text)]
    pub output: ReportFormat,
}
