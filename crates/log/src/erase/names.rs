//! Names that hold a value: the links of the chain cover them as they are, so they cannot be erased.

use rusqlite::Connection;

use crate::error::LogError;
use strandline_redact::Values;
use strandline_sqlite::column::PackedUid;

type Result<T> = std::result::Result<T, LogError>;

/// A text that is no body.
struct Name {
    what: &'static str,
    sql: &'static str,
}

const NAMES: [Name; 8] = [
    Name { what: "a namespace", sql: "SELECT DISTINCT namespace FROM subject" },
    Name { what: "the name of a resource, or of what is declared", sql: "SELECT DISTINCT name FROM subject" },
    Name { what: "the uid of a resource", sql: "SELECT uid FROM subject" },
    Name { what: "the name of a field manager", sql: "SELECT manager FROM manager" },
    Name { what: "the name of a subresource", sql: "SELECT subresource FROM manager" },
    Name { what: "the name of a cluster", sql: "SELECT DISTINCT cluster FROM kind" },
    Name { what: "the name of a kind", sql: r#"SELECT "group" || '/' || kind FROM kind"# },
    Name { what: "the selector of a watch", sql: "SELECT DISTINCT selector FROM cursor" },
];

/// The names that hold one of the values, without quoting them.
pub(super) fn holding(connection: &Connection, values: &Values) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for name in &NAMES {
        let mut statement = connection.prepare(name.sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            // A uid may be packed; what is a text is read as it is.
            let PackedUid(text): PackedUid<String> = row.get(0)?;
            if values.are_in(text.as_bytes()) {
                found.push(name.what.to_owned());
            }
        }
    }
    Ok(found)
}
