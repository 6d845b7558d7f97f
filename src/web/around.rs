//! Deployments that ran while something changed: who sees a difference finds the commit behind it.

use std::time::Duration;

use super::deployments::{Line, lines};
use super::shell::Shell;
use crate::app::AppState;
use crate::http::params::AT;
use crate::http::problem::Problem;
use strandline_model::{At, DeploymentStatus, EnvironmentId, Timestamp};
use strandline_protocol::Deployment;
use strandline_query::{DeploymentFilter, ListDeployments, PageRequest, QueryError, Scope};
use strandline_syntax::percent_encode;

/// How long after a change its deployment is looked for: jobs report when they are done.
const REPORTED: Duration = Duration::from_secs(15 * 60);

/// How long before its end a deployment may have changed something that tells no other beginning.
const LOOKED_BACK: Duration = Duration::from_secs(5 * 60);

/// The newest deployments to an environment among which they are looked for.
const NEAR: usize = 100;

/// How many a page names.
const NAMED: usize = 8;

/// Environments whose deployments are looked for.
const ENVIRONMENTS: usize = 4;

/// The deployments to these environments that ran between two times, the newest first; `now` is the present.
pub(super) async fn find(
    state: &AppState,
    scope: &Scope,
    environments: &[EnvironmentId],
    (from, to): (Timestamp, Timestamp),
    now: Timestamp,
) -> Result<Vec<Line>, Problem> {
    let until = to.plus(REPORTED).min(now);
    let mut found = Vec::new();
    for id in environments.iter().take(ENVIRONMENTS) {
        let filter = DeploymentFilter { environment: Some(id.clone()), ..DeploymentFilter::default() };
        let page = PageRequest { limit: NEAR, after: None };
        match state.queries.ask(scope, At::Time(until), ListDeployments::new(&filter, &page)).await {
            Ok(list) => found.extend(list.items.into_iter().filter(|one| ran(one, from, to))),
            // It may be gone by then, or that time older than what is kept.
            Err(QueryError::NotFound { .. } | QueryError::Compacted { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    found.sort_by_key(|one| std::cmp::Reverse(one.observed_at));
    found.truncate(NAMED);
    // As they stood then, since what was compared lies before.
    let keep = if until < now {
        format!("?{}={}", AT.name, percent_encode(&until.to_string()))
    } else {
        String::new()
    };
    let shell = Shell { keep, ..Shell::bare("") };
    // Told with its project where that is not the only one.
    let project = found.first().map(|one| one.spec.project.clone()).unwrap_or_default();
    Ok(lines(&shell, &found, &project, &state.presentation.links.deployments, now))
}

/// Whether a deployment ran at some time from one to another.
fn ran(deployment: &Deployment, from: Timestamp, to: Timestamp) -> bool {
    let spec = &deployment.spec;
    let open = matches!(
        spec.status,
        DeploymentStatus::Created | DeploymentStatus::Blocked | DeploymentStatus::Running
    );
    let end = spec.finished_at.map_or(deployment.observed_at, |end| end.max(deployment.observed_at));
    let ended = spec.finished_at.unwrap_or(deployment.observed_at);
    let begun = spec.created_at.filter(|begun| *begun < ended).unwrap_or_else(|| ended.minus(LOOKED_BACK));
    begun <= to && (open || end >= from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::NOON;

    fn minutes(count: u64) -> Duration {
        Duration::from_secs(60 * count)
    }

    #[test]
    fn a_deployment_ran_from_its_beginning_to_its_last_report() {
        let mut one = super::super::tests::deployment::deployment("x");
        one.spec.status = DeploymentStatus::Success;
        one.spec.created_at = Some(NOON.minus(minutes(30)));
        one.spec.finished_at = Some(NOON.minus(minutes(20)));
        one.observed_at = NOON.minus(minutes(19));
        let ran_at = |one: &Deployment, ago| ran(one, NOON.minus(minutes(ago)), NOON.minus(minutes(ago)));
        assert!([30, 25, 20, 19].into_iter().all(|ago| ran_at(&one, ago)));
        assert!([31, 18].into_iter().all(|ago| !ran_at(&one, ago)));
        assert!(ran(&one, NOON.minus(minutes(60)), NOON), "a long time holds it");
        // What is only reported at its end changed something before that.
        for created_at in [None, one.spec.finished_at] {
            one.spec.created_at = created_at;
            assert!(ran_at(&one, 25) && !ran_at(&one, 26));
        }
        one.spec.status = DeploymentStatus::Running;
        assert!(ran_at(&one, 0), "it has not ended");
    }
}
