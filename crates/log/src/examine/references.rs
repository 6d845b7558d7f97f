//! What the tables beside the changes say of them: it has to agree with the changes themselves.

use rusqlite::Connection;

use super::findings::Findings;

/// Rows reported of one table; more of them add nothing.
const ROWS: usize = 20;

/// A rule and the statement that finds what breaks it, as text in its one column.
struct Rule {
    table: &'static str,
    broken: &'static str,
}

const RULES: [Rule; 7] = [
    Rule {
        table: "subject",
        broken: "SELECT 'subject ' || s.id || ' is of kind ' || s.kind_id || ', which is not there'
            FROM subject s LEFT JOIN kind k ON k.id = s.kind_id WHERE k.id IS NULL",
    },
    Rule {
        table: "live",
        broken: "SELECT 'subject ' || l.subject_id || ' is taken for alive and is not there'
            FROM live l LEFT JOIN subject s ON s.id = l.subject_id WHERE s.id IS NULL",
    },
    Rule {
        table: "live",
        broken: r#"SELECT 'the keyframe of subject ' || l.subject_id || ', at offset ' || l.keyframe || ', is none of its own'
            FROM live l LEFT JOIN change c ON c."offset" = l.keyframe
            WHERE l.keyframe IS NOT NULL AND (c."offset" IS NULL OR c.subject_id <> l.subject_id OR c.base IS NOT NULL)"#,
    },
    // An Event ends without a change, so that one may be alive or not. A gap that was over when it was recorded is no
    // state, so that of what is watched nothing else may be known.
    Rule {
        table: "live",
        broken: r#"SELECT 'subject ' || c.subject_id || CASE WHEN l.subject_id IS NULL
                THEN ' is not taken for alive, though offset ' || c."offset" || ' says so'
                ELSE ' is taken for alive, though it ended at offset ' || c."offset" END
            FROM (SELECT subject_id, max("offset") AS "offset", type FROM change GROUP BY subject_id) c
            JOIN subject s ON s.id = c.subject_id JOIN kind k ON k.id = s.kind_id
            LEFT JOIN live l ON l.subject_id = c.subject_id
            WHERE k.kind <> 'Event' AND (l.subject_id IS NULL) <> (c.type IN (2, 5))
                AND NOT (l.subject_id IS NULL AND c.type = 3)"#,
    },
    Rule {
        table: "frame",
        broken: "SELECT 'frame ' || f.id || ' is to hold ' || f.changes || ' bodies, and ' || coalesce(c.held, 0) || ' lie in it'
            FROM frame f LEFT JOIN (SELECT frame_id, count(*) AS held FROM change WHERE frame_id IS NOT NULL
                GROUP BY frame_id) c ON c.frame_id = f.id
            WHERE f.changes IS NOT c.held",
    },
    Rule {
        table: "held",
        broken: r#"SELECT 'offset ' || c."offset" || ' of subject ' || h.subject_id || ' is to be kept and has no body'
            FROM held h JOIN change c ON c."offset" IN (h."offset", h.base)
            WHERE c.body IS NULL AND c.frame_id IS NULL"#,
    },
    Rule {
        table: "cursor",
        broken: "SELECT 'a watch is of kind ' || c.kind_id || ', which is not there'
            FROM cursor c LEFT JOIN kind k ON k.id = c.kind_id WHERE k.id IS NULL",
    },
];

/// Checks every rule.
pub(super) fn check(connection: &Connection, findings: &mut Findings) {
    for rule in &RULES {
        match broken(connection, rule) {
            Ok(lines) => lines.iter().for_each(|line| findings.table(rule.table, line)),
            Err(error) => findings.table(rule.table, error),
        }
    }
}

fn broken(connection: &Connection, rule: &Rule) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection.prepare(&format!("{} LIMIT {ROWS}", rule.broken))?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}
