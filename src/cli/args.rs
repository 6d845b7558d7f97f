//! What the command line understands.

mod access;
mod address;
mod backup;
mod diff;
mod doctor;
mod exchange;
mod filter;
mod objects;
mod read;
mod redact;
mod subject;
mod timeline;
mod values;

pub use access::{AccessCheckArgs, AccessCommand};
pub use address::{AddressArgs, TokenText};
pub use backup::{BackupArgs, RestoreArgs};
pub use diff::{DiffArgs, DiffFormat};
pub(super) use doctor::RoleWidth;
pub use doctor::{DoctorArgs, ReportFormat};
pub use exchange::{ExportArgs, ImportArgs, ImportForm};
pub use filter::{EnvironmentsArgs, FilterArgs, OverviewArgs};
pub use objects::{EdgesArgs, HealthArgs, LineFormat, ObjectsArgs};
pub use read::{
    ColorChoice, CoverageArgs, EventsArgs, GetCommand, HistoryArgs, LeftBehindArgs, ListArgs, OutputArgs,
    OutputFormat, ReadCommand, ServerArgs, TreeArgs, VersionArgs, WhyArgs,
};
pub use redact::RedactArgs;
pub use timeline::{OnsetArgs, TimelineArgs};

pub use subject::{FindArgs, ImagesArgs, PlaceArgs, Subject};

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use strandline_model::EnvironmentId;

/// What runs in every environment of an organization's Kubernetes clusters, now and at any past moment.
#[derive(Clone, Debug, Parser)]
#[command(name = "strandline", version, about, max_term_width = 100, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Watch clusters, record their changes, and serve the API and the pages
    Serve(ServeArgs),
    /// Serve a simulated fleet, to see what this is
    Demo(DemoArgs),
    /// Build the view anew from the log, in a running server while the old one answers, or without one
    #[command(after_help = "Examples:
  strandline rebuild --server http://127.0.0.1:7979      the server builds it, and answers from the old one meanwhile
  strandline rebuild --config strandline.yaml            by the rules of a configuration; no server may be running")]
    Rebuild(RebuildArgs),
    /// Compare the record with what clusters hold, now instead of once a day
    #[command(after_help = "\
Examples:\n  strandline relist --cluster us-east                    every kind of a cluster\n  strandline relist --cluster us-east --kind Deployment   one kind")]
    Relist(RelistArgs),
    /// End what only a person can know to be gone, such as objects of a cluster that was taken away
    #[command(after_help = "Examples:
  strandline forget --cluster eu-1 --kind databases.example.dev --dry-run       what would end
  strandline forget --cluster eu-1 --kind databases.example.dev                 all of the kind, and its gap
  strandline forget --cluster eu-1 --kind pod --namespace shop --name web-0

What is watched now is refused, for its end is recorded by itself; --force ends it all the same. An object that is
there after all comes back as the same one with its next event or list. The token must write and see everything.")]
    Forget(ForgetArgs),
    /// Copy a data directory while a server writes, and verify the copy
    #[command(after_help = "Examples:
  strandline backup --data data --to backups/2026-11-22
  strandline backup --data data --to backups/2026-11-22 -o json | jq .offset")]
    Backup(BackupArgs),
    /// Put a backup into a data directory, after verifying it
    #[command(after_help = "Examples:
  strandline restore --from backups/2026-11-22 --data data
  strandline restore --from backups/2026-11-22 --data data --force")]
    Restore(RestoreArgs),
    /// Erase values that were let in, such as a credential, from what was recorded; no server may be running
    #[command(after_help = "\
