//! Coverage, told by the view and by a fold over the log.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use strandline_protocol::{LastChange, WatchCoverage, WatchGap};
use strandline_query::CoverageFilter;
use strandline_query::ListCoverage;

/// What the view tells of every watch after an offset.
pub(super) async fn told(queries: &Queries, offset: Offset) -> Vec<WatchCoverage> {
    let page = PageRequest { limit: 500, after: None };
    let (scope, filter) = (Scope::everything(), CoverageFilter::default());
    queries.ask(&scope, At::Offset(offset), ListCoverage::new(&filter, &page)).await.unwrap().items
}

/// Everything in memory, everything counted anew.
pub(super) fn fold(records: &[Record]) -> Vec<WatchCoverage> {
    let (mut clusters, mut marks) =
        (BTreeSet::new(), BTreeMap::<WatchKey, Vec<(Timestamp, &CoverageMark)>>::new());
    let (mut alive, mut last) = (BTreeMap::new(), BTreeMap::new());
    for Record { offset, observed_at, change } in records {
        let changed = LastChange { offset: *offset, observed_at: *observed_at };
        match change {
            // Events are messages and no resources.
            Change::Applied { key, .. } | Change::Deleted { key, .. } if key.kind.is_event() => {}
            Change::Applied { id, key, .. } => {
                alive.insert(*id, key.clone());
                last.insert((key.cluster.clone(), key.kind.clone()), changed);
            }
            Change::Deleted { id, key, .. } => {
                alive.remove(id);
                last.insert((key.cluster.clone(), key.kind.clone()), changed);
            }
            Change::Coverage(mark) => marks.entry(mark.watch.clone()).or_default().push((*observed_at, mark)),
            Change::Declared { fact: CatalogFact::Cluster(cluster), .. } => {
                clusters.insert(cluster.name.clone());
            }
            Change::Withdrawn { kind, name, .. } if *kind == CatalogKind::Cluster => {
                _ = clusters.remove(name)
            }
            Change::Clock(_)
            | Change::Erased(_)
            | Change::Forgotten { .. }
            | Change::Declared { .. }
            | Change::Withdrawn { .. } => {}
        }
    }
    marks.retain(|watch, _| clusters.contains(&watch.cluster));
    let told = |(watch, marks): (WatchKey, Vec<(Timestamp, &CoverageMark)>)| -> Option<WatchCoverage> {
        // What was over when it was recorded says nothing of how the watch stands.
        let (_, newest) = marks.iter().rfind(|(_, mark)| mark.until.is_none())?;
        let gaps = gaps(&marks);
        let of = (watch.cluster.clone(), watch.kind.clone());
        Some(WatchCoverage {
            state: newest.state,
            since: newest.since,
            reason: newest.reason.clone(),
            message: newest.message.clone(),
            resources: alive.values().filter(|key| (&key.cluster, &key.kind) == (&of.0, &of.1)).count()
                as u64,
            last_change: last.get(&of).copied(),
            last_seen: None,
            lag_ms: None,
            last_error: gaps.first().cloned(),
            gaps,
            watch,
        })
    };
    marks.into_iter().filter_map(told).collect()
}

/// The newest ten gaps, each until the mark after it was observed, unless it tells its end itself.
fn gaps(marks: &[(Timestamp, &CoverageMark)]) -> Vec<WatchGap> {
    let next = |place: usize| marks.iter().skip(place + 1).find(|(_, mark)| mark.until.is_none());
    let ends = marks.iter().enumerate();
    let ends = ends.map(|(place, (_, mark))| mark.until.or(next(place).map(|(observed_at, _)| *observed_at)));
    let spans = marks.iter().zip(ends).filter(|((_, mark), _)| mark.state == CoverageState::Gap);
    let gap = |((_, mark), until): (&(Timestamp, &CoverageMark), _)| WatchGap {
        since: mark.since,
        until,
        reason: mark.reason.clone(),
        message: mark.message.clone(),
    };
    let gaps: Vec<_> = spans.map(gap).collect();
    gaps.into_iter().rev().take(10).collect()
}
