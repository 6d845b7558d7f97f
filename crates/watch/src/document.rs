//! Pages of lists and lines of watches, read as far as they concern us.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::metadata::{changed_at, metadata, observed_at};
use super::request::Failure;
use strandline_log::Observed;
use strandline_model::{ResourceVersion, Timestamp};
use strandline_redact::{CleanError, Identity, Rules, TypeMeta, clean_value, identify};
use strandline_syntax::diagnostics::of_json;

/// A page of a list.
#[derive(Deserialize)]
pub(super) struct Page<'a> {
    #[serde(borrow)]
    pub(super) metadata: PageMeta<'a>,
    /// Go writes an empty list as null.
    #[serde(borrow, default)]
    pub(super) items: Option<Vec<&'a RawValue>>,
}

/// The metadata of a page.
#[derive(Deserialize)]
pub(super) struct PageMeta<'a> {
    #[serde(borrow, default, rename = "resourceVersion")]
    pub(super) resource_version: Cow<'a, str>,
    #[serde(borrow, default, rename = "continue")]
    pub(super) token: Cow<'a, str>,
}

impl<'a> Page<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, Failure> {
        let problem = |error| Failure::Invalid(format!("a list that cannot be read: {}", of_json(&error)));
        serde_json::from_str(text).map_err(problem)
    }
}

/// A line of a watch.
#[derive(Debug)]
pub(super) enum WatchLine {
    /// Something happened, up to this state of the cluster.
    Observed {
        /// What happened.
        object: Box<Observed>,
        /// Then or later, by the cluster's clock and the object's own times.
        at: Option<Timestamp>,
    },
    /// Nothing happened up to this state of the cluster.
    Bookmark {
        version: ResourceVersion,
        /// Whether it ends the initial events of a streaming list.
        ends_list: bool,
    },
    /// The server ends the watch.
    Failed(Failure),
    /// Something that cannot be read.
    Undecodable {
        reason: &'static str,
        /// The state of the cluster behind it, where that is known.
        resource_version: Option<ResourceVersion>,
        /// The object that it is, where that is known.
        object: Option<Box<Observed>>,
    },
}

#[derive(Deserialize)]
struct RawLine<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

/// Reads a line of a watch.
pub(super) fn parse_line(bytes: &[u8], defaults: TypeMeta<'_>, rules: &Rules) -> WatchLine {
    let garbage = |reason| WatchLine::Undecodable { reason, resource_version: None, object: None };
    // Bytes that are not UTF-8 can only occur within strings, so the object stays readable without them.
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    };
    let Ok(line) = serde_json::from_str::<RawLine<'_>>(&text) else { return garbage("syntax") };
    let raw = line.object.get();
    match &*line.kind {
        "ADDED" | "MODIFIED" => match applied(line.object, defaults, rules) {
            Ok(observed) => {
                let at = match &observed {
                    Observed::Applied(object) => observed_at(object),
                    _ => None,
                };
                WatchLine::Observed { object: Box::new(observed), at }
            }
            Err(error) => WatchLine::Undecodable {
                reason: error.code(),
                resource_version: version(raw),
                object: unreadable(raw).map(Box::new),
            },
        },
        "DELETED" => match identify(raw) {
            Ok(gone) => WatchLine::Observed {
                object: Box::new(Observed::Deleted {
                    namespace: gone.namespace,
                    name: gone.name,
                    uid: gone.uid,
                    resource_version: gone.resource_version,
                }),
                at: changed_at(raw),
            },
            Err(error) => {
                WatchLine::Undecodable { reason: error.code(), resource_version: version(raw), object: None }
            }
        },
        "BOOKMARK" => match version(raw) {
            Some(version) => WatchLine::Bookmark { version, ends_list: ends_list(raw) },
            None => garbage("no_resource_version"),
        },
        "ERROR" => WatchLine::Failed(status(raw)),
        _ => garbage("type"),
    }
}

/// Makes an object ready for the log.
pub(super) fn applied(raw: &RawValue, defaults: TypeMeta<'_>, rules: &Rules) -> Result<Observed, CleanError> {
    clean_value(raw, defaults, rules).map(Observed::Applied)
}

/// An object of which no more is known than that it exists.
pub(super) fn unreadable(raw: &str) -> Option<Observed> {
    let Identity { namespace, name, uid, .. } = identify(raw).ok()?;
    Some(Observed::Unreadable { namespace, name, uid })
}

/// The resourceVersion of anything that has one, whatever its other metadata is.
fn version(raw: &str) -> Option<ResourceVersion> {
    #[derive(Deserialize)]
    struct Versioned<'a> {
        #[serde(borrow, rename = "resourceVersion")]
        resource_version: Cow<'a, str>,
    }
    let version = metadata::<Versioned<'_>>(raw)?.resource_version;
    (!version.is_empty()).then(|| ResourceVersion::new(version))
}

/// Whether a bookmark ends the initial events of a streaming list.
fn ends_list(raw: &str) -> bool {
    #[derive(Deserialize)]
    struct Annotated<'a> {
        #[serde(borrow, default)]
        annotations: Option<BTreeMap<Cow<'a, str>, Cow<'a, str>>>,
    }
    let annotations = metadata::<Annotated<'_>>(raw).and_then(|metadata| metadata.annotations);
    let end = annotations.as_ref().and_then(|annotations| annotations.get("k8s.io/initial-events-end"));
    end.is_some_and(|value| value == "true")
}

fn status(raw: &str) -> Failure {
    #[derive(Deserialize)]
    struct Status {
        #[serde(default)]
        code: u16,
        #[serde(default)]
        reason: String,
        #[serde(default)]
        message: String,
        #[serde(default)]
        details: Option<Details>,
    }
    #[derive(Deserialize)]
    struct Details {
        #[serde(default, rename = "retryAfterSeconds")]
        retry_after_seconds: u64,
    }
    let Ok(status) = serde_json::from_str::<Status>(raw) else {
        return Failure::Invalid("the watch ended with an error that cannot be read".to_owned());
    };
    if matches!(status.reason.as_str(), "Expired" | "Gone") {
        return Failure::Gone;
    }
    let after = status.details.map(|details| details.retry_after_seconds).filter(|&seconds| seconds > 0);
    // Servers leave the code out where they mean a failure of their own.
    let code = if status.code == 0 { 500 } else { status.code };
    Failure::of_status(code, status.message, after.map(Duration::from_secs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bookmark_tells_its_state_whatever_its_annotations_are() {
        let cases = [
            (r#"{"metadata":{"resourceVersion":"7"}}"#, Some(("7", false))),
            (r#"{"metadata":{"resourceVersion":"\u0037","annotations":null}}"#, Some(("7", false))),
            (r#"{"metadata":{"resourceVersion":"7","annotations":7}}"#, Some(("7", false))),
            (
                r#"{"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}"#,
                Some(("7", true)),
            ),
            (
                r#"{"metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"no"}}}"#,
                Some(("7", false)),
            ),
            (r#"{"metadata":{"resourceVersion":""}}"#, None),
            (r#"{"metadata":{"resourceVersion":7}}"#, None),
            (r#"{"metadata":null}"#, None),
            ("{}", None),
            ("7", None),
        ];
        for (raw, expected) in cases {
            let expected = expected.map(|(version, ends)| (ResourceVersion::new(version), ends));
            assert_eq!(version(raw).map(|version| (version, ends_list(raw))), expected, "{raw}");
        }
    }
}
