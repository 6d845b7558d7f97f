//! Reads the configuration file.

use std::path::Path;

use super::check;
use super::error::ConfigError;
use super::file::File;
use super::settings::Config;
use crate::http::auth::AccessConfig;
use strandline_syntax::diagnostics::{Mistake, of_syntax};

/// Reads a configuration file.
///
/// # Errors
/// When the file cannot be read, or with every mistake found in it.
pub fn load(path: &Path) -> Result<Config, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
        path: path.to_owned(),
        option: "--config",
        source,
    })?;
    parse(&text, path)
}

/// Reads a configuration; `origin` is named in mistakes, and relative paths start from its folder.
///
/// # Errors
/// With every mistake found.
pub fn parse(text: &str, origin: &Path) -> Result<Config, ConfigError> {
    read(text, origin, check::check)
}

/// Reads of a configuration who may ask, and checks no more of it than that.
///
/// # Errors
/// With every mistake found there, or with why the whole cannot be read.
pub fn parse_access(text: &str, origin: &Path) -> Result<AccessConfig, ConfigError> {
    read(text, origin, |file, origin| check::check_access(&file, origin))
}

fn read<T>(
    text: &str,
    origin: &Path,
    check: impl FnOnce(File, &Path) -> Result<T, Vec<Mistake>>,
) -> Result<T, ConfigError> {
    let mistaken = |mistakes| ConfigError::Mistakes { path: origin.to_owned(), mistakes };
    let file = serde_saphyr::from_str(text).map_err(|error| mistaken(vec![of_syntax(&error)]))?;
    check(file, origin).map_err(mistaken)
}
