//! Projects as the catalog declares them.

use rusqlite::{Connection, OptionalExtension, Row, named_params};

use super::moment::{Concerns, Moment};
use super::page::Start;
use super::scope::{Scope, Sight};
use super::{PageRequest, Queries, QueryError, Question, Result};
use strandline_model::At;
use strandline_protocol::{Answer, Page, PageMetadata, Project};
use strandline_sqlite::column;
use strandline_view::word_at;

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
        id: row.get(0)?,
        number: row.get::<_, Option<i64>>(1)?.map(i64::cast_unsigned),
        default_branch: row.get(2)?,
        labels: column::json(row, 3)?,
        source: word_at(row, 4, "source of the catalog", "project.source")?,
    })
}

fn list(view: &Connection, moment: &Moment, scope: &Sight, start: &Start) -> Result<Page<Project>> {
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

fn get(view: &Connection, moment: &Moment, scope: &Sight, path: &str) -> Result<Answer<Project>> {
    let mut statement = view.prepare_cached(select_projects!("AND p.path = :path"))?;
    let params = named_params! { ":at": moment.offset.as_i64(), ":scope": scope.as_sql(), ":path": path };
    let found = statement.query_row(params, from_row).optional()?;
    let value = found.ok_or_else(|| QueryError::not_found("project", path))?;
    Ok(Answer { value, metadata: moment.snapshot(view, scope, &Concerns::Everything)? })
}

impl Queries {
    /// Projects, by path.
    ///
    /// # Errors
    /// See [`QueryError`].
    pub async fn projects(&self, scope: &Scope, at: At, page: &PageRequest) -> Result<Page<Project>> {
        let answer = move |q: Question<'_>| list(q.view, &q.moment, q.scope, &q.start);
        self.ask(scope, at, "projects", &(), page, answer).await
    }

    /// One project.
    ///
    /// # Errors
    /// [`QueryError::NotFound`] when it was not declared at that moment.
    pub async fn project(&self, scope: &Scope, at: At, path: &str) -> Result<Answer<Project>> {
        let path = path.to_owned();
        let answer = move |q: Question<'_>| get(q.view, &q.moment, q.scope, &path);
        self.ask(scope, at, "project", &(), &PageRequest::default(), answer).await
    }
}
