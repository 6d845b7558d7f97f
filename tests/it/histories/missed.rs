//! Gaps by time: whatever is asked at a random time names just the gaps that hold it, whenever they were recorded.

use std::collections::BTreeSet;

use super::fold::Present;
use super::happen::Dice;
use super::*;
use super::{Played, record_times};
use strandline_model::{CoverageMark, CoverageState, Kind, Target, Timestamp, WatchKey};
use strandline_query::{
    ExplainEnvironment, GetEnvironment, GetEnvironmentGraph, GetEnvironmentHealth, GetResource, ListClusters,
    ListCoverage, ListEnvironmentEvents, ListEnvironmentResources, ListEnvironments, ListImages,
    ListResourceEdges, ListResourceVersions,
};

/// Times asked for in one history.
const TIMES: usize = 12;

/// When something may have been missed.
#[derive(Clone, Debug)]
pub(super) struct Span {
    watch: WatchKey,
    since: Timestamp,
    until: Option<Timestamp>,
    reason: String,
    void: bool,
    recorded: bool,
}

/// A gap as it is named.
type Named = (String, Kind, String, Timestamp, Option<Timestamp>, String);

/// All gaps that were recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Missed {
    spans: Vec<Span>,
}

impl Missed {
    pub(super) fn take(&mut self, mark: &CoverageMark, now: Timestamp) {
        let mut span = Span {
            watch: mark.watch.clone(),
            since: mark.since,
            until: mark.until,
            reason: mark.reason.clone(),
            void: false,
            recorded: mark.until.is_none(),
        };
        if mark.until.is_none() {
            let open = |span: &&mut Span| span.recorded && span.watch == mark.watch && span.until.is_none();
            if let Some(before) = self.spans.iter_mut().find(open) {
                (before.until, before.void) = (Some(now), mark.nothing_missed);
            }
        }
        if mark.state == CoverageState::Gap {
            span.void = false;
            self.spans.push(span);
        }
    }

    /// Those that hold one of some times.
    fn within(&self, since: Timestamp, until: Timestamp) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(move |span| {
            let ends = span.until.unwrap_or(Timestamp::from_micros(i64::MAX));
            !span.void && span.since <= until && ends > since && span.since < ends
        })
    }
}

fn named(span: &Span) -> Named {
    let WatchKey { cluster, kind, namespace } = span.watch.clone();
    (cluster, kind, namespace, span.since, span.until, span.reason.clone())
}

fn told(gaps: &[Gap]) -> Vec<Named> {
    let mut told: Vec<Named> = gaps
        .iter()
        .map(|gap| {
            let kind = Kind::new(gap.group.as_str(), gap.kind.as_str());
            (gap.cluster.clone(), kind, gap.namespace.clone(), gap.since, gap.until, gap.reason.clone())
        })
        .collect();
    told.sort();
    told
}

/// What is asked at a time, with the state of things then and all gaps that were ever recorded.
struct AskedAt<'a> {
    queries: &'a Queries,
    time: Timestamp,
    present: &'a Present,
    missed: &'a Missed,
}

