//! Groups: what the paths of projects name before their last `/`.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, named_params};

use crate::concerns::Concerns;
use crate::error::Result;
use crate::filters::PageRequest;
use crate::moment::Moment;
use crate::page::Start;
use crate::question::{Context, Question};
use crate::scope::{ResolvedScope, seen_audiences};
use serde::Serialize;
use strandline_protocol::{Page, PageMetadata, ProjectGroup};
use strandline_sqlite::column::{Count, VIEW};

macro_rules! declared {
    () => {
        "(SELECT DISTINCT path FROM project WHERE :scope IS NULL
            UNION ALL SELECT path FROM temp.sight_path WHERE :scope IS NOT NULL) seen CROSS JOIN project p ON p.path = seen.path
        WHERE p.from_offset <= :at AND p.to_offset > :at"
    };
}

/// Projects in sight, be it that only their environments are declared, each with how many environments it has.
const PROJECTS: &str = concat!(
    "SELECT path, sum(environments) FROM (
        SELECT p.path AS path, 0 AS environments FROM ",
    declared!(),
    " UNION ALL
        SELECT u.project, count(*) FROM ",
    seen_audiences!(),
    " seen CROSS JOIN environment_audience e INDEXED BY environment_audience_by_audience ON e.audience = seen.id
            CROSS JOIN audience u ON u.id = seen.id
        WHERE e.from_offset <= :at AND e.to_offset > :at GROUP BY u.project) GROUP BY path"
);

/// Projects in sight that are declared themselves.
const DECLARED: &str = concat!("SELECT p.path FROM ", declared!());

/// The paths of projects in sight that are declared themselves.
pub(super) fn declared_paths(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
) -> Result<BTreeSet<String>> {
    read_paths(view, moment, scope, DECLARED)
}

/// The paths of projects in sight, be it that only their environments are declared.
pub(super) fn paths(view: &Connection, moment: &Moment, scope: &ResolvedScope) -> Result<BTreeSet<String>> {
    read_paths(view, moment, scope, PROJECTS)
}

fn read_paths(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    sql: &str,
) -> Result<BTreeSet<String>> {
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! { ":at": moment.offset.as_i64(), ":scope": scope.as_sql() };
    let rows = statement.query_map(params, |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn list(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    start: &Start,
) -> Result<Page<ProjectGroup>> {
    let mut groups: BTreeMap<String, ProjectGroup> = BTreeMap::new();
    let mut statement = view.prepare_cached(PROJECTS)?;
    let params = named_params! { ":at": moment.offset.as_i64(), ":scope": scope.as_sql() };
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        let (path, environments): (String, u64) =
            (row.get(0)?, VIEW.get_at::<Count>(row, 1, "environment")?.0);
        for (end, _) in path.match_indices('/') {
            let id = &path[..end];
            let group = groups.entry(id.to_owned()).or_insert_with(|| ProjectGroup::new(id));
            group.projects += 1;
            group.environments += environments;
        }
    }
    let rows = usize::try_from(start.rows()).unwrap_or(usize::MAX);
    let after = groups.into_values().filter(|group| group.id.as_str() > start.after(0));
    let mut items: Vec<ProjectGroup> = after.take(rows).collect();
    let next = start.finish(moment.offset, &mut items, |item| vec![item.id.clone()]);
    let snapshot = moment.snapshot(view, scope, &Concerns::Everything)?;
    Ok(Page { items, metadata: PageMetadata::new(snapshot, next) })
}

/// Groups, by path.
#[derive(Clone, Debug, Serialize)]
pub struct ListGroups {
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListGroups {
    /// The question with these parts.
    pub fn new(page: &PageRequest) -> Self {
        ListGroups { page: page.clone() }
    }
}

impl Question for ListGroups {
    const NAME: &'static str = "groups";
    type Answer = Page<ProjectGroup>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, start, .. } = context;
        list(view, &moment, scope, &start)
    }
}
