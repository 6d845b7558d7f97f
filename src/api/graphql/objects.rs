//! The objects of the schema: a project, its environments, their deployments, and the agents of these.
//!
//! Each carries the questions that are held at the moment of its project.

use juniper::{FieldError, ID, IntoFieldError, ScalarValue, graphql_object, graphql_value};

use super::asker::{Asker, invalid};
use super::connections::{DeploymentConnection, EnvironmentConnection};
use super::ids::global;
use super::types::{DeploymentStatus, DeploymentTier, EnvironmentHealth, Time};
use crate::http::problem::Problem;
use strandline_model::{self as model, EnvironmentState};
use strandline_protocol::{self as protocol, EnvironmentAccess};
use strandline_query::{
    DeploymentFilter, EnvironmentFilter, GetAgent, GetProject, ListDeployments, ListDeploymentsWithCursors,
    ListEnvironments, ListEnvironmentsWithCursors, PageRequest, Queries, QueryError,
};
use strandline_syntax::Glob;

/// The most items of a list in one answer, and as many where nothing is said: as in GitLab.
pub(super) const PAGE: i32 = 100;

impl<S: ScalarValue> IntoFieldError<S> for Problem {
    fn into_field_error(self) -> FieldError<S> {
        let code = self.code.as_str();
        FieldError::new(self.detail, graphql_value!({ "code": code }))
    }
}

/// The root of all queries.
pub(super) struct Query;

/// Environments of projects, and what was deployed to them, now and at any past moment.
#[graphql_object(context = Asker)]
impl Query {
    /// A project; null where there is none by that moment, or where the caller may see nothing of it.
    async fn project(
        #[graphql(context)] asker: &Asker,
        #[graphql(description = "Full path, such as `group/project`.")] full_path: ID,
        #[graphql(
            description = "The time of the whole query: a time (`14:05`, in UTC, or RFC 3339), a duration ago (`2h`) \
                           or an offset; default: now."
        )]
        at: Option<String>,
    ) -> Result<Option<Project>, Problem> {
        let queries = asker.at(at.as_deref()).await?;
        Project::find(asker, queries, full_path.to_string()).await
    }
}

/// A project.
pub(super) struct Project {
    path: String,
    number: Option<u64>,
    snapshot: protocol::Snapshot,
    queries: Queries,
}

