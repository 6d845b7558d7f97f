//! An environment between two moments.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use crate::concerns::Concerns;
use crate::diff::earlier;
use crate::diff::fold::{folded, in_its_clusters};
use crate::diff::members::{
    Items, Member, PAIRS_MAX, Side, bodies, described, item, position, shorten, side, there,
};
use crate::environments;
use crate::error::{QueryError, Result};
use crate::filters::PageRequest;
use crate::moment::Moment;
use crate::pinned::Pinned;
use crate::question::{Context, Question};
use serde::Serialize;
use strandline_model::{At, EnvironmentId, Kind, Offset, ResourceKey, Uid};
use strandline_object_diff::{Comparison, Lens, compare};
use strandline_protocol::{
    ChangeType, DiffCounts, EnvironmentDiff, KindChanges, PageMetadata, ResourceChange,
};

/// What differs in an environment between an earlier time and the time asked for.
#[derive(Clone, Debug, Serialize)]
pub struct DiffEnvironment {
    /// The environment.
    pub environment: EnvironmentId,
    /// The earlier time; without it a day before the later one, or the earliest there is.
    pub from: Option<At>,
    /// What the answer shows of the differences.
    pub lens: Lens,
    /// Whether what controllers created is listed too.
    pub children: bool,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl Question for DiffEnvironment {
    const NAME: &'static str = "environment_diff";
    type Answer = EnvironmentDiff;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    /// # Errors
    /// [`QueryError::NotFound`] when it existed at neither time, [`QueryError::Backwards`] when the earlier time is later.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        diff(context, self)
    }
}

/// How far back an environment is compared where nothing is said.
const SPAN: Duration = Duration::from_secs(24 * 3600);

/// What became of one resource, by the view's numbers; of one that was replaced they are two.
struct Fate {
    change: ChangeType,
    before: Option<i64>,
    after: Option<i64>,
}

/// An environment at both moments, and what is known of the resources that differ.
struct Sides {
    before: Side,
    after: Side,
    described: HashMap<i64, (Uid, ResourceKey)>,
}

/// What became of what controllers made, by what it belongs to.
type Children = HashMap<i64, BTreeMap<Kind, KindChanges>>;

/// What differs.
pub(super) fn diff(mut q: Context<'_>, question: &DiffEnvironment) -> Result<EnvironmentDiff> {
    let from = begin(&mut q, question)?;
    let before = Side::read(q.view, &from, q.scope, &question.environment)?;
    let after = Side::read(q.view, &q.moment, q.scope, &question.environment)?;
    let number = match after.number.or(before.number) {
        Some(number) => number,
        None => environments::find(q.view, &q.moment, q.scope, &question.environment)?.0,
    };
    let mut sides = Sides { before, after, described: HashMap::new() };
    let (mut counts, fates) = fates(&q, &from, &mut sides)?;
    let (own, children) = if question.children { (fates, Children::new()) } else { by_top(&sides, fates) };
    let below = children.values().flat_map(BTreeMap::values);
    counts.children = below.map(|kind| kind.added + kind.removed + kind.changed).sum();
    let items = items(&mut q, &sides, own, children, question, &mut counts)?;
    let (items, next) = items.page(&q.start, &from, q.moment.offset);
    let concerns = Concerns::Environment(number);
    let snapshot = q.moment.snapshot_with(q.view, q.scope, &concerns, (&from, &concerns))?;
    Ok(EnvironmentDiff {
        from: sides.before.at,
        to: sides.after.at,
        names: Vec::new(),
        counts,
        items,
        metadata: PageMetadata::new(snapshot, next),
    })
}

/// The earlier moment: on later pages that of the first, which its token holds.
fn begin(q: &mut Context<'_>, question: &DiffEnvironment) -> Result<Moment> {
    if let Some(first) = Pinned::from_token(q.start.after(0)) {
        return Ok(earlier(q, At::Offset(first.offset))?.asked_by(first.by_time));
    }
    if let Some(from) = question.from {
        return earlier(q, from).map_err(|error| error.given_by("from"));
    }
    match earlier(q, At::Time(q.moment.clock().minus(SPAN))) {
        // Nobody asked for just that day.
        Err(QueryError::Compacted { earliest, .. }) => earlier(q, At::Offset(earliest)),
        Ok(found) if q.moment.by_time().is_none() => Ok(found.by_offset()),
        found => found,
    }
}

