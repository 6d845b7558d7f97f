//! What the log says, held against what really was.

use std::collections::BTreeMap;

use serde_json::Value;
use strandline_model::{
    Change, CoverageMark, CoverageState, DeletionCause, Kind, Record, Timestamp, WatchKey, reason,
};

use super::truth::{Life, State, Thing, Truth};

/// How late a change may be recorded without a gap that says why: what a short hiccup takes.
const PROMPT: std::time::Duration = std::time::Duration::from_secs(20);

/// An object as the log tells it.
#[derive(Debug, Default)]
struct Told {
    states: Vec<State>,
    ended: Option<(Timestamp, DeletionCause)>,
}

/// A stretch of time in which a watch was not seeing everything.
#[derive(Clone, Debug)]
struct Gap {
    watch: WatchKey,
    since: Timestamp,
    until: Timestamp,
}

/// The whole history.
#[derive(Debug, Default)]
pub(super) struct History {
    told: BTreeMap<Thing, Told>,
    gaps: Vec<Gap>,
    /// How each watch stands, and since when.
    open: BTreeMap<WatchKey, CoverageMark>,
}

const EVER: Timestamp = Timestamp::from_micros(i64::MAX);
const NEVER: Timestamp = Timestamp::from_micros(i64::MIN);

/// Whether what happened after a mark may be missing; of a kind that was removed nobody knows until it is seen to be back.
fn is_unseen(mark: &CoverageMark) -> bool {
    mark.state == CoverageState::Gap || mark.reason == reason::REMOVED
}

impl History {
    pub(super) fn read(records: &[Record]) -> Result<Self, String> {
        let mut history = History::default();
        for record in records {
            match &record.change {
                Change::Applied { key, uid, resource_version, body, .. } => {
                    let object: Value = serde_json::from_str(body).map_err(|error| error.to_string())?;
                    let round = object["metadata"]["annotations"]["round"].as_str().unwrap_or_default();
                    let told = history.told.entry(Thing::of(key, uid)).or_default();
                    // What was taken for gone is there after all: the same life goes on.
                    told.ended = None;
                    told.states.push(State {
                        since: record.observed_at,
                        version: resource_version.to_string(),
                        round: round.to_owned(),
                    });
                }
                Change::Deleted { key, uid, cause, .. } => {
                    let told = history.told.entry(Thing::of(key, uid)).or_default();
                    told.ended = Some((record.observed_at, *cause));
                }
                Change::Coverage(mark) => history.mark(record.observed_at, mark),
                Change::Clock(_)
                | Change::Forgotten { .. }
                | Change::Declared { .. }
                | Change::Erased(_)
                | Change::Withdrawn { .. } => {}
            }
        }
        let open: Vec<_> = history.open.values().cloned().collect();
        for mark in open.iter().filter(|mark| is_unseen(mark)) {
            history.gaps.push(Gap { watch: mark.watch.clone(), since: mark.since, until: EVER });
        }
        Ok(history)
    }

    fn mark(&mut self, now: Timestamp, mark: &CoverageMark) {
        match self.open.insert(mark.watch.clone(), mark.clone()) {
            // Nobody can have watched before the first mark.
            None => self.gaps.push(Gap { watch: mark.watch.clone(), since: NEVER, until: now }),
            Some(before) if is_unseen(&before) => {
                self.gaps.push(Gap { watch: mark.watch.clone(), since: before.since, until: now });
            }
            // While a watch of the whole cluster covered a namespace, that one's gaps are the ones that count.
            Some(_) => {}
        }
    }

    /// Whether somebody may have missed what happened to a thing between two moments.
    fn missed(&self, thing: &Thing, from: Timestamp, to: Timestamp) -> bool {
        let concerns = |watch: &WatchKey| {
            watch.cluster == thing.cluster
                && (watch.kind == thing.kind || watch.kind == Kind::new("", ""))
                && (watch.namespace.is_empty() || watch.namespace == thing.namespace)
        };
        self.gaps.iter().any(|gap| concerns(&gap.watch) && gap.since <= to && gap.until >= from)
    }

