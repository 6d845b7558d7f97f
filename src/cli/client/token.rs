//! The token that a client presents, where no argument holds it.

use std::path::Path;

use http::HeaderValue;

use super::super::args::TokenText;
use super::super::error::{CliError, Exit};

pub(super) fn token_of_file(path: &Path) -> Result<TokenText, CliError> {
    let what = || format!("reading the token in {}", path.display());
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| CliError::new(what(), error).exit(Exit::Usage))?;
    text.parse().map_err(|why| CliError::new(what(), why).exit(Exit::Usage))
}

/// The token that the variable holds.
pub(super) fn token_of_text(text: &str) -> Result<TokenText, CliError> {
    let wrong = |why| CliError::new("reading the token in STRANDLINE_TOKEN", why).exit(Exit::Usage);
    text.parse().map_err(wrong)
}

/// The header that presents a token; marked so that nothing prints it.
pub(super) fn bearer(token: &TokenText) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(&format!("Bearer {}", token.as_str())).ok()?;
    value.set_sensitive(true);
    Some(value)
}