/// What became of each resource that is not as it was; those of which only that is known are counted.
fn fates(q: &Context<'_>, from: &Moment, sides: &mut Sides) -> Result<(DiffCounts, Vec<Fate>)> {
    let (before, after) = (&sides.before.members, &sides.after.members);
    let mut counts = DiffCounts::default();
    let mut fates = Vec::new();
    for (number, one) in before {
        match after.get(number) {
            Some(other) if (one.version, one.health) == (other.version, other.health) => counts.same += 1,
            Some(_) => {
                fates.push(Fate { change: ChangeType::Changed, before: Some(*number), after: Some(*number) });
            }
            None => {}
        }
    }
    let gone: Vec<i64> = before.keys().filter(|number| !after.contains_key(number)).copied().collect();
    let came: Vec<i64> = after.keys().filter(|number| !before.contains_key(number)).copied().collect();
    let changed = fates.iter().filter_map(|fate| fate.after);
    let all: Vec<i64> = changed.chain(gone.iter().copied()).chain(came.iter().copied()).collect();
    sides.described = described(q.view, all)?;
    let key = |number: &i64| sides.described.get(number).map(|(_, key)| key);
    let mut places: HashMap<&ResourceKey, i64> =
        gone.iter().filter_map(|number| Some((key(number)?, *number))).collect();
    let mut replaced = HashSet::new();
    for number in &came {
        if let Some(gone) = key(number).and_then(|key| places.remove(key)) {
            replaced.extend([gone, *number]);
            fates.push(Fate { change: ChangeType::Replaced, before: Some(gone), after: Some(*number) });
        }
    }
    let rest =
        |all: Vec<i64>| all.into_iter().filter(|number| !replaced.contains(number)).collect::<Vec<_>>();
    let (gone, came) = (rest(gone), rest(came));
    let elsewhere = there(q.view, q.scope, q.moment.offset, &gone)?;
    fates.extend(gone.into_iter().map(|number| {
        let change = if elsewhere.contains(&number) { ChangeType::Left } else { ChangeType::Removed };
        Fate { change, before: Some(number), after: None }
    }));
    let elsewhere = there(q.view, q.scope, from.offset, &came)?;
    fates.extend(came.into_iter().map(|number| {
        let change = if elsewhere.contains(&number) { ChangeType::Joined } else { ChangeType::Added };
        Fate { change, before: None, after: Some(number) }
    }));
    Ok((counts, fates))
}

/// The fates of what nothing owns, and those of what is owned counted under what is at the top of it.
fn by_top(sides: &Sides, fates: Vec<Fate>) -> (Vec<Fate>, Children) {
    let heirs: HashMap<i64, i64> = fates.iter().filter_map(|fate| fate.before.zip(fate.after)).collect();
    let (mut own, mut children) = (Vec::new(), Children::new());
    for fate in fates {
        let (number, top) = match (fate.before, fate.after) {
            (_, Some(after)) => (after, sides.after.top(after)),
            (Some(before), None) => (before, sides.before.top(before)),
            (None, None) => continue,
        };
        if number == top {
            own.push(fate);
            continue;
        }
        let Some((_, key)) = sides.described.get(&number) else { continue };
        let kinds = children.entry(heirs.get(&top).copied().unwrap_or(top)).or_default();
        let Kind { group, kind } = key.kind.clone();
        let kind =
            kinds.entry(key.kind.clone()).or_insert(KindChanges { group, kind, ..KindChanges::default() });
        match fate.change {
            ChangeType::Added | ChangeType::Joined => kind.added += 1,
            ChangeType::Removed | ChangeType::Left => kind.removed += 1,
            ChangeType::Replaced => (kind.added, kind.removed) = (kind.added + 1, kind.removed + 1),
            _ => kind.changed += 1,
        }
    }
    (own, children)
}

