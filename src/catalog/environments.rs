//! Environments, as callers declare them.

use serde::Deserialize;

use super::authority::Authority;
use super::decision::{Decided, of_api};
use super::error::{CatalogCode, CatalogError};
use super::given::Given;
use super::input::{self, AgentRef, ProjectRef, UnknownFields};
use super::targets::{self, TargetInput};
use strandline_log::{Catalog, CatalogChange, LogError, Standing};
use strandline_model::{
    AgentId, CatalogFact, CatalogKind, EnvironmentId, EnvironmentSpec, EnvironmentState, Labels, TargetSpec,
    Tier, Timestamp,
};
use strandline_redact::has_login;
use strandline_syntax::{is_dns_label, slug};

/// The longest name of an environment, in characters, as GitLab limits it.
const NAME_MAX: usize = 255;

/// What is said of an environment; GitLab's answer to `GET /projects/:id/environments/:environment_id` will do.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct EnvironmentInput {
    /// GitLab's number of it, or ours as text.
    #[serde(default)]
    id: Given<Id>,
    #[serde(default)]
    project: Option<ProjectRef>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    slug: Option<String>,
    #[serde(default)]
    tier: Given<Tier>,
    #[serde(default)]
    region: Given<String>,
    #[serde(default)]
    labels: Given<Labels>,
    #[serde(default)]
    external_url: Given<String>,
    #[serde(default)]
    state: Given<EnvironmentState>,
    #[serde(default)]
    dynamic: Given<bool>,
    #[serde(default)]
    auto_stop_at: Given<Timestamp>,
    #[serde(default)]
    cluster_agent: Given<AgentRef>,
    #[serde(default)]
    kubernetes_namespace: Given<String>,
    #[serde(default)]
    flux_resource_path: Given<String>,
    #[serde(default)]
    targets: Given<Vec<TargetInput>>,
    #[serde(flatten)]
    rest: UnknownFields,
}

/// Either number of an environment.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged, expecting = "`id` must be a number or a string")]
enum Id {
    Number(u64),
    Text(String),
}

const KNOWN: [&str; 15] = [
    "id",
    "project",
    "name",
    "slug",
    "tier",
    "region",
    "labels",
    "external_url",
    "state",
    "dynamic",
    "auto_stop_at",
    "cluster_agent",
    "kubernetes_namespace",
    "flux_resource_path",
    "targets",
];

/// Members of GitLab's answers that we have no use for.
const PASSED: [&str; 9] = [
    "description",
    "description_html",
    "created_at",
    "updated_at",
    "last_deployment",
    "enable_advanced_logs_querying",
    "logs_api_path",
    "auto_stop_setting",
    "environment_type",
];

/// An input that makes sense by itself.
#[derive(Clone, Debug)]
pub(super) struct Checked {
    id: Option<EnvironmentId>,
    project: Option<String>,
    name: Option<String>,
    cluster_agent: Given<AgentId>,
    targets: Given<Vec<TargetSpec>>,
    input: EnvironmentInput,
}

impl EnvironmentInput {
    /// What is odd about it.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut warnings = input::unread(&self.rest, &KNOWN, &PASSED);
        warnings.extend(targets::warnings(self.targets.value().map_or(&[], Vec::as_slice)));
        warnings
    }

    /// The project that it names, if it does.
    pub fn project(&self) -> Option<&str> {
        self.project.as_ref().map(ProjectRef::path)
    }

    pub(super) fn check(
        self,
        id: Option<&EnvironmentId>,
        project: Option<&str>,
    ) -> Result<Checked, CatalogError> {
        if let Some(id) = id.filter(|id| !id.is_plain()) {
            let message = format!("invalid environment id `{id}`");
            return Err(CatalogError::invalid("id", message).hint("use letters, digits, `-`, `_` and `.`"));
        }
        let project =
            self.project().or(project).map(|path| input::project_path("project", path)).transpose()?;
        if let Some(name) = &self.name {
            check_name(name)?;
        }
        self.slug.as_deref().map_or(Ok(()), check_slug)?;
        input::labels("labels", self.labels.value())?;
        if let Given::Value(Id::Number(number)) = self.id {
            input::numbered("id", number)?;
        }
        let texts = [
            ("region", &self.region),
            ("external_url", &self.external_url),
            ("flux_resource_path", &self.flux_resource_path),
        ];
        for (field, text) in texts {
            text.value().map_or(Ok(()), |text| input::bounded(field, text))?;
        }
        if self.external_url.value().is_some_and(|url| has_login(url)) {
            let message = "`external_url` contains credentials, which every reader would see";
            return Err(CatalogError::invalid("external_url", message).hint("remove the part before the @"));
        }
        self.kubernetes_namespace
            .value()
            .map_or(Ok(()), |name| input::check_namespace("kubernetes_namespace", name))?;
        let of = project.clone().unwrap_or_default();
        let cluster_agent = self.cluster_agent.read(|agent| agent.id("cluster_agent", &of))?;
        let targets = self.targets.read(|targets| targets::check(targets, &of))?;
        let name = self.name.clone();
        Ok(Checked { id: id.cloned(), project, name, cluster_agent, targets, input: self })
    }
}

