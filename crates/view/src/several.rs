//! Rows that are written several at a time: to run a statement costs more than what a short row brings.
//!
//! Where a row is refused the whole transaction is given up. So such statements should FAIL: to ABORT, SQLite would copy each page
//! before they change it.

use std::sync::OnceLock;

use rusqlite::Connection;

/// How many rows a statement adds, of so many forms.
const ROWS: [usize; 5] = [16, 8, 4, 2, 1];

/// A statement that adds rows of numbers, to which NULL belongs, in a form for each number of rows.
pub(super) struct Several<const COLUMNS: usize> {
    /// What comes before the values.
    insert: &'static str,
    sql: OnceLock<[String; ROWS.len()]>,
}

impl<const COLUMNS: usize> Several<COLUMNS> {
    /// By what comes before the values.
    pub(super) const fn new(insert: &'static str) -> Self {
        Several { insert, sql: OnceLock::new() }
    }

    /// Adds rows, in their order.
    pub(super) fn write(
        &self,
        connection: &Connection,
        rows: &[[Option<i64>; COLUMNS]],
    ) -> rusqlite::Result<()> {
        let forms = self.sql.get_or_init(|| ROWS.map(|count| self.of(count)));
        let mut rest = rows;
        for (count, sql) in ROWS.into_iter().zip(forms) {
            while let Some((rows, others)) = rest.split_at_checked(count) {
                let mut statement = connection.prepare_cached(sql)?;
                for (place, column) in (1_usize..).zip(rows.as_flattened()) {
                    statement.raw_bind_parameter(place, column)?;
                }
                statement.raw_execute()?;
                rest = others;
            }
        }
        Ok(())
    }

    fn of(&self, rows: usize) -> String {
        let row = format!("({})", ["?"; COLUMNS].join(", "));
        format!("{} VALUES {}", self.insert, vec![row; rows].join(", "))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_rows_is_written_in_order() {
        let view = Connection::open_in_memory().unwrap();
        view.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER) STRICT").unwrap();
        static INTO: Several<2> = Several::new("INSERT INTO t (a, b)");
        let mut wanted = Vec::new();
        for count in [0, 1, 2, 15, 16, 17, 50] {
            let begin = wanted.len();
            wanted.extend((begin..begin + count).map(|n| [Some(n as i64), (n % 3 > 0).then_some(7)]));
            INTO.write(&view, &wanted[begin..]).unwrap();
        }
        let mut statement = view.prepare("SELECT a, b FROM t ORDER BY id").unwrap();
        let rows = statement.query_map([], |row| Ok([row.get("a")?, row.get("b")?])).unwrap();
        assert_eq!(rows.collect::<rusqlite::Result<Vec<[Option<i64>; 2]>>>().unwrap(), wanted);
    }
}
