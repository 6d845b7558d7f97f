//! Two environments at one moment.
//!
//! Each cluster of the one is held against the nearest of the other, so that an environment that runs in two clusters is no
//! environment with twice as much in it; what came out the same in several clusters is told once.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::concerns::Concerns;
use crate::diff::fold::{address, folded, in_its_clusters};
use crate::diff::members::{Items, Member, PAIRS_MAX, Side, bodies, described, item, side};
use crate::diff::targets;
use crate::error::{QueryError, Result};
use crate::filters::PageRequest;
use crate::question::{Context, Question};
use crate::{clusters, environments};
use serde::Serialize;
use strandline_model::{EnvironmentId, ResourceKey, Target, Uid};
use strandline_object_diff::{Comparison, Lens, NameMap, NamePair, compare};
use strandline_protocol::{
    ChangeType, DiffCounts, Environment, EnvironmentDiff, PageMetadata, ResourceChange,
};

/// What differs between two environments at one time.
#[derive(Clone, Debug, Serialize)]
pub struct CompareEnvironments {
    /// The environment.
    pub environment: EnvironmentId,
    /// The environment it is compared with.
    pub with: EnvironmentId,
    /// What the answer shows of the differences.
    pub lens: Lens,
    /// Which parts of names correspond; without any, those in which the names of the two environments differ.
    pub names: Vec<NamePair>,
    /// Whether texts that differ only in such names are differences too.
    pub show_renamed: bool,
    /// Whether what controllers created is compared too.
    pub children: bool,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl Question for CompareEnvironments {
    const NAME: &'static str = "environments_beside";
    type Answer = EnvironmentDiff;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    /// # Errors
    /// [`QueryError::NotFound`] when one of them did not exist at that time.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        diff(context, self)
    }
}

type Described = HashMap<i64, (Uid, ResourceKey)>;

/// A resource of the one environment and of the other, and by which names they are the same.
type Pair = (Option<i64>, Option<i64>, NameMap);

/// What differs.
pub(super) fn diff(mut q: Context<'_>, question: &CompareEnvironments) -> Result<EnvironmentDiff> {
    let read = |id: &EnvironmentId| {
        let (number, environment) = environments::find(q.view, &q.moment, q.scope, id)?;
        Ok::<_, QueryError>((Side::read(q.view, &q.moment, q.scope, id)?, environment, number))
    };
    let ((here, one, number), (there, other, theirs_number)) =
        (read(&question.environment)?, read(&question.with)?);
    let chosen = |side: &Side| -> Vec<i64> {
        side.members
            .keys()
            .copied()
            .filter(|number| question.children || side.top(*number) == *number)
            .collect()
    };
    let (ours, theirs) = (described(q.view, chosen(&here))?, described(q.view, chosen(&there))?);
    let regions = clusters::regions(q.view, q.moment.offset)?;
    let found = pairs((&one, &ours), (&other, &theirs), &regions, &question.names);
    let mut names: Vec<String> = Vec::new();
    for name in found.iter().flat_map(|(.., map)| map.pairs()) {
        if !question.show_renamed && !names.contains(&name) {
            names.push(name);
        }
    }
    let sides = Sides { here: (&here, &ours), there: (&there, &theirs) };
    let (changes, counts) = compared(&mut q, &sides, found, question)?;
    let mut items = Items::new(&q.start);
    changes.into_iter().for_each(|change| items.push(change));
    let (items, next) = items.page(&q.start, &q.moment, q.moment.offset);
    let (concerns, of_other) = (Concerns::Environment(number), Concerns::Environment(theirs_number));
    let snapshot = q.moment.snapshot_with(q.view, q.scope, &concerns, (&q.moment, &of_other))?;
    let metadata = PageMetadata::new(snapshot, next);
    Ok(EnvironmentDiff { from: here.at, to: there.at, names, counts, items, metadata })
}

/// Both environments, with what is known of their resources.
struct Sides<'a> {
    here: (&'a Side, &'a Described),
    there: (&'a Side, &'a Described),
}

/// What became of each pair, what is the same in several clusters being one, and how many there are of each.
fn compared(
    q: &mut Context<'_>,
    sides: &Sides<'_>,
    pairs: Vec<Pair>,
    question: &CompareEnvironments,
) -> Result<(Vec<ResourceChange>, DiffCounts)> {
    let ((here, ours), (there, theirs)) = (sides.here, sides.there);
    let (mut changes, mut same, mut read, mut left_out) = (Vec::new(), BTreeMap::new(), 0, 0);
    for (before, after, names) in pairs {
        let one = before.and_then(|n| Some((n, here.members.get(&n)?)));
        let other = after.and_then(|n| Some((n, there.members.get(&n)?)));
        let key = after.and_then(|n| theirs.get(&n)).or(before.and_then(|n| ours.get(&n)));
        let Some((_, key)) = key else { continue };
        let (change, comparison) = match (one, other) {
            (Some((_, one)), Some((_, other))) if one.version == other.version => {
                same.entry(address(key)).or_insert(0);
                continue;
            }
            (Some(_), Some(_)) if read >= PAIRS_MAX => {
                left_out += 1;
                continue;
            }
            (Some((_, one)), Some((_, other))) => {
                read += 1;
                let (before, after) = bodies(q.log, one.version, other.version)?;
                let names = if question.show_renamed { NameMap::default() } else { names };
                let lens = question.lens.clone().mapping(names);
                let found = compare(&key.kind, Some(&before), Some(&after), &lens);
                if found.is_empty() {
                    // Of several clusters those that have the most.
                    let renamed = same.entry(address(key)).or_insert(0);
                    *renamed = found.hidden.renamed.max(*renamed);
                    continue;
                }
                (ChangeType::Different, found)
            }
            (Some(_), None) => (ChangeType::OnlyHere, Comparison::default()),
            (None, _) => (ChangeType::OnlyThere, Comparison::default()),
        };
        let before = one.and_then(|(number, member): (i64, &Member)| side(ours, number, member));
        let after = other.and_then(|(number, member): (i64, &Member)| side(theirs, number, member));
        if let Some(item) = item(change, before, after) {
            changes.push(in_its_clusters(ResourceChange { comparison, ..item }));
        }
    }
    let changes = folded(changes);
    let mut counts = DiffCounts { left_out, ..DiffCounts::default() };
    for change in &changes {
        match change.change {
            ChangeType::OnlyHere => counts.only_here += 1,
            ChangeType::OnlyThere => counts.only_there += 1,
            _ => counts.different += 1,
        }
        same.remove(&address(&change.key));
        counts.renamed += change.comparison.hidden.renamed;
    }
    counts.same = same.len() as u64;
    counts.renamed += same.values().sum::<u64>();
    Ok((changes, counts))
}

