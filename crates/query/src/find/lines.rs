//! Resources and deployments by the lines that the view keeps for search.

use std::collections::{BTreeMap, HashSet};

use memchr::{memchr, memrchr};
use rusqlite::{OptionalExtension, Row, named_params};

use super::Place;
use super::rank::{Candidate, Looked, best};
use super::terms::{Finder, Term, parts};
use crate::error::{Result, dated, gone_after};
use crate::last_seen::LAST;
use crate::{deployments, last_seen, resources};
use strandline_log::LogReader;
use strandline_model::{Kind, KindName, Offset};
use strandline_protocol::{Deployment, FoundResource, Hit, Hits, SearchMatch};
use strandline_view::search_lines::{BLOCK_BITS, slot};

/// The blocks in which a scope searches, with its lines there, a bit each.
pub(super) type Blocks = BTreeMap<i64, i64>;

/// Selects blocks with what of each is of an environment that a scope reads.
macro_rules! own_members {
    ($table:literal) => {
        concat!(
            "SELECT b.block, b.members FROM (SELECT DISTINCT e.environment_id
                FROM temp.sight_reads s CROSS JOIN environment_audience e INDEXED BY environment_audience_by_audience
                    ON e.audience = s.audience AND e.from_offset <= :at) mine
            CROSS JOIN ",
            $table,
            " b ON b.environment_id = mine.environment_id WHERE :scope IS NOT NULL"
        )
    };
}

pub(super) use own_members;

/// The blocks of resources with those that ever belonged to an environment that a scope reads, while it read it.
const OWN_RESOURCES: &str = own_members!("search_members");

/// The numbers of deployments to the environments that a scope sees, with those of its projects.
const OWN_DEPLOYMENTS: &str = "SELECT d.id >> 6, 1 << (d.id & 63) FROM temp.sight_sees s
        CROSS JOIN environment_audience e INDEXED BY environment_audience_by_audience
            ON e.audience = s.audience AND e.to_offset > :at AND e.from_offset <= :at
        CROSS JOIN deployment d INDEXED BY deployment_by_environment ON d.environment_id = e.environment_id
    WHERE :scope IS NOT NULL
    UNION ALL SELECT d.id >> 6, 1 << (d.id & 63) FROM temp.sight_path p
        CROSS JOIN deployment d INDEXED BY deployment_by_project ON d.project = p.path WHERE :scope IS NOT NULL";

/// The blocks of resources in which a scope searches; none where that is everywhere.
pub(super) fn own_resources<'p>(place: &Place<'p>) -> Result<Option<&'p Blocks>> {
    if place.own_resources.get().is_none() {
        let _ = place.own_resources.set(own(place, OWN_RESOURCES)?);
    }
    Ok(place.own_resources.get().and_then(Option::as_ref))
}

/// The blocks in which a scope searches, as `sql` reads them; none where that is everywhere.
pub(super) fn own(place: &Place<'_>, sql: &str) -> Result<Option<Blocks>> {
    if place.scope.is_everything() {
        return Ok(None);
    }
    let (mut statement, mut own) = (place.view.prepare_cached(sql)?, Blocks::new());
    let mut rows = statement
        .query(named_params! { ":at": place.moment.offset.as_i64(), ":scope": place.scope.as_sql() })?;
    while let Some(row) = rows.next()? {
        *own.entry(row.get(0)?).or_default() |= row.get::<_, i64>(1)?;
    }
    Ok(Some(own))
}

/// Calls `take` with each line that holds one of the words, and the number of what it is of.
pub(super) fn scan(
    place: &Place<'_>,
    table: &str,
    own: Option<&Blocks>,
    finder: &Finder<'_>,
    mut take: impl FnMut(i64, &str, &str),
) -> Result<()> {
    let mut search = |block: i64, lines: &str, own: i64| {
        let mut seen = !own;
        for term in finder.terms() {
            let mut until = 0;
            for at in term.places(lines) {
                if at < until || !term.may_match_at(lines, at) {
                    continue;
                }
                let bytes = lines.as_bytes();
                let from = memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1);
                until = memchr(b'\n', &bytes[at..]).map_or(lines.len(), |end| at + end);
                let slot = slot(bytes[from]);
                if seen >> slot & 1 == 0 {
                    seen |= 1 << slot;
                    take(block << BLOCK_BITS | i64::from(slot), &lines[from..until], &lines[..from]);
                }
            }
        }
    };
    match own {
        None => {
            let mut statement = place.view.prepare_cached(&format!("SELECT block, lines FROM {table}"))?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                search(row.get(0)?, row.get_ref(1)?.as_str()?, !0);
            }
        }
        Some(own) => {
            let sql = format!("SELECT lines FROM {table} WHERE block = ?1");
            let mut statement = place.view.prepare_cached(&sql)?;
            for (block, own) in own {
                let mut rows = statement.query([block])?;
                if let Some(row) = rows.next()? {
                    search(*block, row.get_ref(0)?.as_str()?, *own);
                }
            }
        }
    }
    Ok(())
}

