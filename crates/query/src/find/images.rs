//! Images by repository, tag or digest.

use std::collections::HashSet;

use memchr::{memchr2, memrchr};
use rusqlite::{Connection, OptionalExtension, named_params};

use super::Place;
use super::lines::{Blocks, Line, nearest, own, own_members, own_resources, scan};
use super::rank::{Candidates, Looked, best};
use super::terms::{Finder, Places, Term};
use crate::error::Result;
use crate::scope::{ResolvedScope, belonged, reads};
use strandline_model::Offset;
use strandline_protocol::{FoundImage, Hits, SearchMatch};
use strandline_syntax::{Image, familiar};
use strandline_view::search_lines::{BLOCK_BITS, IMAGES, bit_of, block_of};

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

/// How near an image is by its line, and the characters of what is shown of it.
fn nearness(finder: &Finder<'_>, line: Line<'_>) -> Option<(SearchMatch, usize)> {
    if !line.has_all(finder) {
        return None;
    }
    let mut words = line.words();
    let (name, digest) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let last = memrchr(b'/', name.as_bytes()).map_or(name, |end| &name[end + 1..]);
    let end = memchr2(b':', b'@', last.as_bytes());
    let (bare, tag) = end.map_or((last, ""), |end| (&last[..end], &last[end + 1..]));
    let best = |term: &Term<'_>| match term.nearness_of_path(name) {
        // What is not in the whole is in no part of it.
        None => term.nearness(digest),
        whole => [whole, term.nearness(bare), term.nearness(tag), term.nearness(digest)]
            .into_iter()
            .flatten()
            .min(),
    };
    let worst =
        finder.terms().iter().map(best).try_fold(SearchMatch::Exact, |worst, near| Some(worst.max(near?)))?;
    Some((worst, familiar(name).len()))
}

/// Images by their numbers, a bit each.
#[derive(Default)]
struct Numbers(Vec<(i64, i64)>);

impl Numbers {
    /// Adds a number, those of a block after those of the blocks before.
    fn add(&mut self, number: i64) {
        let (block, bit) = (block_of(number), bit_of(number));
        match self.0.last_mut().filter(|(last, _)| *last == block) {
            Some((_, bits)) => *bits |= bit,
            None => self.0.push((block, bit)),
        }
    }

    fn contain(&self, number: i64) -> bool {
        let found = self.0.binary_search_by_key(&block_of(number), |(block, _)| *block);
        found.is_ok_and(|at| self.0[at].1 & bit_of(number) != 0)
    }
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

/// The images that are shown as one is, whatever their digests.
const NAMED_ALIKE: &str = "SELECT other.id FROM image i CROSS JOIN image other
        ON other.repository = i.repository AND other.tag = i.tag
    WHERE i.id = ?1 AND (i.tag <> '' OR other.id = i.id)";

/// Images, by repository, tag or digest. Those of one tag are one, whatever their digests.
pub(super) fn images(place: &Place<'_>, finder: &Finder<'_>) -> Result<Hits<FoundImage>> {
    let Place { view, moment, scope, limit, .. } = place;
    let own_images = own(place, OWN_IMAGES)?;
    let users = Users { view, at: moment.offset, scope, own: own_resources(place)? };
    let mut names = view.prepare_cached("SELECT repository, tag, digest FROM image WHERE id = ?1")?;
    let mut named_alike = view.prepare_cached(NAMED_ALIKE)?;
    nearest(finder, Places::Images, |places| {
        let (mut candidates, mut near) = (Candidates::new(places), Numbers::default());
        scan(place, (IMAGES, own_images.as_ref()), (finder, places), |line| {
            if let Some((nearness, length)) = nearness(finder, line) {
                near.add(line.number);
                candidates.add(nearness, length, line.number);
            }
        })?;
        let mut found = HashSet::new();
        best(candidates, *limit, |number| {
            let mut in_use = None;
            let mut alike = named_alike.query([number])?;
            while let Some(row) = alike.next()? {
                let image = row.get(0)?;
                // One of those that are shown as one stands for all of them: the last of the nearest.
                if !near.contain(image) {
                    continue;
                }
                if image != number && found.contains(&image) {
                    return Ok(None);
                }
                in_use = in_use.max(users.have(image)?);
            }
            found.insert(number);
            let Some(in_use) = in_use else { return Ok(None) };
            let image = names.query_row([number], |row| {
                Ok(Image { repository: row.get(0)?, tag: row.get(1)?, digest: row.get(2)? })
            })?;
            let id = image.name();
            let item = FoundImage { short: familiar(&id).to_owned(), id, in_use };
            Ok(Some(Looked { is_gone: !in_use, is_minor: false, item }))
        })
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
                *blocks.entry(block_of(*number)).or_default() |= bit_of(*number);
            }
            prop_assert_eq!(last_until(&blocks, until), numbers.range(..=until).next_back().copied());
        }
    }
}
