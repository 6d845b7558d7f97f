//! Resources by what people know of them: kind, name, namespace, cluster, environment; those that are gone too.
//!
//! What is gone is shown as it was last, and to each caller as far as it saw it: the last offset at which a resource
//! existed, or belonged to what the caller sees, and the version of that offset. Asked for by uid after it, the answer is
//! a 404 that names this offset. There is one such rule (`last_seen`) and no second store of deleted resources.

use std::fmt;
use std::str::FromStr;

use rusqlite::{Connection, named_params};
use serde::Serialize;

use crate::concerns::Concerns;
use crate::error::{Result, dated, gone_after};
use crate::filters::PageRequest;
use crate::kinds::Known;
use crate::last_seen::LAST;
use crate::moment::Moment;
use crate::page::Start;
use crate::question::{Context, Question};
use crate::scope::{ResolvedScope, one_of};
use crate::words::{Of, Words};
use crate::{environments, kinds, resources};
use strandline_log::LogReader;
use strandline_model::{EnvironmentId, KindName, Offset};
use strandline_protocol::{FoundResource, Page};
use strandline_syntax::Glob;

/// Which resources a search finds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ResourceSearch {
    /// Only these kinds; empty for all.
    pub kinds: Vec<KindName>,
    /// Only names that match one of these; empty for all.
    pub names: Vec<Glob>,
    /// Only in this namespace.
    pub namespace: Option<String>,
    /// Only in these clusters; empty for all.
    pub clusters: Vec<String>,
    /// Only what belongs, or belonged, to this environment.
    pub environment: Option<EnvironmentId>,
    /// Whether what is gone is found.
    pub presence: Presence,
}

/// Whether something is still there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Presence {
    /// Only what is there.
    #[default]
    Present,
    /// Only what is gone.
    Gone,
    /// Both.
    Any,
}

impl Presence {
    /// All of them.
    pub const ALL: [Presence; 3] = [Presence::Present, Presence::Gone, Presence::Any];

    /// What `gone=` says of it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Presence::Present => "false",
            Presence::Gone => "true",
            Presence::Any => "any",
        }
    }

    const fn admits(self, gone: bool) -> bool {
        match self {
            Presence::Present => !gone,
            Presence::Gone => gone,
            Presence::Any => true,
        }
    }
}

impl fmt::Display for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Presence {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        let known = Presence::ALL.into_iter().find(|presence| presence.as_str() == text);
        known.ok_or_else(|| format!("`{text}` is none of true, false, any"))
    }
}

/// Candidates among what some environments hold, or ever held.
macro_rules! held {
    ($by:literal) => {
        concat!(
            "(SELECT DISTINCT m.resource_id FROM ",
            $by,
            ") held CROSS JOIN resource r ON r.id = held.resource_id
            WHERE (:kinds IS NULL OR r.kind_id IN (SELECT value FROM json_each(:kinds)))
            AND (:names IS NULL OR r.name IN (SELECT value FROM json_each(:names)))"
        )
    };
}

/// By the environments that a scope reads, so that what others have costs nothing and shows in no time that passes.
pub(super) const OF_SCOPE: &str = held!(
    "temp.sight_reads s CROSS JOIN environment_audience e INDEXED BY environment_audience_by_audience
        ON e.audience = s.audience AND e.from_offset <= :at
    CROSS JOIN membership m ON m.environment_id = e.environment_id"
);
/// The same of what is there.
pub(super) const OF_SCOPE_NOW: &str = held!(
    "temp.sight_reads s CROSS JOIN environment_audience e INDEXED BY environment_audience_by_audience
        ON e.audience = s.audience AND e.from_offset <= :at AND e.to_offset > :at
    CROSS JOIN membership m ON m.environment_id = e.environment_id AND m.stretch = (SELECT max(stretch) FROM membership
        WHERE environment_id = e.environment_id AND stretch <= :at) AND m.to_offset > :at"
);

/// Where candidates are taken from: what an index leads to, or else all in the order in which they came.
fn source(search: &ResourceSearch, scope: &ResolvedScope) -> &'static str {
    if search.environment.is_some() {
        return held!("membership m WHERE m.environment_id = :environment");
    }
    if scope.is_narrow() {
        return if search.presence == Presence::Present { OF_SCOPE_NOW } else { OF_SCOPE };
    }
    if exact(search).is_some() {
        return "resource r WHERE r.kind_id IN (SELECT value FROM json_each(:kinds)
                UNION ALL SELECT id FROM kind WHERE :kinds IS NULL)
            AND r.name IN (SELECT value FROM json_each(:names))";
    }
    "resource r NOT INDEXED WHERE (:kinds IS NULL OR r.kind_id IN (SELECT value FROM json_each(:kinds)))
        AND :names IS NULL"
}

