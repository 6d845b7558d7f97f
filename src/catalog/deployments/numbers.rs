//! Numbers of deployments: each project's own, as its jobs say them.

use std::collections::BTreeSet;

use strandline_log::{Catalog, LogError};
use strandline_model::{CatalogFact, CatalogKind, DeploymentId, DeploymentSpec};

/// The deployment that has a number in a project.
pub(in crate::catalog) fn find(
    catalog: &mut Catalog<'_, '_>,
    project: &str,
    id: DeploymentId,
) -> Result<Option<DeploymentSpec>, LogError> {
    let standing = catalog.get(CatalogKind::Deployment, &DeploymentSpec::name_of(id, project))?;
    Ok(standing.and_then(|standing| match standing.fact {
        CatalogFact::Deployment(spec) => Some(*spec),
        _ => None,
    }))
}

/// The projects that have a deployment of this number, by path.
pub(in crate::catalog) fn projects_of(
    catalog: &mut Catalog<'_, '_>,
    id: DeploymentId,
) -> Result<Vec<String>, LogError> {
    let found = catalog.beginning(CatalogKind::Deployment, &DeploymentSpec::name_of(id, ""))?;
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