Examples:\n  strandline redact --data data --value-file leaked.txt --dry-run      where it stands\n  \
strandline redact --data data --value-file - --reason 'token in an annotation' --backups backups < leaked.txt\n  \
strandline redact --data backups/2026-11-22 --value-file leaked.txt   a backup\n\n\
The values are found plain, escaped, in URLs and in Base64, and replaced by the digest that hides secrets. Versions,\n\
times and the chain of hashes stay; a mark in the record says who erased something, when and why. Change the credential\n\
first: what was read before it was erased is not taken back.")]
    Redact(RedactArgs),
    /// Write the log, or a part of it, as packed lines of JSON, while a server writes
    #[command(after_help = "Examples:
  strandline export --data data -o log.ndjson.zst
  strandline export --data data --since 7d --cluster eu-1 -o week.ndjson.zst
  strandline export --data data --environment shop.web.production | zstd -dc | jq -r .name")]
    Export(ExportArgs),
    /// Load an export, dumps of objects, or audit logs of Kubernetes into a data directory
    #[command(after_help = "Examples:
  strandline import log.ndjson.zst --data new
  strandline import dumps/*.yaml --cluster eu-1 --complete --data new       the names tell the times
  strandline import pods.json --cluster eu-1 --at 2026-11-20T09:00:00Z --data new
  strandline import audit*.log --cluster eu-1 --data new")]
    Import(ImportArgs),
    /// List the kinds that are followed, and why others are not
    #[command(after_help = "Examples:
  strandline kinds                                       what is not followed unless included
  strandline kinds --config strandline.yaml -o wide      what each cluster has")]
    Kinds(KindsArgs),
    /// Check whether a configuration can be carried out, or a data directory is sound, without changing anything
    #[command(after_help = "Examples:
  strandline doctor --config strandline.yaml
  strandline doctor --data /var/lib/strandline --full
  strandline doctor --config strandline.yaml --cluster eu-1 --rbac | kubectl --context eu-1 apply -f -
  strandline doctor --config strandline.yaml --cluster eu-1 --rbac=groups | kubectl --context eu-1 apply -f -")]
    Doctor(DoctorArgs),
    /// Tell the health of an environment or a resource over time, or judge objects of a file without a server
    #[command(after_help = "Examples:
  strandline health shop.web.production --since 7d
  strandline health --resource deploy/web -n shop --at 2h -o wide
  kubectl get pods -o json | strandline health -f -
  strandline health -f objects.yaml -o json
  strandline health -f objects.yaml --scripts argo-cd/resource_customizations
  strandline health -f cases.jsonl --check                   do objects get the health that each case wants?")]
    Health(HealthArgs),
    /// List what a resource is linked to, or tell which links objects of a file tell of without a server
    #[command(after_help = "Examples:
  strandline edges svc/web -n shop --at 2h
  kubectl get deployments,services,ingresses -o json | strandline edges -f -
  strandline edges -f objects.yaml --relations relations.yaml -o json")]
    Edges(EdgesArgs),
    /// Tell what changed between two moments, or what differs between two environments, noise left out
    #[command(after_help = "Examples:
  strandline diff shop.web.production --from 2h
  strandline diff shop.web.production --from 2026-11-20T09:00Z --to 2026-11-20T12:00Z -o json
  strandline diff shop.web.staging shop.web.production --map staging:production --ignore spec.replicas
  strandline diff --resource deploy/web -n shop --from 24h --include status
  strandline diff --resource 6f2c0a1e-0b8e-4a8f-9d43-0c6f3e0b7a11 -o patch     against the version before
  strandline diff shop.web.production --from 1h --exit-code                  ends with 1 where anything differs")]
    Diff(DiffArgs),
    /// Make a token, and print it with its entry for the configuration
    #[command(after_help = "Examples:
  strandline token --name ci-of-shop --project shop/web --write
  strandline token --name admins --everything")]
    Token(TokenArgs),
    /// Try an agent's configuration file, without a server
    #[command(subcommand)]
    Access(AccessCommand),
    /// Reads.
    #[command(flatten)]
    Read(ReadCommand),
}

/// What to serve.
#[derive(Clone, Debug, Args)]
pub struct ServeArgs {
    /// The configuration
    #[arg(long, value_name = "FILE", env = "STRANDLINE_CONFIG")]
    pub config: PathBuf,
    /// Where to listen; goes before what the configuration says
    #[arg(long, value_name = "ADDR:PORT", env = "STRANDLINE_LISTEN", value_parser = values::listener)]
    pub listen: Option<SocketAddr>,
    /// Where the log and the view are kept; goes before what the configuration says
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA")]
    pub data: Option<PathBuf>,
    /// Keep the log on a network or FUSE filesystem, though locks may not hold there
    #[arg(long)]
    pub allow_network_filesystem: bool,
    /// Let everybody read everything where others than this machine can reach the address and no token is configured
    #[arg(long)]
    pub allow_anonymous_read: bool,
}

/// What to simulate.
#[derive(Clone, Debug, Args)]
pub struct DemoArgs {
    /// Where to listen
    #[arg(
        long,
        value_name = "ADDR:PORT",
        env = "STRANDLINE_LISTEN",
        default_value = "127.0.0.1:7979",
        value_parser = values::listener
    )]
    pub listen: SocketAddr,
    /// Where the log and the view are kept; without it, in a directory that ends with the demo
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Decides what happens in the simulated fleet
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = values::number(0..=u64::MAX))]
    pub seed: u64,
}

/// What to rebuild.
#[derive(Clone, Debug, Args)]
pub struct RebuildArgs {
    /// Where the log and the view are kept; goes before what the configuration says
    #[arg(long, value_name = "DIR", env = "STRANDLINE_DATA", required_unless_present_any = ["config", "server"])]
    pub data: Option<PathBuf>,
    /// The configuration whose rules judge; without it the program's own do
    #[arg(long, value_name = "FILE", env = "STRANDLINE_CONFIG")]
    pub config: Option<PathBuf>,
    /// Let this server build it, by the rules that it was started with
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// Token for the server; others on this machine can see it in the list of processes, so rather use --token-file
    #[arg(long, value_name = "TOKEN", requires = "server", conflicts_with = "token_file")]
    pub token: Option<TokenText>,
    /// File that holds the token; without --token and this, STRANDLINE_TOKEN is sent where it is set
    #[arg(long, value_name = "FILE", requires = "server")]
    pub token_file: Option<PathBuf>,
}

/// What to compare.
#[derive(Clone, Debug, Args)]
pub struct RelistArgs {
    /// Only these clusters
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub cluster: Vec<String>,
    /// Only these kinds, such as Deployment or Deployment.apps
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub kind: Vec<String>,
    /// Which server.
    #[command(flatten)]
    pub server: AddressArgs,
}

/// What is gone.
#[derive(Clone, Debug, Args)]
pub struct ForgetArgs {
    /// The cluster it was in
    #[arg(long, value_name = "NAME")]
    pub cluster: String,
    /// Its kind, as kubectl takes it
    #[arg(long, value_name = "KIND")]
    pub kind: String,
    /// Only in this namespace
    #[arg(short, long, value_name = "NAME")]
    pub namespace: Option<String>,
    /// Only what has this name
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Only what has this uid
    #[arg(long, value_name = "UID")]
    pub uid: Option<String>,
    /// Only tell what would end
    #[arg(long)]
    pub dry_run: bool,
    /// End it though it is watched now
    #[arg(long)]
    pub force: bool,
    /// Which server.
    #[command(flatten)]
    pub server: AddressArgs,
}

/// Whose kinds to list.
#[derive(Clone, Debug, Args)]
pub struct KindsArgs {
    /// Ask the clusters of this configuration; without it the defaults are listed
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Only this cluster
    #[arg(long, value_name = "NAME", requires = "config")]
    pub cluster: Option<String>,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// What the token is to be for.
#[derive(Clone, Debug, Args)]
pub struct TokenArgs {
    /// Its name, which logs tell
    #[arg(long, default_value = "new-token", value_parser = token_name)]
    pub name: String,
    /// Whose it is
    #[arg(long)]
    pub user: Option<String>,
    /// How long it is good for, such as 90d, or until when, such as 2027-01-31
    #[arg(long, value_name = "DURATION|TIME")]
    pub expires: Option<String>,
    /// Full paths of projects whose environments it sees
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub project: Vec<String>,
    /// Full paths of groups below which it sees every project
    #[arg(long, value_name = "PATH", value_delimiter = ',')]
    pub group: Vec<String>,
    /// It may also write, of what it sees
    #[arg(long)]
    pub write: bool,
    /// It sees everything
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