/// The names that are told, where none of them is a pattern.
fn exact(search: &ResourceSearch) -> Option<Vec<String>> {
    let names: Option<Vec<String>> = search.names.iter().map(Glob::name).collect();
    names.filter(|names| !names.is_empty())
}

/// What a search finds, newest life first: the resource's number, and the last offset at which it was there.
fn found(
    view: &Connection,
    log: &mut LogReader,
    moment: &Moment,
    scope: &ResolvedScope,
    search: &ResourceSearch,
    start: &Start,
) -> Result<Vec<(i64, Offset)>> {
    let sql = format!(
        "SELECT r.id, r.name, {LAST} FROM {} AND r.id < :before
            AND (:namespace IS NULL OR r.namespace = :namespace)
            AND (:clusters IS NULL OR r.cluster_id IN
                (SELECT id FROM cluster WHERE name IN (SELECT value FROM json_each(:clusters))))
        ORDER BY r.id DESC",
        source(search, scope)
    );
    let kinds = kinds::numbers(&mut Known { view, log, moment, scope }, &search.kinds)?;
    let names = exact(search).map(|names| serde_json::json!(names).to_string());
    let environment = match &search.environment {
        Some(id) => Some(environments::number(view, moment, scope, id)?),
        None => None,
    };
    let mut statement = view.prepare_cached(&sql)?;
    let mut rows = statement.query(named_params! {
        ":at": moment.offset.as_i64(), ":scope": scope.as_sql(), ":environment": environment, ":kinds": kinds,
        ":names": names, ":namespace": search.namespace.as_deref(),
        ":clusters": one_of(&search.clusters, String::as_str),
        ":before": start.after(0).parse().unwrap_or(i64::MAX),
    })?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let name = row.get_ref(1)?.as_str()?;
        let Some(last) = row.get::<_, Option<i64>>(2)?.map(Offset::from_i64) else { continue };
        let named = search.names.is_empty() || search.names.iter().any(|glob| glob.matches(name));
        if named && search.presence.admits(last < moment.offset) {
            found.push((row.get(0)?, last));
        }
        if i64::try_from(found.len()).is_ok_and(|read| read >= start.rows()) {
            break;
        }
    }
    Ok(found)
}

/// What of the question may fit nothing; names of resources are what it is asked for.
fn words<'a>(q: &mut Known<'_>, search: &'a ResourceSearch) -> Result<Words<'a>> {
    let words = Words::default().names("cluster", Of::Cluster, &search.clusters);
    let words = words.names("namespace", Of::Namespace, &search.namespace);
    kinds::words(q, words, &search.kinds)
}

fn list(q: Context<'_>, search: &ResourceSearch) -> Result<Page<FoundResource>> {
    let Context { view, log, moment, scope, start, .. } = q;
    let mut found = found(view, log, &moment, scope, search, &start)?;
    let next = start.finish(moment.offset, &mut found, |(number, _)| vec![number.to_string()]);
    let mut items = Vec::with_capacity(found.len());
    for (number, last) in found {
        let Some(held) = resources::with_numbers(view, last, &[number])?.pop() else { continue };
        let gone = if last < moment.offset { Some(dated(gone_after(last), log)?) } else { None };
        items.push(FoundResource { resource: held.resource, gone });
    }
    let snapshot = moment.snapshot(view, scope, &Concerns::Everything)?;
    start.page(items, (snapshot, next), |found| {
        words(&mut Known { view, log, moment: &moment, scope }, search)?.unknown(view, &moment, scope, found)
    })
}

/// Resources by kind, name and namespace, existing or deleted, the newest first. A deleted one is shown in its last
/// state.
#[derive(Clone, Debug, Serialize)]
pub struct SearchResources {
    /// Which resources.
    pub filter: ResourceSearch,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl SearchResources {
    /// The question with these parts.
    pub fn new(filter: &ResourceSearch, page: &PageRequest) -> Self {
        SearchResources { filter: filter.clone(), page: page.clone() }
    }
}

impl Question for SearchResources {
    const NAME: &'static str = "search";
    type Answer = Page<FoundResource>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    /// # Errors
    /// [`QueryError::NotFound`] when the environment of the filter never existed.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        list(context, &self.filter)
    }
}
