//! What commands that read share: which server and time, how many, and how to print.

use clap::{Args, ValueEnum};

use std::path::PathBuf;
use std::str::FromStr;

use super::super::field_path::FieldPath;
use super::super::template::{CustomColumns, Template};
use super::address::AddressArgs;
use super::values::{number, time};
use strandline_model::At;

/// How to list.
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// Limit the number of items; default: all
    #[arg(long, value_parser = number(1..=u64::MAX))]
    pub limit: Option<u64>,
    /// Sort by a field of the JSON output, such as .health.since; default: the order of the server
    #[arg(long, value_name = "PATH")]
    pub sort_by: Option<FieldPath>,
    /// Where from.
    #[command(flatten)]
    pub server: ServerArgs,
    /// How to print.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// How to watch a list.
#[derive(Clone, Debug, Args)]
pub struct WatchArgs {
    /// After the list, print what changes in it, until interrupted
    #[arg(short, long, conflicts_with_all = ["at", "limit", "sort_by", "data"])]
    pub watch: bool,
    /// Print what changes in the list, without the list
    #[arg(long, conflicts_with_all = ["at", "limit", "sort_by", "data"])]
    pub watch_only: bool,
    /// With --watch or --watch-only: print each change with its type, ADDED, MODIFIED or DELETED
    #[arg(long)]
    pub output_watch_events: bool,
}

impl WatchArgs {
    /// Whether the list is watched.
    pub fn is_asked(&self) -> bool {
        self.watch || self.watch_only
    }
}

/// Where to read from, and for which time.
#[derive(Clone, Debug, Args)]
pub struct ServerArgs {
    /// Which server.
    #[command(flatten)]
    pub address: AddressArgs,
    /// Read a data directory instead of asking a server: one that a server uses or used, a copy, or a restored backup
    #[arg(long, value_name = "DIR", conflicts_with_all = ["server", "context", "token", "token_file", "ca_file"])]
    pub data: Option<PathBuf>,
    /// Show the state at a time (14:05, yesterday 14:05, 2026-11-20 14:05), a duration ago (2h) or an offset (1234)
    #[arg(long, value_name = "TIME", value_parser = time, allow_hyphen_values = true)]
    pub at: Option<At>,
    /// The argument that gave the time, where that is another one.
    #[arg(skip)]
    pub at_argument: Option<&'static str>,
}

/// How to print.
#[derive(Clone, Debug, Args)]
pub struct OutputArgs {
    /// Output format: table, wide, json, yaml, name, csv, jsonpath=TEMPLATE, custom-columns=NAME:.path,…
    #[arg(short, long, value_name = "FORMAT", default_value = "table")]
    pub output: OutputFormat,
    /// Do not print table headers
    #[arg(long)]
    pub no_headers: bool,
    /// When to use colours; NO_COLOR and CLICOLOR_FORCE are respected
    #[arg(long, value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}

/// Output formats of commands that read.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputFormat {
    /// A table.
    Table,
    /// A table with more columns.
    Wide,
    /// JSON, as returned by the API.
    Json,
    /// YAML with the fields of the JSON.
    Yaml,
    /// One name per line.
    Name,
    /// The wide table as comma-separated values.
    Csv,
    /// A JSONPath template of the JSON.
    JsonPath(Template),
    /// A table of fields of the JSON.
    CustomColumns(CustomColumns),
}

impl OutputFormat {
    /// Those without a value.
    const PLAIN: [(&'static str, OutputFormat); 6] = [
        ("table", OutputFormat::Table),
        ("wide", OutputFormat::Wide),
        ("json", OutputFormat::Json),
        ("yaml", OutputFormat::Yaml),
        ("name", OutputFormat::Name),
        ("csv", OutputFormat::Csv),
    ];
}

impl FromStr for OutputFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some(("jsonpath", template)) => template.parse().map(OutputFormat::JsonPath),
            Some(("custom-columns", columns)) => columns.parse().map(OutputFormat::CustomColumns),
            _ => {
                let plain = OutputFormat::PLAIN.into_iter().find(|(name, _)| *name == text);
                plain.map(|(_, format)| format).ok_or_else(|| {
                    "use table, wide, json, yaml, name, csv, jsonpath=TEMPLATE or custom-columns=NAME:.path"
                        .to_owned()
                })
            }
        }
    }
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}
