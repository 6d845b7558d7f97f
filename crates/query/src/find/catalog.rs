//! Environments, projects and clusters by their names.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::Place;
use super::rank::{Candidates, Looked, best};
use super::terms::{Finder, Places, lower};
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
    let mut candidates = Candidates::new(Places::All);
    let mut buffers = [String::new(), String::new(), String::new()];
    for one in place.standings()?.iter() {
        let [of_id, of_project, of_name] = &mut buffers;
        let id = lower(of_id, &one.id);
        let names = [id, lower(of_project, &one.project), lower(of_name, &one.name)];
        if let Some(nearness) = finder.nearness(&names) {
            // Production comes first, then the shorter name.
            let tier = Tier::ALL.iter().position(|tier| *tier.as_str() == *one.tier);
            let tier = tier.unwrap_or(Tier::ALL.len());
            candidates.add(nearness, tier * TIER_WEIGHT + id.len().min(TIER_WEIGHT - 1), one.number);
        }
    }
    best(candidates, *limit, |number| {
        let found = environments::with_numbers(view, moment, scope, &[number])?.pop();
        Ok(found.map(|found| Looked { is_gone: false, is_minor: false, item: found.environment }))
    })
}

/// The best of a few names; of those that are equally long, the first.
fn few<T: Clone>(known: &[(String, T)], (finder, limit): (&Finder<'_>, usize)) -> Result<Hits<T>> {
    let (mut candidates, mut buffer) = (Candidates::new(Places::All), String::new());
    for ((name, _), number) in known.iter().zip((0..i64::try_from(known.len()).unwrap_or(i64::MAX)).rev()) {
        let name = lower(&mut buffer, name);
        if let Some(nearness) = finder.nearness(&[name]) {
            candidates.add(nearness, name.len(), number);
        }
    }
    best(candidates, limit, |number| {
        let place = usize::try_from(number).ok().and_then(|number| known.len().checked_sub(number + 1));
        let item = place.and_then(|place| known.get(place)).map(|(_, item)| item.clone());
        Ok(item.map(|item| Looked { is_gone: false, is_minor: false, item }))
    })
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
    let known: Vec<_> =
        paths(place)?.into_iter().map(|path| (path.clone(), FoundProject { id: path })).collect();
    few(&known, (finder, place.limit))
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
    let clusters: HashMap<String, String> = clusters::in_sight(place.view, place.moment, place.scope)?;
    let mut known: Vec<_> =
        clusters.into_iter().map(|(id, region)| (id.clone(), FoundCluster { id, region })).collect();
    known.sort_by(|(one, _), (other, _)| one.cmp(other));
    few(&known, (finder, place.limit))
}