impl AskedAt<'_> {
    /// Where everything is asked about: of clusters that the catalog does not hold, those that environments look at.
    fn expect_of_all(&self) -> Vec<Named> {
        let nothing_yet = self.present.offset == Offset::ZERO;
        let environments = self.present.environments.values();
        let targets = environments.flat_map(|held| &held.declared.targets);
        let looked_at: BTreeSet<&str> = targets.map(|target| target.cluster.as_str()).collect();
        let known = |cluster: &str| self.present.catalog.clusters.contains_key(cluster);
        self.expect(self.time, |Span { watch, .. }| {
            nothing_yet || known(&watch.cluster) || looked_at.contains(watch.cluster.as_str())
        })
    }

    fn expect(&self, since: Timestamp, concerns: impl Fn(&Span) -> bool) -> Vec<Named> {
        let spans = self.missed.within(since, self.time).filter(|span| concerns(span));
        let mut all: Vec<Named> = spans.map(named).collect();
        all.sort();
        all
    }

    /// Whether a gap is where one of the targets is, and no watch of its namespace alone goes on there.
    fn concerns(&self, targets: &[Target], span: &Span) -> bool {
        targets.iter().any(|target| {
            let watch = &span.watch;
            let narrower = WatchKey { namespace: target.namespace.clone(), ..watch.clone() };
            let watched = self.present.coverage.get(&narrower);
            let watched = watched.is_some_and(|mark| mark.state == CoverageState::Watched);
            let anywhere = target.namespace.is_empty();
            watch.cluster == target.cluster
                && (anywhere || watch.namespace.is_empty() || watch.namespace == target.namespace)
                && (!watch.namespace.is_empty() || !watched)
        })
    }

    async fn everything(&self, dice: &mut Dice) {
        let (scope, at, queries) = (Scope::everything(), At::Time(self.time), self.queries);
        let same = |snapshot: &Snapshot, expected: &[Named], what: &str| {
            assert_eq!(snapshot.offset, self.present.offset, "{what} at {}", self.time);
            assert_eq!(told(&snapshot.coverage.gaps), expected, "{what} at {}", self.time);
            assert_eq!(snapshot.coverage.complete, expected.is_empty(), "{what} at {}", self.time);
        };
        let all = self.expect_of_all();
        let list = queries
            .ask(&scope, at, ListEnvironments::new(&EnvironmentFilter::default(), &whole()))
            .await
            .unwrap();
        same(&list.metadata.snapshot, &all, "environments");
        let overview = queries.ask(&scope, at, GetOverview::default()).await.unwrap();
        same(&overview.metadata, &all, "overview");
        let coverage =
            queries.ask(&scope, at, ListCoverage::new(&CoverageFilter::default(), &whole())).await.unwrap();
        same(&coverage.metadata.snapshot, &all, "coverage");
        self.of_watches(&coverage.items);
        let images =
            queries.ask(&scope, at, ListImages::new(&ImageFilter::default(), &whole())).await.unwrap();
        same(&images.metadata.snapshot, &all, "images");
        let clusters = queries.ask(&scope, at, ListClusters::new(&whole())).await.unwrap();
        same(&clusters.metadata.snapshot, &all, "clusters");
        for cluster in &clusters.items {
            let expected = self.expect(self.time, |span| span.watch.cluster == cluster.id);
            assert_eq!(told(&cluster.gaps), expected, "cluster {} at {}", cluster.id, self.time);
        }
        for (id, held) in &self.present.environments {
            let targets = &held.declared.targets;
            let expected = self.expect(self.time, |span| self.concerns(targets, span));
            let one = queries.ask(&scope, at, GetEnvironment::new(id)).await.unwrap();
            same(&one.metadata, &expected, "environment");
            let graph = queries.ask(&scope, at, GetEnvironmentGraph::new(id, &uncut())).await.unwrap();
            same(&graph.metadata, &expected, "graph");
            let why = queries.ask(&scope, at, ExplainEnvironment::new(id, 5)).await.unwrap();
            same(&why.metadata, &expected, "why");
            let any = &ResourceFilter::default();
            let page =
                queries.ask(&scope, at, ListEnvironmentResources::new(id, any, &whole())).await.unwrap();
            same(&page.metadata.snapshot, &expected, "resources");
            let any = &EventFilter::default();
            let page = queries.ask(&scope, at, ListEnvironmentEvents::new(id, any, &whole())).await.unwrap();
            same(&page.metadata.snapshot, &expected, "events");
            let since = World::time(0).plus(std::time::Duration::from_secs(dice.below(100_000) as u64));
            let since = since.min(self.time);
            let filter = HealthFilter { since: Some(At::Time(since)), ..HealthFilter::default() };
            let health = queries.ask(&scope, at, GetEnvironmentHealth::new(id, filter)).await.unwrap();
            let expected = self.expect(since, |span| self.concerns(targets, span));
            same(&health.metadata, &expected, "health over time");
        }
        for (number, thing) in self.present.things.iter().take(6) {
            let cluster = Some(thing.key.cluster.as_str());
            let expected = self.expect(self.time, |span| span.watch.cluster == thing.key.cluster);
            let (uid, page) = (&self.present.keys[number].1, whole());
            let one = queries.ask(&scope, at, GetResource::new(uid, cluster)).await.unwrap();
            same(&one.metadata, &expected, "resource");
            let history =
                queries.ask(&scope, at, ListResourceVersions::new(uid, cluster, false, &page)).await.unwrap();
            same(&history.metadata.snapshot, &expected, "history");
            let edges = queries.ask(&scope, at, ListResourceEdges::new(uid, cluster, &page)).await.unwrap();
            same(&edges.metadata.snapshot, &expected, "edges");
        }
    }

    /// Of each watch the newest gaps that began by then.
    fn of_watches(&self, items: &[WatchCoverage]) {
        for item in items {
            let mut expected: Vec<_> = (self.missed.spans.iter())
                .filter(|span| span.watch == item.watch && !span.void && span.since <= self.time)
                .map(|span| (span.since, span.until))
                .collect();
            // Of those that began at one time the one recorded last comes first.
            expected.reverse();
            expected.sort_by_key(|(since, _)| std::cmp::Reverse(*since));
            expected.truncate(WatchCoverage::GAPS);
            let told: Vec<_> = item.gaps.iter().map(|gap| (gap.since, gap.until)).collect();
            assert_eq!(told, expected, "gaps of {:?} at {}", item.watch, self.time);
        }
    }
}

impl Played {
    /// Asks at random times, most of them where a gap begins or ends.
    pub(super) fn ask_at_times(&self, seed: u64) {
        let mut dice = Dice(seed ^ 0x71ED);
        let mut whole = Present::default();
        self.records.iter().for_each(|record| whole.take(record));
        let edges = whole.missed.spans.iter().flat_map(|span| [Some(span.since), span.until]).flatten();
        let (first, last) = record_times(&self.records);
        let edges: BTreeSet<Timestamp> = edges.filter(|time| (first..=last).contains(time)).collect();
        let mut times: Vec<Timestamp> = edges.into_iter().collect();
        times.extend(self.records.iter().map(|record| record.observed_at));
        let mut times: Vec<Timestamp> = (0..TIMES).map(|_| dice.pick(&times)).collect();
        for time in &mut times {
            let micros = std::time::Duration::from_micros(1);
            *time = match dice.below(4) {
                0 => time.minus(micros).max(first),
                1 => time.plus(micros).min(last),
                _ => *time,
            };
        }
        times.sort();
        let (mut present, mut records) = (Present::default(), self.records.iter().peekable());
        block_on(async {
            for time in times {
                while let Some(record) = records.next_if(|record| record.observed_at <= time) {
                    present.take(record);
                }
                let asked =
                    AskedAt { queries: &self.queries, time, present: &present, missed: &whole.missed };
                asked.everything(&mut dice).await;
            }
        });
    }
}
