//! From where on each kind is known whole, as retention has it.

use rusqlite::{Connection, params};

use strandline_log::Floor;

/// Writes the floors of the log.
pub(super) fn write(view: &Connection, floors: &[Floor]) -> rusqlite::Result<()> {
    let sql = r#"INSERT OR REPLACE INTO kind_floor (cluster, "group", kind, floor, floor_at, since)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)"#;
    let mut statement = view.prepare_cached(sql)?;
    for Floor { cluster, kind, offset, observed_at, since } in floors {
        statement.execute(params![cluster, kind.group, kind.kind, offset, observed_at, since])?;
    }
    Ok(())
}
