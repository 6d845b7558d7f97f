//! Commands that run the service in this process.

use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

use super::args::{DemoArgs, ServeArgs};
use super::error::{CliError, Exit};
use super::progress::Progress;
use crate::config::{Config, ConfigError, Overrides};
use crate::service::{self, DemoOptions, Options, RetentionConfig, ServiceError, TraceExporter};

/// `strandline serve`.
pub(super) fn serve(args: &ServeArgs) -> Result<(), CliError> {
    let config = load(&args.config)?;
    let exporter = config.traces.clone().map(TraceExporter::new);
    log_with_traces("info", exporter.as_ref());
    if !args.allow_network_filesystem {
        let data = args.data.as_deref().unwrap_or(&config.data);
        service::check_filesystem(data).map_err(failure("serving"))?;
    }
    let overrides = Overrides {
        listen: args.listen,
        data: args.data.clone(),
        allow_anonymous_read: args.allow_anonymous_read,
    };
    let options = config.into_options(&args.config, overrides);
    service::serve(Options { trace_exporter: exporter, ..options }).map_err(failure("serving"))
}

/// `strandline demo`.
pub(super) fn demo(args: &DemoArgs) -> Result<(), CliError> {
    log_to_stderr("warn");
    let options = DemoOptions {
        listen: args.listen,
        data: args.data.clone(),
        seed: args.seed,
        history: args.history,
        until: args.until,
        retention: RetentionConfig::default(),
    };
    let mut progress = None;
    let on_progress = |done: Duration, all: Duration| match done < all {
        true => progress.get_or_insert_with(|| Progress::new(0)).update_past(done, all),
        false => progress.take().map_or((), Progress::end),
    };
    service::demo(&options, on_progress).map_err(failure("serving the demo"))
}

/// Reads the configuration.
pub(super) fn load(path: &Path) -> Result<Config, CliError> {
    crate::config::load(path).map_err(unusable)
}

/// Why a configuration cannot be used, in the words of the command line.
pub(super) fn unusable(error: ConfigError) -> CliError {
    let (hint, failed) = (error.hint(), CliError::new("reading the configuration", error).exit(Exit::Usage));
    match hint {
        Some(hint) => failed.hint(hint),
        None => failed,
    }
}

/// What a part of the service reports, in the words of the command line.
pub(super) fn failure(what: &'static str) -> impl Fn(ServiceError) -> CliError {
    move |error| {
        let hint = error.hint();
        let wrong = matches!(
            error,
            ServiceError::Connect { .. }
                | ServiceError::OpenToOthers { .. }
                | ServiceError::FewOpenFiles { .. }
        );
        let error = CliError::new(what, error).exit(if wrong { Exit::Usage } else { Exit::Failure });
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

/// What is logged from `level` up. Libraries cannot name the cluster that they mean, so what they say of requests is
/// left out: it is logged in our own lines.
fn filter(level: &str) -> EnvFilter {
    EnvFilter::new(format!("{level},traces=off,{}", strandline_watch::LIBRARIES_OFF))
}

/// Logs to stderr, from `level` up unless RUST_LOG says otherwise.
pub(super) fn log_to_stderr(level: &str) {
    log_with_traces(level, None);
}

/// The same, and hands spans to what takes them elsewhere; without that none are made.
fn log_with_traces(level: &str, exporter: Option<&TraceExporter>) {
    let (filter, mistake) = chosen(std::env::var_os(EnvFilter::DEFAULT_ENV).as_deref(), level);
    // Whoever set up logging before us, as a test may, keeps it.
    let format = tracing_subscriber::fmt::layer().with_ansi(std::io::stderr().is_terminal());
    // It would say so on standard error, with a macro that panics where that is full or closed.
    let format = format.log_internal_errors(false);
    // Spans are for traces alone: lines do not name those in which they are written.
    let format = format.with_writer(std::io::stderr).with_filter(filter);
    let traces = exporter.map(TraceExporter::layer);
    let _ = tracing_subscriber::registry().with(format).with(traces).try_init();
    if let Some(mistake) = mistake {
        tracing::warn!("{mistake}");
    }
}

/// What RUST_LOG asks for; where that cannot be read, what is logged without it, and that it cannot be read.
fn chosen(given: Option<&OsStr>, level: &str) -> (EnvFilter, Option<String>) {
    let Some(given) = given.filter(|given| !given.is_empty()) else { return (filter(level), None) };
    let read = |given: &str| EnvFilter::try_new(format!("{given},traces=off"));
    match given.to_str().map(read) {
        Some(Ok(asked)) => (asked, None),
        Some(Err(_)) | None => {
            let given = given.to_string_lossy();
            let message = format!(
                "RUST_LOG is invalid: `{given}`; use levels such as info or warn,strandline=debug. \
                 Using the default level `{level}`"
            );
            (filter(level), Some(message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_logged_and_cannot_be_read_is_told() {
        let chosen = |given: Option<&str>| chosen(given.map(OsStr::new), "info");
        let usual = filter("info").to_string();
        for absent in [None, Some("")] {
            let (filter, mistake) = chosen(absent);
            assert_eq!((filter.to_string(), mistake), (usual.clone(), None));
        }
        let (asked, mistake) = chosen(Some("warn,strandline=debug"));
        assert!(asked.to_string().contains("strandline=debug") && mistake.is_none(), "{asked} {mistake:?}");
        let (kept, mistake) = chosen(Some("strandline=loud"));
        assert_eq!(kept.to_string(), usual);
        assert!(mistake.is_some_and(|message| message.starts_with("RUST_LOG is invalid: `strandline=loud`")));
    }
}
