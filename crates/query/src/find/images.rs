//! Images by repository, tag or digest.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, named_params};

use super::Place;
use super::lines::{Blocks, own, own_members, own_resources, scan};
use super::rank::{Candidate, Looked, best};
use super::terms::Finder;
use crate::error::Result;
use crate::scope::{ResolvedScope, belonged, reads};
use strandline_model::Offset;
use strandline_protocol::{FoundImage, Hits, SearchMatch};
use strandline_syntax::{Image, familiar};
use strandline_view::search_lines::BLOCK_BITS;

/// The blocks of images with those that something ever had in an environment that a scope reads.
const OWN_IMAGES: &str = own_members!("image_members");

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

/// Who ever had an image, the last before a number.
const USER_BEFORE: &str = "SELECT resource_id FROM image_use WHERE image_id = ?1 AND resource_id < ?2 ORDER BY resource_id DESC LIMIT 1";

/// All images of one name, whatever their digests.
struct Named {
    nearness: SearchMatch,
    /// The characters of what is shown.
    length: usize,
    numbers: Vec<i64>,
}

/// The images whose name is near, by name.
fn near(place: &Place<'_>, finder: &Finder<'_>) -> Result<HashMap<String, Named>> {
    let own = own(place, OWN_IMAGES)?;
    let mut found: HashMap<String, Named> = HashMap::new();
    scan(place, "image_lines", own.as_ref(), finder, |number, line, _| {
        let mut words = line.split('\t').skip(1);
        let (name, digest) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let last = name.rsplit('/').next().unwrap_or_default();
        let (bare, tag) = last.split_once([':', '@']).unwrap_or((last, ""));
        let Some(nearness) = finder.nearness(&[name, bare, tag, digest]) else { return };
        let written = words.next().unwrap_or(name);
        match found.get_mut(written) {
            Some(named) => {
                named.nearness = named.nearness.min(nearness);
                named.numbers.push(number);
            }
            None => {
                let named = Named { nearness, length: familiar(name).len(), numbers: vec![number] };
                found.insert(written.to_owned(), named);
            }
        }
    })?;
    Ok(found)
}

/// The last of a scope's resources up to a number.
fn last_until(own: &Blocks, number: i64) -> Option<i64> {
    let (block, place) = (number >> BLOCK_BITS, number & ((1 << BLOCK_BITS) - 1));
    own.range(..=block).rev().find_map(|(of, members)| {
        let within = if *of == block { !0_u64 >> (63 - place) } else { !0 };
        let place = (members.cast_unsigned() & within).checked_ilog2()?;
        Some(of << BLOCK_BITS | i64::from(place))
    })
}

/// Whether resources have images at a moment, as far as a scope reads.
struct Users<'a> {
    view: &'a Connection,
    at: Offset,
    scope: &'a ResolvedScope,
    own: Option<&'a Blocks>,
}

impl Users<'_> {
    /// None where nothing that is read had the image by then.
    fn have(&self, image: i64) -> Result<Option<bool>> {
        match self.own {
            None => {
                let params = named_params! { ":image": image, ":at": self.at.as_i64() };
                Ok(self.view.prepare_cached(USED)?.query_row(params, |row| row.get(0)).optional()?)
            }
            Some(own) => self.own_have(image, own),
        }
    }

    /// Walks those who had the image and the scope's own side by side, each from one of the other's to the next: others cost no
    /// more steps than there are own.
    fn own_have(&self, image: i64, own: &Blocks) -> Result<Option<bool>> {
        let mut before = self.view.prepare_cached(USER_BEFORE)?;
        let mut used_by = self.view.prepare_cached(USED_BY)?;
        let (mut have, mut end) = (None, i64::MAX);
        while let Some(user) = before.query_row([image, end], |row| row.get::<_, i64>(0)).optional()?
            && let Some(nearest) = last_until(own, user)
        {
            if nearest != user {
                end = nearest + 1;
                continue;
            }
            let params = named_params! {
                ":image": image, ":resource": user, ":at": self.at.as_i64(), ":scope": self.scope.as_sql(),
            };
            have = have.max(used_by.query_row(params, |row| row.get::<_, Option<bool>>(0))?);
            if have == Some(true) {
                break;
            }
            end = user;
        }
        Ok(have)
    }
}

/// Images, by repository, tag or digest. Those of one tag are one, whatever their digests.
pub(super) fn images(place: &Place<'_>, finder: &Finder<'_>) -> Result<Hits<FoundImage>> {
    let Place { view, moment, scope, limit, .. } = place;
    let newest = |named: &Named| named.numbers.iter().max().copied().unwrap_or_default();
    let mut found: HashMap<i64, Named> =
        near(place, finder)?.into_values().map(|named| (newest(&named), named)).collect();
    let candidates =
        found.iter().map(|(newest, named)| Candidate::new(named.nearness, named.length, *newest)).collect();
    let mut names = view.prepare_cached("SELECT repository, tag, digest FROM image WHERE id = ?1")?;
    let users = Users { view, at: moment.offset, scope, own: own_resources(place)? };
    best(candidates, *limit, |number| {
        let mut in_use = None;
        for image in found.remove(&number).into_iter().flat_map(|named| named.numbers) {
            in_use = in_use.max(users.have(image)?);
        }
        let Some(in_use) = in_use else { return Ok(None) };
        let image = names.query_row([number], |row| {
            Ok(Image { repository: row.get(0)?, tag: row.get(1)?, digest: row.get(2)? })
        })?;
        let id = image.name();
        let item = FoundImage { short: familiar(&id).to_owned(), id, in_use };
        Ok(Some(Looked { is_gone: !in_use, is_minor: false, item }))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_last_number_of_blocks_is_that_of_a_plain_walk(
            numbers in prop::collection::btree_set(0..300_i64, 0..20),
            until in 0..400_i64,
        ) {
            let mut blocks = Blocks::new();
            for number in &numbers {
                *blocks.entry(number >> BLOCK_BITS).or_default() |= 1 << (number & 63);
            }
            prop_assert_eq!(last_until(&blocks, until), numbers.range(..=until).next_back().copied());
        }
    }
}
