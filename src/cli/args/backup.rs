//! Copies of a data directory.

use std::path::PathBuf;

use clap::Args;

use super::doctor::ReportFormat;

/// Arguments of `backup`.
#[derive(Clone, Debug, Args)]
pub struct BackupArgs {
    /// Data directory; may be in use by a server
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: PathBuf,
    /// Directory for the backup; must not exist
    #[arg(long, value_name = "DIR")]
    pub to: PathBuf,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text)]
    pub output: ReportFormat,
}

/// Arguments of `restore`.
#[derive(Clone, Debug, Args)]
pub struct RestoreArgs {
    /// Directory with the backup
    #[arg(long, value_name = "DIR")]
    pub from: PathBuf,
    /// Data directory; must not be in use by a server
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: PathBuf,
    /// Replace existing data, after moving it to a subdirectory of the data directory
    #[arg(long)]
    pub force: bool,
}
