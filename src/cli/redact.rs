//! `strandline redact`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_json::{Value, json};

use super::args::RedactArgs;
use super::error::{CliError, Exit};
use super::output::{report_text, write};
use super::progress::Progress;
use super::serve::log_to_stderr;
use crate::erasure::{self, Elsewhere, ErasureError, Report, Request};
use crate::format::{clock_time, visible};
use strandline_clock::SystemClock;
use strandline_log::EraseStep;
use strandline_model::{Offset, Timestamp, Uid};

const WHAT: &str = "erasing values";

/// Bytes of a file of values that are read at most: more are refused in any case.
const READ_MAX: u64 = 1024 * 1024;

/// Runs the command; fails where a value is still in a place that was looked at.
pub(super) fn run(args: &RedactArgs) -> Result<(), CliError> {
    log_to_stderr("warn");
    let request = Request {
        values: values(args)?,
        uid: args.uid.as_deref().map(Uid::new),
        by: args.by.clone().unwrap_or_else(who),
        reason: args.reason.clone(),
        backups: args.backups.clone(),
    };
    let mut progress = Progress::new(0);
    let mut watch = |step| {
        if let EraseStep::Looked(done, all) = step {
            progress.update(done, all);
        }
    };
    let report = match args.dry_run {
        true => erasure::look(&args.data, &request, &mut watch),
        false => erasure::erase(&args.data, &request, &SystemClock, &mut watch),
    };
    progress.end();
    let report = report.map_err(failure)?;
    let text = || text(&report, args.dry_run);
    write(&report_text(args.output, &value(&report, args.dry_run), text)?)?;
    if report.found.kept_in.is_empty() && report.elsewhere.is_empty() || args.dry_run {
        return Ok(());
    }
    Err(CliError::new(WHAT, "some places were not erased, as listed above")
        .hint("erase values from each backup with `strandline redact --data BACKUP`, and delete other files"))
}

fn failure(error: ErasureError) -> CliError {
    let (hint, usage) = (error.hint(), error.is_usage());
    let error = CliError::new(WHAT, error).exit(if usage { Exit::Usage } else { Exit::Failure });
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}

/// The values, which are never on the command line: others see that.
fn values(args: &RedactArgs) -> Result<Vec<String>, CliError> {
    let failed = |error: io::Error| CliError::new("reading the values", error).exit(Exit::Usage);
    let mut text = String::new();
    let read = match args.value_file.as_path() {
        path if path == Path::new("-") => io::stdin().lock().take(READ_MAX).read_to_string(&mut text),
        path => File::open(path).and_then(|file| file.take(READ_MAX).read_to_string(&mut text)),
    };
    read.map_err(failed)?;
    Ok(match args.whole_file {
        true => vec![text.trim_end_matches(['\r', '\n']).to_owned()],
        false => text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect(),
    })
}

/// The user and the machine, as far as they are known.
fn who() -> String {
    let user = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let host = host.as_deref().map(str::trim).filter(|host| !host.is_empty());
    let user = user.unwrap_or_else(|| "somebody".to_owned());
    host.map_or(user.clone(), |host| format!("{user}@{host}"))
}

fn value(report: &Report, dry_run: bool) -> Value {
    let found = &report.found;
    let at = |at: Option<(Offset, Timestamp)>| {
        at.map(|(offset, time)| json!({"offset": offset, "observed_at": time}))
    };
    let holders: Vec<Value> = found
        .holders
        .iter()
        .map(|holder| {
            json!({"resource": holder.name, "uid": holder.uid, "changes": holder.changes, "fields": holder.fields})
        })
        .collect();
    let elsewhere = |place: &Elsewhere| json!({"path": place.path.display().to_string(), "changes": place.changes, "unread": place.unread});
    json!({
        "dry_run": dry_run, "changes": found.changes, "first": at(found.first), "last": at(found.last),
        "resources": holders, "kept_in": found.kept_in,
        "elsewhere": report.elsewhere.iter().map(elsewhere).collect::<Vec<_>>(),
    })
}

fn text(report: &Report, dry_run: bool) -> String {
    let found = &report.found;
    let mut lines = Vec::new();
    let done = if dry_run { "would be erased" } else { "erased" };
    lines.push(match (found.first, found.last) {
        (Some((first, since)), Some((last, until))) => format!(
            "{done} from {} changes of {} resources: offsets {first} to {last}, {} to {}",
            found.changes,
            found.holders.len(),
            clock_time(since),
            clock_time(until)
        ),
        _ => "no change contains any of the values".to_owned(),
    });
    for holder in &found.holders {
        let fields: Vec<&str> = holder.fields.iter().map(String::as_str).collect();
        lines.push(format!("  {}: {} changes, in {}", holder.name, holder.changes, fields.join(", ")));
    }
    for place in &found.kept_in {
        lines.push(format!("not erased, because the hash chain covers it: {place}"));
    }
    for Elsewhere { path, changes, unread } in &report.elsewhere {
        let path = path.display();
        lines.push(match (changes, unread) {
            (_, Some(why)) => format!("cannot read {path}: {why}"),
            (Some(changes), None) => format!("{path} contains a value in {changes} changes"),
            (None, None) => format!("{path} contains a value"),
        });
    }
    if let Some((_, since)) = found.first {
        lines.push(format!(
            "every backup made after {} contains it unless it is erased there too",
            clock_time(since)
        ));
    }
    if !dry_run {
        lines.push("the next start rebuilds the view from the log".to_owned());
    }
    lines.iter().map(|line| format!("{}\n", visible(line))).collect()
}
