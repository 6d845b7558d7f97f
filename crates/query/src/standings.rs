//! All environments as they stand now, kept in memory from one overview to the next.
//!
//! An overview looks at every environment, and SQLite takes microseconds for each. Between two overviews few
//! of them change, and whoever writes the view says which: only these are read again.
//!
//! Why: docs/decisions/0046-environments-as-they-stand-are-kept-in-memory.md.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, Row, named_params};

use crate::error::Result;
use crate::moment::Moment;
use crate::row_filter::Aim;
use crate::scope::{Audiences, ResolvedScope, one_of};
use strandline_model::{Health, HealthCounts, Labels, Offset, Tier, Timestamp};
use strandline_sqlite::column::{VIEW, unreadable};
use strandline_syntax::diagnostics::of_json;
use strandline_view::{COUNTS, RecentChanges, read_counts_at};

/// Where more than one in so many changed, all are read at once; and so many are read one by one wherever.
const ONE_BY_ONE: (usize, usize) = (8, 32);

/// How environments stand in one file of the view; clones share it.
#[derive(Clone, Default)]
pub(super) struct Standings {
    recent: RecentChanges,
    newest: Arc<Mutex<Option<Newest>>>,
}

/// How the environments stand that a scope sees.
pub(super) struct SeenStandings {
    all: Arc<Vec<Standing>>,
    audiences: Audiences,
}

/// How all of them stand at an offset.
struct Newest {
    offset: Offset,
    /// By their numbers, one beside the other in memory: a fold takes longer for what it has to fetch from elsewhere.
    all: Arc<Vec<Standing>>,
    shared: Shared,
}

/// What many environments share, each once.
#[derive(Default)]
struct Shared {
    texts: HashSet<Arc<str>>,
    /// By their JSON.
    labels: HashMap<Box<str>, Arc<Labels>>,
    targets: HashSet<Arc<[Aim]>>,
}

/// How one environment stands.
#[derive(Clone)]
pub(super) struct Standing {
    /// The view's numbers of it, and of those who see it.
    pub(super) number: i64,
    pub(super) audience: i64,
    pub(super) tier: Arc<str>,
    pub(super) region: Arc<str>,
    pub(super) state: Arc<str>,
    pub(super) project: Arc<str>,
    shown: Shown,
    /// What it shows until a time.
    grace: Option<(Timestamp, Shown)>,
    pub(super) resources: HealthCounts,
    pub(super) id: Arc<str>,
    pub(super) name: Arc<str>,
    pub(super) labels: Arc<Labels>,
    pub(super) targets: Arc<[Aim]>,
}

/// A health, and since when.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    pub(super) health: Option<Health>,
    pub(super) since: Timestamp,
}

macro_rules! select {
    ($environments:expr) => {
        concat!(
            "SELECT e.id, e.audience, e.name_id, e.tier, e.region, e.state, e.project, e.name, e.labels, e.targets,
                h.state, h.since, h.grace_state, h.grace_since, h.grace_until,
                h.healthy, h.suspended, h.progressing, h.missing, h.degraded, h.unknown, h.no_health
            FROM ",
            $environments,
            " AND e.to_offset > :at AND e.from_offset <= :at
                AND h.stretch = (SELECT max(from_offset) FROM stretch WHERE from_offset <= :at)
                AND h.environment_id = e.id AND h.from_offset <= :at AND h.to_offset > :at"
        )
    };
}

const ALL: &str = select!(
    "environment e INDEXED BY environment_by_tier CROSS JOIN stretch_health h
    WHERE e.tier IN (SELECT value FROM json_each(:tiers))"
);

const ONE: &str = select!(
    "environment e CROSS JOIN stretch_health h
    WHERE e.id = :number AND e.from_offset =
        (SELECT max(from_offset) FROM environment WHERE id = :number AND from_offset <= :at)"
);

impl Standings {
    /// None yet, of a view whose writer says here what changes.
    pub(super) fn new(recent: &RecentChanges) -> Self {
        Standings { recent: recent.clone(), newest: Arc::default() }
    }

