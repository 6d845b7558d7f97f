//! Differences: of a resource or an environment between two moments, and of two environments.

use crate::app::AppState;
use crate::app::diffs::{EnvironmentQuestion, of_one};
use crate::app::span::in_order;
use crate::format;
use crate::http::auth;
use crate::http::context::Context;
use crate::http::params::{AT, CLUSTER, FORMAT, IGNORE, INCLUDE, Parameter, ParameterReader, TO};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response, tagged};
use strandline_model::{EnvironmentId, Uid};
use strandline_object_diff::{Lens, Line};
use strandline_query::{PatchResource, ResourceRef};

/// The media type of RFC 6902.
const JSON_PATCH: &str = "application/json-patch+json";

const TEXT: &str = "text/plain; charset=utf-8";

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

/// The form that is asked for by its parameter, or else by the header.
fn form(read: &mut ParameterReader<'_>, context: &Context, known: &[Form]) -> Form {
    let named = read.word::<Form>(FORMAT);
    if named.is_some_and(|form| !known.contains(&form)) {
        read.refuse(
            FORMAT,
            "a patch is available for a single resource only: /api/v1/resources/{uid}/diff".into(),
        );
    }
    let accepted = [(Form::Patch, JSON_PATCH), (Form::Text, "text/plain")];
    let asked = accepted.iter().find(|(form, media)| known.contains(form) && context.names(media));
    let asked = asked.filter(|_| !context.names("application/json"));
    named.unwrap_or_else(|| asked.map_or(Form::Json, |(form, _)| *form))
}

fn text(context: &Context, lines: &[Line]) -> Response {
    let text: String = lines.iter().map(|line| format::printed(line) + "\n").collect();
    // Where it is not the parameter that asks for it, it is the header.
    respond::chosen(tagged(context, TEXT, text.into_bytes()))
}

/// What differs in a resource between two moments.
pub(super) async fn of_resource(state: AppState, request: Request) -> Result<Response, Problem> {
    let request = in_order(&state, request).await;
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
        return Ok(respond::chosen(tagged(&request.context, JSON_PATCH, body)));
    }
    let found = state.queries.ask(&scope, to, question).await?;
    match form {
        Form::Text => Ok(text(&request.context, &format::resource_diff(&found.value))),
        _ => respond::json(&request, &found),
    }
}

/// What differs in an environment between two moments, or from another one.
pub(super) async fn of_environment(state: AppState, request: Request) -> Result<Response, Problem> {
    let request = in_order(&state, request).await;
    let mut read = request.query.reader();
    let (id, page) = (EnvironmentId::new(request.argument(0)), read.page());
    let (at, question) = EnvironmentQuestion::read(&mut read, &state, id, page);
    let form = form(&mut read, &request.context, &[Form::Json, Form::Text]);
    read.finish()?;
    let found = question.ask(&state, &auth::scope(&request)?, at).await?;
    let next = found.metadata.next.clone();
    let response = match form {
        Form::Text => text(&request.context, &format::environment_diff(&found)),
        _ => respond::json(&request, &found)?,
    };
    Ok(respond::with_next(response, &request, &[AT, TO], next.as_deref()))
}
