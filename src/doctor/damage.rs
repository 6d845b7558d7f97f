//! Whether every byte of the log and of the view that means something is as it was written.

use std::path::Path;

use super::report::Check;
use crate::service::ServiceError;
use strandline_log::{Examination, Harm};
use strandline_model::Erasure;

const LOG: &str = "log in full";
const VIEW: &str = "view in full";

/// Reads all of both.
pub(super) fn check(directory: &Path, progress: &mut dyn FnMut(u64, u64)) -> Vec<Check> {
    let mut checks = match strandline_log::examine(directory, progress) {
        // Who wants all of it read means one that is there: a backup whose name is mistyped is not intact.
        Ok(None) => {
            let message = format!("{} has no log to read", directory.display());
            return vec![Check::problem(LOG, message).hint("name the data directory that holds log.db")];
        }
        Ok(Some(examination)) => judge(&examination),
        Err(error) => {
            let error = ServiceError::from(error);
            vec![Check::problem(LOG, error.to_string()).maybe_hint(error.hint())]
        }
    };
    checks.push(view(strandline_view::examine(directory)));
    checks
}

fn judge(examination: &Examination) -> Vec<Check> {
    let Examination { head, changes, findings, erasures } = examination;
    let erased = erasures.iter().map(|(time, erasure)| {
        let Erasure { by, reason, bodies, .. } = erasure;
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        let count = bodies.len();
        Check::ok(LOG, format!("{by} erased values from {count} recorded bodies at {time}{reason}"))
    });
    if findings.is_empty() {
        let but = if erasures.is_empty() { "" } else { ", except for erased values" };
        let message = format!("all {changes} changes up to offset {head} are intact{but}");
        return std::iter::once(Check::ok(LOG, message)).chain(erased).collect();
    }
    let hint = |harm: Harm| match harm {
        Harm::End => {
            "restore a backup, or continue without these changes with `strandline doctor --data DIR --accept-loss`"
        }
        _ => {
            "restore a backup, or salvage readable records into a new log with `strandline doctor --data DIR --salvage NEW`"
        }
    };
    let check =
        |finding: &strandline_log::Finding| Check::problem(LOG, finding.to_string()).hint(hint(finding.harm));
    findings.iter().map(check).chain(erased).collect()
}

fn view(damage: Vec<String>) -> Check {
    match damage.as_slice() {
        [] => Check::ok(VIEW, "its pages are intact, and it was built from this log"),
        [first, more @ ..] => {
            let more = if more.is_empty() { String::new() } else { format!(", and {} more", more.len()) };
            Check::warning(VIEW, format!("{first}{more}"))
                .hint("rebuild it from the log with `strandline rebuild --data DIR`")
        }
    }
}
