//! The law: at every moment the answer by time is what the clusters held then, or lies in a gap that this very answer
//! names, or is no older than the delay that it states.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use strandline_clock::Clock;
use strandline_log::LogReader;
use strandline_model::{At, Change, CoverageMark, Offset, Timestamp};
use strandline_protocol::{Gap, Snapshot};
use strandline_query::SearchResources;
use strandline_query::{PageRequest, Queries, ResourceSearch, Scope};
use strandline_sqlite::Watermark;
use strandline_view::ruleset::RuleSet;
use strandline_view::{Projector, ViewStatus};

use super::truth::{Thing, Truth, state_name};
use crate::random::Random;
use crate::server::Result;

/// Moments asked for in one history, besides those right after something happened.
const MOMENTS: usize = 24;

/// A clock that shows one time.
struct Fixed(Timestamp);

impl Clock for Fixed {
    fn now(&self) -> Timestamp {
        self.0
    }
}

/// What the record holds, with the means to ask it.
pub(super) struct Record {
    queries: Queries,
    /// Which state of which object each change recorded.
    changes: BTreeMap<Offset, (Thing, String)>,
    /// Every mark of coverage, for the message of a failed test.
    marks: Vec<(Timestamp, CoverageMark)>,
}

impl Record {
    /// Projects all of a log that nobody writes.
    pub(super) fn open(folder: &Path, now: Timestamp) -> Result<Self> {
        let mut projector = Projector::open(folder, RuleSet::default())?;
        while projector.step()?.is_some() {}
        let status = ViewStatus::new(Watermark::default());
        status.set_usable(true);
        let queries = Queries::new(folder, 1, status, Arc::new(Fixed(now)));
        let mut log = LogReader::open(folder)?;
        let (mut changes, mut marks, mut at) = (BTreeMap::new(), Vec::new(), Offset::ZERO);
        loop {
            let records = log.after(at, 1000)?;
            let Some(last) = records.last() else { break };
            at = last.offset;
            for record in records {
                if let Change::Coverage(mark) = record.change {
                    marks.push((record.observed_at, mark));
                } else if let Change::Applied { key, uid, resource_version, body, .. } = record.change {
                    let object: Value = serde_json::from_str(&body)?;
                    let round = object["metadata"]["annotations"]["round"].as_str().unwrap_or_default();
                    let state = state_name(resource_version.as_str(), round);
                    changes.insert(record.offset, (Thing::of(&key, &uid), state));
                }
            }
        }
        Ok(Record { queries, changes, marks })
    }

    /// All resources at a moment, each with its state, and what the answer says of itself.
    async fn at(&self, time: Timestamp) -> Result<(BTreeMap<Thing, String>, Snapshot)> {
        let (mut held, mut page) = (BTreeMap::new(), PageRequest::default());
        loop {
            let search = ResourceSearch::default();
            let answer = self
                .queries
                .ask(&Scope::everything(), At::Time(time), SearchResources::new(&search, &page))
                .await?;
            for item in answer.items {
                let offset = item.resource.offset;
                let (thing, version) =
                    self.changes.get(&offset).ok_or_else(|| format!("{offset} is no state"))?.clone();
                held.insert(thing, version);
            }
            match answer.metadata.next {
                Some(next) => page.after = Some(next),
                None => return Ok((held, answer.metadata.snapshot)),
            }
        }
    }

    fn marks_of(&self, thing: &Thing) -> String {
        let of = |(_, mark): &&(Timestamp, CoverageMark)| {
            let watch = &mark.watch;
            watch.cluster == thing.cluster && (watch.kind == thing.kind || watch.kind.kind.is_empty())
        };
        let marks = self.marks.iter().filter(of);
        marks
            .map(|(at, mark)| {
                let CoverageMark { watch, state, since, until, reason, nothing_missed, .. } = mark;
                let until = until.map(|until| format!(" to {until}")).unwrap_or_default();
                format!("\n{at} {watch} {state} {reason} from {since}{until} nothing_missed={nothing_missed}")
            })
            .collect()
    }

    /// Holds the answer about one moment against what really was.
    pub(super) async fn check_moment(&self, truth: &Truth, time: Timestamp) -> Result<()> {
        let (held, snapshot) = self.at(time).await?;
        let delay = delay(&snapshot);
        let nothing = String::new();
        for thing in truth.lives.keys().filter(|thing| truth.is_answerable(thing, time)) {
            let answer = held.get(thing).unwrap_or(&nothing);
            let mut really = truth.states(thing, time.minus(delay), time);
            if !really.any(|version| version == answer)
                && !snapshot.coverage.gaps.iter().any(|gap| concerns(gap, thing))
            {
                let between: Vec<_> = truth.states(thing, time.minus(delay), time).collect();
                return Err(format!(
                    "at {time} {thing:?} is answered as {answer:?}, and was {between:?} within {delay:?} before; \
                     the gaps named: {:?}{}",
                    snapshot.coverage.gaps,
                    self.marks_of(thing)
                )
                .into());
            }
        }
        match held.keys().find(|thing| !truth.lives.contains_key(*thing)) {
            Some(ghost) => Err(format!("at {time} {ghost:?} is answered, which never was").into()),
            None => Ok(()),
        }
    }

    /// Asks about moments spread over a history, and about those around each thing that happened.
    pub(super) async fn check(&self, truth: &Truth, from: Timestamp, to: Timestamp, seed: u64) -> Result<()> {
        // Before its first mark a cluster was never followed at all.
        let from = self.marks.first().map_or(to, |(first, _)| from.max(*first));
        let mut random = Random::new(seed ^ 0x1a37);
        let span = u64::try_from(to.since(from).as_micros())?.max(1);
        let mut times: Vec<_> =
            (0..MOMENTS).map(|_| from.plus(Duration::from_micros(random.below(span)))).collect();
        let happened = truth.times();
        for _ in 0..MOMENTS.min(happened.len()) {
            let near = happened[random.below(happened.len() as u64) as usize];
            times.push(near.plus(Duration::from_millis(random.below(12_000))));
        }
        for time in times.into_iter().filter(|time| (from..to).contains(time)) {
            self.check_moment(truth, time).await?;
        }
        Ok(())
    }
}

/// How old an answer may be by its own word.
fn delay(snapshot: &Snapshot) -> Duration {
    Duration::from_millis(snapshot.delay_ms.unwrap_or_default())
}

fn concerns(gap: &Gap, thing: &Thing) -> bool {
    gap.cluster == thing.cluster
        && (gap.kind.is_empty() || (gap.group == thing.kind.group && gap.kind == thing.kind.kind))
        && (gap.namespace.is_empty() || gap.namespace == thing.namespace)
}
