//! The `strandline` command.

use std::process::ExitCode;

use strandline::cli;
use strandline_sqlite::keep_private;

fn main() -> ExitCode {
    keep_private();
    match cli::answer_shell() {
        Ok(true) => return ExitCode::SUCCESS,
        Ok(false) => {}
        Err(error) => return cli::refused(error),
    }
    match cli::parse(std::env::args_os()) {
        Ok(command) => cli::ended(cli::run(&command)),
        Err(error) => cli::refused(error),
    }
}
