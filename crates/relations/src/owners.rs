//! Owner references: all owners, not only the one that manages the object.

use std::collections::HashSet;

use super::told::Told;
use super::{EdgeKind, Far};
use strandline_model::Uid;
use strandline_object::Object;

/// An edge from each owner, by uid; an object that claims to own itself adds nothing.
pub(super) fn tell(told: &mut Told, object: &Object<'_>) {
    let metadata = &object.metadata;
    let mut seen = HashSet::new();
    let owners = metadata.owner_references.iter();
    for owner in owners.filter(|owner| !owner.uid.is_empty() && owner.uid != metadata.uid) {
        // Whoever is named twice may be named differently.
        if told.is_full() || !seen.insert(&owner.uid) {
            continue;
        }
        let (uid, name) = (Uid::new(owner.uid.as_ref()), owner.name.to_string());
        told.from(EdgeKind::Owns, Some(Far::Uid { uid, kind: owner.group_kind(), name }));
    }
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
