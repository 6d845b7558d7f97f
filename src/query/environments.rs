//! Environments and their health.

use rusqlite::{Connection, OptionalExtension, Row, named_params};

use super::moment::{Concerns, Moment};
use super::page::Start;
use super::scope::{Scope, one_of};
use super::types::{Answer, Environment, EnvironmentHealth, Page, PageMetadata};
use super::{EnvironmentFilter, QueryError, Result};
use crate::model::{EnvironmentId, Tier, Timestamp};
use crate::projection::{health_from_i64, health_to_i64};

/// What an environment shows at `:clock`: within the grace time of Progressing, what it showed before.
macro_rules! shown {
    ($grace:literal, $state:literal) => {
        concat!("CASE WHEN h.grace_until > :clock THEN h.", $grace, " ELSE h.", $state, " END")
    };
}

macro_rules! select_environments {
    ($tail:expr) => {
        concat!(
            "SELECT e.id, e.name_id, e.project, e.name, e.slug, e.tier, e.region, e.targets, ",
            shown!("grace_state", "state"),
            ", ",
            shown!("grace_since", "since"),
            ", CASE WHEN h.state IS NOT h.known THEN h.known END, h.counts, s.name
            FROM environment e JOIN environment_health h ON h.environment_id = e.id AND h.from_offset =
                (SELECT max(from_offset) FROM environment_health WHERE environment_id = e.id AND from_offset <= :at)
            JOIN rule_set s ON s.id = h.rule_set_id
            WHERE e.from_offset <= :at AND e.to_offset > :at
                AND (:scope IS NULL OR e.project IN (SELECT value FROM json_each(:scope)))",
            $tail
        )
    };
}

fn unreadable(column: usize, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
}

/// An environment with the log's number of it.
fn from_row(row: &Row<'_>) -> rusqlite::Result<(i64, Environment)> {
    let (targets, counts): (String, String) = (row.get(7)?, row.get(11)?);
    let environment = Environment {
        id: EnvironmentId::new(row.get::<_, String>(1)?),
        project: row.get(2)?,
        name: row.get(3)?,
        slug: row.get(4)?,
        tier: row.get::<_, String>(5)?.parse::<Tier>().map_err(|error| unreadable(5, error))?,
        region: row.get(6)?,
        targets: serde_json::from_str(&targets).map_err(|error| unreadable(7, error))?,
        health: EnvironmentHealth {
            state: row.get::<_, Option<i64>>(8)?.map(health_from_i64),
            since: Timestamp::from_micros(row.get(9)?),
            last_known: row.get::<_, Option<i64>>(10)?.map(health_from_i64),
            counts: serde_json::from_str(&counts).map_err(|error| unreadable(11, error))?,
            rule_set: row.get(12)?,
        },
    };
    Ok((row.get(0)?, environment))
}

/// A page of environments, by project and name.
pub(super) fn list(
    view: &Connection,
    moment: &Moment,
    scope: &Scope,
    filter: &EnvironmentFilter,
    start: &Start,
) -> Result<Page<Environment>> {
    let sql = select_environments!(concat!(
        " AND (:tiers IS NULL OR e.tier IN (SELECT value FROM json_each(:tiers)))
          AND (:regions IS NULL OR e.region IN (SELECT value FROM json_each(:regions)))
          AND (:projects IS NULL OR e.project IN (SELECT value FROM json_each(:projects)))
          AND (:healths IS NULL OR ",
        shown!("grace_state", "state"),
        " IN (SELECT value FROM json_each(:healths)))
          AND (e.project, e.name, e.name_id) > (:project, :name, :id)
        ORDER BY e.project, e.name, e.name_id LIMIT :limit"
    ));
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! {
        ":at": moment.offset.as_i64(), ":clock": moment.clock().as_micros(), ":scope": scope.as_sql(),
        ":tiers": one_of(&filter.tiers, |tier| tier.as_str()),
        ":regions": one_of(&filter.regions, String::as_str),
        ":projects": one_of(&filter.projects, String::as_str),
        ":healths": one_of(&filter.healths, |health| health_to_i64(*health)),
        ":project": start.after(0), ":name": start.after(1), ":id": start.after(2), ":limit": start.rows(),
    };
    let rows = statement.query_map(params, |row| from_row(row).map(|(_, environment)| environment))?;
    let mut items = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    let next = start.finish(moment.offset, &mut items, |item| {
        vec![item.project.clone(), item.name.clone(), item.id.as_str().to_owned()]
    });
    let snapshot = moment.snapshot(view, scope, &Concerns::Everything)?;
    Ok(Page { items, metadata: PageMetadata { snapshot, next } })
}

/// One environment and the log's number of it.
pub(super) fn find(
    view: &Connection,
    moment: &Moment,
    scope: &Scope,
    id: &EnvironmentId,
) -> Result<(i64, Environment)> {
    let mut statement = view.prepare_cached(select_environments!(" AND e.name_id = :id"))?;
    let params = named_params! {
        ":at": moment.offset.as_i64(), ":clock": moment.clock().as_micros(), ":scope": scope.as_sql(),
        ":id": id.as_str(),
    };
    let found = statement.query_row(params, from_row).optional()?;
    found.ok_or_else(|| QueryError::NotFound { what: "environment", id: id.to_string() })
}

/// One environment.
pub(super) fn get(
    view: &Connection,
    moment: &Moment,
    scope: &Scope,
    id: &EnvironmentId,
) -> Result<Answer<Environment>> {
    let (number, value) = find(view, moment, scope, id)?;
    let metadata = moment.snapshot(view, scope, &Concerns::Environment(number))?;
    Ok(Answer { value, metadata })
}
