//! Differences: of a resource or an environment between two moments, and of two environments.

use super::ApiState;
use crate::http::auth;
use crate::http::params::{
    AT, CHILDREN, CLUSTER, FORMAT, FROM, IGNORE, INCLUDE, MAP, Parameter, Reader, TO, WITH,
};
use crate::http::problem::Problem;
use crate::http::request::{Context, Request};
use crate::http::respond::{self, Response, tagged};
use crate::present;
use strandline_model::{At, EnvironmentId, Uid};
use strandline_object_diff::{Between, Class, Lens, Line, PathRule};
use strandline_protocol::EnvironmentDiff;
use strandline_query::{
    CompareEnvironments, DiffEnvironment, DiffResource, PageRequest, PatchResource, ResourceRef, Scope,
};

/// The media type of RFC 6902.
const JSON_PATCH: &str = "application/json-patch+json";

const TEXT: &str = "text/plain; charset=utf-8";

/// Rules that one question may have.
const RULES_MAX: usize = 100;

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Patch,
    Text,
}

impl std::str::FromStr for Form {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "json" => Ok(Form::Json),
            "patch" => Ok(Form::Patch),
            "text" => Ok(Form::Text),
            _ => Err(format!("invalid format `{text}`; use one of json, patch, text")),
        }
    }
}

/// What is asked of an environment.
#[derive(Clone, Debug)]
pub enum EnvironmentQuestion {
    /// What differs between two times.
    Times(DiffEnvironment),
    /// What differs from another environment.
    Environments(CompareEnvironments),
}

impl EnvironmentQuestion {
    /// Reads the question; what the configuration ignores is ignored too.
    pub fn read(
        read: &mut Reader<'_>,
        state: &ApiState,
        environment: EnvironmentId,
        page: PageRequest,
    ) -> (At, Self) {
        let (from, to) = (read.moment(FROM), later(read));
        let (with, names, children) = (read.text(WITH), read.words(MAP), read.flag(CHILDREN));
        let between = if with.is_some() { Between::Environments } else { Between::Versions };
        let lens = lens(read, between, &[Class::Metadata]).ignoring(state.ignored.iter().cloned());
        let Some(with) = with else {
            if !names.is_empty() {
                read.refuse(MAP, format!("is valid only together with `{}`", WITH.name));
            }
            let question = DiffEnvironment { environment, from, lens, children, page };
            return (to, EnvironmentQuestion::Times(question));
        };
        if from.is_some() {
            read.refuse(
                FROM,
                format!("two environments are compared at the same time; set only `{}`", AT.name),
            );
        }
        let with = EnvironmentId::new(with);
        let question = CompareEnvironments { environment, with, lens, names, children, page };
        (to, EnvironmentQuestion::Environments(question))
    }

    /// Asks it.
    ///
    /// # Errors
    /// Those of the question.
    pub async fn ask(self, state: &ApiState, scope: &Scope, at: At) -> Result<EnvironmentDiff, Problem> {
        Ok(match self {
            EnvironmentQuestion::Times(question) => state.queries.ask(scope, at, question).await?,
            EnvironmentQuestion::Environments(question) => state.queries.ask(scope, at, question).await?,
        })
    }
}

/// Between which moments a resource is compared, and what is told; what the configuration ignores is ignored too.
pub fn of_one(read: &mut Reader<'_>, state: &ApiState, resource: ResourceRef) -> (At, DiffResource) {
    let (from, to) = (read.moment(FROM), later(read));
    let lens = lens(read, Between::Versions, &[Class::Metadata, Class::Status]);
    let lens = lens.ignoring(state.ignored.iter().cloned());
    (to, DiffResource { resource, from, lens })
}

/// The later moment, which has two names.
fn later(read: &mut Reader<'_>) -> At {
    let (to, at) = (read.moment(TO), read.moment(AT));
    if to.is_some() && at.is_some() {
        read.refuse(AT, format!("has the same meaning as `{}`; set only one of them", TO.name));
    }
    to.or(at).unwrap_or(At::Now)
}

fn lens(read: &mut Reader<'_>, between: Between, default: &[Class]) -> Lens {
    let include: Vec<Class> = read.words(INCLUDE);
    let lens = Lens::new(between, if include.is_empty() { default } else { &include });
    lens.ignoring(rules(read))
}

fn rules(read: &mut Reader<'_>) -> Vec<PathRule> {
    let written = read.all(IGNORE);
    if written.len() > RULES_MAX {
        read.refuse(IGNORE, format!("is limited to {RULES_MAX} values"));
        return Vec::new();
    }
    let mut rules = Vec::new();
    for text in written {
        match text.parse() {
            Ok(rule) => rules.push(rule),
            Err(detail) => read.refuse(IGNORE, detail),
        }
    }
    rules
}

/// The form that is asked for by its parameter, or else by the header.
fn form(read: &mut Reader<'_>, context: &Context, known: &[Form]) -> Form {
    let named = read.word::<Form>(FORMAT);
    if named.is_some_and(|form| !known.contains(&form)) {
        read.refuse(
            FORMAT,
            "a patch is available for a single resource only: /api/v1/resources/{uid}/diff".into(),
        );
    }
    let accepted = [(Form::Patch, JSON_PATCH), (Form::Text, "text/plain")];
    let asked = accepted.iter().find(|(form, media)| known.contains(form) && context.accepts(media));
    let asked = asked.filter(|_| !context.accepts("application/json"));
    named.unwrap_or_else(|| asked.map_or(Form::Json, |(form, _)| *form))
}

fn text(context: &Context, lines: &[Line]) -> Response {
    let text: String = lines.iter().map(|line| present::printed(line) + "\n").collect();
    tagged(context, TEXT, text.into_bytes())
}

/// What differs in a resource between two moments.
pub(super) async fn of_resource(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let resource = ResourceRef::new(&Uid::new(request.argument(0)), request.query.one(CLUSTER));
    let (to, mut question) = of_one(&mut read, &state, resource);
    let form = form(&mut read, &request.context, &[Form::Json, Form::Patch, Form::Text]);
    let narrowed = [INCLUDE, IGNORE].iter().any(|one: &Parameter| request.query.one(*one).is_some());
    read.finish()?;
    let scope = auth::scope(&request)?;
    if form == Form::Patch {
        // A patch from which nobody asked to leave something out makes the one state exactly the other.
        if !narrowed {
            question.lens = Lens::whole();
        }
        let patch = state.queries.ask(&scope, to, PatchResource(question)).await?;
        let body = serde_json::to_vec(&patch).map_err(Problem::internal)?;
        return Ok(tagged(&request.context, JSON_PATCH, body));
    }
    let found = state.queries.ask(&scope, to, question).await?;
    match form {
        Form::Text => Ok(text(&request.context, &present::resource_diff(&found.value))),
        _ => respond::json(&request, &found),
    }
}

/// What differs in an environment between two moments, or from another one.
pub(super) async fn of_environment(state: ApiState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (id, page) = (EnvironmentId::new(request.argument(0)), read.page());
    let (at, question) = EnvironmentQuestion::read(&mut read, &state, id, page);
    let form = form(&mut read, &request.context, &[Form::Json, Form::Text]);
    read.finish()?;
    let found = question.ask(&state, &auth::scope(&request)?, at).await?;
    let next = found.metadata.next.clone();
    let response = match form {
        Form::Text => text(&request.context, &present::environment_diff(&found)),
        _ => respond::json(&request, &found)?,
    };
    Ok(respond::with_next(response, &request, &[AT, TO], next.as_deref()))
}
