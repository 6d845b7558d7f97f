//! The health of environments in numbers, for monitoring: in groups, and one by one as far as a limit goes.

use rusqlite::named_params;
use serde::Serialize;

use crate::environments::{health_at, shown};
use crate::error::Result;
use crate::overview::{self, GetOverview};
use crate::question::{Context, Question};
use crate::scope::{reads, sees};
use strandline_model::{EnvironmentFilter, GroupBy, Health, HealthCounts};
use strandline_protocol::OverviewGroup;
use strandline_sqlite::column::VIEW;

/// The health of the environments that are in use, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct CountHealth {
    /// The most environments that are named.
    pub environments_max: usize,
    /// The most groups of environments with the same tier and region.
    pub groups_max: usize,
}

/// What [`CountHealth`] is answered with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthNumbers {
    /// By tier and region, those that need attention most first.
    pub groups: Vec<TierAndRegion>,
    /// How many more groups there are.
    pub groups_left_out: u64,
    /// How many environments there are in each state, also those that are not in use.
    pub states: Vec<(String, u64)>,
    /// Environments by name: production first, then by identifier.
    pub environments: Vec<NamedHealth>,
    /// How many more environments there are.
    pub environments_left_out: u64,
}

/// The environments of one tier in one region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TierAndRegion {
    /// The tier.
    pub tier: String,
    /// The region; empty where none is known.
    pub region: String,
    /// How many environments have each health.
    pub counts: HealthCounts,
}

/// The health of one environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedHealth {
    /// Its identifier.
    pub id: String,
    /// The path of its project.
    pub project: String,
    /// Its tier.
    pub tier: String,
    /// Its region; empty where none is known.
    pub region: String,
    /// Its health as it is shown; none where nothing in it has one.
    pub health: Option<Health>,
}

/// By tier, since whoever can have only some of them wants production. The order does not depend on health: series that
/// come and go with it would have no history.
const NAMED: &str = concat!(
    "SELECT e.name_id, e.project, e.tier, e.region, ",
    shown!("grace_state", "state"),
    " FROM environment e CROSS JOIN stretch_health h ON ",
    health_at!(),
    " WHERE e.from_offset <= :at AND e.to_offset > :at AND e.state <> 'stopped' AND ",
    sees!(),
    " ORDER BY CASE e.tier WHEN 'production' THEN 0 WHEN 'staging' THEN 1 WHEN 'testing' THEN 2
        WHEN 'development' THEN 3 ELSE 4 END, e.name_id LIMIT :limit"
);

impl Question for CountHealth {
    const NAME: &'static str = "health_numbers";
    type Answer = HealthNumbers;

    fn answer(&self, context: Context<'_>) -> Result<HealthNumbers> {
        let in_use = EnvironmentFilter::default().in_use_by_default();
        let by_tier = GetOverview {
            filter: in_use,
            group_by: vec![GroupBy::Tier, GroupBy::Region],
            limit: Some(self.groups_max),
            ..GetOverview::default()
        };
        let by_state = GetOverview { group_by: vec![GroupBy::State], ..GetOverview::default() };
        let by_tier = overview::counts(&context, &by_tier)?;
        let by_state = overview::counts(&context, &by_state)?;
        let Context { view, moment, scope, .. } = context;
        let key = |group: &OverviewGroup, level: usize| group.keys.get(level).cloned().unwrap_or_default();
        let group = |group: &OverviewGroup| TierAndRegion {
            tier: key(group, 0),
            region: key(group, 1),
            counts: group.counts.environments,
        };
        let mut environments = Vec::new();
        let mut statement = view.prepare_cached(NAMED)?;
        let mut rows = statement.query(named_params! {
            ":at": moment.offset.as_i64(), ":clock": moment.clock().as_micros(), ":scope": scope.as_sql(),
            ":limit": i64::try_from(self.environments_max).unwrap_or(i64::MAX),
        })?;
        while let Some(row) = rows.next()? {
            environments.push(NamedHealth {
                id: row.get(0)?,
                project: row.get(1)?,
                tier: row.get(2)?,
                region: row.get(3)?,
                health: VIEW.get_at(row, 4, "stretch_health.state")?,
            });
        }
        Ok(HealthNumbers {
            groups: by_tier.groups.iter().map(group).collect(),
            groups_left_out: by_tier.groups_left_out,
            states: by_state.groups.iter().map(|group| (key(group, 0), group.counts.total)).collect(),
            environments_left_out: by_tier.totals.total.saturating_sub(environments.len() as u64),
            environments,
        })
    }
}
