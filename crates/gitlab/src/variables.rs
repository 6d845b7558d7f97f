//! What a job knows by name.

use std::collections::BTreeMap;

/// CI/CD variables by name.
pub type Variables = BTreeMap<String, String>;
