//! The `strandline` command.

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};
use strandline::cli::{self, Cli};
use strandline_sqlite::keep_private;

/// The command, or what is wrong with it.
fn parsed() -> Result<Cli, clap::Error> {
    let args = cli::reorder(std::env::args_os());
    let mut command = Cli::command();
    if cli::is_kubectl_plugin(args.first().map(AsRef::as_ref)) {
        command = command.bin_name("kubectl strandline");
    }
    let matches = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

fn main() -> ExitCode {
    keep_private();
    match cli::answer_shell() {
        Ok(true) => return ExitCode::SUCCESS,
        Ok(false) => {}
        Err(error) => return cli::refused(error),
    }
    match parsed() {
        Ok(command) => cli::ended(cli::run(&command)),
        Err(error) => cli::refused(error),
    }
}
