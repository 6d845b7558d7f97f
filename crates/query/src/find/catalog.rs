//! Environments, projects and clusters by their names.

use std::collections::{BTreeSet, HashMap, HashSet};

use rusqlite::named_params;

use super::Place;
use super::rank::{Candidates, Looked, best};
use super::terms::{Finder, Places, lower};
use crate::error::Result;
use crate::{clusters, environments, groups};
use strandline_model::Tier;
use strandline_protocol::{Environment, FoundCluster, FoundProject, Hits};

/// The environments that a scope sees, where it sees little.
const OF_SCOPE: &str = "SELECT e.id, e.name_id, e.project, e.name, e.tier FROM temp.sight_sees s
    CROSS JOIN environment_audience a INDEXED BY environment_audience_by_audience ON a.audience = s.audience
        AND a.from_offset <= :at AND a.to_offset > :at
    CROSS JOIN environment e ON e.id = a.environment_id AND e.to_offset > :at AND e.from_offset =
        (SELECT max(from_offset) FROM environment WHERE id = a.environment_id AND from_offset <= :at)";

/// What a tier counts as, in characters.
const TIER_WEIGHT: usize = 128;

/// Calls `look` with each environment that is seen: its number, and its name in addresses, its project, name and tier.
pub(super) fn each_environment(place: &Place<'_>, mut look: impl FnMut(i64, [&str; 4])) -> Result<()> {
    let Place { view, moment, .. } = place;
    if let Some(seen) = place.standings()? {
        for one in seen.iter() {
            look(one.number, [&one.id, &one.project, &one.name, &one.tier]);
        }
        return Ok(());
    }
    let mut statement = view.prepare_cached(OF_SCOPE)?;
    let mut rows = statement.query(named_params! { ":at": moment.offset.as_i64() })?;
    while let Some(row) = rows.next()? {
        let text = |column: usize| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str()?);
        look(row.get(0)?, [text(1)?, text(2)?, text(3)?, text(4)?]);
    }
    Ok(())
}

/// Environments, by project, name and name in addresses.
pub(super) fn environments(place: &Place<'_>, finder: &Finder<'_>) -> Result<Hits<Environment>> {
    let Place { view, moment, scope, limit, .. } = place;
    let mut candidates = Candidates::new(Places::All);
    let mut buffers = [String::new(), String::new(), String::new()];
    each_environment(place, |number, [id, project, name, tier]| {
        let [of_id, of_project, of_name] = &mut buffers;
        let id = lower(of_id, id);
        if let Some(nearness) = finder.nearness(&[id, lower(of_project, project), lower(of_name, name)]) {
            // Production comes first, then the shorter name.
            let tier = Tier::ALL.iter().position(|one| one.as_str() == tier).unwrap_or(Tier::ALL.len());
            candidates.add(nearness, tier * TIER_WEIGHT + id.len().min(TIER_WEIGHT - 1), number);
        }
    })?;
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
    let Some(seen) = place.standings()? else { return groups::paths(view, moment, scope) };
    let of_environments: HashSet<&str> = seen.iter().map(|one| &*one.project).collect();
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
    let mut names: Vec<String> = paths(place)?.iter().map(|path| path.to_lowercase()).collect();
    names.extend(
        clusters::in_sight(place.view, place.moment, place.scope)?
            .into_keys()
            .map(|name| name.to_lowercase()),
    );
    let mut of_environments = HashSet::new();
    each_environment(place, |_, [id, _, name, _]| {
        names.push(id.to_lowercase());
        if !of_environments.contains(name) {
            of_environments.insert(name.to_owned());
        }
    })?;
    names.extend(of_environments.iter().map(|name| name.to_lowercase()));
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
