//! Environments as a table, worst first: those of a project, in a cluster, or of an agent.

use super::overview::{Row, row};
use super::shell::{Badge, Shell, counts};
use crate::format::grouped;
use strandline_model::{EnvironmentFilter, GroupBy, Timestamp};
use strandline_protocol::{Overview, Trend};
use strandline_query::{GetOverview, OverviewOrder, OverviewRows, PageRequest, TrendFilter};

/// The most that such a table shows.
const ROWS_MAX: usize = 50;

/// A table of environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table {
    pub(super) counts: Vec<(Badge, u64)>,
    pub(super) total: u64,
    /// How many the caller knows of and may not read.
    pub(super) denied: u64,
    pub(super) rows: Vec<Row>,
    /// How many more there are than it shows, in words.
    pub(super) further: Option<String>,
}

/// The question for the environments in use that pass a filter.
pub(super) fn question(filter: EnvironmentFilter) -> GetOverview {
    let page = PageRequest { limit: ROWS_MAX, after: None };
    GetOverview {
        filter: filter.in_use_by_default(),
        group_by: vec![GroupBy::Tier],
        limit: Some(1),
        trend: Some(TrendFilter { since: None, buckets: Trend::BUCKETS_DEFAULT }),
        environments: Some(OverviewRows { order: OverviewOrder::Attention, page }),
    }
}

impl Table {
    pub(super) fn new(shell: &Shell, found: &Overview, now: Timestamp) -> Self {
        let items = found.environments.as_ref().map(|page| page.items.as_slice()).unwrap_or_default();
        let further = found.totals.total.saturating_sub(items.len() as u64);
        Table {
            counts: counts(found.totals.environments),
            total: found.totals.total,
            denied: found.totals.denied,
            rows: items.iter().map(|one| row(shell, true, one, found, now)).collect(),
            further: (further > 0).then(|| format!("{} more environments", grouped(further))),
        }
    }
}