impl Project {
    /// What is declared of a project, or else that an environment of it is in sight: environments of projects that nobody
    /// declares are there, and an environment may be shared with those who do not see its project.
    async fn find(asker: &Asker, queries: Queries, path: String) -> Result<Option<Self>, Problem> {
        let at = model::At::Now;
        let _turn = asker.turn().await;
        match queries.ask(&asker.scope, at, GetProject::new(&path)).await {
            Ok(found) => {
                let (path, number, snapshot) = (found.value.id, found.value.number, found.metadata);
                return Ok(Some(Project { path, number, snapshot, queries }));
            }
            Err(QueryError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let filter =
            EnvironmentFilter { projects: vec![Glob::exactly(&path)], ..EnvironmentFilter::default() };
        let first = PageRequest { limit: 1, after: None };
        let found = queries.ask(&asker.scope, at, ListEnvironments::new(&filter, &first)).await?;
        let (snapshot, first) = (found.metadata.snapshot, found.items.into_iter().next());
        Ok(first.map(|first| Project { path: first.project, number: None, snapshot, queries }))
    }

    fn filter(&self) -> EnvironmentFilter {
        EnvironmentFilter { projects: vec![Glob::exactly(&self.path)], ..EnvironmentFilter::default() }
    }
}

/// A project, as far as the caller may see it.
#[graphql_object(context = Asker)]
impl Project {
    /// `gid://gitlab/Project/<number>` where GitLab's number of it is known to the caller, else
    /// `gid://strandline/Project/<full path, percent-encoded>`.
    fn id(&self) -> ID {
        global("Project", self.number, &self.path)
    }

    /// Full path.
    fn full_path(&self) -> &str {
        &self.path
    }

    /// The offset that all below holds for; ask with it as `at` to get the same answer again.
    fn offset(&self) -> String {
        self.snapshot.offset.to_string()
    }

    /// Whether all that is told was being watched at that moment.
    fn complete(&self) -> bool {
        self.snapshot.coverage.complete
    }

    /// The environment of this name; null where there is none by that moment, or the caller may not see it.
    async fn environment(
        &self,
        #[graphql(context)] asker: &Asker,
        name: String,
    ) -> Result<Option<Environment>, Problem> {
        let filter = EnvironmentFilter { names: vec![Glob::exactly(&name)], ..self.filter() };
        let first = PageRequest { limit: 1, after: None };
        let _turn = asker.turn().await;
        let found =
            self.queries.ask(&asker.scope, model::At::Now, ListEnvironments::new(&filter, &first)).await?;
        Ok(found.items.into_iter().next().map(|value| Environment::new(value, &self.queries)))
    }

    /// Environments of the project, by name.
    async fn environments(
        &self,
        #[graphql(context)] asker: &Asker,
        #[graphql(description = "Only these tiers.")] tier: Option<Vec<DeploymentTier>>,
        #[graphql(description = "Only those whose name contains this, ignoring case.")] search: Option<
            String,
        >,
        #[graphql(description = "Only these states: `available`, `stopping`, `stopped`.")] states: Option<
            Vec<String>,
        >,
        #[graphql(description = "The number of items, 1 to 100; default: 100.")] first: Option<i32>,
        #[graphql(description = "Continue after this cursor.")] after: Option<String>,
    ) -> Result<EnvironmentConnection, Problem> {
        let state =
            |text: &String| text.parse::<EnvironmentState>().map_err(|detail| invalid("states", detail));
        let filter = EnvironmentFilter {
            tiers: tier.unwrap_or_default().into_iter().map(model::Tier::from).collect(),
            search: search.unwrap_or_default(),
            states: states.unwrap_or_default().iter().map(state).collect::<Result<_, _>>()?,
            ..self.filter()
        };
        let page = page(first, after)?;
        let _turn = asker.turn().await;
        let found = self
            .queries
            .ask(
                &asker.scope,
                model::At::Now,
                ListEnvironmentsWithCursors(ListEnvironments::new(&filter, &page)),
            )
            .await?;
        Ok(EnvironmentConnection::new(found, filter, &self.queries))
    }
}

/// An environment.
pub(super) struct Environment {
    value: protocol::Environment,
    queries: Queries,
}

impl Environment {
    pub(super) fn new(value: protocol::Environment, queries: &Queries) -> Self {
        Environment { value, queries: queries.clone() }
    }

    /// Deployments to it, those with the highest number first.
    async fn page(
        &self,
        asker: &Asker,
        statuses: Vec<DeploymentStatus>,
        page: &PageRequest,
    ) -> Result<DeploymentConnection, Problem> {
        let filter = DeploymentFilter {
            environment: Some(self.value.id.clone()),
            statuses: statuses.into_iter().map(model::DeploymentStatus::from).collect(),
            ..DeploymentFilter::default()
        };
        let _turn = asker.turn().await;
        let found = self
            .queries
            .ask(
                &asker.scope,
                model::At::Now,
                ListDeploymentsWithCursors(ListDeployments::new(&filter, page)),
            )
            .await?;
        Ok(DeploymentConnection::new(found, (self.value.id.clone(), filter), &self.queries))
    }
}

/// An environment of a project, one to one with its resource group.
#[graphql_object(context = Asker)]
impl Environment {
    /// `gid://gitlab/Environment/<number>` where GitLab's number of it is known, else
    /// `gid://strandline/Environment/<its id in addresses of the REST API>`.
    fn id(&self) -> ID {
        global("Environment", self.value.settings.number, self.value.id.as_str())
    }

    /// Its name in the project.
    fn name(&self) -> &str {
        &self.value.name
    }

    /// GitLab's slug of the name, which resources carry as `app.gitlab.com/environment_slug`.
    fn slug(&self) -> &str {
        &self.value.slug
    }

    /// Its tier.
    fn tier(&self) -> DeploymentTier {
        self.value.tier.into()
    }

    /// `available`, `stopping` or `stopped`.
    fn state(&self) -> &'static str {
        self.value.state.as_str()
    }

    /// Where it runs; null where that is not known.
    fn region(&self) -> Option<&str> {
        said(&self.value.region)
    }

    /// Where users reach what runs in it; null where that is not said.
    fn external_url(&self) -> Option<&str> {
        said(&self.value.settings.external_url)
    }

    /// When GitLab means to stop it; null where that is not said.
    fn auto_stop_at(&self) -> Option<Time> {
        self.value.settings.auto_stop_at.map(Time::from)
    }

    /// Its health; null, with the error `agent_access_denied`, where an agent that serves it does not let the caller in.
    fn health(&self) -> Result<Option<EnvironmentHealth>, Problem> {
        match self.value.access {
            EnvironmentAccess::Granted => Ok(Some((&self.value.health).into())),
            EnvironmentAccess::Denied => {
                Err(QueryError::AgentDenied { environment: self.value.id.clone() }.into())
            }
        }
    }

    /// The last deployment to it that stands like this: for `SUCCESS` the one that ended last, which decides where its
    /// resources are, and else the one with the highest number. Null where there is none.
    async fn last_deployment(
        &self,
        #[graphql(context)] asker: &Asker,
        #[graphql(description = "Its status; default: any.")] status: Option<DeploymentStatus>,
    ) -> Result<Option<Deployment>, Problem> {
        if status == Some(DeploymentStatus::Success) {
            let last = self.value.last_deployment.clone();
            return Ok(last.map(|value| Deployment::new(value, &self.queries)));
        }
        let first = PageRequest { limit: 1, after: None };
        let found = self.page(asker, status.into_iter().collect(), &first).await?;
        Ok(found.into_first())
    }

    /// Deployments to it, those with the highest number first.
    async fn deployments(
        &self,
        #[graphql(context)] asker: &Asker,
        #[graphql(description = "Only those with this status.")] statuses: Option<Vec<DeploymentStatus>>,
        #[graphql(description = "The number of items, 1 to 100; default: 100.")] first: Option<i32>,
        #[graphql(description = "Continue after this cursor.")] after: Option<String>,
    ) -> Result<DeploymentConnection, Problem> {
        self.page(asker, statuses.unwrap_or_default(), &page(first, after)?).await
    }
}

/// A deployment.
pub(super) struct Deployment {
    value: protocol::Deployment,
    queries: Queries,
}

impl Deployment {
    pub(super) fn new(value: protocol::Deployment, queries: &Queries) -> Self {
        Deployment { value, queries: queries.clone() }
    }
}

/// A deployment to an environment.
#[graphql_object(context = Asker)]
impl Deployment {
    /// `gid://strandline/Deployment/<number>`: the number is GitLab's where it told one and one of ours where it did
    /// not, and a deployment does not say which, so that its id is never one of GitLab's.
    fn id(&self) -> ID {
        global("Deployment", None, &self.value.spec.id.to_string())
    }

