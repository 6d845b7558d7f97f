//! Which environments run which images, or had them in a span of time.
//!
//! An environment has an image while a resource that belongs to it runs it, or would have it run: a Pod that has not
//! ended, or a template. To a scope it has it while it may read what the environment holds.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, Row, named_params};
use serde::Serialize;

use crate::concerns::Concerns;
use crate::error::{QueryError, Result};
use crate::filters::{ImageFilter, PageRequest};
use crate::moment::Moment;
use crate::page::Start;
use crate::question::{Context, Question};
use crate::scope::{ResolvedScope, one_of, reads};
use crate::words::Words;
use crate::{environments, resources};
use strandline_log::LogReader;
use strandline_model::{At, EnvironmentId, Offset, Timestamp};
use strandline_protocol::{ImageInterval, ImageUse, Page, Workload};
use strandline_syntax::{Image, ImagePattern, familiar};

/// The most intervals and workloads that are told of an image in an environment.
const INTERVALS_MAX: usize = 20;
const WORKLOADS_MAX: usize = 20;

/// The most owners between a Pod and what stands above it.
const OWNERS_MAX: usize = 16;

/// Offsets between which an image has to have been there, both among them.
#[derive(Clone, Copy, Debug)]
struct Span {
    from: Offset,
    to: Offset,
}

fn span(log: &mut LogReader, moment: &Moment, filter: &ImageFilter) -> Result<Span> {
    let compacted = log.compacted()?;
    let mut at = |end: At| match end {
        At::Now => Ok(moment.offset),
        At::Offset(offset) if offset > moment.offset => {
            Err(QueryError::FutureOffset { asked: offset, newest: moment.offset })
        }
        At::Offset(offset) => Ok(offset),
        At::Time(time) => Ok(log.offset_at(time, moment.offset)?),
        At::Ago(ago) => Ok(log.offset_at(moment.clock().minus(ago), moment.offset)?),
    };
    let to = filter.to.map_or(Ok(moment.offset), &mut at).map_err(|error| error.given_by("to"))?;
    let from = filter.from.map_or(Ok(to), &mut at).map_err(|error| error.given_by("from"))?.min(to);
    if from < compacted.offset {
        let gone = QueryError::Compacted { earliest: compacted.offset, time: compacted.observed_at };
        return Err(gone.given_by(if filter.from.is_some() { "from" } else { "to" }));
    }
    Ok(Span { from, to })
}

/// When the span begins, where one is asked for.
fn begin(log: &LogReader, moment: &Moment, filter: &ImageFilter) -> Result<Option<Timestamp>> {
    Ok(match filter.from.or(filter.to) {
        None | Some(At::Now) => None,
        Some(At::Time(time)) => Some(time),
        Some(At::Ago(ago)) => Some(moment.clock().minus(ago)),
        Some(At::Offset(offset)) => log.observed_at(offset)?,
    })
}

/// One resource of an environment that has an image, and from when to when.
struct Use {
    image: Image,
    environment: Environment,
    /// The view's numbers.
    resource: i64,
    owner: Option<i64>,
    pod: bool,
    from: i64,
    to: i64,
}

#[derive(Clone, PartialEq, Eq)]
struct Environment {
    number: i64,
    id: String,
    project: String,
    name: String,
    tier: String,
    region: String,
}

impl Use {
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Use {
            image: Image { repository: row.get(0)?, tag: row.get(1)?, digest: row.get(2)? },
            environment: Environment {
                number: row.get(3)?,
                id: row.get(4)?,
                project: row.get(5)?,
                name: row.get(6)?,
                tier: row.get(7)?,
                region: row.get(8)?,
            },
            resource: row.get(9)?,
            owner: row.get(10)?,
            pod: row.get(11)?,
            from: row.get(12)?,
            to: row.get(13)?,
        })
    }

    /// What stands together: the digests of one tag do.
    fn place(&self) -> [String; 4] {
        let Image { repository, tag, digest } = &self.image;
        let pinned = if tag.is_empty() { digest.clone() } else { String::new() };
        [repository.clone(), tag.clone(), pinned, self.environment.id.clone()]
    }
}

/// Uses in the order of the list, of images `i` joined as given.
macro_rules! select_uses {
    ($from:literal, $which:literal) => {
        concat!(
            "SELECT i.repository, i.tag, i.digest, e.id, e.name_id, e.project, e.name, e.tier, e.region,
                m.resource_id, m.owner_id, k.kind = 'Pod' AND k.\"group\" = '',
                max(u.from_offset, m.from_offset, e.from_offset) AS since,
                min(u.to_offset, m.to_offset, e.to_offset) AS until
            FROM ",
            $from,
            " WHERE (:images IS NULL OR i.id IN (SELECT value FROM json_each(:images)))
                AND ",
            $which,
            " AND (:tiers IS NULL OR e.tier IN (SELECT value FROM json_each(:tiers)))
                AND (:regions IS NULL OR e.region IN (SELECT value FROM json_each(:regions)))
                AND (i.repository, i.tag, CASE i.tag WHEN '' THEN i.digest ELSE '' END, e.name_id)
                    > (:repository, :tag, :digest, :id)
                AND since <= :to AND until > :from AND since < until
                AND ",
            reads!(),
            " ORDER BY i.repository, i.tag, CASE i.tag WHEN '' THEN i.digest ELSE '' END, e.name_id, since"
        )
    };
}

