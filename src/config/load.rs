//! Reads the configuration file, with what the environment puts over it.

use std::path::Path;

use serde_json::Value;

use super::check;
use super::error::ConfigError;
use super::file::File;
use super::overlay::Overlay;
use super::settings::Config;
use crate::http::auth::AccessConfig;
use strandline_syntax::diagnostics::{Mistake, of_syntax};

/// Reads a configuration file, with what the environment of this process puts over it.
///
/// # Errors
/// When the file cannot be read, or with every mistake found in it.
pub fn load(path: &Path) -> Result<Config, ConfigError> {
    parse_with(&read_text(path)?, path, &overlay(path)?)
}

/// The document that is in effect: the file, with what the environment puts over it.
///
/// # Errors
/// When the file cannot be read or is no YAML, or with every variable that cannot be meant.
pub fn effective(path: &Path) -> Result<Value, ConfigError> {
    merged(&read_text(path)?, path, &overlay(path)?)
}

/// Reads a configuration without what the environment puts over it; `origin` is named in mistakes, and relative paths start
/// from its folder.
///
/// # Errors
/// With every mistake found.
pub fn parse(text: &str, origin: &Path) -> Result<Config, ConfigError> {
    parse_with(text, origin, &Overlay::default())
}

/// Reads a configuration with what this puts over it.
///
/// # Errors
/// With every mistake found.
pub fn parse_with(text: &str, origin: &Path, overlay: &Overlay) -> Result<Config, ConfigError> {
    read(text, origin, overlay, check::check)
}

/// Reads a configuration that has changed, with what the environment of this process puts over it.
///
/// # Errors
/// With every mistake found.
pub(super) fn parse_again(text: &str, origin: &Path) -> Result<Config, ConfigError> {
    parse_with(text, origin, &overlay(origin)?)
}

/// Reads of a configuration who may ask, and checks no more of it than that.
///
/// # Errors
/// With every mistake found there, or with why the whole cannot be read.
pub fn parse_access(text: &str, origin: &Path) -> Result<AccessConfig, ConfigError> {
    read(text, origin, &overlay(origin)?, |file, origin| check::check_access(&file, origin))
}

fn read_text(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|source| ConfigError::Unreadable {
        path: path.to_owned(),
        option: "--config",
        source,
    })
}

fn overlay(origin: &Path) -> Result<Overlay, ConfigError> {
    Overlay::of_process().map_err(mistaken(origin))
}

fn mistaken(origin: &Path) -> impl Fn(Vec<Mistake>) -> ConfigError {
    |mistakes| ConfigError::Mistakes { path: origin.to_owned(), mistakes }
}

fn merged(text: &str, origin: &Path, overlay: &Overlay) -> Result<Value, ConfigError> {
    let document: Value = match text.trim().is_empty() {
        true => Value::Null,
        false => serde_saphyr::from_str(text).map_err(|error| mistaken(origin)(vec![of_syntax(&error)]))?,
    };
    overlay.apply(document).map_err(mistaken(origin))
}

fn read<T>(
    text: &str,
    origin: &Path,
    overlay: &Overlay,
    check: impl Fn(File, &Path) -> Result<T, Vec<Mistake>>,
) -> Result<T, ConfigError> {
    let read = |text: &str| {
        let file = serde_saphyr::from_str(text).map_err(|error| vec![of_syntax(&error)])?;
        check(file, origin)
    };
    if overlay.is_empty() {
        return read(text).map_err(mistaken(origin));
    }
    // JSON is YAML. Its places are none of the file: a mistake that the file has without the environment keeps its place.
    let whole = merged(text, origin, overlay)?.to_string();
    read(&whole).map_err(|mistakes| {
        let alone = read(text).err().unwrap_or_default();
        let placed = |mistake: Mistake| {
            let same = |known: &&Mistake| known.code == mistake.code && known.message == mistake.message;
            alone.iter().find(same).cloned().unwrap_or_else(|| {
                let names = overlay.names().collect::<Vec<_>>().join(", ");
                let message = format!("{} (with {names} of the environment)", mistake.message);
                Mistake { line: 0, column: 0, message, ..mistake }
            })
        };
        mistaken(origin)(mistakes.into_iter().map(placed).collect())
    })
}
