//! The command line: what it understands, and the commands that read from a server.
//!
//! Commands that read are clients of a running server and print like kubectl. Commands that serve are only
//! understood here; [`crate::service`] runs them. `kinds` and `doctor` ask the clusters themselves.

mod access;
mod address;
mod answers;
mod args;
mod backup;
mod catalog;
mod changes;
mod client;
mod completion;
mod config;
mod context;
mod contexts;
mod coverage;
mod deployments;
mod diff;
mod doctor;
mod edges;
mod error;
mod events;
mod field_path;
mod follow;
mod forget;
mod habits;
mod health;
mod health_cases;
mod health_history;
mod images;
#[cfg(test)]
mod incidents;
mod kinds;
mod line;
mod login;
mod man;
mod manifest;
mod now;
mod objects;
mod oidc;
mod onset;
mod open;
mod output;
mod overview;
mod parse;
mod probe;
mod progress;
mod query;
mod read;
mod rebuild;
mod redact;
mod relist;
mod runtime;
mod search;
mod serve;
mod stderr;
mod suggestions;
mod table;
mod template;
mod timeline;
mod tls;
mod token;
mod transfer;
mod tree;
mod views;
mod wait;
mod watch;
mod whoami;
mod why;

pub use args::{
    AccessCheckArgs, AccessCommand, AddressArgs, BackupArgs, ChangesArgs, Cli, ColorChoice, Command,
    CompletionArgs, ConfigCommand, ConfigFileArgs, ContextCommand, CoverageArgs, DeclaredArgs, DemoArgs,
    DeploymentsArgs, DiffArgs, DiffFormat, DoctorArgs, EdgesArgs, EnvironmentsArgs, EventsArgs, ExportArgs,
    FilterArgs, FindArgs, ForgetArgs, GetCommand, HealthArgs, HistoryArgs, ImagesArgs, ImportArgs,
    ImportForm, KindsArgs, LeftBehindArgs, LineFormat, ListArgs, LoginArgs, LoginFlow, LogoutArgs, ManArgs,
    ObjectsArgs, OnsetArgs, OpenArgs, OutputArgs, OutputFormat, OverviewArgs, PlaceArgs, ProbeArgs,
    ReadCommand, RebuildArgs, RedactArgs, RelistArgs, ReportFormat, RestoreArgs, SearchArgs, ServeArgs,
    ServerArgs, Subject, TimelineArgs, TokenArgs, TokenText, TreeArgs, VersionArgs, WaitArgs, WaitCondition,
    WatchArgs, WhoamiArgs, WhyArgs,
};
pub use completion::answer_shell;
pub use error::{CliError, Exit, Outcome};
pub use parse::parse;
pub use stderr::{ended, refused};

/// Carries out a command.
///
/// # Errors
/// With what failed, why, and what to do about it.
pub fn run(cli: &Cli) -> Result<Outcome, CliError> {
    let done = match &cli.command {
        Command::Diff(args) => return diff::run(args),
        Command::Health(args) => return health::health(args),
        Command::Serve(args) => serve::serve(args),
        Command::Demo(args) => serve::demo(args),
        Command::Rebuild(args) => rebuild::run(args),
        Command::Relist(args) => relist::run(args),
        Command::Forget(args) => forget::run(args),
        Command::Backup(args) => backup::backup(args),
        Command::Restore(args) => backup::restore(args),
        Command::Redact(args) => redact::run(args),
        Command::Export(args) => transfer::export(args),
        Command::Import(args) => transfer::import(args),
        Command::Kinds(args) => kinds::run(args),
        Command::Config(command) => config::run(command),
        Command::Doctor(args) => doctor::run(args),
        Command::Probe(args) => probe::run(args),
        Command::Manifest => manifest::run(),
        Command::Edges(args) => edges::run(args),
        Command::Token(args) => token::run(args),
        Command::Login(args) => login::login(args),
        Command::Logout(args) => login::logout(args),
        Command::Whoami(args) => whoami::run(args),
        Command::Context(command) => context::run(command),
        Command::Access(AccessCommand::Check(args)) => access::check(args),
        Command::Open(args) => open::run(args),
        Command::Completion(args) => completion::run(args),
        Command::Man(args) => man::run(args),
        Command::Read(command) => read::run(command),
    };
    done.map(|()| Outcome::Done)
}
