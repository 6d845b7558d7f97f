//! The way of callers' changes into the log.

use std::sync::{Arc, PoisonError, RwLock};

use super::agents::{self, AgentInput};
use super::authority::Authority;
use super::decision::{Decided, of_api};
use super::deployments::{self, Deployed, DeploymentInput, StatusInput};
use super::environments::{self, EnvironmentInput};
use super::error::{CatalogCode, CatalogError};
use super::input;
use super::projects::{self, ProjectInput};
use super::quotas::{self, Added, QuotaConfig, Quotas, Rates};
use strandline_log::{
    AppendError, Appender, Catalog, CatalogChange, Forget, ForgetRefusal, Forgotten, LogError, WeakAppender,
};
use strandline_model::{
    AgentId, AgentSpec, CatalogKind, DeploymentId, EnvironmentId, EnvironmentSpec, Offset, ProjectSpec,
    Source,
};

/// What became of a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<T> {
    /// What holds now.
    pub value: T,
    /// Whether it did not exist before.
    pub created: bool,
    /// Reading at this offset shows it.
    pub offset: Offset,
    /// What is odd about the input.
    pub warnings: Vec<String>,
}

/// Changes the catalog in the name of callers of the API; clones share one way into the log.
#[derive(Clone, Debug)]
pub struct CatalogWriter {
    appender: WeakAppender,
    quotas: Arc<RwLock<QuotaConfig>>,
    /// How often callers write.
    rates: Rates,
    /// What projects wrote.
    written: Rates,
}

/// Why environments of a list were not declared, none of them: which item, where it is one.
pub type ListRefusal = (Option<usize>, CatalogError);

impl CatalogWriter {
    /// Writes through this appender while others keep it: callers do not hold up the end of the log.
    pub fn new(appender: &Appender) -> Self {
        let (rates, written) = (Rates::default(), Rates::default());
        CatalogWriter { appender: appender.downgrade(), quotas: Arc::default(), rates, written }
            .with_quotas(QuotaConfig::NONE)
    }

    /// Within these quotas.
    #[must_use]
    pub fn with_quotas(self, quotas: QuotaConfig) -> Self {
        let (rates, written) = (Rates::default(), Rates::default());
        CatalogWriter { quotas: Arc::new(RwLock::new(quotas)), rates, written, ..self }
    }

