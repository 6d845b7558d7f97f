//! Projects, as callers declare them.

use serde::Deserialize;

use super::authority::Authority;
use super::decision::{Decided, of_api};
use super::error::{CatalogCode, CatalogError};
use super::given::Given;
use super::input::{self, UnknownFields};
use strandline_log::{Catalog, CatalogChange, LogError};
use strandline_model::{CatalogFact, CatalogKind, Labels, ProjectSpec};

/// What is said of a project; GitLab's answer to `GET /projects/:id` will do.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ProjectInput {
    /// GitLab's number of it.
    #[serde(default)]
    id: Given<u64>,
    /// Default branch.
    #[serde(default)]
    default_branch: Given<String>,
    /// Labels of users' own.
    #[serde(default)]
    labels: Given<Labels>,
    #[serde(flatten)]
    rest: UnknownFields,
}

const KNOWN: [&str; 3] = ["id", "default_branch", "labels"];

impl ProjectInput {
    /// GitLab reports a hundred things of a project, and more with every version: none of them is odd.
    pub(super) fn warnings(&self) -> Vec<String> {
        let of_gitlab = self.rest.contains_key("path_with_namespace");
        if of_gitlab {
            Vec::new()
        } else {
            input::unread(&self.rest, &KNOWN, &["path", "name", "description"])
        }
    }
}

pub(super) fn put(
    catalog: &mut Catalog<'_, '_>,
    authority: Authority,
    path: &str,
    input: &ProjectInput,
) -> Result<Decided<ProjectSpec>, LogError> {
    let path = &catalog.project_path(path)?;
    let standing = catalog.get(CatalogKind::Project, path)?;
    if let Some(Err(refusal)) = standing.as_ref().map(|current| of_api(current, CatalogKind::Project, path)) {
        return Ok(Err(refusal));
    }
    let created = standing.is_none();
    let mut spec = match standing.map(|standing| standing.fact) {
        Some(CatalogFact::Project(spec)) => spec,
        _ => ProjectSpec { path: path.to_owned(), ..ProjectSpec::default() },
    };
    if let Err(refusal) = input::labels("labels", input.labels.value()) {
        return Ok(Err(refusal));
    }
    if let Some(Err(refusal)) = input.id.value().map(|id| input::numbered("id", *id)) {
        return Ok(Err(refusal));
    }
    if let Some(Err(refusal)) =
        input.default_branch.value().map(|name| input::bounded("default_branch", name))
    {
        return Ok(Err::<_, CatalogError>(refusal));
    }
    let current = spec.number;
    input.id.put_option(&mut spec.number);
    if let Err(refusal) = authority.numbers(current, spec.number) {
        return Ok(Err(refusal));
    }
    if current != spec.number
        && let Some(number) = spec.number
        && let Some(other) = numbered(catalog, number)?
    {
        let message = format!("the project `{other}` already has the id `{number}`");
        let error = CatalogError::new(CatalogCode::DuplicateProject, message);
        return Ok(Err(error.hint("project ids must be unique to distinguish resources in a namespace")));
    }
    input.default_branch.put(&mut spec.default_branch, String::new);
    input.labels.put(&mut spec.labels, Labels::new);
    Ok(Ok((vec![CatalogChange::Declare(CatalogFact::Project(spec.clone()))], spec, created)))
}

/// The project that has a number.
fn numbered(catalog: &mut Catalog<'_, '_>, number: u64) -> Result<Option<String>, LogError> {
    // A project is under nothing. Only who sees everything sets numbers, so this is read for nobody else.
    let projects = catalog.under(CatalogKind::Project, "")?;
    let mut paths = projects.into_iter().filter_map(|standing| match standing.fact {
        CatalogFact::Project(project) if project.number == Some(number) => Some(project.path),
        _ => None,
    });
    Ok(paths.next())
}