    /// Compares with what really was; `prompt` when nothing kept changes from being told at once.
    pub(super) fn compare(&self, truth: &Truth, prompt: bool) -> Result<(), String> {
        if let Some(ghost) = self.told.keys().find(|thing| !truth.lives.contains_key(*thing)) {
            return Err(format!("{ghost:?} never was"));
        }
        for (thing, life) in &truth.lives {
            let nothing = Told::default();
            let told = self.told.get(thing).unwrap_or(&nothing);
            self.compare_states(thing, life, told, prompt)
                .and_then(|()| self.compare_end(thing, life, told))
                .map_err(|error| {
                    format!("{thing:?}\n{error}\ntruth {life:#?}\ntold {told:#?}\n{}", self.about(thing))
                })?;
        }
        Ok(())
    }

    fn about(&self, thing: &Thing) -> String {
        let gaps = self.gaps.iter().filter(|gap| gap.watch.cluster == thing.cluster);
        let gaps = gaps.filter(|gap| gap.watch.kind == thing.kind || gap.watch.kind.kind.is_empty());
        gaps.map(|gap| format!("gap of {} from {} to {}\n", gap.watch, gap.since, gap.until)).collect()
    }

    fn compare_states(&self, thing: &Thing, life: &Life, told: &Told, prompt: bool) -> Result<(), String> {
        let mut told = told.states.iter().peekable();
        for (index, state) in life.states.iter().enumerate() {
            let next = life.states.get(index + 1).map(|next| next.since).or(life.ended);
            match told.next_if(|told| told.version == state.version) {
                Some(told) if told.round != state.round => {
                    return Err(format!("{told:?} is not {state:?}"));
                }
                Some(told) if told.since < state.since => {
                    return Err(format!("{told:?} was told before it was"));
                }
                Some(told) => {
                    let late = told.since.since(state.since) > PROMPT;
                    if prompt && late && !self.missed(thing, state.since, told.since) {
                        return Err(format!(
                            "{state:?} was recorded late, at {}, and no gap says so",
                            told.since
                        ));
                    }
                }
                None => {
                    let until = next.unwrap_or(EVER);
                    if until == EVER && !self.is_unwatched(thing) {
                        return Err(format!("{state:?} was never told, and it still is so"));
                    }
                    if !self.missed(thing, state.since, until) {
                        return Err(format!("{state:?} is missing, and no gap says so"));
                    }
                }
            }
        }
        match told.next() {
            Some(extra) => Err(format!("{extra:?} is told out of order, twice, or never was")),
            None => Ok(()),
        }
    }

    fn compare_end(&self, thing: &Thing, life: &Life, told: &Told) -> Result<(), String> {
        match (life.ended, told.ended) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err("it is there and is told as gone".to_owned()),
            (Some(_), None) if told.states.is_empty() || self.is_unwatched(thing) => Ok(()),
            (Some(_), None) => Err("it is gone and is told as there".to_owned()),
            (Some(ended), Some((at, _))) if at < ended => Err("its end was told before it came".to_owned()),
            (Some(_), Some((_, DeletionCause::Watched))) if life.lost => {
                Err("its end was never told, and yet is said to be".to_owned())
            }
            (Some(_), Some((_, DeletionCause::Watched))) => Ok(()),
            // A server that keeps an end to itself while it goes on telling the rest deceives about when it was.
            (Some(_), Some(_)) if life.lost => Ok(()),
            (
                Some(ended),
                Some((
                    _,
                    DeletionCause::Relist { last_seen }
                    | DeletionCause::Replaced { last_seen }
                    | DeletionCause::Unfollowed { last_seen }
                    | DeletionCause::KindRemoved { last_seen }
                    | DeletionCause::Forgotten { last_seen },
                )),
            ) => match last_seen <= ended {
                true => Ok(()),
                false => Err(format!("it is said to have been seen at {last_seen}, after its end")),
            },
        }
    }

    /// Whether nobody watches a thing's kind any more.
    fn is_unwatched(&self, thing: &Thing) -> bool {
        self.missed(thing, EVER, EVER)
    }
}
