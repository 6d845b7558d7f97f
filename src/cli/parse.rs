//! The arguments of a process as a command.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, CommandFactory, FromArgMatches};

use super::args::Cli;
use super::habits::{is_kubectl_plugin, reorder};
use super::now;
use crate::service::recorded_until;
use strandline_model::{At, Timestamp};

/// Reads the arguments of a process.
///
/// # Errors
/// With what is wrong with them, or the help that they ask for.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
    let args = reorder(args);
    let mut command = Cli::command();
    if is_kubectl_plugin(args.first().map(AsRef::as_ref)) {
        command = command.bin_name("kubectl strandline");
    }
    let mut matches = command.try_get_matches_from_mut(&args)?;
    // What is wrong with a data directory is reported by the command that reads it.
    if let Some(end) = record_end(&matches, |data| recorded_until(data).ok().flatten()) {
        now::stop_at(end);
        // A time of day is the last one before the end of the record, so all are read again.
        matches = command.try_get_matches_from_mut(&args)?;
    }
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Where the record ends for which a time is asked; none of a command that asks for none, or of no data directory.
fn record_end(
    matches: &ArgMatches,
    recorded_until: impl Fn(&Path) -> Option<Timestamp>,
) -> Option<Timestamp> {
    let mut matches = matches;
    while let Some((_, below)) = matches.subcommand() {
        matches = below;
    }
    let is_time = |id: &str| matches!(matches.try_get_one::<At>(id), Ok(Some(At::Time(_))));
    if !matches.ids().any(|id| is_time(id.as_str())) {
        return None;
    }
    matches.try_get_one::<PathBuf>("data").ok().flatten().and_then(|data| recorded_until(data))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::format::tests::NOON;

    #[test]
    fn times_of_a_data_directory_are_read_by_where_its_record_ends() {
        for (line, expected) in [
            ("get env --data d --at 14:05", true),
            ("get pods -e shop.web.production --data d --at 14:05", true),
            ("diff shop.web.production --from yesterday --data d", true),
            ("changes --since 14:05 --data d", true),
            ("export --data d --since 14:05", true),
            ("get env --at 14:05", false),
            // What a duration counts from is known to whoever answers.
            ("get env --data d --at 2h", false),
            ("get env --data d", false),
            // Of a dump that comes, and of a directory that a server goes on with.
            ("import a.yaml --data d --at 14:05", false),
            ("get env --data served --at 14:05", false),
        ] {
            let words = format!("strandline {line}");
            let args = reorder(words.split(' ').map(OsString::from));
            let matches = Cli::command().try_get_matches_from(args).unwrap();
            let end = record_end(&matches, |data| (data == Path::new("d")).then_some(NOON));
            assert_eq!(end, expected.then_some(NOON), "{line}");
        }
    }
}
