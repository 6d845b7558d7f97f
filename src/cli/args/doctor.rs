//! What `strandline doctor` understands.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Arguments of `doctor`.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// Configuration file; without it, only the data directory is checked
    #[arg(long, value_name = "FILE", env = "STRANDLINE_CONFIG", required_unless_present = "data")]
    pub config: Option<PathBuf>,
    /// Data directory; overrides the configuration
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: Option<PathBuf>,
    /// Check only this cluster
    #[arg(long, value_name = "NAME", requires = "config")]
    pub cluster: Option<String>,
    /// Verify every record of the log and of the view, and report damage
    #[arg(long)]
    pub full: bool,
    /// Accept a log that lost its newest records: record a gap for the watched kinds, and relist all of them
    #[arg(long, requires = "data", conflicts_with_all = ["config", "full", "salvage"])]
    pub accept_loss: bool,
    /// Salvage a damaged log: copy its readable records to a new data directory, with gaps for the lost ones
    #[arg(long, value_name = "DIR", requires = "data", conflicts_with_all = ["config", "full"])]
    pub salvage: Option<PathBuf>,
    /// Print the missing RBAC roles as YAML for `kubectl apply -f -`; the checks go to standard error
    ///
    /// `narrow` lists each forbidden kind: least privilege, to be repeated for each new CRD. `groups` grants all kinds,
    /// present and future, of the cluster's API groups, and of the core group all but Secrets; to be repeated for each new
    /// API group. `wildcard` grants everything, including Secrets, since RBAC can only add: their values are redacted
    /// before anything is recorded, but the service account could read them.
    #[arg(
        long,
        value_enum,
        value_name = "ROLE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "narrow",
        requires = "config",
        conflicts_with_all = ["accept_loss", "salvage", "mend_clock", "output"]
    )]
    pub rbac: Option<RoleWidth>,
    /// Mark changes whose recorded times are wrong, and record gaps for them; offline
    #[arg(long, requires = "data", conflicts_with_all = ["config", "full", "accept_loss", "salvage"])]
    pub mend_clock: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text)]
    pub output: ReportFormat,
}

/// Output formats of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// One line per check.
    Text,
    /// One JSON document.
    Json,
    /// YAML with the fields of the JSON.
    Yaml,
}

/// How much a role grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleWidth {
    /// The kinds that are forbidden now, by name.
    Narrow,
    /// All kinds of the cluster's API groups, without Secrets.
    Groups,
    /// Everything, including Secrets and future kinds.
    Wildcard,
}
