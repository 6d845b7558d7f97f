//! The lines of an export.

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use strandline_log::{ChangeType, Entry};
use strandline_model::{ChangedBy, Kind, Offset, ResourceId, ResourceKey, Timestamp};

/// What the header calls the format …
pub(super) const FORMAT: &str = "strandline.log";
/// … and the version of it that this program writes and reads.
pub(super) const VERSION: u32 = 1;

/// How the last line begins, and no other.
pub(super) const END: &str = "{\"end\":";

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub(super) format: String,
    pub(super) version: u32,
    /// The program that wrote it.
    pub(super) program: String,
    pub(super) exported_at: Timestamp,
    /// The first offset of what was asked for.
    pub(super) from: Offset,
    /// The last one.
    pub(super) to: Offset,
    /// From here on nothing is missing for retention.
    pub(super) complete_from: Offset,
    /// The hash of the change before `from`.
    pub(super) previous_hash: String,
    /// The hash of the change at `to`.
    pub(super) head_hash: String,
    /// Of these clusters only; of all where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) clusters: Vec<String>,
    /// Of what ever belonged to these environments only; of everything where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) environments: Vec<String>,
}

/// A change.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Line<'a> {
    offset: Offset,
    observed_at: Timestamp,
    r#type: ChangeType,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    cluster: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    group: String,
    kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    namespace: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    uid: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    resource_version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changed_by: Option<ChangedBy>,
    /// The body, where it is JSON on one line …
    #[serde(default, borrow, skip_serializing_if = "Option::is_none")]
    body: Option<&'a RawValue>,
    /// … and as text where it is not, so that every byte of it is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The digest of the body that was recorded, which the chain covers, where something was erased from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recorded_digest: Option<String>,
}

impl<'a> Line<'a> {
    pub(super) fn of(entry: &'a Entry) -> Self {
        let text = entry.body.as_str();
        let single = !text.is_empty() && !text.contains(['\n', '\r']);
        let whole = |raw: &&RawValue| raw.get().len() == text.len();
        let body = single.then(|| serde_json::from_str::<&RawValue>(text).ok().filter(whole)).flatten();
        let text = (body.is_none() && !text.is_empty()).then(|| text.to_owned());
        Line {
            offset: entry.offset,
            observed_at: entry.observed_at,
            r#type: entry.r#type,
            cluster: entry.key.cluster.clone(),
            group: entry.key.kind.group.clone(),
            kind: entry.key.kind.kind.clone(),
            namespace: entry.key.namespace.clone(),
            name: entry.key.name.clone(),
            uid: entry.uid.clone(),
            resource_version: entry.resource_version.clone(),
            changed_by: entry.changed_by.clone(),
            body,
            text,
            recorded_digest: entry.recorded.as_ref().map(|hash| HEXLOWER.encode(hash)),
        }
    }

    pub(super) fn entry(self) -> Entry {
        Entry {
            offset: self.offset,
            observed_at: self.observed_at,
            r#type: self.r#type,
            id: ResourceId(0),
            key: ResourceKey {
                cluster: self.cluster,
                kind: Kind::new(self.group, self.kind),
                namespace: self.namespace,
                name: self.name,
            },
            uid: self.uid,
            resource_version: self.resource_version,
            changed_by: self.changed_by,
            recorded: self.recorded_digest.as_deref().and_then(unhex),
            body: self.text.or_else(|| self.body.map(|body| body.get().to_owned())).unwrap_or_default(),
        }
    }
}

/// The last line; without it an export is not whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    pub(super) end: Trailer,
}

/// The content of the last line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Trailer {
    /// How many changes there are.
    pub(super) changes: u64,
    /// BLAKE3 of all bytes before this line.
    pub(super) blake3: String,
    /// The time up to which each watch is complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) watches: Vec<Seen>,
}

/// The time up to which a watch is complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Seen {
    pub(super) cluster: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) group: String,
    pub(super) kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) namespace: String,
    pub(super) last_seen: Timestamp,
}

/// The hash that was written so.
pub(super) fn unhex(text: &str) -> Option<[u8; 16]> {
    HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok()?.try_into().ok()
}
