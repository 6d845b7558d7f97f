//! Commands that make the program at home on a machine: completion, manual pages, a browser.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::output::ServerArgs;
use super::subject::PlaceArgs;

/// Arguments of `completion`.
#[derive(Clone, Debug, Args)]
pub struct CompletionArgs {
    /// Which shell
    #[arg(value_parser = PossibleValuesParser::new(Self::SHELLS))]
    pub shell: String,
}

impl CompletionArgs {
    /// The shells for which there is a script.
    pub const SHELLS: [&str; 5] = ["bash", "zsh", "fish", "elvish", "powershell"];
}

/// Arguments of `man`.
#[derive(Clone, Debug, Args)]
pub struct ManArgs {
    /// Folder to write the pages to, one for each command; it is created if it is missing
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// Arguments of `open`.
#[derive(Clone, Debug, Args)]
pub struct OpenArgs {
    /// Environment such as shop.web.production, or resource as KIND/NAME; default: the start page
    pub subject: Option<String>,
    /// Only print the address of the page
    #[arg(long)]
    pub print: bool,
    /// Where a resource is.
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
}
