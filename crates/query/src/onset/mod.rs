//! What changed just before something became what it is.
//!
//! The present or last time of a health is looked for in what is kept of health; its first change is the onset. What
//! happened in a window before it is ranked by what it may have to do with what became sick: deployments, changes of what
//! the sick hang on, other changes; and apart from these what controllers made of them and what is only a symptom.

mod episode;
mod rank;
mod upstream;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::concerns::Concerns;
use crate::error::{QueryError, Result};
use crate::filters::ResourceRef;
use crate::moment::Moment;
use crate::onset::episode::Episode;
use crate::onset::rank::{Around, Changed};
use crate::question::{Context, Question};
use crate::resources as found;
use crate::same_change::{Made, differences, is_same, place};
use crate::series::HealthSeries;
use crate::spans::Span;
use crate::timeline::{Place, What};
use crate::{alike, environments, graph, series, timeline};
use serde::Serialize;
use strandline_model::{EnvironmentId, Happening, Health, Offset, Timestamp, Uid};
use strandline_protocol::{Answer, EntryResource, Onset, OnsetChange, Resource, TimelineGap};

/// The most that is looked at one by one, the newest.
const LOOKED_AT_MAX: usize = 500;

/// The most changes of a list whose differences are read: enough to fold those of a few clusters.
const COMPARED_MAX: usize = 2 * Onset::CHANGES;

/// Which onset to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct OnsetFilter {
    /// Of which health; where nothing is said, of what is wrong at the moment, or else of the last time it was Degraded.
    pub health: Option<Health>,
    /// How long before it changes are looked at.
    pub window: Duration,
}

impl Default for OnsetFilter {
    fn default() -> Self {
        OnsetFilter { health: None, window: Duration::from_secs(Onset::WINDOW_SECONDS) }
    }
}

/// What became sick, by the log's numbers.
struct Sick {
    /// What the answer names.
    told: Vec<i64>,
    left_out: u64,
    /// The roots, which have the health that is asked for.
    roots: Vec<i64>,
}

/// Whose onset is looked for, by the number of the view or of the log.
#[derive(Clone, Copy)]
enum Whose {
    Environment(i64),
    Resource(i64),
}

/// All that is kept of health up to the moment.
fn always(moment: &Moment) -> Span {
    Span { since: Timestamp::from_micros(i64::MIN), until: moment.clock() }
}

fn unknown(health: Health, why: &str) -> QueryError {
    QueryError::OnsetUnknown { health, why: why.to_owned() }
}

fn spell(course: &HealthSeries, gaps: &[TimelineGap], health: Health) -> Result<Episode> {
    let blind = |from: Timestamp, to: Timestamp| {
        gaps.iter().any(|gap| gap.since < to && gap.until.is_none_or(|end| end > from))
    };
    episode::find(&course.marks, health, blind).ok_or_else(|| {
        match course.marks.iter().any(|mark| mark.health == Some(health)) {
            true => unknown(health, "it had this health already when it was first seen"),
            false => unknown(health, "the record has no such health up to that time"),
        }
    })
}

/// What is wrong at the moment; what was known last where not everything is watched.
fn wrong(state: Option<Health>, last_known: Option<Health>) -> Health {
    let known = if last_known.is_some() { last_known } else { state };
    known.filter(|health| health.needs_attention()).unwrap_or(Health::Degraded)
}

