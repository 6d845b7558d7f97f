//! Environments, projects and clusters by their names.

use std::collections::HashMap;

use rusqlite::named_params;

use super::Place;
use super::rank::{Candidate, Looked, best};
use super::terms::{Finder, push_lower};
use crate::error::Result;
use crate::{clusters, environments, groups};
use strandline_model::Tier;
use strandline_protocol::{Environment, FoundCluster, FoundProject, Hits};

/// All environments of a moment, from an index that holds all that is read here …
const OF_ALL: &str = "SELECT e.id, e.name_id, e.project, e.name, e.tier FROM environment e INDEXED BY environment_by_tier
    WHERE e.tier IN (SELECT value FROM json_each(:tiers)) AND e.to_offset > :at AND e.from_offset <= :at AND :scope IS NULL";

/// … and those that a scope sees.
const OF_SCOPE: &str = "SELECT e.id, e.name_id, e.project, e.name, e.tier FROM temp.sight_sees s
    CROSS JOIN environment_audience a INDEXED BY environment_audience_by_audience ON a.audience = s.audience
        AND a.from_offset <= :at AND a.to_offset > :at
    CROSS JOIN environment e ON e.id = a.environment_id AND e.to_offset > :at AND e.from_offset =
        (SELECT max(from_offset) FROM environment WHERE id = a.environment_id AND from_offset <= :at)
    WHERE :tiers IS NOT NULL AND :scope IS NOT NULL";

/// What a tier counts as, in characters.
const TIER_WEIGHT: usize = 128;

/// A name in lower case, in a place that is used again.
fn lower<'b>(buffer: &'b mut String, name: &str) -> &'b str {
    buffer.clear();
    push_lower(buffer, name);
    buffer
}

/// Environments, by project, name and name in addresses.
pub(super) fn environments(place: &Place<'_>, finder: &Finder<'_>) -> Result<Hits<Environment>> {
    let Place { view, moment, scope, limit, .. } = place;
    let mut statement = view.prepare_cached(if scope.is_everything() { OF_ALL } else { OF_SCOPE })?;
    let mut rows = statement.query(named_params! {
        ":at": moment.offset.as_i64(), ":scope": scope.as_sql(),
        ":tiers": serde_json::json!(Tier::ALL.map(Tier::as_str)).to_string(),
    })?;
    let (mut candidates, mut buffers) = (Vec::new(), [String::new(), String::new(), String::new()]);
    while let Some(row) = rows.next()? {
        let [id, project, name] = &mut buffers;
        let id = lower(id, row.get_ref(1)?.as_str()?);
        let project = lower(project, row.get_ref(2)?.as_str()?);
        let name = lower(name, row.get_ref(3)?.as_str()?);
        if let Some(nearness) = finder.nearness(&[id, project, name]) {
            // Production comes first, then the shorter name.
            let tier = row.get_ref(4)?.as_str()?;
            let tier = Tier::ALL.iter().position(|one| one.as_str() == tier).unwrap_or(Tier::ALL.len());
            candidates.push(Candidate::new(
                nearness,
                tier * TIER_WEIGHT + id.len().min(TIER_WEIGHT - 1),
                row.get(0)?,
            ));
        }
    }
    best(candidates, *limit, |number| {
        let found = environments::with_numbers(view, moment, scope, &[number])?.pop();
        Ok(found.map(|found| Looked { is_gone: false, is_minor: false, item: found.environment }))
    })
}

/// The best of a few names; of those that are equally long, the first.
fn few<T: Clone>(known: &[(String, T)], (finder, limit): (&Finder<'_>, usize)) -> Result<Hits<T>> {
    let (mut candidates, mut buffer) = (Vec::new(), String::new());
    for ((name, _), number) in known.iter().zip((0..i64::try_from(known.len()).unwrap_or(i64::MAX)).rev()) {
        let name = lower(&mut buffer, name);
        if let Some(nearness) = finder.nearness(&[name]) {
            candidates.push(Candidate::new(nearness, name.len(), number));
        }
    }
    best(candidates, limit, |number| {
        let place = usize::try_from(number).ok().and_then(|number| known.len().checked_sub(number + 1));
        let item = place.and_then(|place| known.get(place)).map(|(_, item)| item.clone());
        Ok(item.map(|item| Looked { is_gone: false, is_minor: false, item }))
    })
}

/// Projects, by path.
pub(super) fn projects(place: &Place<'_>, finder: &Finder<'_>) -> Result<Hits<FoundProject>> {
    let paths = groups::paths(place.view, place.moment, place.scope)?;
    let known: Vec<_> = paths.into_iter().map(|path| (path.clone(), FoundProject { id: path })).collect();
    few(&known, (finder, place.limit))
}

/// Clusters, by name.
pub(super) fn clusters(place: &Place<'_>, finder: &Finder<'_>) -> Result<Hits<FoundCluster>> {
    let clusters: HashMap<String, String> = clusters::in_sight(place.view, place.moment, place.scope)?;
    let mut known: Vec<_> =
        clusters.into_iter().map(|(id, region)| (id.clone(), FoundCluster { id, region })).collect();
    known.sort_by(|(one, _), (other, _)| one.cmp(other));
    few(&known, (finder, place.limit))
}
