//! The `strandline` command.

use std::process::ExitCode;

use clap::Parser;
use strandline::cli::{self, Cli, Command};
use strandline::service;

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(args) => service::serve(&args),
        Command::Demo(args) => service::demo(&args),
        Command::Rebuild(args) => service::rebuild(&args),
        Command::Read(command) => cli::read(&command),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", error.lines());
            error.exit.into()
        }
    }
}
