//! Resources and deployments by the lines that the view keeps for search.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use memchr::{memchr, memrchr};
use rusqlite::{OptionalExtension, Row, named_params};

use super::Place;
use super::rank::{Candidates, Looked, best};
use super::terms::{Finder, Places, Term, WORDS_MAX, parts_beginning};
use crate::error::{Result, dated, gone_after};
use crate::last_seen::LAST;
use crate::{deployments, last_seen, resources};
use strandline_log::LogReader;
use strandline_model::{Kind, KindName, Offset};
use strandline_protocol::{Deployment, FoundResource, Hit, Hits, SearchMatch};
use strandline_syntax::fold_case;
use strandline_view::search_lines::{BLOCK_BITS, DEPLOYMENTS, PLACE, RESOURCES, block_of, slot};

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
    let own_resources = &place.once.own_resources;
    if own_resources.get().is_none() {
        let _ = own_resources.set(own(place, OWN_RESOURCES)?);
    }
    Ok(own_resources.get().and_then(Option::as_ref))
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

/// The best of what a search finds. Where a word is short it is asked for what begins with one first: where there is more of
/// that than is wanted, nothing else is among the best.
pub(super) fn nearest<T>(
    finder: &Finder<'_>,
    beginnings: Places,
    mut search: impl FnMut(Places) -> Result<Hits<T>>,
) -> Result<Hits<T>> {
    if finder.terms().iter().any(Term::is_short) {
        let beginning = search(beginnings)?;
        if beginning.more {
            return Ok(beginning);
        }
    }
    search(Places::All)
}

/// A line of a block.
#[derive(Clone, Copy)]
pub(super) struct Line<'l> {
    pub(super) number: i64,
    /// What comes before it in its block.
    before: &'l str,
    words: &'l str,
}

impl<'l> Line<'l> {
    pub(super) fn words(self) -> impl Iterator<Item = &'l str> {
        let mut rest = Some(self.words);
        std::iter::from_fn(move || {
            let words = rest?;
            let end = memchr(b'\t', words.as_bytes());
            rest = end.map(|end| &words[end + 1..]);
            Some(&words[..end.unwrap_or(words.len())])
        })
    }

    /// Whether all words are somewhere in it.
    pub(super) fn has_all(self, finder: &Finder<'_>) -> bool {
        let terms = finder.terms();
        // It holds one of them, for which it was found.
        terms.len() < 2 || terms.iter().all(|term| term.is_in(self.words))
    }

    fn first_word(self) -> &'l str {
        self.words().next().unwrap_or_default()
    }
}

