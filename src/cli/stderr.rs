//! Standard error: what accompanies an answer, such as warnings, the time it holds for, and why a command failed.
//!
//! The standard library's macros panic where standard error is full or closed. Here the command goes on, because its answer
//! may be wanted all the same, and does not end as if all had been told.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use super::error::{CliError, Exit, Outcome};
use super::suggestions::only_alike;

/// Whether something could not be written.
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Writes a line to standard error, as `eprintln!` does.
macro_rules! note {
    ($($text:tt)*) => {
        $crate::cli::stderr::line(format_args!($($text)*))
    };
}

pub(super) use note;

/// Writes a line.
pub(super) fn line(line: Arguments<'_>) {
    text(format_args!("{line}\n"));
}

/// Writes a text.
pub(super) fn text(text: Arguments<'_>) {
    // In one piece, so that another program's line does not come in between.
    if is_lost(io::stderr().lock().write_all(text.to_string().as_bytes())) {
        IS_LOST.store(true, Ordering::Relaxed);
    }
}

/// Writes what nobody misses, such as how far something is.
pub(super) fn passing(text: Arguments<'_>) {
    // Nobody may be looking; the work continues.
    let _ = io::stderr().lock().write_all(text.to_string().as_bytes());
}

/// Whether this was to be read and is not; a reader that has seen enough is none of it, as with standard output.
fn is_lost(written: io::Result<()>) -> bool {
    written.is_err_and(|error| error.kind() != ErrorKind::BrokenPipe)
}

/// Prints why a command failed, and says how the program ends.
pub fn ended(result: Result<Outcome, CliError>) -> ExitCode {
    let code = match result {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            line(format_args!("{}", error.lines()));
            return error.exit.into();
        }
    };
    // A warning that nobody got must not pass for none.
    if IS_LOST.load(Ordering::Relaxed) { Exit::Failure.into() } else { code }
}

/// The same of a command line that is not understood, or that asks for help.
pub fn refused(error: clap::Error) -> ExitCode {
    let error = only_alike(error);
    let code = match error.exit_code() {
        0 => ExitCode::SUCCESS,
        _ => Exit::Usage.into(),
    };
    // Help and versions go to standard output.
    let result = error.print().and_then(|()| io::stdout().flush());
    if is_lost(result) && !error.use_stderr() {
        return ended(Err(CliError::new("writing to standard output", "it is full or closed")));
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_somebody_could_have_read_is_lost() {
        for (result, expected) in [
            (Ok(()), false),
            (Err(ErrorKind::BrokenPipe), false),
            (Err(ErrorKind::StorageFull), true),
            (Err(ErrorKind::Other), true),
        ] {
            assert_eq!(is_lost(result.map_err(io::Error::from)), expected, "{result:?}");
        }
    }
}
