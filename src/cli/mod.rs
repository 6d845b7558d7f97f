//! The command line: what it understands, and the commands that read from a server.
//!
//! Commands that read are clients of a running server and print like kubectl. Commands that serve are only
//! understood here; [`crate::service`] runs them.

mod args;
mod client;
mod error;
mod output;
mod read;
mod table;
mod tree;
mod views;

pub use args::{
    Cli, ColorChoice, Command, DemoArgs, GetCommand, HistoryArgs, ListArgs, OutputArgs, OutputFormat,
    ReadCommand, RebuildArgs, ServeArgs, ServerArgs, TreeArgs, VersionArgs,
};
pub use error::{CliError, Exit};
pub use read::run as read;