    /// The same of another file, of which nothing is known yet, once nobody writes the one before any more.
    pub(super) fn of_another_file(&self) -> Self {
        self.recent.clear();
        Standings::new(&self.recent)
    }

    /// How the environments stand at a moment that a scope sees; none where the view is to answer: of the past, and where little
    /// is seen.
    pub(super) fn of(
        &self,
        view: &Connection,
        moment: &Moment,
        scope: &ResolvedScope,
    ) -> Result<Option<SeenStandings>> {
        if !moment.is_newest() || scope.is_narrow() {
            return Ok(None);
        }
        let Some(all) = self.at(view, moment.offset)? else { return Ok(None) };
        Ok(Some(SeenStandings { all, audiences: scope.audiences(view)? }))
    }

    /// How all environments stand at the last offset of the view, which is this, by their numbers; none where the view is not
    /// the newest that was asked.
    pub(super) fn at(&self, view: &Connection, offset: Offset) -> Result<Option<Arc<Vec<Standing>>>> {
        // Who comes meanwhile waits for what they would read themselves. What breaks off leaves what was there.
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        match newest.as_mut() {
            // Read from a later state of the view than this question has.
            Some(known) if known.offset > offset => return Ok(None),
            Some(known) => known.bring_to(view, offset, &self.recent)?,
            None => *newest = Some(Newest::read(view, offset)?),
        }
        Ok(newest.as_ref().map(|newest| Arc::clone(&newest.all)))
    }
}

impl SeenStandings {
    /// Those that are seen, by their numbers.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Standing> {
        self.all.iter().filter(|one| self.audiences.see(one.audience))
    }

    /// Whether what one of them holds may be read.
    pub(super) fn may_read(&self, one: &Standing) -> bool {
        self.audiences.read(one.audience)
    }
}

impl Newest {
    fn read(view: &Connection, offset: Offset) -> Result<Self> {
        let mut statement = view.prepare_cached(ALL)?;
        let tiers = one_of(&Tier::ALL, |tier| tier.as_str());
        let params = named_params! { ":at": offset.as_i64(), ":tiers": tiers };
        let mut shared = Shared::default();
        let rows = statement.query_map(params, |row| Standing::read(row, &mut shared))?;
        let mut all = rows.collect::<rusqlite::Result<Vec<_>>>()?;
        all.sort_unstable_by_key(|one| one.number);
        Ok(Newest { offset, all: Arc::new(all), shared })
    }

    /// Reads what changed up to an offset, the last one of the view.
    fn bring_to(&mut self, view: &Connection, offset: Offset, recent: &RecentChanges) -> Result<()> {
        let few = (self.all.len() / ONE_BY_ONE.0).max(ONE_BY_ONE.1);
        let changed = recent.between(self.offset, offset).filter(|changed| changed.len() <= few);
        let Some(changed) = changed else {
            *self = Newest::read(view, offset)?;
            return Ok(());
        };
        let (mut statement, shared) = (view.prepare_cached(ONE)?, &mut self.shared);
        let mut read = |number: i64| {
            let at = named_params! { ":at": offset.as_i64(), ":number": number };
            statement.query_row(at, |row| Standing::read(row, shared)).optional()
        };
        // All are read before any of them takes its place.
        let changed = changed.into_iter().map(|number| Ok((number, read(number)?)));
        let changed = changed.collect::<rusqlite::Result<Vec<_>>>()?;
        if !changed.is_empty() {
            let all = Arc::make_mut(&mut self.all);
            for (number, standing) in changed {
                match (all.binary_search_by_key(&number, |one| one.number), standing) {
                    (Ok(place), Some(standing)) => all[place] = standing,
                    (Ok(place), None) => drop(all.remove(place)),
                    (Err(place), Some(standing)) => all.insert(place, standing),
                    (Err(_), None) => {}
                }
            }
        }
        self.shared.forget(self.all.len());
        self.offset = offset;
        Ok(())
    }
}

