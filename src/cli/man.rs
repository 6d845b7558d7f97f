//! `strandline man`: a manual page for each command, for packages.

use clap::CommandFactory;

use super::args::{Cli, ManArgs};
use super::error::CliError;

/// Runs the command.
pub(super) fn run(args: &ManArgs) -> Result<(), CliError> {
    let folder = &args.folder;
    let failed = |error| CliError::new(format!("writing manual pages to {}", folder.display()), error);
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), folder).map_err(failed)
}
