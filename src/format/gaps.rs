//! Gaps told in few lines, however many kinds of a cluster they are of.

use std::collections::BTreeMap;

use super::unwatched;
use strandline_model::Timestamp;
use strandline_protocol::Gap;

/// What was not watched in one cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterGaps {
    /// The cluster.
    pub cluster: String,
    /// Which of its kinds.
    pub what: String,
    /// Since when the oldest of the gaps is.
    pub since: Timestamp,
    /// When the last of them was over; none while any is open.
    pub until: Option<Timestamp>,
    /// Why the oldest is.
    pub why: String,
}

/// What was not watched at a moment or in a span up to it: for each cluster a line of what is not watched at the moment,
/// and one of what was not before.
pub fn by_cluster(gaps: &[Gap], shown: Timestamp) -> Vec<ClusterGaps> {
    let mut lines: BTreeMap<(&str, bool), Vec<&Gap>> = BTreeMap::new();
    for gap in gaps {
        lines.entry((&gap.cluster, is_over(gap, shown))).or_default().push(gap);
    }
    let line = |((cluster, over), gaps): ((&str, bool), Vec<&Gap>)| {
        let oldest = gaps.iter().min_by_key(|gap| gap.since)?;
        let why = if oldest.message.is_empty() { &oldest.reason } else { &oldest.message };
        Some(ClusterGaps {
            cluster: cluster.to_owned(),
            what: unwatched(oldest, gaps.len()),
            since: oldest.since,
            until: gaps.iter().filter_map(|gap| gap.until).max().filter(|_| over),
            why: why.clone(),
        })
    };
    lines.into_iter().filter_map(line).collect()
}

/// Whether a gap was over at a moment.
pub fn is_over(gap: &Gap, shown: Timestamp) -> bool {
    gap.until.is_some_and(|until| until <= shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::NOON;
    use std::time::Duration;

    fn before(minutes: u64) -> Timestamp {
        NOON.minus(Duration::from_secs(60 * minutes))
    }

    fn gap(cluster: &str, kind: &str, since: u64, until: Option<u64>) -> Gap {
        Gap {
            cluster: cluster.into(),
            group: String::new(),
            kind: kind.into(),
            namespace: String::new(),
            since: before(since),
            until: until.map(before),
            reason: "unreachable".into(),
            message: String::new(),
        }
    }

    #[test]
    fn what_is_over_is_told_apart_from_what_is_not() {
        for (gaps, shown, expected) in [
            (vec![], 0, vec![]),
            (vec![gap("eu", "Pod", 9, None)], 0, vec![("eu", "Pod", 9, None)]),
            (vec![gap("eu", "Pod", 9, Some(5))], 0, vec![("eu", "Pod", 9, Some(5))]),
            // In the midst of it nobody knew when it would be over.
            (vec![gap("eu", "Pod", 9, Some(5))], 6, vec![("eu", "Pod", 9, None)]),
            (vec![gap("eu", "Pod", 9, Some(5))], 5, vec![("eu", "Pod", 9, Some(5))]),
            (
                vec![gap("us", "", 3, None), gap("eu", "Pod", 9, Some(5)), gap("eu", "Service", 8, None)],
                0,
                vec![("eu", "Service", 8, None), ("eu", "Pod", 9, Some(5)), ("us", "all kinds", 3, None)],
            ),
            (
                vec![gap("eu", "Pod", 9, Some(5)), gap("eu", "Service", 8, Some(2))],
                0,
                vec![("eu", "2 kinds", 9, Some(2))],
            ),
        ] {
            let told = by_cluster(&gaps, before(shown));
            let told: Vec<_> =
                told.iter().map(|line| (&*line.cluster, &*line.what, line.since, line.until)).collect();
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(cluster, what, since, until)| (cluster, what, before(since), until.map(before)))
                .collect();
            assert_eq!(told, expected, "{gaps:?}");
        }
    }
}
