//! What a rule of a kind is.

use crate::fields::Malformed;
use crate::finding::Finding;
use strandline_object::Object;

/// Judges objects of a kind.
pub(super) type Rule = fn(&Object<'_>) -> Result<Finding, Malformed>;
