//! Whether SQLite, the log and the view are as they should be.

use std::path::Path;

use super::report::Check;
use crate::service::ServiceError;
use strandline_log::{Floor, LogState};
use strandline_view::ViewState;

/// Checks the program's SQLite and the files of a data directory.
pub(super) fn check(directory: &Path) -> Vec<Check> {
    let (version, safe) = strandline_sqlite::sqlite_version();
    let sqlite = if safe {
        Check::ok("SQLite", format!("version {version}"))
    } else {
        Check::problem("SQLite", format!("version {version} has a bug that can corrupt a log"))
            .hint("build this program with SQLite 3.51.3 or newer")
    };
    let mut checks = vec![sqlite];
    match strandline_log::inspect(directory) {
        Ok(None) => checks.push(Check::ok("log", "it does not exist yet")),
        Ok(Some(state)) => {
            checks.push(log_found(state));
            if is_quickly_read(directory) {
                checks.extend(times_found(directory));
            }
            checks.push(view_found(strandline_view::inspect(directory)));
        }
        Err(error) => {
            let error = ServiceError::from(error);
            checks.push(Check::problem("log", error.to_string()).maybe_hint(error.hint()));
        }
    }
    checks
}

/// Whether all of the log is read within seconds.
fn is_quickly_read(directory: &Path) -> bool {
    std::fs::metadata(directory.join("log.db")).is_ok_and(|file| file.len() <= 256 << 20)
}

/// The same of a log that takes long to read.
pub(super) fn check_fully(directory: &Path) -> Vec<Check> {
    if is_quickly_read(directory) { Vec::new() } else { times_found(directory) }
}

/// Changes whose recorded times are wrong.
fn times_found(directory: &Path) -> Vec<Check> {
    match strandline_log::find_wrong_times(directory) {
        Ok(found) => found
            .iter()
            .map(|wrong| {
                Check::warning(
                    "log",
                    format!("{wrong}; answers about that period are wrong, without a warning"),
                )
                .hint("stop the server and mark them with `strandline doctor --data DIR --mend-clock`")
            })
            .collect(),
        Err(error) => vec![Check::problem("log", error.to_string())],
    }
}

/// Kinds of clusters that are named at most.
const KINDS: usize = 5;

fn log_found(LogState { schema, head, compacted, mut floors }: LogState) -> Check {
    let kept = match compacted.observed_at {
        Some(time) => format!("; available from offset {} of {time}", compacted.offset),
        None => String::new(),
    };
    floors.retain(|floor| floor.offset > compacted.offset);
    let more = floors.len().saturating_sub(KINDS);
    let named = floors.iter().take(KINDS).map(|Floor { cluster, kind, offset, observed_at, .. }| {
        format!("; {kind} of {cluster} has a shorter retention, from offset {offset} of {observed_at}")
    });
    let kinds: String = named.chain((more > 0).then(|| format!("; and {more} more kinds"))).collect();
    let message =
        format!("schema {schema}, {head} changes{kept}{kinds}; its head matches the last acknowledged one");
    Check::ok("log", message)
}

fn view_found(state: ViewState) -> Check {
    match state {
        ViewState::Current(checkpoint) => {
            Check::ok("view", format!("contains the log up to offset {checkpoint}"))
        }
        ViewState::Missing => {
            Check::ok("view", "it does not exist yet; the next start builds it from the log")
        }
        ViewState::Outdated => Check::warning("view", "is damaged or of another version")
            .hint("no action needed: the next start rebuilds it from the log"),
    }
}