/// The items of all fates of which there is something to be told, with what became of their children.
fn items(
    q: &mut Context<'_>,
    sides: &Sides,
    mut own: Vec<Fate>,
    mut children: Children,
    question: &DiffEnvironment,
    counts: &mut DiffCounts,
) -> Result<Items> {
    // In an order that stays, so that the same are left out where there are too many.
    own.sort_by_cached_key(|fate| {
        fate.after.or(fate.before).and_then(|number| sides.described.get(&number)).cloned()
    });
    let mut changes = Vec::new();
    let mut read = 0;
    for fate in own {
        let mut below: Vec<KindChanges> = fate
            .after
            .or(fate.before)
            .and_then(|top| children.remove(&top))
            .into_iter()
            .flat_map(BTreeMap::into_values)
            .collect();
        let comparison = match (sides.version(fate.before, true), sides.version(fate.after, false)) {
            (Some(before), Some(after)) if before != after => {
                read += 1;
                if read > PAIRS_MAX {
                    counts.left_out += 1;
                    continue;
                }
                let Some((_, key)) = fate.after.and_then(|number| sides.described.get(&number)) else {
                    continue;
                };
                let (before, after) = bodies(q.log, before, after)?;
                compare(&key.kind, Some(&before), Some(&after), &question.lens)
            }
            _ => Comparison::default(),
        };
        let change = sides.change(&fate, &comparison);
        count(counts, change);
        let change = match change {
            Some(change) => change,
            None if below.is_empty() => continue,
            None => ChangeType::Children,
        };
        if let Some(mut item) = sides.item(change, &fate) {
            item.comparison = comparison;
            item.children.append(&mut below);
            shorten(&mut item);
            changes.push(in_its_clusters(item));
        }
    }
    // What is as it was, but not what controllers made of it.
    let same = described(q.view, children.keys().copied())?;
    for (top, below) in children {
        let member = |side: &Side| side.members.get(&top).and_then(|member| self::side(&same, top, member));
        if let Some(mut item) = item(ChangeType::Children, member(&sides.before), member(&sides.after)) {
            item.children = below.into_values().collect();
            changes.push(in_its_clusters(item));
        }
    }
    // What came last may belong to what is first by name, and the first of several clusters is what the others are folded into.
    changes.sort_by_cached_key(position);
    let mut items = Items::new(&q.start);
    folded(changes).into_iter().for_each(|change| items.push(change));
    Ok(items)
}

impl Sides {
    fn member(&self, number: Option<i64>, before: bool) -> Option<&Member> {
        let side = if before { &self.before } else { &self.after };
        side.members.get(&number?)
    }

    fn version(&self, number: Option<i64>, before: bool) -> Option<Offset> {
        self.member(number, before).map(|member| member.version)
    }

    /// What became of a resource, once its two states were compared; none where nothing of it is told.
    fn change(&self, fate: &Fate, comparison: &Comparison) -> Option<ChangeType> {
        let health =
            |before| self.member(if before { fate.before } else { fate.after }, before).map(|m| m.health);
        match fate.change {
            ChangeType::Changed if !comparison.is_empty() => Some(ChangeType::Changed),
            ChangeType::Changed if health(true) != health(false) => Some(ChangeType::Health),
            ChangeType::Changed => None,
            other => Some(other),
        }
    }

    fn item(&self, change: ChangeType, fate: &Fate) -> Option<ResourceChange> {
        let one = |number: Option<i64>, before| side(&self.described, number?, self.member(number, before)?);
        item(change, one(fate.before, true), one(fate.after, false))
    }
}

fn count(counts: &mut DiffCounts, change: Option<ChangeType>) {
    let counted = match change {
        Some(ChangeType::Added) => &mut counts.added,
        Some(ChangeType::Removed) => &mut counts.removed,
        Some(ChangeType::Replaced) => &mut counts.replaced,
        Some(ChangeType::Changed) => &mut counts.changed,
        Some(ChangeType::Health) => &mut counts.health,
        Some(ChangeType::Joined) => &mut counts.joined,
        Some(ChangeType::Left) => &mut counts.left,
        _ => &mut counts.hidden,
    };
    *counted += 1;
}
