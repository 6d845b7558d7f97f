//! `strandline backup` and `strandline restore`.

use std::time::Instant;

use serde_json::json;

use super::args::{BackupArgs, RestoreArgs};
use super::error::{CliError, Exit};
use super::output::{report_text, write};
use super::stderr::note;
use crate::backup::{self, BackupError, LastBackup, Manifest};
use crate::format::{clock_time, in_bytes, visible};
use strandline_clock::{Clock, SystemClock};

/// `strandline backup`.
pub(super) fn backup(args: &BackupArgs) -> Result<(), CliError> {
    let begun = Instant::now();
    let manifest =
        backup::backup(&args.data, &args.to, SystemClock.now()).map_err(failure("making a backup"))?;
    let took_ms = begun.elapsed().as_millis() as u64;
    if let Err(error) = LastBackup::from(&manifest).write(&args.data) {
        let data = args.data.display().to_string();
        note!(
            "strandline: the backup is whole, but {} does not take a note of it ({error}): \
             strandline_backup_last_success_timestamp_seconds stays as it was",
            visible(&data)
        );
    }
    let value = json!({
        "path": args.to.display().to_string(), "offset": manifest.head, "observed_at": manifest.observed_at,
        "complete_from": manifest.complete_from, "complete_since": manifest.complete_since, "made_at": manifest.made_at, "bytes": manifest.bytes(), "took_ms": took_ms, "verified": true,
    });
    let text = || {
        let key =
            if manifest.has_key() { "" } else { "it has no redaction.key, so copy that file separately\n" };
        let (size, path) = (in_bytes(manifest.bytes()), args.to.display().to_string());
        format!(
            "{}: {}, {size} in {:.1} s, verified\n{key}",
            visible(&path),
            up_to(&manifest),
            took_ms as f64 / 1000.0
        )
    };
    write(&report_text(args.output, &value, text)?)
}

/// `strandline restore`.
pub(super) fn restore(args: &RestoreArgs) -> Result<(), CliError> {
    let restored = backup::restore(&args.from, &args.data, args.force, SystemClock.now())
        .map_err(failure("restoring a backup"))?;
    let data = args.data.display().to_string();
    let mut text = format!("{}: {}, verified\n", visible(&data), up_to(&restored.manifest));
    if let Some(aside) = restored.aside {
        let aside = aside.display().to_string();
        text.push_str(&format!("the previous data was moved to {}\n", visible(&aside)));
    }
    text.push_str("the next start rebuilds the view from the log\n");
    write(&text)
}

/// What of the log is in a backup.
fn up_to(manifest: &Manifest) -> String {
    let time = manifest.observed_at.map(|time| format!(", {}", clock_time(time)));
    let since = manifest.complete_since.map(|since| format!(", complete since {}", clock_time(since)));
    format!("offset {}{}{}", manifest.head, time.unwrap_or_default(), since.unwrap_or_default())
}

fn failure(what: &'static str) -> impl Fn(BackupError) -> CliError {
    move |error| {
        let hint = error.hint();
        let usage = matches!(
            error,
            BackupError::NoLog { .. }
                | BackupError::Exists { .. }
                | BackupError::Occupied { .. }
                | BackupError::NoBackup { .. }
        );
        let error = CliError::new(what, error).exit(if usage { Exit::Usage } else { Exit::Failure });
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}
