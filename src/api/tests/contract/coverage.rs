//! Clusters, and what of them is watched, as the document has them.

use super::*;

#[test]
fn clusters_have_the_documented_shape() {
    let cluster = |watched: bool| Cluster {
        id: "eu-west".into(),
        region: "eu".into(),
        watched,
        unwatched_since: (!watched).then_some(NOON),
        kinds_watched: 40,
        gaps: if watched { vec![] } else { vec![gap()] },
    };
    holds("ClusterPage", &page(vec![cluster(true), cluster(false)]));
}

#[test]
fn coverage_has_the_documented_shape() {
    let gap = |until| WatchGap { since: NOON, until, reason: "forbidden".into(), message: String::new() };
    let whole = WatchCoverage {
        last_change: Some(LastChange { offset: Offset::new(7), observed_at: NOON }),
        last_seen: Some(NOON),
        lag_ms: Some(1500),
        last_error: Some(gap(None)),
        gaps: vec![gap(None), gap(Some(NOON))],
        ..watch("Deployment", CoverageState::Watched)
    };
    let bare = CoverageState::ALL.map(|state| watch("Deployment", state));
    holds("CoveragePage", &page(bare.into_iter().chain([whole]).collect()));
}
