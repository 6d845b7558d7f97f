//! Owner references: all owners, not only the one that manages the object.

use std::collections::HashSet;

use super::{Direction, EdgeKind, EdgeRef, Far};
use crate::model::Uid;
use crate::object::Object;

/// An edge from each owner, by uid; an object that claims to own itself or names an owner twice adds nothing.
pub(super) fn edges(object: &Object<'_>) -> Vec<EdgeRef> {
    let metadata = &object.metadata;
    let mut seen = HashSet::new();
    let owners = metadata.owner_references.iter();
    owners
        .filter(|owner| !owner.uid.is_empty() && owner.uid != metadata.uid && seen.insert(&owner.uid))
        .map(|owner| EdgeRef {
            kind: EdgeKind::Owns,
            direction: Direction::FromFar,
            far: Far::Uid {
                uid: Uid::new(owner.uid.as_ref()),
                kind: owner.group_kind(),
                name: owner.name.to_string(),
            },
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::told;

    #[test]
    fn every_owner_counts_once_and_never_the_object_itself() {
        let owner = |uid: &str, controller: bool| json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": uid, "controller": controller});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {
            "uid": "me",
            "ownerReferences": [owner("a", true), owner("b", false), owner("a", false), owner("me", true), owner("", true)],
        }});
        assert_eq!(told(&pod), ["<- owns ReplicaSet.apps web a", "<- owns ReplicaSet.apps web b"]);
    }

    #[test]
    fn an_object_without_owners_tells_of_none() {
        assert!(told(&json!({"apiVersion": "v1", "kind": "Pod"})).is_empty());
        assert!(told(&json!({"metadata": {"ownerReferences": "x"}})).is_empty());
    }
}
