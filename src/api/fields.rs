//! `/api/v1/resources/{uid}/fields`: what fields of a resource were, from when to when, and who changed them.

use crate::app::AppState;
use crate::http::auth;
use crate::http::params::{CLUSTER, FIELD};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_model::Uid;
use strandline_object::json::Field;
use strandline_query::ListResourceFields;

/// The most fields of one question.
const FIELDS_MAX: usize = 10;

/// The values of fields, newest first.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page) = (read.at(), read.page());
    let mut fields: Vec<Field> = Vec::new();
    for text in read.all(FIELD) {
        match text.parse() {
            Ok(field) => fields.push(field),
            Err(why) => read.refuse(FIELD, why),
        }
    }
    if read.all(FIELD).is_empty() || fields.len() > FIELDS_MAX {
        let why =
            format!("set 1 to {FIELDS_MAX} fields, such as spec.replicas; repeat the parameter for each");
        read.refuse(FIELD, why);
    }
    read.finish()?;
    let (scope, uid) = (auth::scope(&request)?, Uid::new(request.argument(0)));
    let cluster = request.query.one(CLUSTER);
    let found = state.queries.ask(&scope, at, ListResourceFields::new(&uid, cluster, &fields, &page)).await?;
    respond::page(&request, &found)
}
