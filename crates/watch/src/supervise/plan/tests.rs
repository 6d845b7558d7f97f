#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use super::*;
use crate::discovery::Unfollowed;
use crate::{ClusterAccess, ConnectSettings, Selection, connect};
use strandline_model::CoverageState;
use strandline_redact::Rules;

async fn ways(namespaces: &[&[&str]]) -> Vec<Watcher> {
    let settings = ConnectSettings::new(ClusterAccess::Url("http://127.0.0.1:1".to_owned()));
    let connection = connect(&settings).await.unwrap();
    let way = |names: &&[&str]| Watcher {
        connection: connection.clone(),
        namespaces: names.iter().map(|&name| name.to_owned()).collect(),
    };
    namespaces.iter().map(way).collect()
}

/// Pods in namespaces and Nodes outside; Leases are there and not followed.
fn discovered() -> Discovered {
    let served = |kind: &str, namespaced| ServedKind {
        kind: Kind::new("", kind),
        version: "v1".into(),
        plural: kind.to_lowercase() + "s",
        namespaced,
    };
    let kinds = [served("Pod", true), served("Node", false)].map(|served| (served.kind.clone(), served));
    let lease = Unfollowed::ByDefault("someone lives");
    Discovered {
        kinds: kinds.into(),
        unfollowed: [(Kind::new("", "Lease"), lease)].into(),
        ..Discovered::default()
    }
}

fn settings(exclude_namespaces: &[&str]) -> ClusterSettings {
    let rules = Rules::new([0; 32]);
    let exclude_namespaces = exclude_namespaces.iter().map(|&name| name.to_owned()).collect();
    ClusterSettings {
        selection: Selection { exclude_namespaces, ..Selection::default() },
        ..ClusterSettings::new("c", std::sync::Arc::new(rules))
    }
}

fn described(plan: &Plan) -> Vec<String> {
    plan.iter().map(|(watch, planned)| format!("{watch} by {}", planned.way)).collect()
}

#[tokio::test]
async fn nothing_is_watched_twice() {
    type Case<'a> = (&'a [&'a [&'a str]], &'a [usize], &'a [&'a str]);
    let cases: [Case<'_>; 7] = [
        (&[&[]], &[], &["c/Node by 0", "c/Pod by 0"]),
        (&[&["a", "b"], &["b", "d"]], &[], &["c/Pod in a by 0", "c/Pod in b by 0", "c/Pod in d by 1"]),
        (&[&["a"], &[]], &[], &["c/Node by 1", "c/Pod by 1"]),
        // Refused for the whole cluster: the namespaces, and the refused one keeps trying.
        (&[&["a"], &[]], &[1], &["c/Node by 1", "c/Pod by 1", "c/Pod in a by 0"]),
        (&[&[], &[]], &[0], &["c/Node by 0", "c/Pod by 1"]),
        (&[&[], &[]], &[0, 1], &["c/Node by 0", "c/Pod by 0"]),
        (&[], &[], &[]),
    ];
    for (namespaces, refused, expected) in cases {
        let refused = refused.iter().map(|&way| (Kind::new("", "Pod"), way)).collect();
        let plan = plan(&settings(&[]), &ways(namespaces).await, &discovered(), &refused);
        assert_eq!(described(&plan), expected, "{namespaces:?} {refused:?}");
    }
    let plan = plan(&settings(&["a"]), &ways(&[&["a", "b"], &[]]).await, &discovered(), &Refused::new());
    assert_eq!(
        described(&plan),
        ["c/Node by 1", "c/Pod by 1", "c/Pod in a by 0"],
        "what the whole leaves out"
    );
}

#[tokio::test]
async fn what_is_no_longer_planned_ends_for_a_reason() {
    let discovered = discovered();
    let watch = |kind: &str, namespace: &str| WatchKey {
        cluster: "c".into(),
        kind: Kind::new("", kind),
        namespace: namespace.into(),
    };
    let whole = plan(&settings(&[]), &ways(&[&[]]).await, &discovered, &Refused::new());
    let narrow = plan(&settings(&[]), &ways(&[&["a"]]).await, &discovered, &Refused::new());
    let (seen, now) = (Timestamp::from_micros(4), Timestamp::from_micros(7));
    let retired = |watch: &WatchKey, plan: &Plan, last_seen| {
        retire(&settings(&[]), watch, &discovered, plan, last_seen, now)
    };
    let reason_of = |watch: WatchKey, plan: &Plan| match retired(&watch, plan, Some(seen)) {
        Retirement::Vanished(mark) => {
            assert_eq!((mark.state, mark.since, &mark.watch), (CoverageState::Gap, seen, &watch));
            format!("{} gap", mark.reason)
        }
        Retirement::Dismissed { mark, unfollow } => {
            assert_eq!((mark.state, mark.since, &mark.watch), (CoverageState::Excluded, now, &watch));
            format!("{} {unfollow}", mark.reason)
        }
    };
    assert_eq!(reason_of(watch("Widget", ""), &whole), "not_served gap");
    let unseen = retired(&watch("Widget", ""), &whole, None);
    assert!(matches!(unseen, Retirement::Vanished(mark) if mark.since == now), "it may never have been seen");
    assert_eq!(reason_of(watch("Lease", ""), &whole), "excluded true");
    assert_eq!(reason_of(watch("Pod", "a"), &whole), "covered false");
    assert_eq!(reason_of(watch("Pod", "b"), &narrow), "excluded true");
    assert_eq!(reason_of(watch("Pod", ""), &narrow), "excluded true");
}
