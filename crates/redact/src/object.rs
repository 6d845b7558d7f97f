//! From an object as told to an object as recorded.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{CleanError, Mask, Observation, Rules, TypeMeta, mask, secret};
use strandline_model::{ChangedBy, Kind, ResourceVersion, Timestamp, Uid};
use strandline_object::json::{Envelope, Members, deeper_than, push_quoted};

/// As deep as Kubernetes' own JSON decoder goes.
const MAX_DEPTH: usize = 10_000;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Which object it is, and in which state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Namespace; empty for what is cluster-scoped.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// The object's identity.
    pub uid: Uid,
    /// The cluster's token for this state.
    pub resource_version: ResourceVersion,
}

/// Makes an object ready to be recorded; `defaults` say what it is where it does not say so itself.
pub fn clean(raw: &str, defaults: TypeMeta<'_>, rules: &Rules) -> Result<Observation, CleanError> {
    clean_value(serde_json::from_str(raw).map_err(|_| CleanError::Syntax)?, defaults, rules)
}

/// The same of a text that was read as JSON before, as all items of a list are.
pub fn clean_value(raw: &RawValue, defaults: TypeMeta<'_>, rules: &Rules) -> Result<Observation, CleanError> {
    let raw = raw.get();
    let envelope = Envelope::of_valid(raw).map_err(|_| CleanError::Syntax)?;
    let Envelope { members: top, metadata, managed_fields } = envelope;
    let metadata = metadata.ok_or(CleanError::NoMetadata)?;
    let identity = identity_of(&metadata)?;
    // Each level takes two bytes at least, so most objects need not be asked.
    if raw.len() > 2 * MAX_DEPTH && deeper_than(raw, MAX_DEPTH) {
        return Err(CleanError::TooDeep);
    }
    let mask = Mask { key: &rules.key, names: &rules.choices.names };
    let api_version = top.text("apiVersion").filter(|text| !text.is_empty());
    let kind = top.text("kind").filter(|text| !text.is_empty());
    // Either one saying so is enough: rather hide too much than trust an odd server.
    let secret = secret::is_secret(defaults.api_version, defaults.kind)
        || secret::is_secret(
            api_version.as_deref().unwrap_or(if kind.is_some() { "" } else { defaults.api_version }),
            kind.as_deref().unwrap_or(defaults.kind),
        );
    let left_out = || {
        let kind = Kind::from_api_version(
            api_version.as_deref().unwrap_or(defaults.api_version),
            kind.as_deref().unwrap_or(defaults.kind),
        );
        rules
            .choices
            .left_out
            .iter()
            .any(|left_out| left_out.matches(&kind, &identity.namespace, &identity.name))
    };
    let secret = secret || (!rules.choices.left_out.is_empty() && left_out());

    let mut body = String::with_capacity(raw.len() + 64);
    body.push_str("{\"apiVersion\":");
    push_quoted(&mut body, api_version.as_deref().unwrap_or(defaults.api_version));
    body.push_str(",\"kind\":");
    push_quoted(&mut body, kind.as_deref().unwrap_or(defaults.kind));
    body.push_str(",\"metadata\":");
    write_metadata(&mut body, &metadata, secret.then_some(mask));
    for (key, value) in &top.0 {
        if matches!(&**key, "apiVersion" | "kind" | "metadata") {
            continue;
        }
        let value = if secret { secret::member(key, value, mask) } else { Cow::Borrowed(*value) };
        write_member(&mut body, key, &value);
    }
    body.push('}');
    let (masked, digest) = mask::credentials(&body, mask, &rules.noise);
    if let Cow::Owned(masked) = masked {
        body = masked;
    }
    Ok(Observation {
        digest,
        changed_by: changed_by(&managed_fields),
        namespace: identity.namespace,
        name: identity.name,
        uid: identity.uid,
        resource_version: identity.resource_version,
        body,
    })
}

/// Tells which object this is without cleaning it, as a deletion needs no more.
pub fn identify(raw: &str) -> Result<Identity, CleanError> {
    identity_of(&metadata_of(&Members::parse(raw).map_err(|_| CleanError::Syntax)?)?)
}

fn metadata_of<'a>(top: &Members<'a>) -> Result<Members<'a>, CleanError> {
    let raw = top.get("metadata").filter(|raw| raw.starts_with('{')).ok_or(CleanError::NoMetadata)?;
    Members::of_valid(raw).map_err(|_| CleanError::Syntax)
}

fn identity_of(metadata: &Members<'_>) -> Result<Identity, CleanError> {
    let required =
        |name, error| metadata.text(name).filter(|text| !text.is_empty()).map(Cow::into_owned).ok_or(error);
    let name = required("name", CleanError::NoName)?;
    let uid = required("uid", CleanError::NoUid)?;
    // `.` and `..` are ways in an address, so that nobody could ask for such an object.
    if uid.bytes().all(|byte| byte == b'.') {
        return Err(CleanError::NoUid);
    }
    Ok(Identity {
        name,
        uid: Uid::new(uid),
        resource_version: ResourceVersion::new(required("resourceVersion", CleanError::NoResourceVersion)?),
        namespace: metadata.text("namespace").map(Cow::into_owned).unwrap_or_default(),
    })
}

fn write_member(body: &mut String, key: &str, value: &str) {
    if !body.ends_with('{') {
        body.push(',');
    }
    push_quoted(body, key);
    body.push(':');
    body.push_str(value);
}

/// Writes metadata without managedFields and the last applied configuration; `secret` hides annotations too.
fn write_metadata(body: &mut String, metadata: &Members<'_>, secret: Option<Mask<'_>>) {
    body.push('{');
    for (key, value) in &metadata.0 {
        match &**key {
            "managedFields" => {}
            "annotations" => write_annotations(body, value, secret),
            _ => write_member(body, key, value),
        }
    }
    body.push('}');
}

fn write_annotations(body: &mut String, raw: &str, secret: Option<Mask<'_>>) {
    // Unreadable annotations (a broken escape in a name) could hide anything, so they stay out.
    let Ok(annotations) = Members::of_valid(raw) else { return };
    if secret.is_none() && annotations.get(LAST_APPLIED).is_none() {
        return write_member(body, "annotations", raw);
    }
    let mut kept = String::from("{");
    for (key, value) in annotations.0.iter().filter(|(key, _)| key != LAST_APPLIED) {
        match secret {
            Some(mask) => write_member(&mut kept, key, &secret::annotation(key, value, mask)),
            None => write_member(&mut kept, key, value),
        }
    }
    kept.push('}');
    if kept != "{}" {
        write_member(body, "annotations", &kept);
    }
}

/// Who made this state: the newest entry, and of equally new ones the last.
fn changed_by(managed_fields: &[Members<'_>]) -> Option<ChangedBy> {
    let mut newest: Option<ChangedBy> = None;
    for entry in managed_fields {
        let text = |name| match entry.get(name) {
            None => Some(String::new()),
            Some(_) => entry.text(name).map(Cow::into_owned),
        };
        let time = match entry.get("time") {
            None | Some("null") => None,
            Some(_) => entry.text("time")?.parse::<Timestamp>().ok(),
        };
        let change = ChangedBy {
            manager: text("manager")?,
            operation: text("operation")?,
            subresource: text("subresource")?,
            time,
        };
        if newest.as_ref().is_none_or(|newest| newest.time <= change.time) {
            newest = Some(change);
        }
    }
    newest
}
