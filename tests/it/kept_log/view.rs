//! What the view of the kept log holds. A view is built anew where its version differs from the program's; so where rows differ and
//! the version does not, the views that are there already would stay as they are.

use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;
use strandline_testkit::golden;

use super::{KEPT, unpack};
use crate::server::{Result, run};

/// A line for each table: how many rows it has, and a digest over them.
fn tables(view: &Connection) -> Result<String> {
    let mut names = view.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")?;
    let names = names.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    let mut lines = String::new();
    for name in names {
        let mut statement = view.prepare(&format!("SELECT * FROM \"{name}\""))?;
        let columns = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            let values = (0..columns).map(|column| row.get::<_, Value>(column));
            Ok(format!("{:?}\n", values.collect::<Result<Vec<_>, _>>()?))
        };
        let mut rows = statement.query_map([], row)?.collect::<Result<Vec<_>, _>>()?;
        rows.sort();
        let digest = blake3::hash(rows.concat().as_bytes()).to_hex();
        lines.push_str(&format!("{name}: {} rows, {}\n", rows.len(), digest.get(..16).unwrap_or_default()));
    }
    Ok(lines)
}

#[tokio::test]
async fn a_view_with_other_rows_has_another_version() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("config.yaml");
    std::fs::write(&config, unpack(folder.path())?)?;
    let data = folder.path().join("data");
    run(&["rebuild"], &[("--config", &config), ("--data", &data)]).await?;
    let view = Connection::open(data.join("view.db"))?;
    let version: i64 = view.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let found = format!("view version: {version}\n{}", tables(&view)?);

    let path = format!("{KEPT}/view.txt");
    let kept = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&path)).unwrap_or_default();
    assert!(
        kept == found || kept.lines().next() != found.lines().next(),
        "other rows are projected into the view, and its version is the same, so that views built before would not be built \
         anew: raise RULES_VERSION in crates/view/src/ruleset.rs, then write {path} anew with STRANDLINE_GOLDEN=write\n--- kept\n{kept}--- found\n{found}"
    );
    golden(&path, &found);
    Ok(())
}
