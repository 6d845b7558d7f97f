//! What a stopped environment left in its clusters.
//!
//! A namespace is offered for deletion only when nothing else is in it, not even what nobody knows. Else the command names
//! kinds and labels, or resources, and what another environment holds by now stays.

use std::collections::BTreeSet;

use rusqlite::{Connection, named_params};

use crate::concerns::Concerns;
use crate::environments;
use crate::error::Result;
use crate::moment::Moment;
use crate::question::{Context, Question};
use crate::scope::{ResolvedScope, sees};
use serde::Serialize;
use strandline_log::LogReader;
use strandline_model::{EnvironmentId, EnvironmentState, Labels, Offset, Target, label_pairs};
use strandline_protocol::{Answer, LeftBehind, LeftNamespace};
use strandline_sqlite::column::{Count, Json, VIEW};
/// The most resources that a line names one by one.
const NAMES_MAX: usize = 100;

/// When the environment was stopped: where it ceased to be in use before a moment, if it ever was.
fn stopped(view: &Connection, number: i64, at: Offset) -> Result<Option<Offset>> {
    let sql =
        "SELECT max(to_offset) FROM environment WHERE id = :id AND to_offset <= :at AND state <> 'stopped'";
    let params = named_params! { ":id": number, ":at": at.as_i64() };
    let found: Option<i64> = view.prepare_cached(sql)?.query_row(params, |row| row.get(0))?;
    Ok(found.map(Offset::from_i64))
}

/// The places at which the environment ever looked, each with the last offset at which it did, as the table `ends`:
/// what it held there at any time before was perhaps let go on purpose.
macro_rules! ends {
    ($tail:expr) => {
        concat!(
            "WITH ends AS MATERIALIZED (SELECT t.value ->> '$.cluster' AS cluster, t.value ->> '$.namespace' AS namespace,
                    max(e.to_offset) - 1 AS seen
                FROM environment e, json_each(e.targets) t
                WHERE e.id = :id AND e.to_offset <= :at AND e.to_offset > e.from_offset GROUP BY 1, 2)",
            $tail
        )
    };
}

