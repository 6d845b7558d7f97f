//! What resources name and is not there.

use rusqlite::{Connection, named_params};

use crate::error::Result;
use crate::stretch::holds;
use strandline_model::{Kind, Offset};
use strandline_protocol::MissingEnd;
use strandline_relations::EdgeKind;
use strandline_sqlite::column::VIEW;

/// What resources, by their numbers, name and is not there, where it would be known if it were; at most so many.
pub(super) fn missing(
    view: &Connection,
    at: Offset,
    numbers: &[i64],
    limit: usize,
) -> Result<Vec<(i64, MissingEnd)>> {
    let sql = concat!(
        r#"SELECT e.kind, k."group", k.kind, f.namespace, f.name, e.declared_by
        FROM json_each(:numbers) n JOIN edge e ON e.declared_by = n.value AND "#,
        holds!("edge" e, declared_by = "n.value"),
        " JOIN far f ON f.id = e.far_id JOIN kind k ON k.id = f.kind_id JOIN resource d ON d.id = e.declared_by
        WHERE f.uid = '' AND f.name <> ''
          AND NOT EXISTS (SELECT 1 FROM resource r JOIN version v ON v.resource_id = r.id AND v.from_offset =
                  (SELECT max(from_offset) FROM version WHERE resource_id = r.id AND from_offset <= :at)
              WHERE r.kind_id = f.kind_id AND r.namespace = f.namespace AND r.name = f.name
                  AND v.deleted = 0)
          AND EXISTS (SELECT 1 FROM coverage c WHERE c.kind_id = f.kind_id AND c.state = 0
              AND c.namespace IN ('', f.namespace) AND c.from_offset <= :at AND c.to_offset > :at)
        ORDER BY k.kind, f.namespace, f.name, d.uid, d.id, e.kind LIMIT :limit"
    );
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! {
        ":numbers": serde_json::json!(numbers).to_string(), ":at": at.as_i64(), ":limit": limit as i64,
    };
    let rows = statement.query_map(params, |row| {
        let end = MissingEnd {
            edge: VIEW.get_at::<EdgeKind>(row, 0, "edge.kind")?.to_string(),
            kind: Kind::new(row.get::<_, String>(1)?, row.get::<_, String>(2)?),
            namespace: row.get(3)?,
            name: row.get(4)?,
        };
        Ok((row.get(5)?, end))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