/// By images, in their order: a page is read no further than it goes.
const BY_IMAGE: &str = select_uses!(
    "image i CROSS JOIN image_use u ON u.image_id = i.id CROSS JOIN membership m ON m.resource_id = u.resource_id
        CROSS JOIN environment e ON e.id = m.environment_id JOIN kind k ON k.id = m.kind_id",
    ":environment IS NULL"
);

/// By what one environment held.
const BY_ENVIRONMENT: &str = select_uses!(
    "membership m CROSS JOIN image_use u ON u.resource_id = m.resource_id JOIN image i ON i.id = u.image_id
        CROSS JOIN environment e ON e.id = m.environment_id JOIN kind k ON k.id = m.kind_id",
    "m.environment_id = :environment"
);

/// By what the environments held that a scope reads.
pub(super) const OF_SCOPE: &str = select_uses!(
    "(SELECT DISTINCT x.environment_id FROM temp.sight_reads s CROSS JOIN environment_audience x
            INDEXED BY environment_audience_by_audience ON x.audience = s.audience) mine
        CROSS JOIN membership m ON m.environment_id = mine.environment_id AND m.from_offset <= :to AND m.to_offset > :from
        CROSS JOIN image_use u ON u.resource_id = m.resource_id JOIN image i ON i.id = u.image_id
        CROSS JOIN environment e ON e.id = m.environment_id JOIN kind k ON k.id = m.kind_id",
    ":environment IS NULL"
);

/// The view's numbers of the images that are meant; none where all are.
fn meant(view: &Connection, patterns: &[ImagePattern]) -> Result<Option<Vec<i64>>> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let mut statement = view.prepare_cached("SELECT id, repository, tag, digest FROM image")?;
    let mut rows = statement.query([])?;
    let mut meant = Vec::new();
    while let Some(row) = rows.next()? {
        let image = Image { repository: row.get(1)?, tag: row.get(2)?, digest: row.get(3)? };
        if patterns.iter().any(|pattern| pattern.matches(&image)) {
            meant.push(row.get(0)?);
        }
    }
    Ok(Some(meant))
}

/// All uses of one image in one environment.
struct Group {
    place: [String; 4],
    uses: Vec<Use>,
}

/// The uses of a page and one group more, where there is one.
fn groups(
    view: &Connection,
    scope: &ResolvedScope,
    filter: &ImageFilter,
    environment: Option<i64>,
    span: Span,
    start: &Start,
) -> Result<Vec<Group>> {
    let images = meant(view, &filter.images)?.map(|images| serde_json::json!(images).to_string());
    let sql = match environment {
        Some(_) => BY_ENVIRONMENT,
        None if scope.is_narrow() => OF_SCOPE,
        None => BY_IMAGE,
    };
    let mut statement = view.prepare_cached(sql)?;
    let mut rows = statement.query(named_params! {
        ":images": images, ":environment": environment, ":scope": scope.as_sql(),
        ":tiers": one_of(&filter.tiers, |tier| tier.as_str()),
        ":regions": one_of(&filter.regions, String::as_str),
        ":repository": start.after(0), ":tag": start.after(1), ":digest": start.after(2), ":id": start.after(3),
        ":from": span.from.as_i64(), ":to": span.to.as_i64(),
    })?;
    let mut groups: Vec<Group> = Vec::new();
    while let Some(row) = rows.next()? {
        let one = Use::from_row(row)?;
        let place = one.place();
        let full = i64::try_from(groups.len()).is_ok_and(|read| read >= start.rows());
        match groups.last_mut() {
            Some(group) if group.place == place => group.uses.push(one),
            _ if full => break,
            _ => groups.push(Group { place, uses: vec![one] }),
        }
    }
    Ok(groups)
}

/// When any of the uses lasted, the earliest first, what touches joined.
fn joined(uses: &[Use]) -> Vec<(i64, i64)> {
    let mut spans: Vec<(i64, i64)> = uses.iter().map(|one| (one.from, one.to)).collect();
    spans.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::new();
    for (from, to) in spans {
        match joined.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// Finds what stands above resources in their environments, each owner once.
struct Tops<'v> {
    view: &'v Connection,
    known: BTreeMap<(i64, i64), i64>,
}

impl Tops<'_> {
    /// The owner that no other owns, at the last offset at which the use was there.
    fn of(&mut self, one: &Use, at: i64) -> Result<i64> {
        let Some(mut top) = one.owner else { return Ok(one.resource) };
        let first = (one.environment.number, top);
        if let Some(known) = self.known.get(&first) {
            return Ok(*known);
        }
        let sql = "SELECT owner_id FROM membership WHERE resource_id = ?2 AND environment_id = ?1
            AND from_offset <= ?3 AND to_offset > ?3";
        let mut statement = self.view.prepare_cached(sql)?;
        for _ in 0..OWNERS_MAX {
            let params = rusqlite::params![one.environment.number, top, at];
            let owner: Option<Option<i64>> = statement.query_row(params, |row| row.get(0)).optional()?;
            let Some(owner) = owner.flatten() else { break };
            top = owner;
        }
        self.known.insert(first, top);
        Ok(top)
    }
}

