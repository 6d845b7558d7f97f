//! What a stopped environment left in its clusters.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension, named_params};

use super::moment::{Concerns, Moment};
use super::scope::{Scope, Sight};
use super::types::{Answer, LeftBehind, LeftNamespace};
use super::{PageRequest, Queries, Question, Result, environments};
use crate::log::LogReader;
use crate::model::{At, EnvironmentId, EnvironmentState, Labels, Offset, Target};

/// The most resources that a line names one by one.
const NAMES_MAX: usize = 100;

/// When the environment was last in use before a moment: the last offset at which it looked anywhere, and where.
fn last_in_use(view: &Connection, number: i64, at: Offset) -> Result<Option<(Offset, Vec<Target>)>> {
    let sql = "SELECT to_offset - 1, targets FROM environment
        WHERE id = :id AND from_offset <= :at AND to_offset <= :at AND state <> 'stopped' AND to_offset > from_offset
        ORDER BY from_offset DESC LIMIT 1";
    let params = named_params! { ":id": number, ":at": at.as_i64() };
    let row = view
        .prepare_cached(sql)?
        .query_row(params, |row| Ok((Offset::from_i64(row.get(0)?), environments::json(row, 1)?)));
    Ok(row.optional()?)
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

/// What belonged to the environment then and is there now, as the table `left`.
macro_rules! left {
    ($tail:expr) => {
        concat!(
            "WITH left AS MATERIALIZED (SELECT r.id, r.cluster_id, r.kind_id, r.namespace, r.name, m.owner_id, m.why
                FROM membership m JOIN resource r ON r.id = m.resource_id
                WHERE m.environment_id = :id AND m.from_offset <= :then AND m.to_offset > :then AND ",
            there!("r"),
            ") ",
            $tail
        )
    };
}

/// The namespaces in which something is left, and whether something else is there or others look there too. What
/// Kubernetes puts into every namespace is nobody's.
fn namespaces(view: &Connection, number: i64, then: Offset, at: Offset) -> Result<Vec<LeftNamespace>> {
    let sql = left!(concat!(
        "SELECT c.name, l.namespace, count(*),
            EXISTS (SELECT 1 FROM environment e, json_each(e.targets) t
                WHERE e.id <> :id AND e.from_offset <= :at AND e.to_offset > :at
                    AND t.value ->> '$.cluster' = c.name AND t.value ->> '$.namespace' = l.namespace)
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
    let params = named_params! { ":id": number, ":then": then.as_i64(), ":at": at.as_i64() };
    let rows = statement.query_map(params, |row| {
        Ok(LeftNamespace {
            cluster: row.get(0)?,
            namespace: row.get(1)?,
            resources: u64::try_from(row.get::<_, i64>(2)?).unwrap_or(0),
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

fn tops(view: &Connection, number: i64, then: Offset, at: Offset) -> Result<Vec<Top>> {
    let sql = left!(
        "SELECT c.name, l.namespace, k.kind || iif(k.\"group\" = '', '', '.' || k.\"group\"), l.name, l.why = 'matches'
        FROM left l JOIN cluster c ON c.id = l.cluster_id JOIN kind k ON k.id = l.kind_id
        WHERE l.owner_id IS NULL OR l.owner_id NOT IN (SELECT id FROM left) ORDER BY 1, 2, 3, 4"
    );
    let mut statement = view.prepare_cached(sql)?;
    let params = named_params! { ":id": number, ":then": then.as_i64(), ":at": at.as_i64() };
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
        let selector: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
        return format!("{delete} {} -l {}", quoted(&kinds.join(",")), quoted(&selector.join(",")));
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
    scope: &Sight,
    id: &EnvironmentId,
) -> Result<Answer<LeftBehind>> {
    let (number, environment) = environments::find(view, moment, scope, id)?;
    let metadata = moment.snapshot(view, scope, &Concerns::Environment(number))?;
    let mut value = LeftBehind { stopped_at: None, namespaces: Vec::new(), resources: 0 };
    if environment.state != EnvironmentState::Stopped {
        return Ok(Answer { value, metadata });
    }
    if let Some((then, targets)) = last_in_use(view, number, moment.offset)? {
        value.stopped_at = log.observed_at(then.next())?;
        value.namespaces = namespaces(view, number, then, moment.offset)?;
        let tops = tops(view, number, then, moment.offset)?;
        for left in &mut value.namespaces {
            left.kubectl = kubectl(left, &targets, &tops);
            value.resources += left.resources;
        }
    }
    Ok(Answer { value, metadata })
}

impl Queries {
    /// What a stopped environment left in its clusters; nothing while it is in use.
    ///
    /// # Errors
    /// [`super::QueryError::NotFound`] when it was not declared at that moment.
    pub async fn left_behind(&self, scope: &Scope, at: At, id: &EnvironmentId) -> Result<Answer<LeftBehind>> {
        let id = id.clone();
        let answer = move |q: Question<'_>| get(q.view, q.log, &q.moment, q.scope, &id);
        self.ask(scope, at, "left_behind", &(), &PageRequest::default(), answer).await
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
