//! `strandline export` and `strandline import`.

use std::io::{self, IsTerminal};
use std::path::Path;

use serde_json::to_value;

use super::args::{ExportArgs, ImportArgs, ImportForm};
use super::error::{CliError, Exit};
use super::output::{report_text, write};
use super::stderr::note;
use crate::format::{clock_time, grouped, in_bytes, visible};
use crate::transfer::{self, Content, Dump, Exported, Imported, Selection, TransferError};
use strandline_clock::{Clock, SystemClock};
use strandline_redact::Rules;
use strandline_sqlite::{create_directories, redaction_key};

const EXPORTING: &str = "exporting the log";
const IMPORTING: &str = "importing";

/// `strandline export`.
pub(super) fn export(args: &ExportArgs) -> Result<(), CliError> {
    let selection = Selection {
        since: args.since,
        until: args.until,
        clusters: args.cluster.clone(),
        environments: args.environment.clone(),
    };
    let now = SystemClock.now();
    let exported = match &args.output {
        Some(path) if path != Path::new("-") => transfer::export_file(&args.data, &selection, now, path),
        _ if io::stdout().is_terminal() => {
            return Err(CliError::new(EXPORTING, "refusing to write compressed data to a terminal")
                .hint("use --output FILE, or pipe the output to a program")
                .exit(Exit::Usage));
        }
        _ => transfer::export(&args.data, &selection, now, io::stdout().lock(), Path::new("standard output")),
    };
    let Exported { from, to, complete_from, changes, bytes } = exported.map_err(failure(EXPORTING))?;
    note!("{} changes, offsets {from} to {to}, {} uncompressed", grouped(changes), in_bytes(bytes));
    if complete_from > from {
        note!(
            "complete from offset {complete_from}; of earlier changes, only the state current at that offset was kept by retention"
        );
    }
    Ok(())
}

/// `strandline import`.
pub(super) fn import(args: &ImportArgs) -> Result<(), CliError> {
    let imported = match form(args)? {
        Content::Log => transfer::import_log(&args.files, &args.data).map_err(failure(IMPORTING))?,
        Content::Objects => {
            let (cluster, dumps) = (cluster(args)?, dumps(args)?);
            let complete = args.complete;
            transfer::import_objects(&dumps, cluster, complete, &args.data, &rules(args)?)
                .map_err(failure(IMPORTING))?
        }
        Content::Audit => {
            let cluster = cluster(args)?;
            transfer::import_audit(&args.files, cluster, &args.data, &rules(args)?)
                .map_err(failure(IMPORTING))?
        }
    };
    let value = to_value(&imported).map_err(|error| CliError::new("writing the summary", error))?;
    write(&report_text(args.summary, &value, || summary(&imported))?)
}

/// What all the files hold.
fn form(args: &ImportArgs) -> Result<Content, CliError> {
    if let Some(form) = args.form {
        return Ok(match form {
            ImportForm::Log => Content::Log,
            ImportForm::Objects => Content::Objects,
            ImportForm::Audit => Content::Audit,
        });
    }
    let mut form = None;
    for path in &args.files {
        let content = transfer::content_of(path).map_err(failure(IMPORTING))?;
        if *form.get_or_insert(content) != content {
            let why = format!("{} has a different format than the files before it", path.display());
            return Err(CliError::new(IMPORTING, why)
                .hint("import files of one format at a time, or set --form")
                .exit(Exit::Usage));
        }
    }
    Ok(form.unwrap_or(Content::Objects))
}

fn cluster(args: &ImportArgs) -> Result<&str, CliError> {
    args.cluster.as_deref().filter(|name| !name.is_empty()).ok_or_else(|| {
        CliError::new(IMPORTING, "the files do not name their cluster")
            .hint("set --cluster to the cluster's name in the configuration")
            .exit(Exit::Usage)
    })
}

/// The moment of each dump.
fn dumps(args: &ImportArgs) -> Result<Vec<Dump>, CliError> {
    let unknown = |path: &Path| {
        CliError::new(IMPORTING, format!("the name of {} contains no time", path.display()))
            .hint("set --at, or rename the file, for example to pods-2026-11-20T09-00-00Z.yaml")
            .exit(Exit::Usage)
    };
    let dump = |path: &std::path::PathBuf| {
        let at = args.at.or_else(|| transfer::time_in_name(path)).ok_or_else(|| unknown(path))?;
        Ok(Dump { path: path.clone(), at })
    };
    args.files.iter().map(dump).collect()
}

/// What is hidden, with the key of the directory, so that a value that did not change does not look changed later.
fn rules(args: &ImportArgs) -> Result<Rules, CliError> {
    let config = args.config.as_deref().map(super::serve::load).transpose()?;
    let data = &args.data;
    let key = create_directories(data).and_then(|()| redaction_key(data));
    let key = key.map_err(|error| CliError::new(format!("using {}", data.display()), error))?;
    Ok(Rules::new(key).with(config.map(|config| config.redact).unwrap_or_default()))
}

fn summary(imported: &Imported) -> String {
    let Imported { read, written, unchanged, head, .. } = imported;
    let mut text = format!("{} read, {} changes written", grouped(*read), grouped(*written));
    if *unchanged > 0 {
        text.push_str(&format!(", {} unchanged", grouped(*unchanged)));
    }
    if let (Some(first), Some(last)) = (imported.first, imported.last) {
        text.push_str(&format!("\nfrom {} to {}", clock_time(first), clock_time(last)));
    }
    text.push_str(&format!("\nthe log now ends at offset {head}\n"));
    for (reason, skipped) in &imported.skipped {
        let (count, first) = (grouped(skipped.count), visible(&skipped.first));
        text.push_str(&format!("skipped {count}: {reason}, first {first}\n"));
    }
    text
}

fn failure(what: &'static str) -> impl Fn(TransferError) -> CliError {
    move |error| {
        let hint = error.hint();
        let internal =
            matches!(error, TransferError::Log(_) | TransferError::Lock(_) | TransferError::Io { .. });
        let error = CliError::new(what, error).exit(if internal { Exit::Failure } else { Exit::Usage });
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}