/// What a list says of one image in one environment.
fn told(
    view: &Connection,
    log: &LogReader,
    moment: &Moment,
    tops: &mut Tops<'_>,
    span: Span,
    group: &Group,
) -> Result<Option<ImageUse>> {
    let Some(first) = group.uses.first() else { return Ok(None) };
    // What began before the log does has been there at least since then.
    let earliest = log.compacted()?.observed_at;
    let time = |offset: i64| log.observed_at(Offset::from_i64(offset)).map(|time| time.or(earliest));
    let mut intervals = Vec::new();
    let all = joined(&group.uses);
    for &(from, to) in all.iter().rev().take(INTERVALS_MAX) {
        let over = to <= moment.offset.as_i64();
        intervals.push(ImageInterval {
            from: time(from)?.unwrap_or_default(),
            from_offset: Offset::from_i64(from),
            until: if over { time(to)? } else { None },
            until_offset: over.then(|| Offset::from_i64(to)),
        });
    }
    let (mut pods, mut above) = (BTreeSet::new(), BTreeMap::new());
    for one in &group.uses {
        if one.pod {
            pods.insert(one.resource);
        }
        let at = (one.to - 1).min(span.to.as_i64());
        let top = tops.of(one, at)?;
        let last = above.entry(top).or_insert(at);
        *last = at.max(*last);
    }
    let mut workloads = Vec::new();
    for (&number, &at) in above.iter().take(WORKLOADS_MAX) {
        let held = resources::with_numbers(view, Offset::from_i64(at), &[number])?;
        workloads
            .extend(held.into_iter().map(|held| Workload { id: held.resource.id, key: held.resource.key }));
    }
    workloads.sort_by(|a, b| (&a.key, &a.id).cmp(&(&b.key, &b.id)));
    let digests: BTreeSet<&String> =
        group.uses.iter().map(|one| &one.image.digest).filter(|digest| !digest.is_empty()).collect();
    let environment = first.environment.clone();
    let image = first.image.name();
    Ok(Some(ImageUse {
        id: format!("{image} {}", environment.id),
        short: image.replacen(&first.image.repository, familiar(&first.image.repository), 1),
        image,
        repository: first.image.repository.clone(),
        tag: first.image.tag.clone(),
        digests: digests.into_iter().cloned().collect(),
        environment: EnvironmentId::new(environment.id),
        project: environment.project,
        name: environment.name,
        tier: environment.tier.parse().map_err(QueryError::Damaged)?,
        region: environment.region,
        pods: pods.len() as u64,
        workloads_total: above.len() as u64,
        workloads,
        intervals_total: all.len() as u64,
        intervals,
    }))
}

fn list(q: Context<'_>, filter: &ImageFilter) -> Result<Page<ImageUse>> {
    let Context { view, log, moment, scope, start } = q;
    let span = span(log, &moment, filter)?;
    let environment = match &filter.environment {
        Some(id) => Some(environments::number(view, &moment, scope, id)?),
        None => None,
    };
    let mut groups = groups(view, scope, filter, environment, span, &start)?;
    let next = start.finish(moment.offset, &mut groups, |group| group.place.to_vec());
    let (mut items, mut tops) = (Vec::with_capacity(groups.len()), Tops { view, known: BTreeMap::new() });
    for group in &groups {
        items.extend(told(view, log, &moment, &mut tops, span, group)?);
    }
    let concerns = environment.map_or(Concerns::Everything, Concerns::Environment);
    let snapshot = match begin(log, &moment, filter)? {
        Some(since) => moment.snapshot_over(view, scope, &concerns, since)?,
        None => moment.snapshot(view, scope, &concerns)?,
    };
    start.page(items, (snapshot, next), || Words::of_images(filter).unknown(view, &moment, scope))
}

/// Which environments use which images, at the time asked for or in a span that ends there, by image and environment.
#[derive(Clone, Debug, Serialize)]
pub struct ListImages {
    /// Which images, of which environments.
    pub filter: ImageFilter,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListImages {
    /// The question with these parts.
    pub fn new(filter: &ImageFilter, page: &PageRequest) -> Self {
        ListImages { filter: filter.clone(), page: page.clone() }
    }
}

impl Question for ListImages {
    const NAME: &'static str = "images";
    type Answer = Page<ImageUse>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    /// # Errors
    /// [`QueryError::NotFound`] when the environment of the filter never existed, [`QueryError::FutureOffset`] when the span
    /// ends after the time asked for.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        list(context, &self.filter)
    }
}
