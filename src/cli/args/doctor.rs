//! What `strandline doctor` understands.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// What to check.
#[derive(Clone, Debug, Args)]
pub struct DoctorArgs {
    /// The configuration; without it only the data directory is checked
    #[arg(long, value_name = "FILE", env = "STRANDLINE_CONFIG", required_unless_present = "data")]
    pub config: Option<PathBuf>,
    /// The data directory; goes before what the configuration says
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: Option<PathBuf>,
    /// Of the clusters only this one
    #[arg(long, value_name = "NAME", requires = "config")]
    pub cluster: Option<String>,
    /// Read the whole log and the whole view, and tell what of them is damaged
    #[arg(long)]
    pub full: bool,
    /// Go on with a log that lost its end: what was watched gets a gap, and every kind is listed anew
    #[arg(long, requires = "data", conflicts_with_all = ["config", "full", "salvage"])]
    pub accept_loss: bool,
    /// Copy what can be read of a damaged log into a new one in another directory, with gaps for what is lost
    #[arg(long, value_name = "DIR", requires = "data", conflicts_with_all = ["config", "full"])]
    pub salvage: Option<PathBuf>,
    /// Print only the roles that are missing, as YAML for `kubectl apply -f -`; the checks go to standard error
    ///
    /// `narrow` names the kinds that may not be seen, one by one: the least that is needed, and another round for each new
    /// CRD. `groups` takes every kind of the API groups that the cluster has, also those to come, and of the core group all but
    /// Secrets: another round for each new API group. `wildcard` takes everything for good, and with it Secrets, since RBAC can
    /// only add: their values are removed before anything is recorded, but the account could read them.
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
    /// Mark the changes whose recorded times are wrong, with gaps for them; the server must not be running
    #[arg(long, requires = "data", conflicts_with_all = ["config", "full", "accept_loss", "salvage"])]
    pub mend_clock: bool,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text)]
    pub output: ReportFormat,
}

/// Form of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// A line for each check.
    Text,
    /// One document.
    Json,
    /// The same as YAML.
    Yaml,
}

/// How much a role lets an account see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleWidth {
    /// The kinds that may not be seen now, by name.
    Narrow,
    /// Every kind of the API groups that there are, without Secrets.
    Groups,
    /// Everything, also Secrets and what is yet to come.
    Wildcard,
}