    /// Puts other quotas into effect, for all clones; whether they differ.
    pub fn replace_quotas(&self, quotas: QuotaConfig) -> bool {
        let mut current = self.quotas.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *current, quotas) != quotas
    }

    fn quotas(&self) -> Quotas {
        let config = *self.quotas.read().unwrap_or_else(PoisonError::into_inner);
        Quotas { config, written: self.written.clone() }
    }

    /// Takes a turn to write, of those that a caller has.
    ///
    /// # Errors
    /// When they had as many within a minute as they may.
    pub fn take_turn(&self, caller: &str) -> Result<(), CatalogError> {
        let per_minute = self.quotas().config.writes_per_minute;
        if self.rates.take(caller, per_minute) {
            return Ok(());
        }
        let message = format!("`{caller}` has reached the limit of {per_minute} writes per minute");
        Err(CatalogError::new(CatalogCode::TooOften, message))
    }

    /// Ends in the log what a person says is gone.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn forget(
        &self,
        forget: Forget,
    ) -> Result<std::result::Result<Forgotten, ForgetRefusal>, CatalogError> {
        let appender = self.appender.upgrade().ok_or(AppendError::Closed)?;
        let _admitted = appender.admit()?;
        Ok(appender.forget(forget).await?)
    }

    async fn decide<T: Send + 'static>(
        &self,
        warnings: Vec<String>,
        decision: impl Fn(&mut Catalog<'_, '_>) -> Result<Decided<T>, LogError> + Send + Sync + 'static,
    ) -> Result<Outcome<T>, CatalogError> {
        let (quotas, spent) = (self.quotas(), self.quotas());
        let decided = move |catalog: &mut Catalog<'_, '_>| {
            let (changes, value, created) = match decision(catalog)? {
                Ok(decided) => decided,
                Err(refusal) => return Ok((Vec::new(), Err(refusal))),
            };
            Ok(match quotas::check(catalog, &quotas, &changes)? {
                Ok(added) => (changes, Ok((value, created, added))),
                Err(refusal) => (Vec::new(), Err(refusal)),
            })
        };
        let appender = self.appender.upgrade().ok_or(AppendError::Closed)?;
        let _admitted = appender.admit()?;
        let (appended, result) = appender.decide(Source::Api, decided).await?;
        let (value, created, added) = result?;
        spent.spend(&added);
        Ok(Outcome { value, created, offset: appended.head, warnings })
    }

    /// Declares a project, or changes what is declared of it.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub async fn put_project(
        &self,
        authority: Authority,
        path: &str,
        input: ProjectInput,
    ) -> Result<Outcome<ProjectSpec>, CatalogError> {
        let path = input::project_path("path", path)?;
        let warnings = input.warnings();
        self.decide(warnings, move |catalog| projects::put(catalog, authority, &path, &input)).await
    }

    /// Declares an agent, or changes what is declared of it.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub async fn put_agent(
        &self,
        authority: Authority,
        id: &AgentId,
        input: AgentInput,
    ) -> Result<Outcome<AgentSpec>, CatalogError> {
        if input.names_cluster() {
            authority.names_cluster("cluster")?;
        }
        let (id, mut warnings) = (id.clone(), input.warnings());
        // A large file takes a while to read, and nobody else is to wait for that.
        let read = tokio::task::spawn_blocking(move || input.check().map(|odd| (input, odd)));
        let broke_off =
            |_| CatalogError::new(CatalogCode::Failed, "reading the configuration was interrupted");
        let (input, odd) = read.await.map_err(broke_off)??;
        warnings.extend(odd);
        self.decide(warnings, move |catalog| agents::put(catalog, &id, &input)).await
    }

    /// Declares an environment, or changes what is declared of it. Where nothing is declared yet, `project` or the input
    /// reports its project, and the input its name.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub async fn put_environment(
        &self,
        authority: Authority,
        id: Option<&EnvironmentId>,
        project: Option<&str>,
        input: EnvironmentInput,
    ) -> Result<Outcome<EnvironmentSpec>, CatalogError> {
        let (id, project) = (id.cloned(), project.map(str::to_owned));
        let warnings = input.warnings();
        let checked = input.check(id.as_ref(), project.as_deref())?;
        self.decide(warnings, move |catalog| environments::put(catalog, authority, &checked)).await
    }

    /// Declares environments of a project, all of them or none, in one decision.
    ///
    /// # Errors
    /// Why nothing was changed, and because of which input.
    pub async fn put_environments(
        &self,
        authority: Authority,
        project: &str,
        inputs: Vec<EnvironmentInput>,
    ) -> Result<Vec<Outcome<EnvironmentSpec>>, ListRefusal> {
        let (mut all, mut warnings) = (Vec::new(), Vec::new());
        for (index, input) in inputs.into_iter().enumerate() {
            warnings.push(input.warnings());
            all.push(input.check(None, Some(project)).map_err(|error| (Some(index), error))?);
        }
        let (quotas, spent) = (self.quotas(), self.quotas());
        let put = move |catalog: &mut Catalog<'_, '_>| {
            let (mut changes, mut specs, mut added) = (Vec::new(), Vec::new(), Added::default());
            for (index, checked) in all.iter().enumerate() {
                let decided = match environments::put(catalog, authority, checked)? {
                    Ok((some, spec, created)) => {
                        quotas::check(catalog, &quotas, &some)?.map(|more| (some, spec, created, more))
                    }
                    Err(refusal) => Err(refusal),
                };
                let (some, spec, created, more) = match decided {
                    Ok(decided) => decided,
                    Err(refusal) => return Ok((Vec::new(), Err((Some(index), refusal)))),
                };
                // What comes after it in the list finds it.
                for change in &some {
                    if let CatalogChange::Declare(fact) = change {
                        catalog.assume(fact.clone());
                    }
                }
                changes.extend(some);
                specs.push((spec, created));
                added.and(more);
            }
            Ok((changes, Ok((specs, added))))
        };
        let failed = |error: AppendError| (None, CatalogError::from(error));
        let appender = self.appender.upgrade().ok_or(AppendError::Closed).map_err(failed)?;
        let _admitted = appender.admit().map_err(failed)?;
        let (appended, result) = appender.decide(Source::Api, put).await.map_err(failed)?;
        let outcome =
            |((value, created), warnings)| Outcome { value, created, offset: appended.head, warnings };
        let (specs, added) = result?;
        spent.spend(&added);
        Ok(specs.into_iter().zip(warnings).map(outcome).collect())
    }

    /// Stops an environment: its resource group is closed, what it held stays known.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub async fn stop_environment(
        &self,
        id: &EnvironmentId,
    ) -> Result<Outcome<EnvironmentSpec>, CatalogError> {
        let id = id.clone();
        self.decide(Vec::new(), move |catalog| environments::stop(catalog, &id)).await
    }

    /// Records a deployment, and whether its job may use the agent that it asks for, which the caller sees or not.
    ///
    /// # Errors
    /// Why nothing was recorded.
    pub async fn deploy(
        &self,
        (authority, sees_agent): (Authority, bool),
        input: DeploymentInput,
    ) -> Result<Outcome<Deployed>, CatalogError> {
        let warnings = input.warnings();
        let checked = input.check()?;
        self.decide(warnings, move |catalog| deployments::put(catalog, (authority, sees_agent), &checked))
            .await
    }

    /// Records the status of a deployment now.
    ///
    /// # Errors
    /// Why nothing was recorded.
    pub async fn set_deployment_status(
        &self,
        project: &str,
        id: DeploymentId,
        input: StatusInput,
    ) -> Result<Outcome<Deployed>, CatalogError> {
        let warnings = input.warnings();
        let (project, (status, finished_at)) = (project.to_owned(), input.check()?);
        let decision = move |catalog: &mut Catalog<'_, '_>| {
            deployments::set_status(catalog, &project, id, status, finished_at)
        };
        self.decide(warnings, decision).await
    }

    /// The projects that have a deployment of this number, by path.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn deployed_by(&self, id: DeploymentId) -> Result<Vec<String>, CatalogError> {
        let found = self.decide(Vec::new(), move |catalog| {
            Ok(Ok((Vec::new(), deployments::projects_of(catalog, id)?, false)))
        });
        Ok(found.await?.value)
    }

    /// Withdraws what callers of the API declared under a name; returns whether there was anything.
    ///
    /// # Errors
    /// When somebody else declared it.
    pub async fn withdraw(&self, kind: CatalogKind, name: &str) -> Result<Outcome<()>, CatalogError> {
        let name = name.to_owned();
        self.decide(Vec::new(), move |catalog| {
            let name = as_declared(catalog, kind, &name)?;
            let Some(standing) = catalog.get(kind, &name)? else {
                return Ok(Err(CatalogError::unknown(kind, &name, &beside(catalog, kind, &name)?)));
            };
            if let Err(refusal) = of_api(&standing, kind, &name) {
                return Ok(Err(refusal));
            }
            Ok(Ok((vec![CatalogChange::Withdraw(kind, name.clone())], (), false)))
        })
        .await
    }

    /// The project whose members may change an environment; none where the catalog declares none of this id.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn owner(&self, id: &EnvironmentId) -> Result<Option<String>, CatalogError> {
        let id = id.clone();
        let found = self.decide(Vec::new(), move |catalog| {
            let owner = environments::find(catalog, &id)?.map(|(_, spec)| spec.project);
            Ok(Ok((Vec::new(), owner, false)))
        });
        Ok(found.await?.value)
    }
}

/// The name of a fact with the path of its project as that was first declared.
fn as_declared(catalog: &mut Catalog<'_, '_>, kind: CatalogKind, name: &str) -> Result<String, LogError> {
    match (kind, name.parse::<AgentId>()) {
        (CatalogKind::Project, _) => catalog.project_path(name),
        (CatalogKind::Agent, Ok(id)) => Ok(catalog.agent_id(&id)?.to_string()),
        _ => Ok(name.to_owned()),
    }
}

/// The names among which one may have been meant that is not there: those of the same project, for others are not the
/// caller's to know.
fn beside(catalog: &mut Catalog<'_, '_>, kind: CatalogKind, name: &str) -> Result<Vec<String>, LogError> {
    let Some((project, _)) = name.split_once(':') else { return Ok(Vec::new()) };
    let same = |other: &String| other.split_once(':').is_some_and(|(other, _)| other == project);
    Ok(catalog.names(kind)?.into_iter().filter(same).collect())
}
