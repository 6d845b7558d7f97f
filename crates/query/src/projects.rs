//! Projects as the catalog declares them.

use rusqlite::{Connection, OptionalExtension, Row, named_params};

use crate::concerns::Concerns;
use crate::error::{QueryError, Result};
use crate::filters::PageRequest;
use crate::moment::Moment;
use crate::page::Start;
use crate::question::{Context, Question};
use crate::scope::ResolvedScope;
use serde::Serialize;
use strandline_protocol::{Answer, Page, PageMetadata, Project};
use strandline_sqlite::column::{Json, VIEW};

macro_rules! select_projects {
    ($tail:literal) => {
        select_projects!("project p", $tail)
    };
    ($from:literal, $tail:literal) => {
        concat!(
            "SELECT p.path, p.number, p.default_branch, p.labels, p.source FROM ",
            $from,
            " WHERE p.from_offset <= :at AND p.to_offset > :at
                AND (:scope IS NULL OR p.path IN (SELECT path FROM temp.sight_path)) ",
            $tail
        )
    };
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Project> {
    Ok(Project {
        id: row.get("path")?,
        number: row.get::<_, Option<i64>>("number")?.map(i64::cast_unsigned),
        default_branch: row.get("default_branch")?,
        labels: VIEW.get::<Json<_>>(row, "project.labels")?.0,
        source: VIEW.get(row, "project.source")?,
    })
}

fn list(view: &Connection, moment: &Moment, scope: &ResolvedScope, start: &Start) -> Result<Page<Project>> {
    let sql = if scope.is_everything() {
        select_projects!("AND p.path > :path ORDER BY p.path LIMIT :limit")
    } else {
        select_projects!(
            "temp.sight_path s CROSS JOIN project p ON p.path = s.path",
            "AND s.path > :path ORDER BY s.path LIMIT :limit"
        )
    };
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! {
        ":at": moment.offset.as_i64(), ":scope": scope.as_sql(), ":path": start.after(0), ":limit": start.rows(),
    };
    let mut items = statement.query_map(params, from_row)?.collect::<rusqlite::Result<Vec<_>>>()?;
    let next = start.finish(moment.offset, &mut items, |item| vec![item.id.clone()]);
    let snapshot = moment.snapshot(view, scope, &Concerns::Everything)?;
    Ok(Page { items, metadata: PageMetadata::new(snapshot, next) })
}

fn get(view: &Connection, moment: &Moment, scope: &ResolvedScope, path: &str) -> Result<Answer<Project>> {
    let find = |sql: &str| {
        let params = named_params! { ":at": moment.offset.as_i64(), ":scope": scope.as_sql(), ":path": path };
        view.prepare_cached(sql)?.query_row(params, from_row).optional()
    };
    // Nearly always it is written as it was declared, and an index leads there.
    let found = match find(select_projects!("AND p.path = :path"))? {
        Some(found) => Some(found),
        None => find(select_projects!("AND p.path = :path COLLATE NOCASE ORDER BY p.path LIMIT 1"))?,
    };
    let value = found.ok_or_else(|| QueryError::not_found("project", path))?;
    Ok(Answer { value, metadata: moment.snapshot(view, scope, &Concerns::Everything)? })
}

/// Projects, by path.
#[derive(Clone, Debug, Serialize)]
pub struct ListProjects {
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListProjects {
    /// The question with these parts.
    pub fn new(page: &PageRequest) -> Self {
        ListProjects { page: page.clone() }
    }
}

impl Question for ListProjects {
    const NAME: &'static str = "projects";
    type Answer = Page<Project>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, start, .. } = context;
        list(view, &moment, scope, &start)
    }
}

/// One project.
#[derive(Clone, Debug, Serialize)]
pub struct GetProject {
    /// Its path, whatever its case, as in GitLab.
    pub path: String,
}

impl GetProject {
    /// The question with these parts.
    pub fn new(path: &str) -> Self {
        GetProject { path: path.to_owned() }
    }
}

impl Question for GetProject {
    const NAME: &'static str = "project";
    type Answer = Answer<Project>;

    /// # Errors
    /// [`QueryError::NotFound`] when it did not exist at that time.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, .. } = context;
        get(view, &moment, scope, &self.path)
    }
}
