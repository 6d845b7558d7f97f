//! Health over time: since when, for how long, how often.

use rusqlite::Connection;
use serde::Serialize;

use crate::concerns::Concerns;
use crate::error::Result;
use crate::filters::{HealthFilter, ResourceRef};
use crate::moment::Moment;
use crate::question::{Context, Question};
use crate::scope::ResolvedScope;
use crate::series::{series_of_environment, series_of_resource};
use crate::{environments, resources, spans};
use strandline_log::LogReader;
use strandline_model::{EnvironmentId, Uid};
use strandline_protocol::{Answer, HealthHistory};

/// The health of an environment over a span of time that ends at the time asked for.
#[derive(Clone, Debug, Serialize)]
pub struct GetEnvironmentHealth {
    /// The environment.
    pub environment: EnvironmentId,
    /// Over which span.
    pub filter: HealthFilter,
}

impl GetEnvironmentHealth {
    /// The question with these parts.
    pub fn new(environment: &EnvironmentId, filter: HealthFilter) -> Self {
        GetEnvironmentHealth { environment: environment.clone(), filter }
    }
}

impl Question for GetEnvironmentHealth {
    const NAME: &'static str = "environment_health";
    type Answer = Answer<HealthHistory>;

    /// # Errors
    /// [`QueryError::NotFound`] when the environment did not exist at that time.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, log, moment, scope, .. } = context;
        of_environment(view, log, &moment, scope, &self.environment, &self.filter)
    }
}

/// The health of a resource over a span of time that ends at the time asked for; the resource may be deleted by then.
#[derive(Clone, Debug, Serialize)]
pub struct GetResourceHealth {
    /// The resource.
    pub resource: ResourceRef,
    /// Over which span.
    pub filter: HealthFilter,
}

impl GetResourceHealth {
    /// The question with these parts.
    pub fn new(uid: &Uid, cluster: Option<&str>, filter: HealthFilter) -> Self {
        GetResourceHealth { resource: ResourceRef::new(uid, cluster), filter }
    }
}

impl Question for GetResourceHealth {
    const NAME: &'static str = "resource_health";
    type Answer = Answer<HealthHistory>;

    /// # Errors
    /// [`QueryError::NotFound`] when the resource never existed up to that time, [`QueryError::Ambiguous`] when several
    /// clusters have the uid and none is named.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, log, moment, scope, .. } = context;
        of_resource(view, log, &moment, scope, &self.resource, &self.filter)
    }
}

/// The health of an environment over time.
fn of_environment(
    view: &Connection,
    log: &LogReader,
    moment: &Moment,
    scope: &ResolvedScope,
    id: &EnvironmentId,
    filter: &HealthFilter,
) -> Result<Answer<HealthHistory>> {
    let (number, _) = environments::find(view, moment, scope, id)?;
    let span = spans::of(view, log, moment, filter.since, None)?;
    let value = series_of_environment(view, log, moment, scope, number, span)?.history(filter.limit);
    let metadata = moment.snapshot_over(view, scope, &Concerns::Environment(number), span.since)?;
    Ok(Answer { value, metadata })
}

/// The health of a resource over time, also after its end.
fn of_resource(
    view: &Connection,
    log: &LogReader,
    moment: &Moment,
    scope: &ResolvedScope,
    resource: &ResourceRef,
    filter: &HealthFilter,
) -> Result<Answer<HealthHistory>> {
    let held = resources::find(view, moment.offset, scope, resource, false)?;
    let span = spans::of(view, log, moment, filter.since, None)?;
    let value = series_of_resource(view, log, moment, scope, held.id.0, span)?.history(filter.limit);
    let concerns = Concerns::Cluster(&held.resource.key.cluster);
    let metadata = moment.snapshot_over(view, scope, &concerns, span.since)?;
    Ok(Answer { value, metadata })
}
