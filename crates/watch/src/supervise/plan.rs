//! Which watches there ought to be: decisions only.
//!
//! One plan over all connections to a cluster: a kind is watched through one of them, the widest that may see it;
//! namespaces are watched by themselves only where no watch of the whole cluster may. Epochs are numbered across all
//! watches, so that what one saw last is not ended by the list of another while they change places.

use std::collections::{BTreeMap, BTreeSet};

use crate::discovery::{Discovered, ServedKind};
use crate::settings::{ClusterSettings, Watcher};
use strandline_model::{CoverageMark, Kind, Timestamp, WatchKey, reason};

/// A watch that ought to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) served: ServedKind,
    /// Which of the cluster's watchers it uses.
    pub(super) way: usize,
}

pub(super) type Plan = BTreeMap<WatchKey, Planned>;

/// Whole-cluster ways that may not see a kind.
pub(super) type Refused = BTreeSet<(Kind, usize)>;

/// One watch for each kind through the first way that may look at the whole cluster; and where none may, one for each
/// namespace that another way is for. So nothing is watched twice, whatever the ways have in common.
pub(super) fn plan(
    settings: &ClusterSettings,
    ways: &[Watcher],
    discovered: &Discovered,
    refused: &Refused,
) -> Plan {
    let key = |kind: &Kind, namespace: &str| WatchKey {
        cluster: settings.name.clone(),
        kind: kind.clone(),
        namespace: namespace.to_owned(),
    };
    let whole: Vec<usize> = (0..).zip(ways).filter(|(_, way)| is_whole(way)).map(|(way, _)| way).collect();
    let mut plan = Plan::new();
    for served in discovered.kinds.values() {
        let kind = &served.kind;
        let allowed = whole.iter().copied().find(|&way| !refused.contains(&(kind.clone(), way)));
        // One that is refused is tried on, so that a permission that returns is noticed.
        if let Some(way) = allowed.or(whole.first().copied()) {
            plan.insert(key(kind, ""), Planned { served: served.clone(), way });
        }
        let left = |namespace: &String| allowed.is_none() || leaves_out(settings, namespace);
        for (way, watcher) in ways.iter().enumerate().filter(|_| served.namespaced) {
            for namespace in watcher.namespaces.iter().filter(|namespace| left(namespace)) {
                let planned = Planned { served: served.clone(), way };
                plan.entry(key(kind, namespace)).or_insert(planned);
            }
        }
    }
    plan
}

/// Whether watches of the whole cluster do not look into a namespace.
fn leaves_out(settings: &ClusterSettings, namespace: &str) -> bool {
    settings.selection.exclude_namespaces.iter().any(|name| name == namespace)
}

fn is_whole(watcher: &Watcher) -> bool {
    watcher.namespaces.is_empty()
}

/// How a watch that is no longer planned ends in the log.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Retirement {
    /// The cluster no longer has the kind, or discovery of its group fails: a gap.
    Vanished(CoverageMark),
    /// It ends for good; with `unfollow` what it saw no longer counts as alive.
    Dismissed { mark: CoverageMark, unfollow: bool },
}

/// Decides how a watch that is not planned ends: what vanished is a gap since it was last seen, and what is no longer
/// configured is excluded from now on.
pub(super) fn retire(
    settings: &ClusterSettings,
    watch: &WatchKey,
    discovered: &Discovered,
    plan: &Plan,
    last_seen: Option<Timestamp>,
    now: Timestamp,
) -> Retirement {
    let excluded = |reason: &str, message: &str, unfollow| Retirement::Dismissed {
        mark: CoverageMark::excluded(watch.clone(), now, reason, message),
        unfollow,
    };
    if let Some(unfollowed) = discovered.unfollowed.get(&watch.kind) {
        return excluded(unfollowed.code(), &unfollowed.to_string(), true);
    }
    if let Some(failed) = discovered.failed.iter().find(|failed| failed.group == watch.kind.group)
        && !discovered.kinds.contains_key(&watch.kind)
    {
        let since = last_seen.unwrap_or(now);
        return Retirement::Vanished(CoverageMark::gap(
            watch.clone(),
            since,
            reason::UNAVAILABLE,
            &failed.message,
        ));
    }
    if !discovered.kinds.contains_key(&watch.kind) {
        let (since, message) = (last_seen.unwrap_or(now), "the cluster no longer has this kind");
        return Retirement::Vanished(CoverageMark::gap(watch.clone(), since, reason::NOT_SERVED, message));
    }
    let everywhere = WatchKey { namespace: String::new(), ..watch.clone() };
    let named = !watch.namespace.is_empty() && !leaves_out(settings, &watch.namespace);
    let covered = named && plan.contains_key(&everywhere);
    match covered {
        true => excluded(reason::COVERED, "the whole cluster is watched", false),
        false => excluded(reason::EXCLUDED, "the configuration no longer looks there", true),
    }
}

#[cfg(test)]
mod tests;