/// Finds the onset and what changed before it.
fn onset(
    q: &mut Context<'_>,
    (whose, clusters): (Whose, Vec<String>),
    course: &HealthSeries,
    gaps: Vec<TimelineGap>,
    health: Health,
    window: Duration,
) -> Result<Onset> {
    let spell = spell(course, &gaps, health)?;
    let mark = &course.marks[spell.first];
    let offset = Offset::from_i64(mark.offset);
    if offset <= q.log.compacted()?.offset && offset.get() > 0 {
        return Err(unknown(health, "it started before the retention period"));
    }
    let sick = match whose {
        Whose::Environment(number) => {
            let (roots, told, left_out) = graph::sick(q.view, offset, number, health, Onset::SICK)?;
            Sick { told, left_out, roots }
        }
        Whose::Resource(id) => Sick { told: vec![id], left_out: 0, roots: vec![id] },
    };
    let since = spell.not_before.minus(window);
    seen_before(q, &sick, mark.time, since, health)?;
    let span = Span { since, until: mark.time };
    let before = Timestamp::from_micros(since.as_micros().saturating_sub(1));
    let from = timeline::offset_at(q.log, before, offset)?;
    let between = (from.as_i64(), offset.as_i64());
    let upstream = upstream::of(q.view, between, &sick.told)?;
    let (places, truncated) = happened(q, whose, &upstream, course, span, offset)?;
    let (causes, effects) = ranked(q, &places, (&upstream, &sick.told), between)?;
    let gaps = gaps
        .into_iter()
        .filter(|gap| gap.since <= span.until && gap.until.is_none_or(|end| end >= span.since));
    let cut = |mut changes: Vec<OnsetChange>| {
        let left_out = changes.len().saturating_sub(Onset::CHANGES) as u64;
        changes.truncate(Onset::CHANGES);
        (changes, left_out)
    };
    let ((causes, causes_left_out), (effects, effects_left_out)) = (cut(causes), cut(effects));
    Ok(Onset {
        health,
        clusters,
        before: spell.before,
        from: mark.time,
        until: spell.until,
        offset,
        not_before: spell.not_before,
        looked_at_since: since,
        sick: told(q, offset, &sick.told)?,
        sick_left_out: sick.left_out,
        causes,
        causes_left_out,
        effects,
        effects_left_out,
        truncated,
        gaps: gaps.collect(),
    })
}

/// Resources in the order of their numbers given, as they were then.
fn told(q: &Context<'_>, at: Offset, numbers: &[i64]) -> Result<Vec<Resource>> {
    let mut held = found::with_numbers(q.view, at, numbers)?;
    held.sort_by_key(|held| numbers.iter().position(|number| *number == held.id.0));
    Ok(held.into_iter().map(|held| held.resource).collect())
}

/// What was so when it was first seen, and had been there for long by then, may have become so at any time before.
fn seen_before(
    q: &Context<'_>,
    sick: &Sick,
    from: Timestamp,
    window: Timestamp,
    health: Health,
) -> Result<()> {
    if sick.roots.is_empty() {
        return Ok(());
    }
    let sql = "SELECT r.created_at, (SELECT min(v.observed_at) FROM version v WHERE v.resource_id = r.id)
        FROM json_each(?1) i JOIN resource r ON r.id = i.value";
    let mut statement = q.view.prepare_cached(sql)?;
    let mut rows = statement.query([serde_json::json!(sick.roots).to_string()])?;
    while let Some(row) = rows.next()? {
        let (created, seen): (Option<i64>, i64) = (row.get(0)?, row.get(1)?);
        if seen < from.as_micros() || created.is_some_and(|created| created >= window.as_micros()) {
            return Ok(());
        }
    }
    Err(unknown(health, "the affected resources had this health already when they were first seen"))
}

/// What happened to the environment, and to what the sick hang on wherever that is; the newest first.
fn happened(
    q: &mut Context<'_>,
    whose: Whose,
    upstream: &HashMap<i64, u64>,
    course: &HealthSeries,
    span: Span,
    offset: Offset,
) -> Result<(Vec<Place>, bool)> {
    let (mut places, mut truncated) = match whose {
        Whose::Environment(number) => {
            timeline::newest_of_environment(q, number, course, span, offset, LOOKED_AT_MAX)?
        }
        Whose::Resource(_) => (Vec::new(), false),
    };
    let met: HashSet<(i64, i64)> = places.iter().map(|place| (place.offset, place.subject)).collect();
    let top = if let Whose::Resource(id) = whose { id } else { -1 };
    let numbers: Vec<i64> = upstream.keys().copied().collect();
    let (others, cut) = timeline::newest_of_resources(q, &numbers, top, span, offset)?;
    places.extend(others.into_iter().filter(|place| !met.contains(&(place.offset, place.subject))));
    places.sort_unstable_by(|a, b| b.cmp(a));
    truncated |= cut || places.len() > LOOKED_AT_MAX;
    places.truncate(LOOKED_AT_MAX);
    Ok((places, truncated))
}