pub(super) fn check_name(name: &str) -> Result<(), CatalogError> {
    if name.trim().is_empty() || name.chars().count() > NAME_MAX {
        let message = format!("the environment name must have 1 to {NAME_MAX} characters");
        return Err(CatalogError::invalid("name", message));
    }
    Ok(())
}

/// That a text can be the value of the label by which resources are found; an empty one is no slug.
fn check_slug(slug: &str) -> Result<(), CatalogError> {
    if slug.is_empty() || is_dns_label(slug) {
        return Ok(());
    }
    let shown: String = slug.chars().take(80).collect();
    let hint = "use up to 63 lower-case letters, digits and `-`, not at either end, or omit it to derive it from the name";
    Err(CatalogError::invalid("slug", format!("invalid slug `{shown}`")).hint(hint))
}

/// The environment of this name in a project.
pub(super) fn named(
    catalog: &mut Catalog<'_, '_>,
    project: &str,
    name: &str,
) -> Result<Option<(Standing, EnvironmentSpec)>, LogError> {
    Ok(catalog.environment_named(project, name)?.and_then(specified))
}

/// The environment of this id.
pub(super) fn find(
    catalog: &mut Catalog<'_, '_>,
    id: &EnvironmentId,
) -> Result<Option<(Standing, EnvironmentSpec)>, LogError> {
    Ok(catalog.get(CatalogKind::Environment, id.as_str())?.and_then(specified))
}

fn specified(standing: Standing) -> Option<(Standing, EnvironmentSpec)> {
    match &standing.fact {
        CatalogFact::Environment(spec) => {
            let spec = (**spec).clone();
            Some((standing, spec))
        }
        _ => None,
    }
}

/// A new environment of a project, unless its id is taken.
pub(super) fn create(
    catalog: &mut Catalog<'_, '_>,
    id: Option<&EnvironmentId>,
    project: &str,
    name: &str,
) -> Result<Result<EnvironmentSpec, CatalogError>, LogError> {
    let fresh = EnvironmentSpec::new(project, name);
    let id = match id {
        Some(id) => id.clone(),
        // Another name looks alike in addresses; the digest in the slug of such names distinguishes them.
        None if find(catalog, &fresh.id)?.is_some() => EnvironmentId::of(project, &fresh.slug),
        None => fresh.id.clone(),
    };
    if find(catalog, &id)?.is_some() {
        // Whose it is may be nothing that the caller is to know.
        let message = format!("another environment has the id `{id}`");
        let error = CatalogError::new(CatalogCode::DuplicateEnvironment, message);
        return Ok(Err(error.hint("PUT it under another id")));
    }
    Ok(Ok(EnvironmentSpec { id, ..fresh }))
}

