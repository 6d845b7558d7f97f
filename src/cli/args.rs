//! What the command line understands.

mod access;
mod address;
mod backup;
mod changes;
mod config;
mod deployments;
mod diff;
mod doctor;
mod events;
mod filter;
mod login;
mod objects;
mod output;
mod probe;
mod read;
mod redact;
mod search;
mod shell;
mod subject;
mod timeline;
mod transfer;
mod values;

pub use access::{AccessCheckArgs, AccessCommand};
pub use address::{AddressArgs, TokenText};
pub use backup::{BackupArgs, RestoreArgs};
pub use changes::ChangesArgs;
pub use config::{ConfigCommand, ConfigFileArgs};
pub use deployments::DeploymentsArgs;
pub use diff::{DiffArgs, DiffFormat};
pub(super) use doctor::RoleWidth;
pub use doctor::{DoctorArgs, ReportFormat};
pub use events::EventsArgs;
pub use filter::{DeclaredArgs, EnvironmentsArgs, FilterArgs, OverviewArgs};
pub use login::{ContextCommand, LoginArgs, LoginFlow, LogoutArgs, WhoamiArgs};
pub use objects::{EdgesArgs, HealthArgs, LineFormat, ObjectsArgs};
pub use output::{ColorChoice, ListArgs, OutputArgs, OutputFormat, ServerArgs, WatchArgs};
pub use probe::ProbeArgs;
pub use read::{
    CoverageArgs, GetCommand, HistoryArgs, LeftBehindArgs, ReadCommand, TreeArgs, VersionArgs, WaitArgs,
    WaitCondition, WhyArgs,
};
pub use redact::RedactArgs;
pub use search::SearchArgs;
pub use shell::{CompletionArgs, ManArgs, OpenArgs};
pub use timeline::{OnsetArgs, TimelineArgs};
pub use transfer::{ExportArgs, ImportArgs, ImportForm};

pub use subject::{FindArgs, ImagesArgs, PlaceArgs, Subject};
pub(super) use values::times;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};

use strandline_model::{EnvironmentId, Timestamp};

/// Records what runs in Kubernetes clusters, and shows every GitLab environment as it is now or was at any past time.
#[derive(Clone, Debug, Parser)]
#[command(name = "strandline", version, about, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 success, 1 failure, 2 usage error, 3 not found.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Watch the configured clusters, record their changes, and serve the API and the web pages
    Serve(ServeArgs),
    /// Try it: serve a simulated fleet of clusters, without Kubernetes or a configuration
    Demo(DemoArgs),
    /// Rebuild the view (the query database) from the log, in a running server or offline
    #[command(after_help = "Examples:
  strandline rebuild --server http://127.0.0.1:7979      online; the old view answers until the new one is ready
  strandline rebuild --config strandline.yaml            offline, with the rules of a configuration")]
    Rebuild(RebuildArgs),
    /// Resync: list the kinds of clusters now, compare them with the record, and record the differences
    #[command(after_help = "\
Examples:\n  strandline relist --cluster us-east                    every kind of a cluster\n  strandline relist --cluster us-east --kind Deployment   one kind")]
    Relist(RelistArgs),
    /// Mark resources as deleted that the server cannot check, such as those of a decommissioned cluster
    #[command(after_help = "Examples:
  strandline forget --cluster eu-1 --kind databases.example.dev --dry-run       only list what would be marked
  strandline forget --cluster eu-1 --kind databases.example.dev                 every object of the kind, and close its gap
  strandline forget --cluster eu-1 --kind pod --namespace shop --name web-0

Resources of a kind that is being watched are refused, because their deletion is recorded anyway; --force marks them
too. An object that still exists reappears with its next watch event or list. The token needs `write` and `everything`.")]
    Forget(ForgetArgs),
    /// Back up a data directory, online or offline, and verify the copy
    #[command(after_help = "Examples:
  strandline backup --data data --to backups/2026-11-22
  strandline backup --data data --to backups/2026-11-22 -o json | jq .offset")]
    Backup(BackupArgs),
    /// Restore a backup into a data directory, after verifying it
    #[command(after_help = "Examples:
  strandline restore --from backups/2026-11-22 --data data
  strandline restore --from backups/2026-11-22 --data data --force")]
    Restore(RestoreArgs),
    /// Erase leaked values, such as a credential, from the log; offline
    #[command(after_help = "\
