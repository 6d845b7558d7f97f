//! The `strandline` command.

use std::process::ExitCode;

use clap::Parser;
use strandline::cli::{self, Cli};
use strandline_sqlite::keep_private;

fn main() -> ExitCode {
    keep_private();
    match cli::run(&Cli::parse()) {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            eprintln!("{}", error.lines());
            error.exit.into()
        }
    }
}