/// What may have caused it, the likeliest first, and what else changed, the newest first.
fn ranked(
    q: &mut Context<'_>,
    places: &[Place],
    (upstream, sick): (&HashMap<i64, u64>, &[i64]),
    between: upstream::Between,
) -> Result<(Vec<OnsetChange>, Vec<OnsetChange>)> {
    let (mut changes, mut all) = (Vec::new(), Vec::new());
    for place in places {
        let What::Happened(what) = place.what else { continue };
        let entry = timeline::entry(q, place, what)?;
        let resource = entry.resource.as_ref();
        let fails = resource.and_then(|resource| resource.health).is_some_and(Health::needs_attention);
        changes.push(Changed {
            failed: fails && upstream::was_well(q.view, place.subject, place.offset)?,
            resource: place.subject,
            offset: place.offset,
            time: place.time,
            what,
            parts: resource.map(|resource| resource.parts.clone()).unwrap_or_default(),
            by: resource.and_then(|resource: &EntryResource| resource.changed_by.clone()),
        });
        all.push(entry);
    }
    let resources: Vec<i64> = changes
        .iter()
        .filter(|change| !matches!(change.what, Happening::Deployed | Happening::Progressed))
        .map(|change| change.resource)
        .collect();
    let owners = upstream::owners(q.view, between, &resources)?;
    let hangs_on = upstream::direct(q.view, between, &resources)?;
    let acts_on = upstream::acts_on(q.view, between, &resources)?;
    let above = upstream::above(q.view, between, sick)?;
    let around = Around { upstream, above: &above, owners: &owners, hangs_on: &hangs_on, acts_on: &acts_on };
    let (mut causes, mut effects) = (Vec::new(), Vec::new());
    for (((rank, order), change), entry) in rank::ranks(&changes, &around).into_iter().zip(&changes).zip(all)
    {
        let steps = entry.resource.as_ref().and_then(|_| upstream.get(&change.resource).copied());
        let whose = if rank.may_cause() { &mut causes } else { &mut effects };
        let told = OnsetChange {
            rank,
            steps,
            entry,
            also: Vec::new(),
            differences: Vec::new(),
            differences_left_out: 0,
        };
        whose.push((order, told, change));
    }
    // They stand the newest first already.
    causes.sort_by_key(|(order, cause, _)| (cause.rank, *order));
    let mut compared = |(place, (_, mut told, change)): (usize, (_, OnsetChange, &Changed))| {
        if place < COMPARED_MAX && change.what == Happening::Changed {
            let found = differences(q, told.entry.resource.as_ref(), change.offset, change.resource)?;
            (told.differences, told.differences_left_out) = (found.differences, found.left_out);
        }
        Ok(told)
    };
    let causes = causes.into_iter().enumerate().map(&mut compared).collect::<Result<Vec<_>>>()?;
    let effects = effects.into_iter().enumerate().map(compared).collect::<Result<Vec<_>>>()?;
    Ok((folded(causes), folded(effects)))
}

/// Changes that are the same in several clusters as one, which has the rank and place of the likeliest of them.
fn folded(changes: Vec<OnsetChange>) -> Vec<OnsetChange> {
    let key = |change: &OnsetChange| {
        let resource = change.entry.resource.as_ref()?;
        Some((resource.key.kind.clone(), resource.key.name.clone()))
    };
    let is_same = |one: &OnsetChange, other: &OnsetChange| is_same(&made(one), &made(other));
    alike::folded(changes, key, is_same, |one, other| one.also.extend(place(&other.entry)))
}

