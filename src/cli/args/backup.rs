//! Copies of a data directory.

use std::path::PathBuf;

use clap::Args;

use super::ReportFormat;

/// What to copy, and where to.
#[derive(Clone, Debug, Args)]
pub struct BackupArgs {
    /// The data directory; a server may be using it
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: PathBuf,
    /// Where the backup is to be; it must not be there yet
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text)]
    pub output: ReportFormat,
}

/// What to restore, and where to.
#[derive(Clone, Debug, Args)]
pub struct RestoreArgs {
    /// The backup
    #[arg(long, value_name = "DIR")]
    pub from: PathBuf,
    /// The data directory; no server may be using it
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: PathBuf,
    /// Move what the data directory holds into a directory of its own within it
    #[arg(long)]
    pub force: bool,
}
