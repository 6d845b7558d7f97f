//! Environments, settled from all that is declared of them.

use std::collections::BTreeSet;

use rusqlite::params;

use super::super::context::Apply;
use super::facts::{self, Declaration};
use super::resolve::{self, Facts, Resolved};
use super::rows::Table;
use super::{targets, viewers};
use strandline_model::{EnvironmentId, EnvironmentSpec, Source};
use strandline_sqlite::column::Json;

const ENVIRONMENT: Table = Table {
    is_same: "SELECT name_id IS ?4 AND project IS ?5 AND name IS ?6 AND slug IS ?7 AND tier IS ?8 AND
            region IS ?9 AND state IS ?10 AND labels IS ?11 AND targets IS ?12 AND audience IS ?13 AND
            settings IS ?14 AND declared_by IS ?15 AND deployment IS ?16
        FROM environment WHERE id = ?1 AND to_offset = ?3",
    close: "UPDATE environment SET to_offset = ?2 WHERE id = ?1 AND to_offset = ?3",
    open: "INSERT OR REPLACE INTO environment
            (id, from_offset, to_offset, name_id, project, name, slug, tier, region, state, labels,
            targets, audience, settings, declared_by, deployment)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
};

/// Takes over what the catalog declares of an environment.
pub(super) fn declared(at: &mut Apply<'_>, spec: &EnvironmentSpec, source: Source) -> rusqlite::Result<()> {
    let id = at.ids.environment(at.connection, &spec.id)?;
    let sql = "INSERT OR REPLACE INTO environment_fact (environment_id, source, spec) VALUES (?1, ?2, ?3)";
    let row = params![id, source, Json(spec)];
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
        let rows = statement.query_map([kind, name], |row| row.get("environment_id"))?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    found.into_iter().try_for_each(|environment| settle(at, environment))
}

/// Makes an environment what follows from all that is declared of it, and settles what it holds.
pub(super) fn settle(at: &mut Apply<'_>, id: i64) -> rusqlite::Result<()> {
    let resolved = resolved(at, id)?;
    let audience = resolved.as_ref().map(|resolved| viewers::audience(at, resolved)).transpose()?;
    depend(at, id, resolved.as_ref())?;
    if replace(at, id, resolved.as_ref().zip(audience))? {
        at.touched.environments.insert(id);
        at.touched.declared.insert(id);
        at.environments.forget_places(id);
        viewers::set_audience(at, id, audience)?;
        if let Some(resolved) = &resolved {
            let own = std::iter::once(&resolved.spec.project);
            viewers::note(at, own.chain(&resolved.viewers).map(String::as_str))?;
        }
    }
    // The number of an agent, which is no column of an environment, moves what is managed by it.
    let (none, nowhere) = (Vec::new(), BTreeSet::new());
    let (targets, managed) =
        resolved.as_ref().map_or((&none, &nowhere), |resolved| (&resolved.targets, &resolved.managed));
    targets::replace(at, id, targets, managed)
}

/// Puts what follows, with its audience, in the place of the row that holds; returns whether that differs.
fn replace(at: &Apply<'_>, id: i64, wanted: Option<(&Resolved, i64)>) -> rusqlite::Result<bool> {
    let Some((resolved, audience)) = wanted else { return ENVIRONMENT.replace(at, &id, None) };
    let Resolved { spec, region, labels, targets, declared_by, deployment, .. } = resolved;
    let EnvironmentSpec { id: name_id, project, name, slug, tier, state, settings, .. } = spec;
    let row = params![
        name_id,
        project,
        name,
        slug,
        tier,
        region,
        state,
        Json(labels),
        Json(targets),
        audience,
        Json(settings),
        Json(declared_by),
        deployment,
    ];
    ENVIRONMENT.replace(at, &id, Some(row))
}

/// Gathers what is declared of an environment; none where nothing is.
fn resolved(at: &mut Apply<'_>, id: i64) -> rusqlite::Result<Option<Resolved>> {
    let declarations = facts::declarations(at, id)?;
    let (spec, source) = match (facts::environment(at, id)?, declarations.first()) {
        (Some((spec, source)), _) => (spec, Some(source)),
        (None, Some(Declaration { project, name, .. })) => (EnvironmentSpec::new(project, name), None),
        (None, None) => return Ok(None),
    };
    let (number, labels) = facts::project(at, &spec.project)?;
    let deployed = facts::deployments(at, id)?;
    let facts =
        Facts { spec, source, project_number: number, project_labels: labels, deployed, declarations };
    resolve::resolve(at, facts).map(Some)
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
