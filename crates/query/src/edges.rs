//! What one resource is linked to, whether it belongs to the same environment or not, and what it names in vain.

use rusqlite::{Connection, Row, named_params};

use crate::concerns::Concerns;
use crate::error::Result;
use crate::filters::{PageRequest, ResourceRef};
use crate::judged::judged;
use crate::moment::Moment;
use crate::page::Start;
use crate::question::{Context, Question};
use crate::resources;
use crate::scope::{ResolvedScope, in_sight};
use crate::stretch::holds;
use serde::Serialize;
use strandline_model::{Kind, Offset, Stored, Uid};
use strandline_protocol::{FarEnd, Page, PageMetadata, ResourceEdge};
use strandline_relations::EdgeKind;
use strandline_sqlite::column::{PackedUid, VIEW};

/// Whether a resource is there at `:at`.
macro_rules! there {
    ($resource:literal) => {
        concat!(
            "EXISTS (SELECT 1 FROM version v WHERE v.resource_id = ",
            $resource,
            " AND v.deleted = 0
                AND v.from_offset = (SELECT max(from_offset) FROM version
                    WHERE resource_id = ",
            $resource,
            " AND from_offset <= :at))"
        )
    };
}

/// Every link of the resource `:id`: its kind, whether the resource is the cause, and the far end, by number where it
/// is there. What others declare is told of those that are there; what it declares itself also where nothing is.
const LINKS: &str = concat!(
    "SELECT e.kind, e.outward AS outward, far.id AS far_id, f.kind_id AS kind_id,
            coalesce(far.namespace, f.namespace) AS namespace, coalesce(far.name, f.name) AS name
        FROM edge e JOIN far f ON f.id = e.far_id AND f.uid <> '' JOIN resource me ON me.id = e.declared_by
        LEFT JOIN resource far ON far.uid = f.uid AND far.cluster_id = me.cluster_id AND ",
    there!("far.id"),
    " WHERE e.declared_by = :id AND ",
    holds!("edge" e, declared_by = ":id"),
    "
    UNION ALL SELECT e.kind, e.outward, far.id, f.kind_id, f.namespace, f.name
        FROM edge e JOIN far f ON f.id = e.far_id AND f.uid = ''
        LEFT JOIN resource far ON far.kind_id = f.kind_id AND far.namespace = f.namespace
            AND far.name = f.name AND f.name <> '' AND ",
    there!("far.id"),
    " WHERE e.declared_by = :id AND ",
    holds!("edge" e, declared_by = ":id"),
    "
    UNION ALL SELECT s.kind, s.outward, far.id, far.kind_id, far.namespace, far.name
        FROM selected s JOIN resource far ON far.id = s.resource_id
        WHERE s.declared_by = :id AND ",
    holds!("selected" s, declared_by = ":id"),
    "
    UNION ALL SELECT s.kind, 1 - s.outward, far.id, far.kind_id, far.namespace, far.name
        FROM selected s JOIN resource far ON far.id = s.declared_by
        WHERE s.resource_id = :id AND s.from_offset <= :at AND s.to_offset > :at
    UNION ALL SELECT e.kind, 1 - e.outward, far.id, far.kind_id, far.namespace, far.name
        FROM resource me JOIN far f ON f.uid = me.uid AND f.uid <> '' JOIN edge e ON e.far_id = f.id
        JOIN resource far ON far.id = e.declared_by AND far.cluster_id = me.cluster_id AND far.id <> me.id
        WHERE me.id = :id AND e.from_offset <= :at AND e.to_offset > :at
    UNION ALL SELECT e.kind, 1 - e.outward, far.id, far.kind_id, far.namespace, far.name
        FROM resource me JOIN far f ON f.kind_id = me.kind_id AND f.name = me.name AND f.namespace = me.namespace AND f.uid = ''
        JOIN edge e ON e.far_id = f.id JOIN resource far ON far.id = e.declared_by AND far.id <> me.id
        WHERE me.id = :id AND e.from_offset <= :at AND e.to_offset > :at
    UNION ALL SELECT e.kind, 1 - e.outward, far.id, far.kind_id, far.namespace, far.name
        FROM resource me JOIN far f ON f.kind_id = me.kind_id AND f.name = '' AND f.namespace = '' AND f.uid = ''
        JOIN edge e ON e.far_id = f.id JOIN resource far ON far.id = e.declared_by AND far.id <> me.id
        WHERE me.id = :id AND e.from_offset <= :at AND e.to_offset > :at"
);

/// A page of the edges of a resource, by the kind of edge and the far end's address.
pub(super) fn list(
    view: &Connection,
    moment: &Moment,
    scope: &ResolvedScope,
    resource: &ResourceRef,
    start: &Start,
) -> Result<Page<ResourceEdge>> {
    let held = resources::find(view, moment.offset, scope, resource, true)?;
    let mut items = read(view, moment.offset, scope, held.id.0, start)?;
    let next = start.finish(moment.offset, &mut items, position);
    let snapshot = moment.snapshot(view, scope, &Concerns::Cluster(&held.resource.key.cluster))?;
    Ok(Page { items, metadata: PageMetadata::new(snapshot, next) })
}

fn read(
    view: &Connection,
    at: Offset,
    scope: &ResolvedScope,
    id: i64,
    start: &Start,
) -> Result<Vec<ResourceEdge>> {
    // To a scope, what is out of its sight is not there: of others' links nothing is told, of its own only what the
    // object itself says.
    let in_sight = in_sight!();
    let own = holds!("edge" own, declared_by = ":id");
    let health = judged!("health");
    let sql = format!(
        r#"SELECT DISTINCT l.kind, l.outward, k."group", k.kind, l.namespace, l.name, r.uid, {health},
            CASE WHEN r.id IS NOT NULL THEN 1 WHEN EXISTS (SELECT 1 FROM coverage c WHERE c.kind_id = l.kind_id
                AND c.state = 0 AND c.namespace IN ('', l.namespace) AND c.from_offset <= :at AND c.to_offset > :at)
                AND l.name <> '' AND :scope IS NULL THEN 0 END
        FROM ({LINKS}) l JOIN kind k ON k.id = l.kind_id
        LEFT JOIN resource r ON r.id = l.far_id AND {in_sight}
        LEFT JOIN version v ON v.resource_id = r.id AND v.from_offset =
            (SELECT max(from_offset) FROM version WHERE resource_id = r.id AND from_offset <= :at)
        WHERE (r.id IS NOT NULL OR l.far_id IS NULL OR EXISTS (SELECT 1 FROM edge own JOIN far f ON f.id = own.far_id
                WHERE own.declared_by = :id AND f.kind_id = l.kind_id AND f.name = l.name AND {own}))
            AND (l.kind, l.outward, k.kind, k."group", l.namespace, l.name, coalesce(r.uid, ''))
                > (:edge, :outward, :kind, :group, :namespace, :name, :uid)
        ORDER BY l.kind, l.outward, k.kind, k."group", l.namespace, l.name, coalesce(r.uid, '') LIMIT :limit"#
    );
    let mut statement = view.prepare_cached(&sql)?;
    let params = named_params! {
        ":id": id, ":at": at.as_i64(), ":scope": scope.as_sql(), ":edge": start.number(0),
        ":outward": start.number(1), ":kind": start.after(2), ":group": start.after(3),
        ":namespace": start.after(4), ":name": start.after(5), ":uid": PackedUid(start.after(6)), ":limit": start.rows(),
    };
    let rows = statement.query_map(params, from_row)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<ResourceEdge> {
    Ok(ResourceEdge {
        edge: VIEW.get_at::<EdgeKind>(row, 0, "edge.kind")?.to_string(),
        far: if row.get(1)? { FarEnd::Dependent } else { FarEnd::Cause },
        kind: Kind::new(row.get::<_, String>(2)?, row.get::<_, String>(3)?),
        namespace: row.get(4)?,
        name: row.get(5)?,
        id: row.get::<_, Option<_>>(6)?.map(|PackedUid(uid)| Uid::new(uid)),
        health: VIEW.get_at(row, 7, "version.health")?,
        exists: row.get(8)?,
    })
}

fn position(edge: &ResourceEdge) -> Vec<String> {
    let outward = i64::from(edge.far == FarEnd::Dependent).to_string();
    let uid = edge.id.as_ref().map(|uid| uid.as_str().to_owned()).unwrap_or_default();
    let kind_of_edge = edge.edge.parse().map_or(-1, EdgeKind::number).to_string();
    let ResourceEdge { kind, namespace, name, .. } = edge;
    let parts = [&kind_of_edge, &outward, &kind.kind, &kind.group, namespace, name, &uid];
    parts.into_iter().cloned().collect()
}

/// The edges of a resource, by kind of edge and address of the other end.
#[derive(Clone, Debug, Serialize)]
pub struct ListResourceEdges {
    /// The resource.
    pub resource: ResourceRef,
    /// Which page.
    #[serde(skip)]
    pub page: PageRequest,
}

impl ListResourceEdges {
    /// The question with these parts.
    pub fn new(uid: &Uid, cluster: Option<&str>, page: &PageRequest) -> Self {
        ListResourceEdges { resource: ResourceRef::new(uid, cluster), page: page.clone() }
    }
}

impl Question for ListResourceEdges {
    const NAME: &'static str = "resource_edges";
    type Answer = Page<ResourceEdge>;

    fn page(&self) -> Option<&PageRequest> {
        Some(&self.page)
    }

    /// # Errors
    /// [`QueryError::NotFound`] when the resource never existed up to that time, [`QueryError::Ambiguous`] when several
    /// clusters have the uid and none is named.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, moment, scope, start, .. } = context;
        list(view, &moment, scope, &self.resource, &start)
    }
}