Examples:\n  strandline redact --data data --value-file leaked.txt --dry-run      list where they occur\n  \
strandline redact --data data --value-file - --reason 'token in an annotation' --backups backups < leaked.txt\n  \
strandline redact --data backups/2026-11-22 --value-file leaked.txt   a backup\n\n\
Values are found in plain text, escaped, in URLs and in Base64, and replaced by their redaction digest. Versions, times\n\
and the hash chain are kept; an entry in the log records who erased something, when and why. Rotate the credential\n\
first: erasing it here does not revoke it.")]
    Redact(RedactArgs),
    /// Export the log, or a part of it, as NDJSON compressed with zstd, online or offline
    #[command(after_help = "Examples:
  strandline export --data data -o log.ndjson.zst
  strandline export --data data --since 7d --cluster eu-1 -o week.ndjson.zst
  strandline export --data data --environment shop.web.production | zstd -dc | jq -r .name")]
    Export(ExportArgs),
    /// Import an export, `kubectl get -o yaml` dumps, or Kubernetes audit logs into a data directory
    #[command(after_help = "Examples:
  strandline import log.ndjson.zst --data new
  strandline import dumps/*.yaml --cluster eu-1 --complete --data new       times are read from the file names
  strandline import pods.json --cluster eu-1 --at 2026-11-20T09:00:00Z --data new
  strandline import audit*.log --cluster eu-1 --data new")]
    Import(ImportArgs),
    /// List the resource kinds that are watched, and why others are not
    #[command(after_help = "Examples:
  strandline kinds                                       kinds that are excluded by default
  strandline kinds --config strandline.yaml -o wide      the kinds of each cluster")]
    Kinds(KindsArgs),
    /// Check a configuration against its clusters, or the integrity of a data directory, without changing anything
    #[command(after_help = "Examples:
  strandline doctor --config strandline.yaml
  strandline doctor --data /var/lib/strandline --full
  strandline doctor --config strandline.yaml --cluster eu-1 --rbac | kubectl --context eu-1 apply -f -
  strandline doctor --config strandline.yaml --cluster eu-1 --rbac=groups | kubectl --context eu-1 apply -f -")]
    Doctor(DoctorArgs),
    /// Ask a server whether it is ready, or alive; for probes of images without a shell
    #[command(after_help = "Examples:
  strandline probe                                       exit code 0 once /readyz passes
  strandline probe --live --server http://127.0.0.1:7979")]
    Probe(ProbeArgs),
    /// Print the manifests that install Strandline in a cluster, as the Helm chart does by default
    #[command(after_help = "Examples:
  strandline manifest | kubectl apply -f -
  strandline manifest | kubectl diff -f -")]
    Manifest,
    /// Check a configuration file, print what is in effect, or print its JSON Schema
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Show the health of an environment or resource over time, or assess objects in a file without a server
    #[command(after_help = "Examples:
  strandline health shop.web.production --since 7d
  strandline health --resource deploy/web -n shop --at 2h -o wide
  kubectl get pods -o json | strandline health -f -
  strandline health -f objects.yaml -o json
  strandline health -f objects.yaml --scripts argo-cd/resource_customizations
  strandline health -f cases.jsonl --check                   test health rules against expected results")]
    Health(HealthArgs),
    /// List the resources that a resource is related to, or the relations of objects in a file without a server
    #[command(after_help = "Examples:
  strandline edges svc/web -n shop --at 2h
  kubectl get deployments,services,ingresses -o json | strandline edges -f -
  strandline edges -f objects.yaml --relations relations.yaml -o json")]
    Edges(EdgesArgs),
    /// Show what changed between two times, or what differs between two environments, without noise
    #[command(after_help = "Examples:
  strandline diff shop.web.production --from 2h
  strandline diff shop.web.production --from 2026-11-20T09:00Z --to 2026-11-20T12:00Z -o json
  strandline diff shop.web.staging shop.web.production --map staging:production --ignore spec.replicas
  strandline diff --resource deploy/web -n shop --from 24h --include status
  strandline diff --resource 6f2c0a1e-0b8e-4a8f-9d43-0c6f3e0b7a11 -o patch     compared with the previous version
  strandline diff shop.web.production --from 1h --exit-code                  exit code 1 if anything differs")]
    Diff(DiffArgs),
    /// Generate an API token, and print it with its entry for the server's configuration
    #[command(after_help = "Examples:
  strandline token --name ci-of-shop --project shop/web --write
  strandline token --name admins --everything")]
    Token(TokenArgs),
    /// Log in to a server, and keep the login for later commands
    #[command(after_help = "Examples:
  strandline login --server https://strandline.example.com
  strandline login --server https://strandline.example.com --context prod --ca-file company-ca.pem
  strandline login --server https://strandline.example.com --token-stdin < token
  strandline login                                       again, at the server of the current context

The login is kept in ~/.config/strandline/contexts.yaml, or below XDG_CONFIG_HOME, which only its owner may read.")]
    Login(LoginArgs),
    /// Log out: revoke the login at its provider, and remove it from the context
    #[command(after_help = "Examples:
  strandline logout
  strandline logout --context prod")]
    Logout(LogoutArgs),
    /// Show who a server takes you for, what you may read and write, and until when
    #[command(after_help = "Examples:
  strandline whoami
  strandline whoami --context prod -o json | jq -r .expires")]
    Whoami(WhoamiArgs),
    /// List the servers that you logged in to, or choose one
    #[command(
        subcommand,
        after_help = "Examples:
  strandline context list
  strandline context use prod
  strandline --context test get environments             for one command"
    )]
    Context(ContextCommand),
    /// Test a GitLab agent's configuration file, without a server
    #[command(subcommand)]
    Access(AccessCommand),
    /// Open the page of an environment or resource in a browser
    #[command(after_help = "Examples:
  strandline open shop.web.production
  strandline open shop.web.production --at 14:05 --print       the address of the page as it was then
  strandline open deploy/web -e shop.web.production")]
    Open(OpenArgs),
    /// Print the script that completes commands, options and names of environments in a shell
    #[command(after_help = "Examples:
  source <(strandline completion bash)                              in ~/.bashrc
  source <(strandline completion zsh)                               in ~/.zshrc
  strandline completion fish > ~/.config/fish/completions/strandline.fish

Names come from the server that --server or STRANDLINE_SERVER names.")]
    Completion(CompletionArgs),
    /// Write a manual page for each command
    #[command(after_help = "Examples:
  strandline man ~/.local/share/man/man1 && man strandline-tree")]
    Man(ManArgs),
    /// Reads.
    #[command(flatten)]
    Read(ReadCommand),
}

/// Arguments of `serve`.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// Configuration file
    #[arg(long, value_name = "FILE", env = "STRANDLINE_CONFIG")]
    pub config: PathBuf,
    /// Address to listen on; overrides the configuration
    #[arg(long, value_name = "ADDR:PORT", env = "STRANDLINE_LISTEN", value_parser = values::listener)]
    pub listen: Option<SocketAddr>,
    /// Data directory with the log and the view; overrides the configuration
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: Option<PathBuf>,
    /// Allow a data directory on a network or FUSE filesystem, where file locks may be unreliable
    #[arg(long)]
    pub allow_network_filesystem: bool,
    /// Allow unauthenticated read access although the address is reachable from other machines and no token is configured
    #[arg(long)]
    pub allow_anonymous_read: bool,
}

/// Arguments of `demo`.
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// Address to listen on
    #[arg(
        long,
        value_name = "ADDR:PORT",
        env = "STRANDLINE_LISTEN",
        default_value = "127.0.0.1:7979",
        value_parser = values::listener
    )]
    pub listen: SocketAddr,
    /// Data directory with the log and the view; default: a temporary directory
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Random seed of the simulated fleet
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = values::number(0..=u64::MAX))]
    pub seed: u64,
    /// How much of the past to record before the present, from 3h to 7d; a shorter one is recorded sooner
    #[arg(long, value_name = "DURATION", default_value = "24h", value_parser = values::past)]
    pub history: Duration,
    /// Time at which to stand still, so that every run shows the same; default: go on from the current time
    #[arg(long, value_name = "TIME", value_parser = values::instant, conflicts_with = "data")]
    pub until: Option<Timestamp>,
}

/// Arguments of `rebuild`.
#[derive(Clone, Debug, Args)]
pub struct RebuildArgs {
    /// Data directory with the log and the view; overrides the configuration
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA", required_unless_present_any = ["config", "server"])]
    pub data: Option<PathBuf>,
    /// Configuration file with health rules and relations; default: the built-in rules
    #[arg(long, value_name = "FILE", env = "STRANDLINE_CONFIG")]
    pub config: Option<PathBuf>,
    /// Rebuild in this running server, with the rules it was started with
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// API token; visible to other users in the process list, so prefer --token-file
    #[arg(long, value_name = "TOKEN", requires = "server", conflicts_with = "token_file")]
    pub token: Option<TokenText>,
    /// File with the API token; default: the variable STRANDLINE_TOKEN, else the login of the server's context
    #[arg(long, value_name = "FILE", requires = "server")]
    pub token_file: Option<PathBuf>,
    /// File with certificates (PEM) of authorities to trust besides those of this machine; default: STRANDLINE_CA_FILE
    #[arg(long, value_name = "FILE", requires = "server")]
    pub ca_file: Option<PathBuf>,
}

/// Arguments of `relist`.
#[derive(Clone, Debug, Args)]
pub struct RelistArgs {
    /// Only these clusters
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub cluster: Vec<String>,
    /// Only these kinds, in any form that kubectl accepts, such as deploy or deployments.apps
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub kind: Vec<String>,
    /// Which server.
    #[command(flatten)]
    pub server: AddressArgs,
}

/// Arguments of `forget`.
#[derive(Clone, Debug, Args)]
pub struct ForgetArgs {
    /// Cluster of the resources
    #[arg(long, value_name = "NAME")]
    pub cluster: String,
    /// Kind of the resources, in any form that kubectl accepts
    #[arg(long, value_name = "KIND")]
    pub kind: String,
    /// Only in this namespace
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Only the resource with this name
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Only the resource with this UID
    #[arg(long, value_name = "UID")]
    pub uid: Option<String>,
    /// Only list what would be marked as deleted
    #[arg(long)]
    pub dry_run: bool,
    /// Include resources of kinds that are being watched
    #[arg(long)]
    pub force: bool,
    /// Which server.
    #[command(flatten)]
    pub server: AddressArgs,
}

/// Arguments of `kinds`.
#[derive(Clone, Debug, Args)]
pub struct KindsArgs {
    /// Configuration file, whose clusters are queried; default: list the built-in exclusions
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Only this cluster
    #[arg(long, value_name = "NAME", requires = "config")]
    pub cluster: Option<String>,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Arguments of `token`.
#[derive(Clone, Debug, Args)]
pub struct TokenArgs {
    /// Name of the token, which appears in logs
    #[arg(long, default_value = "new-token", value_parser = token_name)]
    pub name: String,
    /// User that the token belongs to
    #[arg(long)]
    pub user: Option<String>,
    /// Expiry, as a duration such as 90d or a date such as 2027-01-31
    #[arg(long, value_name = "DURATION|TIME")]
    pub expires: Option<String>,
    /// Full paths of projects whose environments the token may read
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub project: Vec<String>,
    /// Full paths of groups whose projects, with those of subgroups, the token may read
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub group: Vec<String>,
    /// Grant write access to the same projects and groups
    #[arg(long)]
    pub write: bool,
    /// Grant access to all projects and clusters
    #[arg(long)]
    pub everything: bool,
}

fn token_name(text: &str) -> Result<String, String> {
    match EnvironmentId::new(text).is_plain() {
        true => Ok(text.to_owned()),
        false => Err("use letters, digits, `-`, `_` and `.`".to_owned()),
    }
}

#[cfg(test)]
mod tests;
