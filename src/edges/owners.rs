//! Owner references: whoever an object names as its owner, controller or not.

use std::collections::HashSet;

use super::{Direction, EdgeKind, EdgeRef, Far};
use crate::object::Object;

pub(super) fn edges(object: &Object<'_>) -> Vec<EdgeRef> {
    let mut seen = HashSet::new();
    // An object that names itself would hang below itself for ever.
    let owners = object.owner_references().filter(|owner| owner.uid.as_str() != object.uid());
    let distinct = owners.filter(|owner| seen.insert(owner.uid.clone()));
    let edge = |owner: crate::object::OwnerReference| EdgeRef {
        kind: EdgeKind::Owns,
        direction: Direction::FromFar,
        far: Far::Uid { uid: owner.uid, kind: owner.kind, name: owner.name },
    };
    distinct.map(edge).collect()
}
