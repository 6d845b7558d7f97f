//! Environments, projects and clusters by their names.

use std::collections::{BTreeSet, HashSet};

use super::Place;
use super::rank::First;
use super::terms::{Finder, lower};
use crate::error::Result;
use crate::{clusters, environments, groups};
use strandline_model::Tier;
use strandline_protocol::{Environment, FoundCluster, FoundProject, Hits};
use strandline_syntax::fold_case;

/// What a tier counts as, in characters.
const TIER_WEIGHT: usize = 128;

/// Environments, by project, name and name in addresses.
pub(super) fn environments(place: &Place<'_>, finder: &Finder<'_>) -> Result<Hits<Environment>> {
    let Place { view, moment, scope, limit, .. } = place;
    let mut first = First::new(*limit);
    let mut buffers = [String::new(), String::new(), String::new()];
    for one in place.standings()?.iter() {
        let [of_id, of_project, of_name] = &mut buffers;
        let id = lower(of_id, &one.id);
        let names = [id, lower(of_project, &one.project), lower(of_name, &one.name)];
        if let Some(nearness) = finder.nearness(&names) {
            // Production comes first, then the shorter name.
            let tier = Tier::ALL.iter().position(|tier| *tier.as_str() == *one.tier);
            let tier = tier.unwrap_or(Tier::ALL.len());
            let weight = tier * TIER_WEIGHT + id.len().min(TIER_WEIGHT - 1);
            first.add(nearness, weight, &one.id, one.number);
        }
    }
    first.hits(|number| {
        let found = environments::with_numbers(view, moment, scope, &[number])?.pop();
        Ok(found.map(|found| found.environment))
    })
}

/// The best of a few names, each as `item` tells it.
fn few<'n, T>(
    names: impl Iterator<Item = &'n String>,
    (finder, limit): (&Finder<'_>, usize),
    item: impl Fn(&str) -> T,
) -> Result<Hits<T>> {
    let (mut first, mut buffer) = (First::new(limit), String::new());
    for name in names {
        let lower = lower(&mut buffer, name);
        if let Some(nearness) = finder.nearness(&[lower]) {
            first.add(nearness, lower.len(), name, name);
        }
    }
    first.hits(|name| Ok(Some(item(name))))
}

/// The paths of projects in sight, be it that only their environments are declared.
fn paths(place: &Place<'_>) -> Result<BTreeSet<String>> {
    let Place { view, moment, scope, .. } = place;
    let of_environments: HashSet<&str> = place.standings()?.iter().map(|one| &*one.project).collect();
    let mut paths = groups::declared_paths(view, moment, scope)?;
    paths.extend(of_environments.into_iter().map(str::to_owned));
    Ok(paths)
}

/// Projects, by path.
pub(super) fn projects(place: &Place<'_>, finder: &Finder<'_>) -> Result<Hits<FoundProject>> {
    few(paths(place)?.iter(), (finder, place.limit), |path| FoundProject { id: path.to_owned() })
}

/// The names of environments, projects and clusters that are seen, in lower case.
pub(super) fn names(place: &Place<'_>) -> Result<Vec<String>> {
    let mut names: Vec<String> = paths(place)?.iter().map(|path| fold_case(path)).collect();
    names.extend(
        clusters::in_sight(place.view, place.moment, place.scope)?.into_keys().map(|name| fold_case(&name)),
    );
    let mut of_environments = HashSet::new();
    for one in place.standings()?.iter() {
        names.push(fold_case(&one.id));
        of_environments.insert(&*one.name);
    }
    names.extend(of_environments.iter().map(|name| fold_case(name)));
    Ok(names)
}

/// Clusters, by name.
pub(super) fn clusters(place: &Place<'_>, finder: &Finder<'_>) -> Result<Hits<FoundCluster>> {
    let regions = clusters::in_sight(place.view, place.moment, place.scope)?;
    few(regions.keys(), (finder, place.limit), |name| FoundCluster {
        id: name.to_owned(),
        region: regions.get(name).cloned().unwrap_or_default(),
    })
}
