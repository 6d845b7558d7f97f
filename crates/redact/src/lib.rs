//! What must not be recorded is taken out before anything else sees an object.
//!
//! [`clean`] turns an object, as a cluster told it, into what the log records: without managedFields and
//! the last applied configuration, the values of Secrets and whatever looks like a credential replaced by a
//! keyed digest. Equal values have equal digests, so that a change of a secret is visible and the secret is
//! not. Cleaning what is clean changes nothing.
//!
//! What looks like a credential: values given to names of credentials (in members, lists of variables, commands, files
//! inside of strings), texts that their issuers mark as tokens, private keys, hashes of passwords, logins in addresses,
//! and whatever is packed with gzip, which cannot be searched. `docs/operations/security.md` lists what is kept and why.
//!
//! Why: docs/decisions/0026-redaction-weighs-name-and-value.md.

#![warn(missing_docs)]

mod assign;
mod base64;
mod calls;
mod forms;
mod frame;
mod left_out;
mod lines;
mod marks;
mod mask;
mod names;
mod object;
mod remembered;
mod secret;
mod shapes;
mod shell;
mod statements;
mod text;
mod urls;
mod values;

#[cfg(test)]
mod tests;

use thiserror::Error;

use strandline_model::{ChangedBy, ResourceVersion, Uid};
use strandline_object::digest::{Digest, Noise};

pub use left_out::LeftOut;
pub use object::{Identity, clean, clean_value, identify};
pub use urls::{has_login, without_logins};
pub use values::{Erased, ValueError, Values};

use names::Names;

/// Kind and version of an object, for objects of a list, which do not say so themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeMeta<'a> {
    /// Group and version, such as `apps/v1`.
    pub api_version: &'a str,
    /// Kind, such as `Deployment`.
    pub kind: &'a str,
}

/// What to hide and what to ignore.
#[derive(Clone, PartialEq, Eq)]
pub struct Rules {
    /// Key of the digests that stand for hidden values; another key makes every hidden value look changed.
    pub key: [u8; 32],
    /// What is no change.
    pub noise: Noise,
    /// What the operators know better.
    pub choices: Choices,
}

impl Rules {
    /// The program's own rules with this key.
    pub fn new(key: [u8; 32]) -> Self {
        Rules { key, noise: Noise::default(), choices: Choices::default() }
    }

    /// With what the operators chose.
    pub fn with(self, choices: Choices) -> Self {
        Rules { choices, ..self }
    }
}

/// What operators add to the rules and take away from them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    names: Names,
    left_out: Vec<LeftOut>,
}

impl Choices {
    /// Values under names that end with the words of one of `hide` are hidden, those of `keep` are not judged by their
    /// name; of what is left out, all is hidden that is not its identity.
    pub fn new(hide: &[String], keep: &[String], left_out: Vec<LeftOut>) -> Self {
        Choices { names: Names::new(hide, keep), left_out }
    }
}

impl std::fmt::Debug for Rules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rules").field("noise", &self.noise).finish_non_exhaustive()
    }
}

/// The state of one object as a cluster told it, cleaned and ready to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Namespace; empty for what is cluster-scoped.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// The object's identity.
    pub uid: Uid,
    /// The cluster's token for this state.
    pub resource_version: ResourceVersion,
    /// The object as JSON, redacted and without managedFields: apiVersion, kind and metadata first, the rest
    /// in its order.
    pub body: String,
    /// Digest of what counts as a change.
    pub digest: Digest,
    /// Who made this state, as managedFields told.
    pub changed_by: Option<ChangedBy>,
}

/// Why something is not an object that can be recorded; no variant quotes the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CleanError {
    /// Not a JSON object, or one whose metadata cannot be read.
    #[error("not a JSON object")]
    Syntax,
    /// No metadata object.
    #[error("no metadata")]
    NoMetadata,
    /// metadata.name is missing or empty.
    #[error("no metadata.name")]
    NoName,
    /// metadata.uid is missing, empty or of dots alone: one incarnation could not be told from the next.
    #[error("no metadata.uid")]
    NoUid,
    /// metadata.resourceVersion is missing or empty: one state could not be told from the next.
    #[error("no metadata.resourceVersion")]
    NoResourceVersion,
    /// Nested deeper than Kubernetes itself would read.
    #[error("nested too deeply")]
    TooDeep,
}

impl CleanError {
    /// A stable word for logs and metrics.
    pub const fn code(self) -> &'static str {
        match self {
            CleanError::Syntax => "syntax",
            CleanError::NoMetadata => "no_metadata",
            CleanError::NoName => "no_name",
            CleanError::NoUid => "no_uid",
            CleanError::NoResourceVersion => "no_resource_version",
            CleanError::TooDeep => "too_deep",
        }
    }
}

/// Computes what stands in place of hidden values.
#[derive(Clone, Copy)]
struct Mask<'a> {
    key: &'a [u8; 32],
    names: &'a Names,
}

impl<'a> Mask<'a> {
    /// Hides what it is given, and knows no names of operators.
    fn of_key(key: &'a [u8; 32]) -> Self {
        static NONE: Names = Names::NONE;
        Mask { key, names: &NONE }
    }
}

impl Mask<'_> {
    const PREFIX: &'static str = "redacted:";
    const DIGITS: usize = 16;
    const LENGTH: usize = Self::PREFIX.len() + Self::DIGITS;

    fn hide(self, value: &str) -> String {
        if Self::is_hidden(value) {
            return value.to_owned();
        }
        let digest = blake3::keyed_hash(self.key, value.as_bytes()).to_hex();
        format!("{}{}", Self::PREFIX, &digest.as_str()[..Self::DIGITS])
    }

    /// Whether this is what [`Mask::hide`] makes.
    fn is_hidden(value: &str) -> bool {
        value.strip_prefix(Self::PREFIX).is_some_and(|digits| {
            digits.len() == Self::DIGITS && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        })
    }
}

/// What the first page of the crate shows, which has to be true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct FirstPage;
