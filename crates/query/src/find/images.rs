//! Images by repository, tag or digest.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, named_params};

use super::Place;
use super::lines::{Blocks, own_resources};
use super::rank::{Candidate, Looked, best};
use super::terms::{Finder, push_lower};
use crate::error::Result;
use crate::scope::{belonged, reads};
use strandline_protocol::{FoundImage, Hits, SearchMatch};
use strandline_syntax::{Image, familiar};
use strandline_view::search_lines::BLOCK_BITS;

/// What of a block of resources ever had which images.
pub(in super::super) const OF_BLOCK: &str =
    "SELECT resource_id, image_id FROM image_use INDEXED BY image_use_by_resource
    WHERE resource_id >= :from AND resource_id < :to";

/// Whether anything has an image at the moment; none where nothing had it by then. The latest are there rather than others.
const USED: &str =
    "SELECT (SELECT 1 FROM image_use WHERE image_id = :image AND from_offset <= :at AND to_offset > :at
        ORDER BY resource_id DESC LIMIT 1) IS NOT NULL
    WHERE EXISTS (SELECT 1 FROM image_use WHERE image_id = :image AND from_offset <= :at)";

/// The same of one resource that has it, as far as a scope reads.
const USED_BY: &str = concat!(
    "SELECT max(min(u.to_offset, m.to_offset, e.to_offset) > :at) FROM image_use u
        CROSS JOIN membership m ON m.resource_id = u.resource_id
        CROSS JOIN environment_audience e ON e.environment_id = m.environment_id
    WHERE u.image_id = :image AND u.resource_id = :resource AND u.from_offset <= :at
        AND max(u.from_offset, m.from_offset, e.from_offset) < min(u.to_offset, m.to_offset, e.to_offset) AND ",
    belonged!(),
    " AND ",
    reads!()
);

/// The images that resources of a scope have or had, with these resources.
type Own = HashMap<i64, Vec<i64>>;

fn own_images(view: &Connection, blocks: Blocks) -> Result<Own> {
    let (mut statement, mut found) = (view.prepare_cached(OF_BLOCK)?, Own::new());
    for (block, members) in blocks {
        let params = named_params! { ":from": block << BLOCK_BITS, ":to": (block + 1) << BLOCK_BITS };
        let mut rows = statement.query(params)?;
        while let Some(row) = rows.next()? {
            let resource: i64 = row.get(0)?;
            if members >> (resource & ((1 << BLOCK_BITS) - 1)) & 1 == 1 {
                found.entry(row.get(1)?).or_default().push(resource);
            }
        }
    }
    Ok(found)
}

/// All images of one name, whatever their digests.
struct Named {
    short: String,
    nearness: SearchMatch,
    numbers: Vec<i64>,
}

/// The images whose name is near, by name.
fn near(place: &Place<'_>, finder: &Finder<'_>, own: Option<&Own>) -> Result<HashMap<String, Named>> {
    let ids = own.map(|own| serde_json::json!(own.keys().collect::<Vec<_>>()).to_string());
    let sql = match ids {
        None => "SELECT id, repository, tag, digest FROM image WHERE :ids IS NULL",
        Some(_) => {
            "SELECT i.id, i.repository, i.tag, i.digest FROM json_each(:ids) o CROSS JOIN image i ON i.id = o.value"
        }
    };
    let mut statement = place.view.prepare_cached(sql)?;
    let mut rows = statement.query(named_params! { ":ids": ids })?;
    let (mut named, mut lower): (HashMap<String, Named>, _) = (HashMap::new(), String::new());
    while let Some(row) = rows.next()? {
        let [repository, tag, digest] = [row.get_ref(1)?, row.get_ref(2)?, row.get_ref(3)?];
        let (repository, tag, digest) = (repository.as_str()?, tag.as_str()?, digest.as_str()?);
        lower.clear();
        push_lower(&mut lower, repository);
        if !tag.is_empty() {
            lower.push(':');
            push_lower(&mut lower, tag);
        }
        let tagged = lower.len();
        lower.push('@');
        push_lower(&mut lower, digest);
        // Most are not near, and of those nothing is made.
        if !finder.may_be_in(&lower) {
            continue;
        }
        let of_digest = lower.get(tagged + 1..).unwrap_or_default();
        let of_name = if tag.is_empty() { lower.as_str() } else { lower.get(..tagged).unwrap_or_default() };
        let last = of_name.rsplit('/').next().unwrap_or_default();
        let (bare, of_tag) = last.split_once([':', '@']).unwrap_or((last, ""));
        let Some(nearness) = finder.nearness(&[of_name, bare, of_tag, of_digest]) else { continue };
        let image = Image { repository: repository.into(), tag: tag.into(), digest: digest.into() };
        let name = image.name();
        let short = || name.replacen(&image.repository, familiar(&image.repository), 1);
        let new = || Named { short: short(), nearness, numbers: Vec::new() };
        let named = named.entry(name.clone()).or_insert_with(new);
        named.nearness = named.nearness.min(nearness);
        named.numbers.push(row.get(0)?);
    }
    Ok(named)
}

/// Images, by repository, tag or digest. Those of one tag are one, whatever their digests.
pub(super) fn images(place: &Place<'_>, finder: &Finder<'_>) -> Result<Hits<FoundImage>> {
    let Place { view, moment, scope, limit } = place;
    let own = own_resources(place)?.map(|blocks| own_images(view, blocks)).transpose()?;
    let (mut candidates, mut by_number) = (Vec::new(), HashMap::new());
    for (id, named) in near(place, finder, own.as_ref())? {
        let newest = named.numbers.iter().max().copied().unwrap_or_default();
        candidates.push(Candidate::new(named.nearness, named.short.len(), newest));
        by_number.insert(newest, (id, named));
    }
    let (mut used, mut used_by) = (view.prepare_cached(USED)?, view.prepare_cached(USED_BY)?);
    let at = moment.offset.as_i64();
    let mut is_used = |image: i64| -> Result<Option<bool>> {
        let Some(own) = &own else {
            let params = named_params! { ":image": image, ":at": at };
            return Ok(used.query_row(params, |row| row.get(0)).optional()?);
        };
        let mut is_used = None;
        for resource in own.get(&image).into_iter().flatten().rev() {
            let params = named_params! {
                ":image": image, ":resource": resource, ":at": at, ":scope": scope.as_sql(),
            };
            is_used = is_used.max(used_by.query_row(params, |row| row.get::<_, Option<bool>>(0))?);
            if is_used == Some(true) {
                break;
            }
        }
        Ok(is_used)
    };
    best(candidates, *limit, |number| {
        let Some((id, Named { short, numbers, .. })) = by_number.remove(&number) else { return Ok(None) };
        let mut in_use = None;
        for image in numbers {
            in_use = in_use.max(is_used(image)?);
        }
        Ok(in_use.map(|in_use| Looked {
            is_gone: !in_use,
            is_minor: false,
            item: FoundImage { id, short, in_use },
        }))
    })
}
