//! Which kinds of a cluster were listed to the end, and which are in a gap.

use std::collections::{BTreeMap, BTreeSet};

use crate::app::ClusterLists;
use crate::format::kind_name;
use strandline_model::{CoverageState, Kind, WatchKey, reason};
use strandline_watch::WatchStatus;

/// Kinds in such a gap may never be listed, so nobody waits for them.
const NOT_WAITED_FOR: [&str; 2] = [reason::FORBIDDEN, reason::NOT_SERVED];

pub(super) fn of_cluster(cluster: &str, statuses: &[(WatchKey, WatchStatus)]) -> ClusterLists {
    let mut kinds: BTreeMap<&Kind, Vec<&WatchStatus>> = BTreeMap::new();
    let mut discovered = false;
    for (watch, status) in statuses {
        if watch.is_discovery() {
            discovered = is_listed(status);
        } else if !watch.kind.kind.is_empty() {
            kinds.entry(&watch.kind).or_default().push(status);
        }
    }
    let all_listed = |statuses: &&Vec<&WatchStatus>| statuses.iter().all(|status| is_listed(status));
    let listed = kinds.values().filter(all_listed).count();
    let waits = |status: &&&WatchStatus| !is_listed(status) && !NOT_WAITED_FOR.contains(&status.reason);
    let unlisted: Vec<String> = kinds
        .iter()
        .filter(|(_, statuses)| statuses.iter().any(|status| waits(&status)))
        .map(|(kind, _)| kind_name(kind))
        .collect();
    let gaps: BTreeSet<_> = statuses
        .iter()
        .filter(|(_, status)| status.state == Some(CoverageState::Gap))
        .map(|(watch, status)| (kind_name(&watch.kind), status.reason))
        .collect();
    ClusterLists {
        cluster: cluster.to_owned(),
        kinds: kinds.len(),
        listed,
        complete: discovered && !kinds.is_empty() && unlisted.is_empty(),
        unlisted,
        gaps: gaps.into_iter().collect(),
    }
}

/// Whether the objects were complete at some time, of this run or of one that it goes on from.
fn is_listed(status: &WatchStatus) -> bool {
    status.state == Some(CoverageState::Watched) || status.confirmed_until.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use strandline_model::Timestamp;

    fn status(kind: &str, namespace: &str, state: &str, reason: &'static str) -> (WatchKey, WatchStatus) {
        let kind = Kind::new("", kind);
        let watch = WatchKey { cluster: "eu".into(), kind, namespace: namespace.into() };
        let state = match state {
            "watched" => Some(CoverageState::Watched),
            "gap" => Some(CoverageState::Gap),
            _ => None,
        };
        (watch, WatchStatus { state, reason, ..WatchStatus::default() })
    }

    fn watched(kind: &str) -> (WatchKey, WatchStatus) {
        status(kind, "", "watched", "")
    }

    #[test]
    fn first_lists_are_complete_once_every_kind_was_listed_that_can_be() {
        let mut resumed = status("Pod", "", "gap", reason::UNREACHABLE);
        resumed.1.confirmed_until = Some(Timestamp::from_micros(1));
        for (statuses, complete, counts, unlisted, why) in [
            (vec![], false, (0, 0), &[][..], "nothing is known yet"),
            (vec![watched("")], false, (0, 0), &[], "its watches have not begun"),
            (vec![watched(""), watched("Pod")], true, (1, 1), &[], "all is listed"),
            (vec![watched("Pod")], false, (1, 1), &[], "there may be more kinds"),
            (
                vec![watched(""), watched("Node"), status("Pod", "", "", "")],
                false,
                (1, 2),
                &["Pod"],
                "it began",
            ),
            (
                vec![watched(""), status("Pod", "", "gap", reason::LISTING)],
                false,
                (0, 1),
                &["Pod"],
                "it is listed",
            ),
            (
                vec![
                    watched(""),
                    status("Pod", "a", "watched", ""),
                    status("Pod", "b", "gap", reason::LISTING),
                ],
                false,
                (0, 1),
                &["Pod"],
                "one namespace of two",
            ),
            (vec![watched(""), resumed], true, (1, 1), &[], "an earlier run listed it"),
            (
                vec![watched(""), watched("Node"), status("Pod", "", "gap", reason::FORBIDDEN)],
                true,
                (1, 2),
                &[],
                "nobody waits for what may not be listed",
            ),
        ] {
            let found = of_cluster("eu", &statuses);
            assert_eq!((found.complete, (found.listed, found.kinds)), (complete, counts), "{why}");
            assert_eq!(found.unlisted, unlisted, "{why}");
        }
    }

    #[test]
    fn each_kind_is_in_a_gap_once_with_its_reason() {
        let statuses = [
            status("", "", "gap", reason::UNREACHABLE),
            status("Pod", "a", "gap", reason::FORBIDDEN),
            status("Pod", "b", "gap", reason::FORBIDDEN),
            watched("Node"),
        ];
        let gaps = of_cluster("eu", &statuses).gaps;
        assert_eq!(gaps, [("*".to_owned(), reason::UNREACHABLE), ("Pod".to_owned(), reason::FORBIDDEN)]);
    }
}
