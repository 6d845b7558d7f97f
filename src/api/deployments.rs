//! `/api/v1/deployments`, and those to one environment.

use super::export::{self, Exported};
use super::{atom, catalog};
use crate::app::AppState;
use crate::app::deployments::filter;
use crate::format::{deployment_time, revision};
use crate::http::auth;
use crate::http::params::{ENVIRONMENT, FORMAT, PROJECT_ONE};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_model::EnvironmentId;
use strandline_protocol::Deployment;
use strandline_query::{GetDeployment, ListDeployments};
use strandline_syntax::percent_encode;

/// Deployments, filtered.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    let environment = request.query.one(ENVIRONMENT).map(EnvironmentId::new);
    filtered(state, request, environment).await
}

/// The deployments to an environment.
pub(super) async fn of_environment(state: AppState, request: Request) -> Result<Response, Problem> {
    let environment = EnvironmentId::new(request.argument(0));
    filtered(state, request, Some(environment)).await
}

async fn filtered(
    state: AppState,
    request: Request,
    environment: Option<EnvironmentId>,
) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page, filter) = (read.at(), read.page(), filter(&mut read, environment));
    let form = read.word(FORMAT).unwrap_or_default();
    read.finish()?;
    let found = state.queries.ask(&auth::scope(&request)?, at, ListDeployments::new(&filter, &page)).await?;
    export::page(&request, form, &found)
}

impl Exported for Deployment {
    const FEED: (&'static str, &'static str) = ("Deployments", "deployments");
    const COLUMNS: &'static str = "time,id,environment,project,status,ref,commit,user,job,agent,namespace";

    fn cells(&self) -> Vec<String> {
        let spec = &self.spec;
        let (agent, namespace) = match &spec.agent {
            Some(agent) => (agent.agent.to_string(), agent.kubernetes_namespace.clone()),
            None => Default::default(),
        };
        vec![
            deployment_time(self).to_string(),
            spec.id.to_string(),
            spec.environment.to_string(),
            spec.project.clone(),
            spec.status.to_string(),
            spec.reference.clone(),
            spec.sha.clone(),
            spec.user.clone(),
            spec.job.as_ref().map(|job| job.name.clone()).unwrap_or_default(),
            agent,
            namespace,
        ]
    }

    fn entry(&self) -> atom::Entry {
        let spec = &self.spec;
        let project = percent_encode(&spec.project);
        let of = match revision(spec) {
            revision if revision.is_empty() => revision,
            revision => format!(" of {revision}"),
        };
        let job = spec.job.as_ref().map(|job| format!(", job {}", job.name)).unwrap_or_default();
        atom::Entry {
            id: format!("deployment:{project}:{}", spec.id),
            title: format!("Deployment {}{of} to {}: {}", spec.id, spec.environment, spec.status),
            updated: deployment_time(self),
            author: spec.user.clone(),
            category: spec.status.to_string(),
            link: format!("/deployments/{}?project={project}", spec.id),
            summary: format!("{}{job}", spec.status),
        }
    }
}

/// One deployment.
pub(super) async fn one(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, project) = (read.at(), read.text(PROJECT_ONE));
    read.finish()?;
    let id = catalog::deployment_id(&request)?;
    let found =
        state.queries.ask(&auth::scope(&request)?, at, GetDeployment::new(id, project.as_deref())).await?;
    respond::json(&request, &found)
}