pub(super) fn put(
    catalog: &mut Catalog<'_, '_>,
    authority: Authority,
    checked: &Checked,
) -> Result<Decided<EnvironmentSpec>, LogError> {
    let checked = &as_declared(catalog, checked)?;
    let (current, created) = match find_current(catalog, authority, checked)? {
        Ok(Some((standing, spec))) => match of_api(&standing, CatalogKind::Environment, spec.id.as_str()) {
            Ok(()) => (spec, false),
            Err(refusal) => return Ok(Err(refusal)),
        },
        Ok(None) => {
            let (Some(project), Some(name)) = (&checked.project, &checked.name) else {
                let field = if checked.project.is_none() { "project" } else { "name" };
                let message = format!("a new environment needs a `{field}`");
                return Ok(Err(CatalogError::invalid(field, message)));
            };
            if let Some(Err(refusal)) = checked.id.as_ref().map(|id| authority.names(id, project)) {
                return Ok(Err(refusal));
            }
            match create(catalog, checked.id.as_ref(), project, name)? {
                Ok(spec) => (spec, true),
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
        Err(refusal) => return Ok(Err(refusal)),
    };
    let before = current.settings.target();
    let mut spec = merged(current, checked);
    if checked.targets.value().is_some() {
        for (index, place) in std::mem::take(&mut spec.targets).into_iter().enumerate() {
            let (mut place, field) = (place, format!("targets[{index}]"));
            if let Err(refusal) = authority.settle(catalog, &spec, &field, &mut place)? {
                return Ok(Err(refusal));
            }
            spec.targets.push(place);
        }
    }
    let after = spec.settings.target();
    if after != before
        && let Some(mut place) = after
    {
        if let Err(refusal) = authority.settle(catalog, &spec, "kubernetes_namespace", &mut place)? {
            return Ok(Err(refusal));
        }
        spec.settings.only_labelled = place.only_labelled;
    }
    Ok(Ok((vec![CatalogChange::Declare(CatalogFact::from(spec.clone()))], spec, created)))
}

/// The same with the paths of projects as these were first declared.
fn as_declared(catalog: &mut Catalog<'_, '_>, checked: &Checked) -> Result<Checked, LogError> {
    let mut checked = checked.clone();
    if let Some(project) = &mut checked.project {
        *project = catalog.project_path(project)?;
    }
    if let Given::Value(agent) = &mut checked.cluster_agent {
        *agent = catalog.agent_id(agent)?;
    }
    if let Given::Value(targets) = &mut checked.targets {
        for agent in targets.iter_mut().filter_map(|target| target.agent.as_mut()) {
            *agent = catalog.agent_id(agent)?;
        }
    }
    Ok(checked)
}

/// What is declared already under the id, or else under project and name; both have to mean the same.
fn find_current(
    catalog: &mut Catalog<'_, '_>,
    authority: Authority,
    checked: &Checked,
) -> Result<Result<Option<(Standing, EnvironmentSpec)>, CatalogError>, LogError> {
    let by_id = match &checked.id {
        Some(id) => find(catalog, id)?,
        None => None,
    };
    // Another project's is as if it were not there.
    let theirs = |spec: &EnvironmentSpec| {
        authority == Authority::Everything || checked.project.as_ref() == Some(&spec.project)
    };
    let by_id = by_id.filter(|(_, spec)| theirs(spec));
    if let Some((_, spec)) = &by_id {
        let other =
            |given: &Option<String>, current: &str| given.as_deref().is_some_and(|given| given != current);
        let differs =
            [("project", other(&checked.project, &spec.project)), ("name", other(&checked.name, &spec.name))];
        if let Some((field, _)) = differs.into_iter().find(|(_, differs)| *differs) {
            let message =
                format!("the {field} of environment `{}` cannot change; create another environment", spec.id);
            return Ok(Err(CatalogError::invalid(field, message)));
        }
        return Ok(Ok(by_id));
    }
    let (Some(project), Some(name)) = (&checked.project, &checked.name) else { return Ok(Ok(None)) };
    let by_name = named(catalog, project, name)?;
    if let (Some((_, spec)), Some(id)) = (&by_name, &checked.id) {
        let message = format!(
            "the project `{project}` already has an environment `{name}` with the id `{}`, not `{id}`",
            spec.id
        );
        return Ok(Err(CatalogError::new(CatalogCode::DuplicateEnvironment, message)));
    }
    Ok(Ok(by_name))
}

fn merged(current: EnvironmentSpec, checked: &Checked) -> EnvironmentSpec {
    let (mut spec, input) = (current, &checked.input);
    if let Some(given) = input.slug.as_ref().filter(|given| !given.is_empty()) {
        spec.slug.clone_from(given);
    } else if spec.slug.is_empty() {
        spec.slug = slug(&spec.name);
    }
    let name = spec.name.clone();
    input.tier.put(&mut spec.tier, || Tier::guess(&name));
    input.region.put(&mut spec.region, String::new);
    input.labels.put(&mut spec.labels, Labels::new);
    input.state.put(&mut spec.state, EnvironmentState::default);
    checked.targets.put(&mut spec.targets, Vec::new);
    let settings = &mut spec.settings;
    if let Given::Value(Id::Number(number)) = &input.id {
        settings.number = Some(*number);
    }
    input.external_url.put(&mut settings.external_url, String::new);
    input.dynamic.put(&mut settings.dynamic, || false);
    input.auto_stop_at.put_option(&mut settings.auto_stop_at);
    checked.cluster_agent.put_option(&mut settings.cluster_agent);
    input.kubernetes_namespace.put(&mut settings.kubernetes_namespace, String::new);
    input.flux_resource_path.put(&mut settings.flux_resource_path, String::new);
    spec
}

pub(super) fn stop(
    catalog: &mut Catalog<'_, '_>,
    id: &EnvironmentId,
) -> Result<Decided<EnvironmentSpec>, LogError> {
    let Some((standing, mut spec)) = find(catalog, id)? else {
        return Ok(Err(CatalogError::unknown(CatalogKind::Environment, id.as_str(), &[])));
    };
    if let Err(refusal) = of_api(&standing, CatalogKind::Environment, id.as_str()) {
        return Ok(Err(refusal));
    }
    spec.state = EnvironmentState::Stopped;
    Ok(Ok((vec![CatalogChange::Declare(CatalogFact::from(spec.clone()))], spec, false)))
}
