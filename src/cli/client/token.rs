//! The token that a client presents, where no argument holds it.

use std::path::Path;

use super::super::args::TokenText;
use super::super::error::{CliError, Exit};

/// The variable that holds a token where no argument does.
const TOKEN_VARIABLE: &str = "STRANDLINE_TOKEN";

pub(super) fn token_of_file(path: &Path) -> Result<TokenText, CliError> {
    let what = || format!("reading the token in {}", path.display());
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| CliError::new(what(), error).exit(Exit::Usage))?;
    text.parse().map_err(|why| CliError::new(what(), why).exit(Exit::Usage))
}

/// A variable that is empty counts as absent, because that is how many take one away.
pub(super) fn token_of_environment() -> Result<Option<TokenText>, CliError> {
    let text = std::env::var(TOKEN_VARIABLE).unwrap_or_default();
    if text.trim().is_empty() {
        return Ok(None);
    }
    let wrong = |why| CliError::new(format!("reading the token in {TOKEN_VARIABLE}"), why).exit(Exit::Usage);
    text.parse().map(Some).map_err(wrong)
}
