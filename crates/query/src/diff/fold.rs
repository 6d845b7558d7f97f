//! The same change in several clusters as one item.

use crate::alike;
use strandline_model::{Kind, ResourceKey};
use strandline_protocol::{DiffClusters, KindChanges, ResourceAt, ResourceChange};

/// What a resource is called whatever cluster it is in.
pub(super) fn address(key: &ResourceKey) -> (Kind, String, String) {
    (key.kind.clone(), key.namespace.clone(), key.name.clone())
}

/// Names the cluster of each side, which others with the same change are added to.
pub(super) fn in_its_clusters(item: ResourceChange) -> ResourceChange {
    let clusters = |side: &Option<ResourceAt>| side.iter().map(|at| at.cluster.clone()).collect();
    let clusters = DiffClusters { before: clusters(&item.before), after: clusters(&item.after) };
    ResourceChange { clusters: Some(clusters), ..item }
}

/// Changes that are the same in several clusters, as one of the first, with the children of all.
pub(super) fn folded(changes: Vec<ResourceChange>) -> Vec<ResourceChange> {
    let key = |change: &ResourceChange| Some((change.change as u8, address(&change.key)));
    alike::folded(changes, key, is_same, |one, other| {
        if let (Some(all), Some(more)) = (&mut one.clusters, &other.clusters) {
            all.add(more);
        }
        other.children.iter().for_each(|more| add_children(&mut one.children, more));
    })
}

/// Whether what became of two is the same but for the cluster, as far as it is shown. Controllers do not make as much of it in
/// each.
fn is_same(one: &ResourceChange, other: &ResourceChange) -> bool {
    let place = |side: &Option<ResourceAt>| {
        side.as_ref().map(|at| (at.namespace.clone(), at.name.clone(), at.health))
    };
    [(&one.before, &other.before), (&one.after, &other.after)].iter().all(|(a, b)| place(a) == place(b))
        && one.comparison.differences == other.comparison.differences
        && one.comparison.left_out == other.comparison.left_out
}

fn add_children(all: &mut Vec<KindChanges>, more: &KindChanges) {
    match all.iter_mut().find(|kind| (&kind.group, &kind.kind) == (&more.group, &more.kind)) {
        Some(kind) => {
            kind.added += more.added;
            kind.removed += more.removed;
            kind.changed += more.changed;
        }
        None => {
            all.push(more.clone());
            all.sort_by(|one, other| (&one.kind, &one.group).cmp(&(&other.kind, &other.group)));
        }
    }
}