/// How near resources are, by their lines.
///
/// Lines have their kind and namespace from the line where these began, and those of a block come one after the other, so
/// that what was found of one holds for the next.
struct Matcher<'f> {
    finder: &'f Finder<'f>,
    /// For each word the kinds that it fits.
    kinds: Vec<HashSet<i64>>,
    block: Option<i64>,
    /// How far the lines of the block have been looked at.
    until: usize,
    /// For each word whether it fits the kind or the namespace there.
    fits: Vec<bool>,
}

impl<'f> Matcher<'f> {
    fn new(place: &Place<'_>, finder: &'f Finder<'f>) -> Result<Self> {
        Ok(Matcher { finder, kinds: kinds(place, finder)?, block: None, until: 0, fits: Vec::new() })
    }

    /// How near a resource is: each word is in its name, or in its namespace, or is its kind or in the name of its cluster, and at
    /// least one is in its name. `before` are the lines of its block before its own.
    fn nearness(&mut self, number: i64, line: &str, before: &str) -> Option<(SearchMatch, usize)> {
        let name = line.split('\t').nth(1)?;
        let finder = self.finder;
        let each = || finder.terms().iter().map(|term| term.nearness(name));
        let worst = each().flatten().max()?;
        if each().any(|near| near.is_none()) {
            self.look_beside(number, line, before);
            let is_far =
                |(at, near): (usize, Option<SearchMatch>)| near.is_none() && self.fits.get(at) != Some(&true);
            if each().enumerate().any(is_far) {
                return None;
            }
        }
        Some((worst, name.len()))
    }

    /// Compares the words with the kind and namespace of a line.
    fn look_beside(&mut self, number: i64, line: &str, before: &str) {
        let block = Some(number >> BLOCK_BITS);
        if self.block != block || self.until > before.len() {
            (self.block, self.until, self.fits) = (block, 0, Vec::new());
        }
        let place = |line: &str| {
            let mut words = line.split('\t').skip(2);
            Some((words.next()?.parse::<i64>().ok()?, words.next()?.to_owned()))
        };
        let unseen = before.get(self.until..).unwrap_or_default();
        if let Some((kind, namespace)) = place(line).or_else(|| unseen.lines().rev().find_map(place)) {
            let fits = |(term, kinds): (&Term<'_>, &HashSet<i64>)| {
                kinds.contains(&kind) || term.nearness(&namespace).is_some()
            };
            self.fits = self.finder.terms().iter().zip(&self.kinds).map(fits).collect();
        }
        self.until = before.len();
    }
}

/// For each word the kinds that it names, or all of a cluster in whose name it is.
fn kinds(place: &Place<'_>, finder: &Finder<'_>) -> Result<Vec<HashSet<i64>>> {
    let sql = r#"SELECT k.id, k."group", k.kind, c.name FROM kind k JOIN cluster c ON c.id = k.cluster_id WHERE k.kind <> ''"#;
    let mut statement = place.view.prepare_cached(sql)?;
    let names: Vec<Option<KindName>> = finder.terms().iter().map(|term| term.text.parse().ok()).collect();
    let mut found = vec![HashSet::new(); names.len()];
    if names.len() < 2 {
        return Ok(found);
    }
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, kind): (i64, _) =
            (row.get(0)?, Kind::new(row.get::<_, String>(1)?, row.get::<_, String>(2)?));
        let cluster = row.get::<_, String>(3)?.to_lowercase();
        for ((name, term), found) in names.iter().zip(finder.terms()).zip(&mut found) {
            if name.as_ref().is_some_and(|name| name.means(&kind)) || term.nearness(&cluster).is_some() {
                found.insert(id);
            }
        }
    }
    Ok(found)
}

/// Parts of the names of resources, each with some of those that have it.
pub(super) type Parts = BTreeMap<String, Vec<i64>>;

/// How many parts are compared with a word at most, and how many resources are looked at for each.
const PARTS_MAX: usize = 20_000;
const SAMPLES_MAX: usize = 3;

