//! Which deployments a request asks for.

use super::selection::{environments, globs};
use crate::http::params::{BY, ParameterReader, REFS, SINCE, STATUS, UNTIL};
use strandline_model::{EnvironmentFilter, EnvironmentId};
use strandline_query::DeploymentFilter;

/// A filter of deployments, of one environment or of all; the projects are those of the jobs.
pub fn filter(read: &mut ParameterReader<'_>, environment: Option<EnvironmentId>) -> DeploymentFilter {
    let mut environments = environments(read, &EnvironmentFilter::default());
    DeploymentFilter {
        environment,
        projects: std::mem::take(&mut environments.projects),
        environments,
        statuses: read.words(STATUS),
        refs: globs(read, REFS),
        by: globs(read, BY),
        since: read.moment(SINCE),
        until: read.moment(UNTIL),
    }
}