/// Calls `take` with each line that holds one of the words at such a place, block by block.
pub(super) fn scan(
    place: &Place<'_>,
    (table, own): (&'static str, Option<&Blocks>),
    (finder, places): (&Finder<'_>, Places),
    mut take: impl FnMut(Line<'_>),
) -> Result<()> {
    let mut search = |block: i64, lines: &str, own: i64| {
        let (bytes, mut seen) = (lines.as_bytes(), !own);
        for term in finder.terms() {
            let mut line = 0..0;
            for at in term.places(lines, places) {
                if line.contains(&at) {
                    continue;
                }
                let from = memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1);
                let until = memchr(b'\n', &bytes[at..]).map_or(lines.len(), |end| at + end);
                line = from..until;
                let slot = slot(bytes[from]);
                if seen >> slot & 1 == 0 && bytes[from] != PLACE {
                    seen |= 1 << slot;
                    // After its place in the block and a tab.
                    let words = lines.get(from + 2..until).unwrap_or_default();
                    take(Line {
                        number: block << BLOCK_BITS | i64::from(slot),
                        before: &lines[..from],
                        words,
                    });
                }
            }
        }
    };
    // Who sees little reads less than that, and has nothing kept for others.
    let kept =
        if place.scope.is_narrow() { Arc::default() } else { place.kept.lines.first(place.view, table)? };
    match own {
        None => {
            kept.iter().for_each(|(block, lines)| search(*block, lines, !0));
            let sql = format!("SELECT block, lines FROM {table} WHERE block > ?1 ORDER BY block");
            let mut statement = place.view.prepare_cached(&sql)?;
            let mut rows = statement.query([kept.last().map_or(i64::MIN, |(block, _)| *block)])?;
            while let Some(row) = rows.next()? {
                search(row.get(0)?, row.get_ref(1)?.as_str()?, !0);
            }
        }
        Some(own) => {
            let sql = format!("SELECT lines FROM {table} WHERE block = ?1");
            let mut statement = place.view.prepare_cached(&sql)?;
            for (block, own) in own {
                if let Ok(at) = kept.binary_search_by_key(block, |(block, _)| *block) {
                    search(*block, &kept[at].1, *own);
                    continue;
                }
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
/// What was found of one kind and namespace holds for all resources after it up to the next one.
struct Matcher<'f> {
    finder: &'f Finder<'f>,
    /// For each word the kinds that it fits.
    kinds: Vec<HashSet<i64>>,
    /// How near the name of the last resource was to each word.
    near: Vec<Option<SearchMatch>>,
    /// The block with the last kind and namespace, and where they are in it.
    place: Option<(i64, usize)>,
    /// For each word whether it fits one of them.
    fits: Vec<bool>,
}

impl<'f> Matcher<'f> {
    fn new(place: &Place<'_>, finder: &'f Finder<'f>) -> Result<Self> {
        let kinds = kinds(place, finder)?;
        Ok(Matcher { finder, kinds, near: Vec::new(), place: None, fits: Vec::new() })
    }

    /// How near a resource is: each word is in its name, or in its namespace, or is its kind or in the name of its cluster, and at
    /// least one is in its name.
    fn nearness(&mut self, line: Line<'_>) -> Option<(SearchMatch, usize)> {
        let name = line.first_word();
        self.near.clear();
        self.near.extend(self.finder.terms().iter().map(|term| term.nearness(name)));
        let worst = self.near.iter().copied().flatten().max()?;
        if self.near.contains(&None) {
            self.look_beside(line);
            let mut each = self.near.iter().enumerate();
            if each.any(|(at, near)| near.is_none() && self.fits.get(at) != Some(&true)) {
                return None;
            }
        }
        Some((worst, name.len()))
    }

    /// Compares the words with the kind and namespace of a line.
    fn look_beside(&mut self, Line { number, before, .. }: Line<'_>) {
        let begin = memrchr(PLACE, before.as_bytes());
        let place = begin.map(|begin| (block_of(number), begin));
        if place.is_some() && place == self.place {
            return;
        }
        (self.place, self.fits) = (place, Vec::new());
        let line = begin.and_then(|begin| before[begin..].lines().next()).unwrap_or_default();
        let mut words = line.split('\t').skip(1);
        if let (Some(Ok(kind)), Some(namespace)) = (words.next().map(str::parse), words.next()) {
            let fits = |(term, kinds): (&Term<'_>, &HashSet<i64>)| {
                kinds.contains(&kind) || term.nearness(namespace).is_some()
            };
            self.fits = self.finder.terms().iter().zip(&self.kinds).map(fits).collect();
        }
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
        let cluster = fold_case(&row.get::<_, String>(3)?);
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
    let (own, places) = (own_resources(place)?, Places::All);
    scan(place, (RESOURCES, own), (&finder, places), |line| {
        let number = line.number;
        for part in parts_beginning(line.first_word(), beginning) {
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

/// The best of some resources, each with the last offset at which it was there.
fn best_resources(place: &Place<'_>, candidates: Candidates) -> Result<Hits<(i64, Offset)>> {
    let Place { view, moment, scope, limit, .. } = place;
    let sql = format!(
        r#"SELECT {LAST}, k."group" IN ('apps', 'batch') FROM resource r JOIN kind k ON k.id = r.kind_id WHERE r.id = :id"#
    );
    let mut last = view.prepare_cached(&sql)?;
    best(candidates, *limit, |number| {
        let params = named_params! {
            ":id": number, ":at": moment.offset.as_i64(), ":scope": scope.as_sql(), ":environment": None::<i64>,
        };
        let read = |row: &Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, bool>(1)?));
        let Some((Some(last), is_workload)) = last.query_row(params, read).optional()? else {
            return Ok(None);
        };
        let last = Offset::from_i64(last);
        Ok(Some(Looked { is_gone: last < moment.offset, is_minor: !is_workload, item: (number, last) }))
    })
}

/// Resources, by name.
pub(super) fn resources(
    place: &Place<'_>,
    log: &LogReader,
    finder: &Finder<'_>,
) -> Result<Hits<FoundResource>> {
    let finder = finder.parted();
    let (own, mut matcher) = (own_resources(place)?, Matcher::new(place, &finder)?);
    let mut found = nearest(&finder, Places::Names, |places| {
        let mut candidates = Candidates::new(places);
        scan(place, (RESOURCES, own), (&finder, places), |line| {
            if let Some((nearness, length)) = matcher.nearness(line) {
                candidates.add(nearness, length, line.number);
            }
        })?;
        best_resources(place, candidates)
    })?;
    let (view, mut items) = (place.view, Vec::with_capacity(found.items.len()));
    for hit in std::mem::take(&mut found.items) {
        let (number, last) = hit.item;
        let Some(held) = resources::with_numbers(view, last, &[number])?.pop() else { continue };
        let gone = if last < place.moment.offset { Some(dated(gone_after(last), log)?) } else { None };
        let item = FoundResource { resource: held.resource, gone };
        items.push(Hit { nearness: hit.nearness, item });
    }
    Ok(Hits { items, more: found.more })
}

/// What a scope sees of that in which deployments are, in lower case.
struct Seen {
    environments: HashSet<String>,
    projects: HashSet<String>,
}

impl Seen {
    /// None where that is everything.
    fn by(place: &Place<'_>) -> Result<Option<Self>> {
        if place.scope.is_everything() {
            return Ok(None);
        }
        let environments = place.standings()?.iter().map(|one| one.id.to_lowercase()).collect();
        let mut paths = place.view.prepare_cached("SELECT path FROM temp.sight_path")?;
        let paths = paths.query_map([], |row| Ok(row.get_ref(0)?.as_str()?.to_lowercase()))?;
        Ok(Some(Seen { environments, projects: paths.collect::<rusqlite::Result<_>>()? }))
    }

    /// Whether it sees the deployment of a line.
    fn has(&self, line: Line<'_>) -> bool {
        let mut words = line.words().skip(4);
        words.next().is_some_and(|environment| self.environments.contains(environment))
            || words.next().is_some_and(|project| self.projects.contains(project))
    }
}

/// Deployments, by commit, user, branch or tag, or number; further words may be in their environment or project.
pub(super) fn deployments(place: &Place<'_>, finder: &Finder<'_>) -> Result<Hits<Deployment>> {
    // Who sees much names what they see, which is less to read than all deployments of it.
    let (own, seen) = match place.scope.is_narrow() {
        true => (own(place, OWN_DEPLOYMENTS)?, None),
        false => (None, Seen::by(place)?),
    };
    nearest(finder, Places::Paths, |places| {
        let mut candidates = Candidates::new(places);
        scan(place, (DEPLOYMENTS, own.as_ref()), (finder, places), |line| {
            if seen.as_ref().is_none_or(|seen| seen.has(line))
                && let Some(nearness) = nearness_of_deployment(finder, line)
            {
                candidates.add(nearness, 0, line.number);
            }
        })?;
        best(candidates, place.limit, |number| {
            let found = deployments::with_number(place.view, place.moment, place.scope, number)?;
            Ok(found.map(|item| Looked { is_gone: false, is_minor: false, item }))
        })
    })
}

/// How near a deployment is by its line: each word is in its own, or in its environment or project, and at least one is in its own.
fn nearness_of_deployment(finder: &Finder<'_>, line: Line<'_>) -> Option<SearchMatch> {
    if !line.has_all(finder) {
        return None;
    }
    let mut words = line.words();
    let mut next = || words.next().unwrap_or_default();
    let (id, sha, user, reference, beside) = (next(), next(), next(), next(), [next(), next()]);
    let mut near = [None; WORDS_MAX];
    for (term, near) in finder.terms().iter().zip(&mut near) {
        let own = [
            // Digits in the midst of a number or a digest say nothing.
            term.nearness_of_beginning(id),
            term.nearness_of_beginning(sha),
            term.nearness(user),
            term.nearness_of_path(reference),
        ];
        *near = own.into_iter().flatten().min();
    }
    let worst = near.into_iter().flatten().max()?;
    let is_beside = |term: &Term<'_>| beside.iter().any(|name| term.nearness_of_path(name).is_some());
    let mut each = finder.terms().iter().zip(near);
    each.all(|(term, near)| near.is_some() || is_beside(term)).then_some(worst)
}
