//! Clusters and what of them is watched.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, named_params};

use crate::concerns::Concerns;
use crate::error::{QueryError, Result};
use crate::filters::PageRequest;
use crate::moment::Moment;
use crate::page::Start;
use crate::question::{Context, Question};
use crate::scope::{ResolvedScope, looked_at};
use serde::Serialize;
use strandline_model::Offset;
use strandline_protocol::{Answer, Cluster, Page, PageMetadata};

/// The region of a cluster `c` with the row `s` of what is configured, which goes before the one on which the Nodes agree.
macro_rules! region {
    () => {
        "CASE WHEN s.region <> '' THEN s.region ELSE coalesce((SELECT n.region FROM cluster_region n
             WHERE n.cluster_id = c.id AND n.from_offset <= :at AND n.to_offset > :at), '') END"
    };
}

/// The region of each cluster, empty where it is not known. Which clusters there are is not for everybody to see.
pub(super) fn regions(view: &Connection, at: Offset) -> Result<HashMap<String, String>> {
    let sql = concat!(
        "SELECT c.name, ",
        region!(),
        " FROM cluster c JOIN cluster_spec s ON s.cluster_id = c.id AND s.from_offset <= :at AND s.to_offset > :at"
    );
    let mut statement = view.prepare_cached(sql)?;
    let rows =
        statement.query_map(named_params! { ":at": at.as_i64() }, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The clusters at which a scope looks, with their regions.
pub(super) fn in_sight(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
) -> Result<HashMap<String, String>> {
    let sql = concat!(
        "SELECT c.name, ",
        region!(),
        " FROM cluster c JOIN cluster_spec s ON s.cluster_id = c.id AND s.from_offset <= :at AND s.to_offset > :at
        WHERE ",
        looked_at!(cluster)
    );
    let mut statement = view.prepare_cached(sql)?;
    let at = moment.offset;
    let params = named_params! { ":at": at.as_i64(), ":scope": scope.with_places(view, at)? };
    let rows = statement.query_map(params, |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

macro_rules! select_clusters {
    ($tail:literal) => {
        concat!(
            "SELECT c.name, ",
            region!(),
            ", (SELECT count(DISTINCT g.kind_id) FROM coverage g JOIN kind k ON k.id = g.kind_id
                 WHERE g.cluster_id = c.id AND g.state = 0 AND k.kind <> '' AND g.from_offset <= :at AND g.to_offset > :at
                   AND ",
            looked_at!(namespace),
            ")
            FROM cluster c JOIN cluster_spec s ON s.cluster_id = c.id AND s.from_offset <= :at AND s.to_offset > :at
            WHERE ",
            looked_at!(cluster),
            $tail
        )
    };
}

/// A cluster of which the gaps are not known yet.
fn from_row(row: &Row<'_>) -> rusqlite::Result<Cluster> {
    Ok(Cluster {
        id: row.get(0)?,
        region: row.get(1)?,
        watched: false,
        unwatched_since: None,
        kinds_watched: row.get::<_, i64>(2)?.unsigned_abs(),
        gaps: Vec::new(),
    })
}

fn add_gaps(view: &Connection, moment: &Moment, scope: &ResolvedScope, cluster: &mut Cluster) -> Result<()> {
    let gaps = moment.gaps_of_cluster(view, scope, &cluster.id)?;
    cluster.watched = gaps.is_empty() && cluster.kinds_watched > 0;
    cluster.unwatched_since = gaps.iter().map(|gap| gap.since).min();
    cluster.gaps = gaps;
    Ok(())
}

/// A page of clusters, by name.
pub(super) fn list(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    start: &Start,
) -> Result<Page<Cluster>> {
    let mut statement =
        view.prepare_cached(select_clusters!(" AND c.name > :name ORDER BY c.name LIMIT :limit"))?;
    let params = named_params! {
        ":at": moment.offset.as_i64(), ":scope": scope.with_places(view, moment.offset)?, ":name": start.after(0), ":limit": start.rows(),
    };
    let mut items = statement.query_map(params, from_row)?.collect::<rusqlite::Result<Vec<_>>>()?;
    let next = start.finish(moment.offset, &mut items, |item| vec![item.id.clone()]);
    for cluster in &mut items {
        add_gaps(view, moment, scope, cluster)?;
    }
    let snapshot = moment.snapshot(view, scope, &Concerns::Everything)?;
    Ok(Page { items, metadata: PageMetadata::new(snapshot, next) })
}

fn get(view: &Connection, moment: &Moment, scope: &ResolvedScope, name: &str) -> Result<Answer<Cluster>> {
    let mut statement = view.prepare_cached(select_clusters!(" AND c.name = :name"))?;
    let params = named_params! {
        ":at": moment.offset.as_i64(), ":scope": scope.with_places(view, moment.offset)?, ":name": name,
    };
    let found = statement.query_row(params, from_row).optional()?;
    let mut value = found.ok_or_else(|| QueryError::not_found("cluster", name))?;
    add_gaps(view, moment, scope, &mut value)?;
    Ok(Answer { value, metadata: moment.snapshot(view, scope, &Concerns::Cluster(name))? })
}

/// Clusters with what of them is watched, by name.
#[derive(Clone, Debug, Serialize)]
pub struct ListClusters {
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListClusters {
    /// The question with these parts.
    pub fn new(page: &PageRequest) -> Self {
        ListClusters { page: page.clone() }
    }
}

impl Question for ListClusters {
    const NAME: &'static str = "clusters";
    type Answer = Page<Cluster>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, start, .. } = context;
        list(view, &moment, scope, &start)
    }
}

/// One cluster with what of it is watched.
#[derive(Clone, Debug, Serialize)]
pub struct GetCluster {
    /// Its name.
    pub cluster: String,
}

impl GetCluster {
    /// The question with these parts.
    pub fn new(cluster: &str) -> Self {
        GetCluster { cluster: cluster.to_owned() }
    }
}

impl Question for GetCluster {
    const NAME: &'static str = "cluster";
    type Answer = Answer<Cluster>;

    /// # Errors
    /// [`QueryError::NotFound`] when it was not configured at that time, or is out of sight.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, .. } = context;
        get(view, &moment, scope, &self.cluster)
    }
}