/// Which resources are held against each other, and which stand alone: cluster by cluster, then what is left wherever it is.
fn pairs(
    (one, ours): (&Environment, &Described),
    (other, theirs): (&Environment, &Described),
    regions: &HashMap<String, String>,
    asked: &[NamePair],
) -> Vec<Pair> {
    let clusters =
        |all: &Described| all.values().map(|(_, key)| key.cluster.clone()).collect::<BTreeSet<_>>();
    let (here, there) = (clusters(ours), clusters(theirs));
    let names = |clusters: Option<(&str, &str)>| match asked {
        [] => NameMap::new(by_their_names(one, other, clusters)),
        asked => NameMap::new(asked.iter().cloned()),
    };
    let within = |all: &Described, cluster: &str| -> Vec<i64> {
        all.iter().filter(|(_, (_, key))| key.cluster == cluster).map(|(number, _)| *number).collect()
    };
    let (mut met, mut found) = ((HashSet::new(), HashSet::new()), Vec::new());
    for (cluster, opposite) in targets::matched(&here, &there, regions) {
        let names = names(Some((cluster, opposite)));
        let (of_ours, of_theirs) = (within(ours, cluster), within(theirs, opposite));
        for (before, after) in same_named((ours, of_ours), (theirs, of_theirs), &names) {
            met.0.insert(before);
            met.1.insert(after);
            found.push((Some(before), Some(after), names.clone()));
        }
    }
    let left = |all: &Described, met: &HashSet<i64>| -> Vec<i64> {
        all.keys().filter(|number| !met.contains(number)).copied().collect()
    };
    let (mut ours_left, mut theirs_left) = (left(ours, &met.0), left(theirs, &met.1));
    let names = names(None);
    for (before, after) in same_named((ours, ours_left.clone()), (theirs, theirs_left.clone()), &names) {
        ours_left.retain(|number| *number != before);
        theirs_left.retain(|number| *number != after);
        found.push((Some(before), Some(after), names.clone()));
    }
    // In an order that stays.
    ours_left.sort_by_key(|number| ours.get(number));
    theirs_left.sort_by_key(|number| theirs.get(number));
    found.extend(ours_left.into_iter().map(|number| (Some(number), None, names.clone())));
    found.extend(theirs_left.into_iter().map(|number| (None, Some(number), names.clone())));
    found
}

/// By what two environments differ in name: their own names, and the only namespace, cluster or region of each; of two
/// clusters, by what they differ there.
fn by_their_names(one: &Environment, other: &Environment, clusters: Option<(&str, &str)>) -> Vec<NamePair> {
    let only = |environment: &Environment, cluster: Option<&str>, place: fn(&Target) -> &str| {
        let targets =
            environment.targets.iter().filter(|target| cluster.is_none_or(|it| it == target.cluster));
        let places: BTreeSet<&str> = targets.map(place).collect();
        let mut places = places.into_iter();
        places.next().filter(|_| places.next().is_none()).unwrap_or_default().to_owned()
    };
    let named = |environment: &Environment, cluster: Option<&str>| {
        [
            only(environment, cluster, |target| &target.namespace),
            // What cannot hold a `/`, such as the name of a resource, holds the slug.
            environment.slug.clone(),
            environment.name.clone(),
            only(environment, cluster, |target| &target.cluster),
            environment.region.clone(),
        ]
    };
    let (here, there) = clusters.unzip();
    let pairs = named(one, here).into_iter().zip(named(other, there)).filter(|(_, other)| !other.is_empty());
    pairs.filter_map(|(one, other)| NamePair::words(&one, &other)).collect()
}

/// Resources of the same kind whose names stand for each other; first those whose namespaces do so too, then of the
/// others those whose name stands alone on both sides. In an order that stays.
fn same_named(
    (ours, mut ours_left): (&Described, Vec<i64>),
    (theirs, mut theirs_left): (&Described, Vec<i64>),
    names: &NameMap,
) -> Vec<(i64, i64)> {
    ours_left.sort_by_key(|number| ours.get(number));
    theirs_left.sort_by_key(|number| theirs.get(number));
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
                Some(other) => pairs.push((number, other)),
                None => rest.push(number),
            }
        }
        ours_left = rest;
        let paired: HashSet<i64> = pairs.iter().map(|(_, other)| *other).collect();
        theirs_left.retain(|number| !paired.contains(number));
    }
    pairs
}