    /// How it stands.
    fn status(&self) -> DeploymentStatus {
        self.value.spec.status.into()
    }

    /// Branch or tag; null where that is not said.
    #[graphql(name = "ref")]
    fn reference(&self) -> Option<&str> {
        said(&self.value.spec.reference)
    }

    /// Whether `ref` is a tag.
    fn tag(&self) -> bool {
        self.value.spec.tag
    }

    /// Commit; null where that is not said.
    fn sha(&self) -> Option<&str> {
        said(&self.value.spec.sha)
    }

    /// Full path of the project whose job deploys, which need not be that of the environment.
    fn project(&self) -> &str {
        &self.value.spec.project
    }

    /// When it was created; null where that is not said.
    fn created_at(&self) -> Option<Time> {
        self.value.spec.created_at.map(Time::from)
    }

    /// When it ended; null where it did not, or that is not said.
    fn finished_at(&self) -> Option<Time> {
        self.value.spec.finished_at.map(Time::from)
    }

    /// Through which agent, and into which namespace; null where it uses none, or the agent's configuration does not
    /// authorise its job. It is told to whoever sees the deployment, be it that the agent does not let them in.
    fn agent(&self) -> Option<Agent> {
        let value = self.value.spec.agent.clone()?;
        Some(Agent { value, queries: self.queries.clone() })
    }
}

/// The agent of a deployment.
pub(super) struct Agent {
    value: model::AgentDeployment,
    queries: Queries,
}

/// The agent through which a deployment goes, with the namespace that it deploys to.
#[graphql_object(context = Asker)]
impl Agent {
    /// `gid://gitlab/Clusters::Agent/<number>` where GitLab's number of it is known and the caller sees the agent, else
    /// `gid://strandline/Agent/<path/to/project:agent-name, percent-encoded>`.
    async fn id(&self, #[graphql(context)] asker: &Asker) -> Result<ID, Problem> {
        let _turn = asker.turn().await;
        let number =
            match self.queries.ask(&asker.scope, model::At::Now, GetAgent::new(&self.value.agent)).await {
                Ok(found) => found.value.number,
                Err(QueryError::NotFound { .. }) => None,
                Err(error) => return Err(error.into()),
            };
        Ok(global("Clusters::Agent", number, &self.value.agent.to_string()))
    }

    /// Its name.
    fn name(&self) -> &str {
        self.value.agent.name()
    }

    /// Full path of the project that owns it. In GitLab's own schema this is an object with fields; here it is the text
    /// that the blueprint's query asks for without any.
    fn project(&self) -> &str {
        self.value.agent.project()
    }

    /// The namespace that the deployment goes to.
    fn kubernetes_namespace(&self) -> &str {
        &self.value.kubernetes_namespace
    }
}

/// A text, unless it is empty.
fn said(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}

fn page(first: Option<i32>, after: Option<String>) -> Result<PageRequest, Problem> {
    let first = first.unwrap_or(PAGE);
    let limit = usize::try_from(first).ok().filter(|_| (1..=PAGE).contains(&first));
    let limit =
        limit.ok_or_else(|| invalid("first", format!("`{first}` is not a number from 1 to {PAGE}")))?;
    // An empty cursor is what some clients send for the beginning.
    Ok(PageRequest { limit, after: after.filter(|after| !after.is_empty()) })
}
