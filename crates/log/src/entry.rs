//! A change as it leaves one log for another: the whole content of its record, as text.

use super::chain::{self, Link};
use super::declared::{Declared, key_of};
use super::types::ChangeType;
use strandline_model::{
    CatalogKind, ChangedBy, ClockMark, CoverageMark, DeletionCause, Erasure, Offset, ResourceId, ResourceKey,
    Stored, Timestamp,
};
use strandline_object::json::Members;
use strandline_syntax::diagnostics::of_json;

/// A change with its body as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its position in the log that it comes from.
    pub offset: Offset,
    /// When it was appended there.
    pub observed_at: Timestamp,
    /// What it is.
    pub r#type: ChangeType,
    /// The number of what it is about, in the log that it comes from; zero where it comes from none.
    pub id: ResourceId,
    /// What it is about: a resource, a watch without a name, or a fact of the catalog without a cluster.
    pub key: ResourceKey,
    /// Identity of a resource; empty for everything else.
    pub uid: String,
    /// The cluster's token for a state; empty for everything else.
    pub resource_version: String,
    /// Who made a state, where the object names one.
    pub changed_by: Option<ChangedBy>,
    /// The object, the cause of a deletion, the mark, or the fact as JSON; empty where there is none.
    pub body: String,
    /// The digest of the body that was recorded, where something was erased from it.
    pub recorded: Option<[u8; 16]>,
}

impl Entry {
    /// Its hash behind a change with this one.
    pub fn hash_after(&self, previous: &[u8; 16]) -> [u8; 16] {
        let by = self.changed_by.as_ref();
        let key = &self.key;
        let link = Link {
            offset: self.offset,
            observed_at: self.observed_at.as_micros(),
            r#type: self.r#type.number(),
            subject: [&key.cluster, &key.kind.group, &key.kind.kind, &key.namespace, &key.name, &self.uid],
            resource_version: &self.resource_version,
            manager: by.map_or(["", "", ""], |by| [&by.manager, &by.operation, &by.subresource]),
            managed_at: by.and_then(|by| by.time).map(Timestamp::as_micros),
            body_hash: self.recorded.unwrap_or_else(|| chain::body_hash(&self.body)),
        };
        link.hash(previous)
    }

    /// That a log could hold this.
    ///
    /// # Errors
    /// What is wrong with it, in a sentence.
    pub fn check(&self) -> Result<(), String> {
        let readable = |error: serde_json::Error| format!("its body is invalid: {}", of_json(&error));
        let Entry { key, body, .. } = self;
        let resource = || match (&key.cluster, &key.kind.kind, &key.name, &self.uid) {
            (cluster, kind, name, uid) if [cluster, kind, name, uid].iter().any(|text| text.is_empty()) => {
                Err("a resource needs a cluster, a kind, a name and a UID".to_owned())
            }
            _ => Ok(()),
        };
        match self.r#type {
            ChangeType::Applied => {
                Members::parse(body)
                    .map_err(|error| format!("its body is not an object: {}", of_json(&error)))?;
                resource()
            }
            ChangeType::Deleted => {
                serde_json::from_str::<DeletionCause>(body).map_err(readable)?;
                resource()
            }
            ChangeType::Coverage => {
                let watch = serde_json::from_str::<CoverageMark>(body).map_err(readable)?.watch;
                let same = (&watch.cluster, &watch.kind, &watch.namespace)
                    == (&key.cluster, &key.kind, &key.namespace);
                if same && key.name.is_empty() {
                    Ok(())
                } else {
                    Err("its mark is of another watch".to_owned())
                }
            }
            ChangeType::Clock => {
                serde_json::from_str::<ClockMark>(body).map_err(readable)?;
                if key.cluster.is_empty() {
                    Ok(())
                } else {
                    Err("a clock mark must not have a cluster".to_owned())
                }
            }
            ChangeType::Erased => {
                serde_json::from_str::<Erasure>(body).map_err(readable)?;
                if key.cluster.is_empty() {
                    Ok(())
                } else {
                    Err("an erasure must not have a cluster".to_owned())
                }
            }
            ChangeType::Declared => {
                let declared: Declared = serde_json::from_str(body).map_err(readable)?;
                let same = key_of(&declared.fact) == *key;
                if same { Ok(()) } else { Err("its fact has another name".to_owned()) }
            }
            ChangeType::Withdrawn => match CatalogKind::of(&key.kind) {
                Some(_) if key.cluster.is_empty() && body.is_empty() => Ok(()),
                _ => Err("a withdrawal needs a kind of the catalog".to_owned()),
            },
        }
    }
}