impl Shared {
    /// Lets go of what no environment has any more, once that may be the half of it.
    fn forget(&mut self, environments: usize) {
        const FEW: usize = 1000;
        // An environment has four texts at most, its labels and its targets.
        let enough = |each: usize| FEW + 2 * each * environments;
        if self.texts.len() > enough(4) {
            self.texts.retain(|text| Arc::strong_count(text) > 1);
        }
        if self.labels.len() > enough(1) {
            self.labels.retain(|_, labels| Arc::strong_count(labels) > 1);
        }
        if self.targets.len() > enough(1) {
            self.targets.retain(|targets| Arc::strong_count(targets) > 1);
        }
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(word) = self.texts.get(text) {
            return Arc::clone(word);
        }
        let word = Arc::<str>::from(text);
        self.texts.insert(Arc::clone(&word));
        word
    }

    fn labels(&mut self, json: &str) -> serde_json::Result<Arc<Labels>> {
        if let Some(labels) = self.labels.get(json) {
            return Ok(Arc::clone(labels));
        }
        let labels = Arc::new(serde_json::from_str(json)?);
        self.labels.insert(json.into(), Arc::clone(&labels));
        Ok(labels)
    }

    fn targets(&mut self, json: &str) -> serde_json::Result<Arc<[Aim]>> {
        let targets: Vec<Aim> = serde_json::from_str(json)?;
        if let Some(targets) = self.targets.get(&targets[..]) {
            return Ok(Arc::clone(targets));
        }
        let targets = Arc::<[Aim]>::from(targets);
        self.targets.insert(Arc::clone(&targets));
        Ok(targets)
    }
}

impl Standing {
    fn read(row: &Row<'_>, shared: &mut Shared) -> rusqlite::Result<Self> {
        let text = |column: usize| Ok::<&str, rusqlite::Error>(row.get_ref(column)?.as_str()?);
        let mut word = |column: usize| text(column).map(|text| shared.text(text));
        let time = |column: usize| row.get(column).map(Timestamp::from_micros);
        let grace: (Option<i64>, Option<i64>) = (row.get(13)?, row.get(14)?);
        let grace = match grace {
            (Some(since), Some(until)) => {
                let health = VIEW.get_at(row, 12, "stretch_health.grace_state")?;
                let shown = Shown { health, since: Timestamp::from_micros(since) };
                Some((Timestamp::from_micros(until), shown))
            }
            _ => None,
        };
        Ok(Standing {
            number: row.get(0)?,
            audience: row.get(1)?,
            tier: word(3)?,
            region: word(4)?,
            state: word(5)?,
            project: word(6)?,
            shown: Shown { health: VIEW.get_at(row, 10, "stretch_health.state")?, since: time(11)? },
            grace,
            resources: read_counts_at(row, 15, &COUNTS)?,
            id: text(2)?.into(),
            name: text(7)?.into(),
            labels: shared.labels(text(8)?).map_err(|error| unreadable(8, of_json(&error)))?,
            targets: shared.targets(text(9)?).map_err(|error| unreadable(9, of_json(&error)))?,
        })
    }

    /// What it shows at a time, and since when.
    pub(super) fn shown(&self, clock: Timestamp) -> Shown {
        self.grace.filter(|(until, _)| *until > clock).map_or(self.shown, |(_, shown)| shown)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn what_no_environment_has_any_more_is_let_go() {
        let mut shared = Shared::default();
        let of = |shared: &mut Shared, n: usize| {
            let labels = shared.labels(&format!(r#"{{"n":"{n}"}}"#)).unwrap();
            let targets = format!(r#"[{{"cluster":"c{n}","namespace":"a","labels":{{}}}}]"#);
            (shared.text(&n.to_string()), labels, shared.targets(&targets).unwrap())
        };
        let there = of(&mut shared, 0);
        for n in 1..5000 {
            of(&mut shared, n);
            shared.forget(1);
        }
        let kept = [shared.texts.len(), shared.labels.len(), shared.targets.len()];
        assert!(kept.iter().all(|kept| *kept < 1100), "{kept:?}");
        let same = of(&mut shared, 0);
        assert!(
            Arc::ptr_eq(&there.0, &same.0)
                && Arc::ptr_eq(&there.1, &same.1)
                && Arc::ptr_eq(&there.2, &same.2)
        );
    }
}