fn made(change: &OnsetChange) -> Made<'_> {
    let OnsetChange { entry, also, differences, differences_left_out: left_out, .. } = change;
    Made { entry, also, differences, left_out: *left_out }
}

fn of_environment(mut q: Context<'_>, id: &EnvironmentId, filter: &OnsetFilter) -> Result<Answer<Onset>> {
    let (number, environment) = environments::find(q.view, &q.moment, q.scope, id)?;
    let span = always(&q.moment);
    let course = series::series_of_environment(q.view, q.log, &q.moment, q.scope, number, span)?;
    let gaps = timeline::gaps_of_environment(&q, number, span)?;
    let state = &environment.health;
    let health = filter.health.unwrap_or_else(|| wrong(state.state, state.last_known));
    let mut clusters: Vec<String> = environment.targets.into_iter().map(|target| target.cluster).collect();
    clusters.sort_unstable();
    clusters.dedup();
    let whose = (Whose::Environment(number), clusters);
    let value = onset(&mut q, whose, &course, gaps, health, filter.window)?;
    let metadata = q.moment.snapshot(q.view, q.scope, &Concerns::Environment(number))?;
    Ok(Answer { value, metadata })
}

fn of_resource(mut q: Context<'_>, resource: &ResourceRef, filter: &OnsetFilter) -> Result<Answer<Onset>> {
    let held = found::find(q.view, q.moment.offset, q.scope, resource, false)?;
    let (id, span) = (held.id.0, always(&q.moment));
    let course = series::series_of_resource(q.view, q.log, &q.moment, q.scope, id, span)?;
    let gaps = timeline::gaps_of_resources(&q, &[id], span)?;
    let health = filter.health.unwrap_or_else(|| wrong(held.resource.health, None));
    let whose = (Whose::Resource(id), vec![held.resource.key.cluster.clone()]);
    let value = onset(&mut q, whose, &course, gaps, health, filter.window)?;
    let concerns = Concerns::Cluster(&held.resource.key.cluster);
    let metadata = q.moment.snapshot(q.view, q.scope, &concerns)?;
    Ok(Answer { value, metadata })
}

/// When an environment came into its present or last period of a health, and what changed just before.
#[derive(Clone, Debug, Serialize)]
pub struct GetEnvironmentOnset {
    /// The environment.
    pub environment: EnvironmentId,
    /// Of which health, and how long before it.
    pub filter: OnsetFilter,
}

impl GetEnvironmentOnset {
    /// The question with these parts.
    pub fn new(environment: &EnvironmentId, filter: OnsetFilter) -> Self {
        GetEnvironmentOnset { environment: environment.clone(), filter }
    }
}

impl Question for GetEnvironmentOnset {
    const NAME: &'static str = "environment_onset";
    type Answer = Answer<Onset>;

    /// # Errors
    /// [`QueryError::NotFound`] when the environment did not exist at that time,
    /// [`QueryError::OnsetUnknown`] when it never had that health, or had it when it was first recorded.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        of_environment(context, &self.environment, &self.filter)
    }
}

/// The same for a resource, which may be deleted.
#[derive(Clone, Debug, Serialize)]
pub struct GetResourceOnset {
    /// The resource.
    pub resource: ResourceRef,
    /// Of which health, and how long before it.
    pub filter: OnsetFilter,
}

impl GetResourceOnset {
    /// The question with these parts.
    pub fn new(uid: &Uid, cluster: Option<&str>, filter: OnsetFilter) -> Self {
        GetResourceOnset { resource: ResourceRef::new(uid, cluster), filter }
    }
}

impl Question for GetResourceOnset {
    const NAME: &'static str = "resource_onset";
    type Answer = Answer<Onset>;

    /// # Errors
    /// [`QueryError::NotFound`] when the resource never existed up to that time, [`QueryError::Ambiguous`] when several
    /// clusters have the uid and none is named.
    /// [`QueryError::OnsetUnknown`] as for environments.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        of_resource(context, &self.resource, &self.filter)
    }
}
