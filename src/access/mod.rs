//! Who may deploy where, and who may see what: the rules of agents' configuration files, as pure functions.
//!
//! - [`expression`]: GitLab's language of `rules:if`, read and evaluated.
//! - [`expand()`]: `$VAR` in values.

pub mod expression;

mod expand;

pub use expand::{ExpandError, expand};

use std::collections::BTreeMap;

/// CI/CD variables by name.
pub type Variables = BTreeMap<String, String>;
