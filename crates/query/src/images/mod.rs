//! Which environments run which images, or had them in a span of time.
//!
//! An environment has an image while a resource that belongs to it runs it, or would have it run: a Pod that has not
//! ended, or a template. To a scope it has it while it may read what the environment holds.

mod uses;

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension};
use serde::Serialize;
use serde_json::json;

use crate::concerns::Concerns;
use crate::error::{QueryError, Result};
use crate::filters::{ImageFilter, PageRequest};
use crate::moment::Moment;
use crate::page::Start;
use crate::question::{Context, Question};
use crate::scope::{ResolvedScope, one_of};
use crate::words::Words;
use crate::{environments, resources};
use strandline_log::LogReader;
use strandline_model::{At, EnvironmentId, Offset, Timestamp};
use strandline_protocol::{ImageInterval, ImageUse, Page, Workload};
use strandline_syntax::familiar;

use uses::{Meant, Span, Use, each_use, images};

/// The most intervals and workloads that are told of an image in an environment.
const INTERVALS_MAX: usize = 20;
const WORKLOADS_MAX: usize = 20;

/// The most owners between a Pod and what stands above it.
const OWNERS_MAX: usize = 16;

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
    let from = filter.from.map_or(Ok(to), |from| match from {
        At::Time(time) => moment.not_after_now(time).and_then(|time| at(At::Time(time))),
        other => at(other),
    });
    let from = from.map_err(|error| error.given_by("from"))?.min(to);
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

/// All uses of one image in one environment.
struct Group {
    place: [String; 4],
    /// Those in the span.
    uses: Vec<Use>,
    /// When any of them lasted, the earliest first; each also before the span and after it.
    intervals: Vec<(i64, i64)>,
}

/// The uses of a page and one group more, where there is one.
fn groups(view: &Connection, scope: &ResolvedScope, meant: &Meant, start: &Start) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    each_use(view, scope, meant, |one| {
        let place = one.place();
        let full = i64::try_from(groups.len()).is_ok_and(|read| read >= start.rows());
        match groups.last_mut() {
            Some(group) if group.place == place => group.uses.push(one),
            _ if full => return false,
            _ => groups.push(Group { place, uses: vec![one], intervals: Vec::new() }),
        }
        true
    })?;
    Ok(groups)
}

/// Finds when the image of each group came and went, which other uses than those in the span may have decided: of Pods that
/// are gone, or before the resource had another health or owner.
fn intervals(
    view: &Connection,
    scope: &ResolvedScope,
    moment: &Moment,
    meant: &Meant,
    groups: &mut [Group],
) -> Result<()> {
    let mut images = Vec::new();
    let mut statement = view.prepare_cached("SELECT id FROM image WHERE repository = ?1 AND tag = ?2")?;
    let tags: BTreeSet<_> =
        groups.iter().map(|Group { place: [repository, tag, ..], .. }| [repository, tag]).collect();
    for tag in tags {
        let ids = statement.query_map(tag, |row| row.get::<_, i64>(0))?;
        for id in ids {
            images.push(id?);
        }
    }
    let environments: BTreeSet<_> = groups.iter().map(|Group { place: [.., id], .. }| id).collect();
    let always = Meant {
        images: Some(json!(images).to_string()),
        environments: Some(json!(environments).to_string()),
        tiers: None,
        regions: None,
        environment: meant.environment,
        span: Span { from: Offset::ZERO, to: moment.offset },
        after: Default::default(),
    };
    let mut lasted: BTreeMap<[String; 4], Vec<(i64, i64)>> = BTreeMap::new();
    each_use(view, scope, &always, |one| {
        lasted.entry(one.place()).or_default().push((one.from, one.to));
        true
    })?;
    let span = meant.span;
    for group in groups {
        let all = joined(lasted.remove(&group.place).unwrap_or_default());
        let meets = |(from, to): &(i64, i64)| *from <= span.to.as_i64() && *to > span.from.as_i64();
        group.intervals = all.into_iter().filter(meets).collect();
    }
    Ok(())
}

/// The spans, the earliest first, what touches joined.
fn joined(mut spans: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
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
    for &(from, to) in group.intervals.iter().rev().take(INTERVALS_MAX) {
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
        intervals_total: group.intervals.len() as u64,
        intervals,
    }))
}

fn list(q: Context<'_>, filter: &ImageFilter) -> Result<Page<ImageUse>> {
    let Context { view, log, moment, scope, start, .. } = q;
    let span = span(log, &moment, filter)?;
    let environment = match &filter.environment {
        Some(id) => Some(environments::number(view, &moment, scope, id)?),
        None => None,
    };
    let meant = Meant {
        images: images(view, &filter.images)?.map(|images| json!(images).to_string()),
        environments: None,
        tiers: one_of(&filter.tiers, |tier| tier.as_str()),
        regions: one_of(&filter.regions, String::as_str),
        environment,
        span,
        after: [0, 1, 2, 3].map(|n| start.after(n).to_owned()),
    };
    let mut groups = groups(view, scope, &meant, &start)?;
    let next = start.finish(moment.offset, &mut groups, |group| group.place.to_vec());
    intervals(view, scope, &moment, &meant, &mut groups)?;
    let (mut items, mut tops) = (Vec::with_capacity(groups.len()), Tops { view, known: BTreeMap::new() });
    for group in &groups {
        items.extend(told(view, log, &moment, &mut tops, span, group)?);
    }
    let concerns = environment.map_or(Concerns::Everything, Concerns::Environment);
    let snapshot = match begin(log, &moment, filter)? {
        Some(since) => moment.snapshot_over(view, scope, &concerns, since)?,
        None => moment.snapshot(view, scope, &concerns)?,
    };
    start.page(items, (snapshot, next), |found| Words::of_images(filter).unknown(view, &moment, scope, found))
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