/// How the environment looked at these places last.
fn looked(view: &Connection, number: i64, at: Offset) -> Result<Vec<Target>> {
    let sql = ends!(
        " SELECT t.value FROM environment e, json_each(e.targets) t JOIN ends ON ends.seen = e.to_offset - 1
            AND ends.cluster = t.value ->> '$.cluster' AND ends.namespace = t.value ->> '$.namespace'
        WHERE e.id = :id"
    );
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! { ":id": number, ":at": at.as_i64() };
    let rows =
        statement.query_map(params, |row| Ok(VIEW.get_at::<Json<_>>(row, 0, "environment.targets")?.0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Whether a resource is there at `:at`.
macro_rules! there {
    ($resource:literal) => {
        concat!(
            "(SELECT v.deleted FROM version v WHERE v.resource_id = ",
            $resource,
            ".id AND v.from_offset <= :at ORDER BY v.from_offset DESC LIMIT 1) = 0"
        )
    };
}

/// What the environment held when it looked at its place last, and what is there now and no other environment's that is
/// seen, as the table `left`: with its owner and why it belonged.
macro_rules! left {
    ($tail:expr) => {
        ends!(concat!(
            ", left AS MATERIALIZED (SELECT r.id, r.cluster_id, r.kind_id, r.namespace, r.name, m.owner_id, m.matches,
                    max(m.from_offset)
                FROM ends JOIN membership m ON m.from_offset <= ends.seen AND m.to_offset > ends.seen
                    AND m.stretch = (SELECT max(stretch) FROM membership WHERE environment_id = :id AND stretch <= ends.seen)
                JOIN resource r ON r.id = m.resource_id AND ends.namespace IN ('', r.namespace)
                JOIN cluster c ON c.id = r.cluster_id AND c.name = ends.cluster
                WHERE m.environment_id = :id AND ",
            there!("r"),
            " AND NOT EXISTS (SELECT 1 FROM membership o JOIN environment_audience e ON e.environment_id = o.environment_id
                    AND e.from_offset <= :at AND e.to_offset > :at AND ",
            sees!(),
            " WHERE o.resource_id = r.id AND o.environment_id <> :id AND o.from_offset <= :at AND o.to_offset > :at)
            GROUP BY r.id) ",
            $tail
        ))
    };
}

/// The namespaces in which something is left, and whether something else is there or others look there too. What
/// Kubernetes puts into every namespace is nobody's. Who does not see everything is never told that there is nothing of
/// others in a namespace: that would tell of others, and have a namespace deleted of which only a part was seen.
fn namespaces(
    view: &Connection,
    sight: &ResolvedScope,
    number: i64,
    at: Offset,
) -> Result<Vec<LeftNamespace>> {
    let sql = left!(concat!(
        "SELECT c.name, l.namespace, count(*), :scope IS NOT NULL
            OR EXISTS (SELECT 1 FROM environment_place o WHERE o.cluster_id = c.id AND o.namespace = l.namespace
                AND o.environment_id <> :id AND o.from_offset <= :at AND o.to_offset > :at)
            OR EXISTS (SELECT 1 FROM resource o JOIN kind k ON k.id = o.kind_id
                WHERE o.cluster_id = c.id AND o.namespace = l.namespace AND l.namespace <> ''
                    AND o.id NOT IN (SELECT id FROM left)
                    AND (k.\"group\", k.kind, o.name) NOT IN
                        (VALUES ('', 'ConfigMap', 'kube-root-ca.crt'), ('', 'ServiceAccount', 'default'))
                    AND ",
        there!("o"),
        ") FROM left l JOIN cluster c ON c.id = l.cluster_id
        GROUP BY c.name, l.namespace ORDER BY c.name, l.namespace"
    ));
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! { ":id": number, ":at": at.as_i64(), ":scope": sight.as_sql() };
    let rows = statement.query_map(params, |row| {
        Ok(LeftNamespace {
            cluster: row.get(0)?,
            namespace: row.get(1)?,
            resources: VIEW.get_at::<Count>(row, 2, "resource")?.0,
            shared: row.get(3)?,
            kubectl: String::new(),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Something that is left and does not go with an owner.
struct Top {
    cluster: String,
    namespace: String,
    /// Its kind as kubectl takes it, such as `Deployment.apps`.
    kind: String,
    name: String,
    /// Whether it matched by itself.
    matched: bool,
}

fn tops(view: &Connection, sight: &ResolvedScope, number: i64, at: Offset) -> Result<Vec<Top>> {
    let sql = left!(
        "SELECT c.name, l.namespace, k.kind || iif(k.\"group\" = '', '', '.' || k.\"group\"), l.name, l.matches
        FROM left l JOIN cluster c ON c.id = l.cluster_id JOIN kind k ON k.id = l.kind_id
        WHERE l.owner_id IS NULL OR l.owner_id NOT IN (SELECT id FROM left) ORDER BY 1, 2, 3, 4"
    );
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! { ":id": number, ":at": at.as_i64(), ":scope": sight.as_sql() };
    let rows = statement.query_map(params, |row| {
        let (cluster, namespace, kind) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Top { cluster, namespace, kind, name: row.get(3)?, matched: row.get(4)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What cleans a namespace up: a namespace in which nothing else is goes as a whole; else, where labels alone tell what
/// is the environment's, all that carries them, of the kinds that are left; else each by its name.
fn kubectl(left: &LeftNamespace, targets: &[Target], tops: &[Top]) -> String {
    let context = quoted(&left.cluster);
    let namespace = quoted(&left.namespace);
    if !left.shared && !left.namespace.is_empty() {
        return format!("kubectl --context {context} delete namespace {namespace}");
    }
    let tops: Vec<&Top> =
        tops.iter().filter(|top| top.cluster == left.cluster && top.namespace == left.namespace).collect();
    let within = if left.namespace.is_empty() { String::new() } else { format!(" --namespace {namespace}") };
    let delete = format!("kubectl --context {context}{within} delete");
    if let Some(labels) = labels(left, targets).filter(|_| tops.iter().all(|top| top.matched)) {
        let kinds: BTreeSet<&str> = tops.iter().map(|top| top.kind.as_str()).collect();
        let kinds: Vec<&str> = kinds.into_iter().collect();
        let selector = label_pairs(labels).join(",");
        return format!("{delete} {} -l {}", quoted(&kinds.join(",")), quoted(&selector));
    }
    if tops.is_empty() || tops.len() > NAMES_MAX {
        return String::new();
    }
    let names = tops.iter().map(|top| quoted(&format!("{}/{}", top.kind, top.name)));
    format!("{delete} {}", names.collect::<Vec<_>>().join(" "))
}

/// The labels by which alone the environment found what it had in a namespace; none where there were none, or several
/// sets of them, or marks as well.
fn labels<'t>(left: &LeftNamespace, targets: &'t [Target]) -> Option<&'t Labels> {
    let mut there = targets.iter().filter(|target| {
        target.cluster == left.cluster && (target.namespace == left.namespace || target.namespace.is_empty())
    });
    let first = there.next()?;
    let same = there.all(|other| other.labels == first.labels && other.inventory.is_none());
    (same && first.inventory.is_none() && !first.labels.is_empty()).then_some(&first.labels)
}

/// A word as a shell takes it for one.
fn quoted(word: &str) -> String {
    let plain = |b: u8| {
        b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/' | b'=' | b',' | b':' | b'@')
    };
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn get(
    view: &Connection,
    log: &LogReader,
    moment: &Moment,
    scope: &ResolvedScope,
    id: &EnvironmentId,
) -> Result<Answer<LeftBehind>> {
    let (number, environment) = environments::find(view, moment, scope, id)?;
    let metadata = moment.snapshot(view, scope, &Concerns::Environment(number))?;
    let mut value = LeftBehind { stopped_at: None, namespaces: Vec::new(), resources: 0 };
    if environment.state != EnvironmentState::Stopped {
        return Ok(Answer { value, metadata });
    }
    if let Some(stopped) = stopped(view, number, moment.offset)? {
        value.stopped_at = log.observed_at(stopped)?;
        value.namespaces = namespaces(view, scope, number, moment.offset)?;
        let (looked, tops) =
            (looked(view, number, moment.offset)?, tops(view, scope, number, moment.offset)?);
        for left in &mut value.namespaces {
            left.kubectl = kubectl(left, &looked, &tops);
            value.resources += left.resources;
        }
    }
    Ok(Answer { value, metadata })
}

/// What a stopped environment left in its clusters; nothing while it is in use.
#[derive(Clone, Debug, Serialize)]
pub struct ListLeftBehind {
    /// The environment.
    pub environment: EnvironmentId,
}

impl ListLeftBehind {
    /// The question with these parts.
    pub fn new(environment: &EnvironmentId) -> Self {
        ListLeftBehind { environment: environment.clone() }
    }
}

impl Question for ListLeftBehind {
    const NAME: &'static str = "left_behind";
    type Answer = Answer<LeftBehind>;

    /// # Errors
    /// [`QueryError::NotFound`] when the environment did not exist at that time.
    fn answer(&self, context: Context<'_>) -> Result<Self::Answer> {
        let Context { view, log, moment, scope, .. } = context;
        get(view, log, &moment, scope, &self.environment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_words_in_a_shell() {
        for (word, expected) in [
            ("prod-us", "prod-us"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$(rm -rf /)", "'$(rm -rf /)'"),
            ("it's", "'it'\\''s'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
