//! The `strandline` command.

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use strandline::cli::{self, Cli};
use strandline_sqlite::keep_private;

/// The command; what is wrong with it is printed, and ends the program.
fn parsed() -> Cli {
    let args = cli::reorder(std::env::args_os());
    let mut command = Cli::command();
    if cli::is_kubectl_plugin(args.first().map(AsRef::as_ref)) {
        command = command.bin_name("kubectl strandline");
    }
    let matches = command.get_matches_from(args);
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

fn main() -> ExitCode {
    keep_private();
    match cli::answer_shell() {
        Ok(true) => return ExitCode::SUCCESS,
        Ok(false) => {}
        Err(error) => error.exit(),
    }
    match cli::run(&parsed()) {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            eprintln!("{}", error.lines());
            error.exit.into()
        }
    }
}
