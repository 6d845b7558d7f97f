//! `/api/v1/clusters/{cluster}/forget`: ends what only a person can know to be gone.

use http::StatusCode;
use serde::Deserialize;

use crate::app::AppState;
use crate::http::problem::{Problem, ProblemCode};
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_log::{Forget, ForgetRefusal, Forgotten};
use strandline_model::{KindName, ResourceKey, Timestamp, Uid};
use strandline_protocol::{ForgetReport, ForgottenResource};

/// The most resources that an answer names.
const RESOURCES_MAX: usize = 500;

/// What is gone.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Input {
    kind: String,
    namespace: Option<String>,
    name: Option<String>,
    uid: Option<String>,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    force: bool,
}

fn report(forgotten: Forgotten, dry_run: bool) -> ForgetReport {
    let Forgotten { kind, ended, gaps, head } = forgotten;
    let count = ended.len();
    let resource = |(key, uid, last_seen): (ResourceKey, Uid, Timestamp)| ForgottenResource {
        namespace: key.namespace,
        name: key.name,
        uid,
        last_seen,
    };
    ForgetReport {
        group: kind.group,
        kind: kind.kind,
        dry_run,
        ended: count,
        gaps_ended: gaps,
        resources: ended.into_iter().take(RESOURCES_MAX).map(resource).collect(),
        offset: head,
    }
}

/// Ends what a person says is gone. It is about what a cluster holds, whoever it belongs to, so it is for who writes and
/// sees everything.
pub(super) async fn forget(state: AppState, request: Request) -> Result<Response, Problem> {
    request.query.reader().finish()?;
    request.caller.require_write_everything()?;
    let input = request.json::<Input>()?;
    let kind: KindName = input.kind.parse().map_err(|error: String| Problem::field("kind", error))?;
    let cluster = request.argument(0).to_owned();
    let by = format!("token `{}`", request.caller.name);
    let forget = Forget {
        cluster: cluster.clone(),
        kind,
        namespace: input.namespace.filter(|namespace| !namespace.is_empty()),
        name: input.name.filter(|name| !name.is_empty()),
        uid: input.uid.filter(|uid| !uid.is_empty()).map(Uid::new),
        dry_run: input.dry_run,
        force: input.force,
        by: by.clone(),
    };
    let forgotten = state.catalog.forget(forget).await?.map_err(|refusal| match refusal {
        ForgetRefusal::UnknownKind { .. } | ForgetRefusal::Nothing => {
            Problem::new(ProblemCode::NotFound, refusal.to_string())
        }
        ForgetRefusal::AmbiguousKind(_) => Problem::field("kind", refusal),
        ForgetRefusal::Watched(_) => Problem::new(ProblemCode::StillWatched, refusal.to_string()),
    })?;
    if !input.dry_run {
        let (ended, gaps) = (forgotten.ended.len(), forgotten.gaps);
        tracing::info!(
            "cluster {cluster}: {by} marked {ended} {} as deleted and closed {gaps} gaps",
            forgotten.kind
        );
    }
    respond::uncached_json(StatusCode::OK, &report(forgotten, input.dry_run))
}
