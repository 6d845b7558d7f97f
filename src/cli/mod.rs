//! The command line: what it understands, and the commands that read from a server.
//!
//! Commands that read are clients of a running server and print like kubectl. Commands that serve are only
//! understood here; [`crate::service`] runs them. `kinds` and `doctor` ask the clusters themselves.

mod access;
mod args;
mod catalog;
mod client;
mod coverage;
mod doctor;
mod documents;
mod edges;
mod error;
mod health;
mod health_history;
mod kinds;
mod line;
mod objects;
mod output;
mod overview;
mod read;
mod serve;
mod table;
mod token;
mod tree;
mod views;
mod why;

use tokio::runtime::{Builder, Runtime};

pub use args::{
    AccessCheckArgs, AccessCommand, Cli, ColorChoice, Command, CoverageArgs, DemoArgs, DoctorArgs, EdgesArgs,
    EnvironmentsArgs, EventsArgs, FilterArgs, GetCommand, HealthArgs, HistoryArgs, KindsArgs, LeftBehindArgs,
    LineFormat, ListArgs, ObjectsArgs, OutputArgs, OutputFormat, OverviewArgs, ReadCommand, RebuildArgs,
    ReportFormat, ServeArgs, ServerArgs, TokenArgs, TokenText, TreeArgs, VersionArgs, WhyArgs,
};
pub use error::{CliError, Exit};

/// What a command that asks others runs on: it mostly waits, so one thread is enough.
fn runtime() -> Result<Runtime, CliError> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CliError::new("starting", error))
}

/// Carries out a command.
///
/// # Errors
/// With what failed, why, and what to do about it.
pub fn run(cli: &Cli) -> Result<(), CliError> {
    match &cli.command {
        Command::Serve(args) => serve::serve(args),
        Command::Demo(args) => serve::demo(args),
        Command::Rebuild(args) => serve::rebuild(args),
        Command::Kinds(args) => kinds::run(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Health(args) => health::health(args),
        Command::Edges(args) => edges::run(args),
        Command::Token(args) => token::run(args),
        Command::Access(AccessCommand::Check(args)) => access::check(args),
        Command::Read(command) => read::run(command),
    }
}
