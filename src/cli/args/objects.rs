//! Commands that look at the objects of a file, without a server.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::ColorChoice;

/// Which objects to look at, and how to print what was found.
#[derive(Clone, Debug, Args)]
pub struct ObjectsArgs {
    /// The objects, in YAML or JSON, as documents, lists or one a line; `-` reads standard input
    #[arg(short, long = "filename", value_name = "FILE")]
    pub file: PathBuf,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = LineFormat::Table)]
    pub output: LineFormat,
    /// Leave the headers of tables out
    #[arg(long)]
    pub no_headers: bool,
    /// When to use colours; NO_COLOR and CLICOLOR_FORCE are heeded
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}

/// What to judge.
#[derive(Clone, Debug, Args)]
pub struct HealthArgs {
    /// Which objects.
    #[command(flatten)]
    pub objects: ObjectsArgs,
    /// Folder of Lua scripts in Argo CD's layout, <group>/<Kind>/health.lua
    #[arg(long, value_name = "DIR")]
    pub scripts: Option<PathBuf>,
    /// Argo CD's ConfigMap argocd-cm, whose health scripts go before those of the folder
    #[arg(long, value_name = "FILE")]
    pub argocd_cm: Option<PathBuf>,
}

/// Form of what is found, object by object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LineFormat {
    /// Columns for people.
    Table,
    /// A JSON object on each line.
    Json,
}
