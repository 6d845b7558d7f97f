//! Numbers of deployments: each project's own, as its jobs say them.

use std::collections::BTreeSet;

use crate::log::{Catalog, CatalogChange, LogError, Standing};
use crate::model::{CatalogFact, CatalogKind, DeploymentId, DeploymentSpec};

/// A deployment as it is recorded.
pub(super) struct Held {
    pub(super) spec: DeploymentSpec,
    /// The name under which it is recorded, where that is one of before numbers were a project's own.
    former: Option<String>,
}

/// The deployment that has a number in a project.
pub(super) fn find(
    catalog: &mut Catalog<'_, '_>,
    project: &str,
    id: DeploymentId,
) -> Result<Option<Held>, LogError> {
    let name = DeploymentSpec::name_of(id, project);
    if let Some(Standing { fact: CatalogFact::Deployment(spec), .. }) =
        catalog.get(CatalogKind::Deployment, &name)?
    {
        return Ok(Some(Held { spec: *spec, former: None }));
    }
    let former = id.to_string();
    Ok(match catalog.get(CatalogKind::Deployment, &former)? {
        Some(Standing { fact: CatalogFact::Deployment(spec), .. }) if spec.project == project => {
            Some(Held { spec: *spec, former: Some(former) })
        }
        _ => None,
    })
}

/// The name under which a deployment is recorded.
pub(in crate::catalog) fn recorded_name(
    catalog: &mut Catalog<'_, '_>,
    spec: &DeploymentSpec,
) -> Result<Option<String>, LogError> {
    let held = find(catalog, &spec.project, spec.id)?;
    Ok(held.map(|held| held.former.unwrap_or_else(|| spec.name())))
}

/// What ends the record of a deployment under its former name, before it is declared under the one it has now.
pub(super) fn renamed(held: Option<&Held>) -> Vec<CatalogChange> {
    let former = held.and_then(|held| held.former.clone());
    former.into_iter().map(|name| CatalogChange::Withdraw(CatalogKind::Deployment, name)).collect()
}

/// The projects that have a deployment of this number, by path.
pub(in crate::catalog) fn projects_of(
    catalog: &mut Catalog<'_, '_>,
    id: DeploymentId,
) -> Result<Vec<String>, LogError> {
    let mut found = catalog.beginning(CatalogKind::Deployment, &DeploymentSpec::name_of(id, ""))?;
    found.extend(catalog.get(CatalogKind::Deployment, &id.to_string())?);
    let projects = found.into_iter().filter_map(|standing| match standing.fact {
        CatalogFact::Deployment(spec) => Some(spec.project),
        _ => None,
    });
    let projects: BTreeSet<String> = projects.collect();
    Ok(projects.into_iter().collect())
}

/// A number that no deployment of the project has: the offset at which it is recorded, or one soon after.
pub(super) fn free_id(catalog: &mut Catalog<'_, '_>, project: &str) -> Result<DeploymentId, LogError> {
    let mut id = DeploymentId(catalog.head()?.next().get());
    while find(catalog, project, id)?.is_some() {
        id = DeploymentId(id.0 + 1);
    }
    Ok(id)
}
