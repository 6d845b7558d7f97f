//! Environments, settled from all that is declared of them.

use std::collections::BTreeSet;

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params};

use super::super::context::Apply;
use super::super::word_at;
use super::declarations::{self, Declaration};
use super::deployments;
use super::resolve::{self, Facts, Resolved};
use super::rows::{self, Table, json, text};
use super::{projects, targets, viewers};
use strandline_model::{EnvironmentId, EnvironmentSpec, Source};
use strandline_sqlite::column;

const ENVIRONMENT: Table = Table {
    name: "environment",
    key: "id",
    columns: &[
        "name_id",
        "project",
        "name",
        "slug",
        "tier",
        "region",
        "state",
        "labels",
        "targets",
        "audience",
        "settings",
        "declared_by",
        "deployment",
    ],
};

/// Takes over what the catalog declares of an environment.
pub(super) fn declared(at: &mut Apply<'_>, spec: &EnvironmentSpec, source: Source) -> rusqlite::Result<()> {
    let id = at.ids.environment(at.connection, &spec.id)?;
    let sql = "INSERT OR REPLACE INTO environment_fact (environment_id, source, spec) VALUES (?1, ?2, ?3)";
    let row = params![id, source.as_str(), serde_json::json!(spec).to_string()];
    at.connection.prepare_cached(sql)?.execute(row)?;
    settle(at, id)
}

/// Lets go of what the catalog declared of an environment.
pub(super) fn withdrawn(at: &mut Apply<'_>, name: &EnvironmentId) -> rusqlite::Result<()> {
    let id = at.ids.environment(at.connection, name)?;
    at.connection.prepare_cached("DELETE FROM environment_fact WHERE environment_id = ?1")?.execute([id])?;
    settle(at, id)
}

/// Settles the environments that depend on a project, an agent or a cluster, after that has changed.
pub(super) fn settle_upon(at: &mut Apply<'_>, kind: &str, name: &str) -> rusqlite::Result<()> {
    let found: Vec<i64> = {
        let sql = "SELECT environment_id FROM environment_ground WHERE kind = ?1 AND name = ?2";
        let mut statement = at.connection.prepare_cached(sql)?;
        let rows = statement.query_map([kind, name], |row| row.get(0))?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    found.into_iter().try_for_each(|environment| settle(at, environment))
}

/// Makes an environment what follows from all that is declared of it, and settles what it holds.
pub(super) fn settle(at: &mut Apply<'_>, id: i64) -> rusqlite::Result<()> {
    let resolved = resolved(at, id)?;
    let audience = resolved.as_ref().map(|resolved| viewers::audience(at, resolved)).transpose()?;
    let row = resolved.as_ref().zip(audience).map(|(resolved, audience)| {
        let Resolved { spec, region, labels, targets, declared_by, deployment, .. } = resolved;
        vec![
            text(spec.id.as_str()),
            text(spec.project.as_str()),
            text(spec.name.as_str()),
            text(spec.slug.as_str()),
            text(spec.tier.as_str()),
            text(region.as_str()),
            text(spec.state.as_str()),
            json(labels),
            json(targets),
            Value::Integer(audience),
            json(&spec.settings),
            json(declared_by),
            deployment.map_or(Value::Null, Value::Integer),
        ]
    });
    depend(at, id, resolved.as_ref())?;
    if rows::exchange(at, &ENVIRONMENT, Value::Integer(id), row)? {
        at.touched.environments.insert(id);
        viewers::exchange(at, id, audience)?;
        if let Some(resolved) = &resolved {
            let own = std::iter::once(&resolved.spec.project);
            viewers::note(at, own.chain(&resolved.viewers).map(String::as_str))?;
        }
    }
    // The number of an agent, which the environment does not tell of, moves what is managed by it.
    let (none, nowhere) = (Vec::new(), BTreeSet::new());
    let (targets, managed) =
        resolved.as_ref().map_or((&none, &nowhere), |resolved| (&resolved.targets, &resolved.managed));
    targets::exchange(at, id, targets, managed)
}

/// Gathers what is declared of an environment; none where nothing is.
fn resolved(at: &mut Apply<'_>, id: i64) -> rusqlite::Result<Option<Resolved>> {
    let fact = fact(at, id)?;
    let declarations = declarations::of_environment(at, id)?;
    let (spec, source) = match (fact, declarations.first()) {
        (Some((spec, source)), _) => (spec, Some(source)),
        (None, Some(Declaration { project, name, .. })) => (EnvironmentSpec::new(project, name), None),
        (None, None) => return Ok(None),
    };
    let (number, labels) = projects::find(at, &spec.project)?;
    let deployed = deployments::of_environment(at, id)?;
    let facts =
        Facts { spec, source, project_number: number, project_labels: labels, deployed, declarations };
    resolve::resolve(at, facts).map(Some)
}

fn fact(at: &Apply<'_>, id: i64) -> rusqlite::Result<Option<(EnvironmentSpec, Source)>> {
    let sql = "SELECT spec, source FROM environment_fact WHERE environment_id = ?1";
    let row = at.connection.prepare_cached(sql)?.query_row([id], |row| {
        Ok((column::json(row, 0)?, word_at(row, 1, "source of the catalog", "environment_fact.source")?))
    });
    row.optional()
}

/// Notes on what an environment depends, be it known or not.
fn depend(at: &Apply<'_>, id: i64, resolved: Option<&Resolved>) -> rusqlite::Result<()> {
    at.connection
        .prepare_cached("DELETE FROM environment_ground WHERE environment_id = ?1")?
        .execute([id])?;
    let sql = "INSERT INTO environment_ground (kind, name, environment_id) VALUES (?1, ?2, ?3)";
    for (kind, name) in resolved.into_iter().flat_map(|resolved| &resolved.grounds) {
        at.connection.prepare_cached(sql)?.execute(params![kind, name, id])?;
    }
    Ok(())
}