/// The parts of names of resources that begin with the same two letters as a word.
pub(super) fn parts_like(place: &Place<'_>, term: &Term<'_>) -> Result<Parts> {
    let mut found = Parts::new();
    let Some((end, _)) = term.text.char_indices().nth(2) else { return Ok(found) };
    let beginning = &term.text[..end];
    let finder = Finder::of(std::iter::once(beginning));
    scan(place, "resource_lines", own_resources(place)?, &finder, |number, line, _| {
        let name = line.split('\t').nth(1).unwrap_or_default();
        for part in parts(name).filter(|part| part.starts_with(beginning)) {
            let is_full = found.len() >= PARTS_MAX;
            match found.get_mut(part) {
                Some(numbers) if numbers.len() < SAMPLES_MAX => numbers.push(number),
                Some(_) => {}
                None if !is_full => drop(found.insert(part.to_owned(), vec![number])),
                None => {}
            }
        }
    })?;
    Ok(found)
}

/// Whether the caller sees any of these resources at the moment, or saw it by then.
pub(super) fn is_any_seen(place: &Place<'_>, numbers: &[i64]) -> Result<bool> {
    let Place { view, moment, scope, .. } = place;
    Ok(last_seen::of_any(view, moment.offset, scope, numbers)?.is_some())
}

/// Resources, by name.
pub(super) fn resources(
    place: &Place<'_>,
    log: &LogReader,
    finder: &Finder<'_>,
) -> Result<Hits<FoundResource>> {
    let finder = finder.parted();
    let Place { view, moment, scope, limit, .. } = place;
    let (mut matcher, mut candidates) = (Matcher::new(place, &finder)?, Vec::new());
    scan(place, "resource_lines", own_resources(place)?, &finder, |number, line, before| {
        if let Some((nearness, length)) = matcher.nearness(number, line, before) {
            candidates.push(Candidate::new(nearness, length, number));
        }
    })?;
    let sql = format!(
        r#"SELECT {LAST}, k."group" IN ('apps', 'batch') FROM resource r JOIN kind k ON k.id = r.kind_id WHERE r.id = :id"#
    );
    let mut last = view.prepare_cached(&sql)?;
    let mut found = best(candidates, *limit, |number| {
        let params = named_params! {
            ":id": number, ":at": moment.offset.as_i64(), ":scope": scope.as_sql(), ":environment": None::<i64>,
        };
        let read = |row: &Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, bool>(1)?));
        let Some((Some(last), is_workload)) = last.query_row(params, read).optional()? else {
            return Ok(None);
        };
        let last = Offset::from_i64(last);
        Ok(Some(Looked { is_gone: last < moment.offset, is_minor: !is_workload, item: (number, last) }))
    })?;
    let mut items = Vec::with_capacity(found.items.len());
    for hit in std::mem::take(&mut found.items) {
        let (number, last) = hit.item;
        let Some(held) = resources::with_numbers(view, last, &[number])?.pop() else { continue };
        let gone = if last < moment.offset { Some(dated(gone_after(last), log)?) } else { None };
        let item = FoundResource { resource: held.resource, gone };
        items.push(Hit { nearness: hit.nearness, item });
    }
    Ok(Hits { items, more: found.more })
}

/// Deployments, by commit, user, branch or tag, or number; further words may be in their environment or project.
pub(super) fn deployments(place: &Place<'_>, finder: &Finder<'_>) -> Result<Hits<Deployment>> {
    let Place { moment, scope, limit, .. } = place;
    let (own, mut candidates) = (own(place, OWN_DEPLOYMENTS)?, Vec::new());
    scan(place, "deployment_lines", own.as_ref(), finder, |number, line, _| {
        let mut words = line.split('\t').skip(1);
        let mut next = || words.next().unwrap_or_default();
        let (id, sha, user, reference, beside) = (next(), next(), next(), next(), [next(), next()]);
        // Digits in the midst of a number or a digest say nothing.
        let begins = |nearness: &SearchMatch| *nearness <= SearchMatch::Prefix;
        let mut worst = None;
        for term in finder.terms() {
            let own = [
                term.nearness(id).filter(begins),
                term.nearness(sha).filter(begins),
                term.nearness(user),
                term.nearness_of_path(reference),
            ];
            match own.into_iter().flatten().min() {
                Some(nearness) => worst = worst.max(Some(nearness)),
                None if beside.iter().any(|name| term.nearness_of_path(name).is_some()) => {}
                None => return,
            }
        }
        candidates.extend(worst.map(|nearness| Candidate::new(nearness, 0, number)));
    })?;
    best(candidates, *limit, |number| {
        let found = deployments::with_number(place.view, moment, scope, number)?;
        Ok(found.map(|item| Looked { is_gone: false, is_minor: false, item }))
    })
}
