//! Two environments at one moment.

use std::collections::{BTreeSet, HashMap};

use super::BesideRequest;
use super::members::{Items, PAIRS_MAX, Side, bodies, described, item, side};
use crate::diff::{NameMap, NamePair, compare};
use crate::model::{EnvironmentId, ResourceKey, Uid};
use crate::query::moment::Concerns;
use crate::query::types::{ChangeType, DiffCounts, Environment, EnvironmentDiff, PageMetadata};
use crate::query::{QueryError, Question, Result, environments};

type Described = HashMap<i64, (Uid, ResourceKey)>;

/// What differs.
pub(super) fn diff(q: Question<'_>, id: &EnvironmentId, request: &BesideRequest) -> Result<EnvironmentDiff> {
    let read = |id: &EnvironmentId| {
        let (number, environment) = environments::find(q.view, &q.moment, q.scope, id)?;
        Ok::<_, QueryError>((Side::read(q.view, &q.moment, q.scope, id)?, environment, number))
    };
    let ((here, one, number), (there, other, theirs_number)) = (read(id)?, read(&request.with)?);
    let names = if request.names.is_empty() { by_their_names(&one, &other) } else { request.names.clone() };
    let names = NameMap::new(names);
    let chosen = |side: &Side| -> Vec<i64> {
        side.members
            .keys()
            .copied()
            .filter(|number| request.children || side.top(*number) == *number)
            .collect()
    };
    let (ours, theirs) = (described(q.view, chosen(&here))?, described(q.view, chosen(&there))?);
    let lens = request.lens.clone().mapping(names.clone());
    let (mut counts, mut items, mut compared) = (DiffCounts::default(), Items::new(&q.start), 0);
    for (before, after) in pairs(&ours, &theirs, &names) {
        let sides = (
            before.and_then(|n| Some((n, here.members.get(&n)?))),
            after.and_then(|n| Some((n, there.members.get(&n)?))),
        );
        let (change, counted, comparison) = match sides {
            (Some((_, one)), Some((_, other))) if one.version == other.version => {
                counts.same += 1;
                continue;
            }
            (Some((_, one)), Some((number, other))) => {
                compared += 1;
                if compared > PAIRS_MAX {
                    counts.left_out += 1;
                    continue;
                }
                let (before, after) = bodies(q.log, one.version, other.version)?;
                let Some((_, key)) = theirs.get(&number) else { continue };
                let found = compare(&key.kind, Some(&before), Some(&after), &lens);
                if found.is_empty() {
                    counts.same += 1;
                    continue;
                }
                (ChangeType::Different, &mut counts.different, found)
            }
            (Some(_), None) => (ChangeType::OnlyHere, &mut counts.only_here, Default::default()),
            (None, _) => (ChangeType::OnlyThere, &mut counts.only_there, Default::default()),
        };
        *counted += 1;
        let before = sides.0.and_then(|(number, member)| side(&ours, number, member));
        let after = sides.1.and_then(|(number, member)| side(&theirs, number, member));
        if let Some(mut item) = item(change, before, after) {
            item.comparison = comparison;
            items.push(item);
        }
    }
    let (items, next) = items.page(&q.start, &q.moment, q.moment.offset);
    let (concerns, of_other) = (Concerns::Environment(number), Concerns::Environment(theirs_number));
    let snapshot = q.moment.snapshot_with(q.view, q.scope, &concerns, (&q.moment, &of_other))?;
    let metadata = PageMetadata { snapshot, next };
    Ok(EnvironmentDiff {
        from: here.at,
        to: there.at,
        names: names.pairs().collect(),
        counts,
        items,
        metadata,
    })
}

/// By what two environments differ in name: their own names, and the only namespace, cluster or region of each.
fn by_their_names(one: &Environment, other: &Environment) -> Vec<NamePair> {
    let only = |environment: &Environment, place: fn(&crate::model::Target) -> &str| {
        let places: BTreeSet<&str> = environment.targets.iter().map(place).collect();
        let mut places = places.into_iter();
        places.next().filter(|_| places.next().is_none()).unwrap_or_default().to_owned()
    };
    let named = |environment: &Environment| {
        [
            only(environment, |target| &target.namespace),
            environment.name.clone(),
            environment.slug.clone(),
            only(environment, |target| &target.cluster),
            environment.region.clone(),
        ]
    };
    let pairs = named(one).into_iter().zip(named(other)).filter(|(_, other)| !other.is_empty());
    pairs.filter_map(|(one, other)| NamePair::words(&one, &other)).collect()
}

/// Resources of the same kind whose names stand for each other; first those whose namespaces do so too, then of the
/// others those whose name stands alone on both sides. In an order that stays.
fn pairs(ours: &Described, theirs: &Described, names: &NameMap) -> Vec<(Option<i64>, Option<i64>)> {
    let sorted = |all: &Described| {
        let mut numbers: Vec<i64> = all.keys().copied().collect();
        numbers.sort_by_key(|number| all.get(number));
        numbers
    };
    let (mut ours_left, mut theirs_left) = (sorted(ours), sorted(theirs));
    let mut pairs = Vec::new();
    for whole in [true, false] {
        let place = |all: &'_ Described, number: i64, map: &dyn Fn(&str) -> String| {
            let (_, key) = all.get(&number)?;
            let namespace = if whole { map(&key.namespace) } else { String::new() };
            Some((key.kind.clone(), namespace, map(&key.name)))
        };
        let mut places: HashMap<_, Vec<i64>> = HashMap::new();
        for number in theirs_left.iter().rev() {
            places.entry(place(theirs, *number, &str::to_owned)).or_default().push(*number);
        }
        let mut counts: HashMap<_, usize> = HashMap::new();
        for number in &ours_left {
            *counts.entry(place(ours, *number, &|name| names.apply(name))).or_default() += 1;
        }
        let mut rest = Vec::new();
        for number in ours_left {
            let at = place(ours, number, &|name| names.apply(name));
            let alone =
                whole || (counts.get(&at) == Some(&1) && places.get(&at).is_some_and(|all| all.len() == 1));
            match places.get_mut(&at).filter(|_| alone).and_then(Vec::pop) {
                Some(other) => pairs.push((Some(number), Some(other))),
                None => rest.push(number),
            }
        }
        ours_left = rest;
        let paired: BTreeSet<i64> = pairs.iter().filter_map(|(_, other)| *other).collect();
        theirs_left.retain(|number| !paired.contains(number));
    }
    pairs.extend(ours_left.into_iter().map(|number| (Some(number), None)));
    pairs.extend(theirs_left.into_iter().map(|number| (None, Some(number))));
    pairs
}
