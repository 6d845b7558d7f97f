//! What a stopped environment left in its clusters.

use rusqlite::{Connection, OptionalExtension, named_params};

use super::moment::{Concerns, Moment};
use super::scope::{Scope, Sight};
use super::types::{Answer, LeftBehind, LeftNamespace};
use super::{PageRequest, Queries, Question, Result, environments};
use crate::log::LogReader;
use crate::model::{At, EnvironmentId, EnvironmentState, Labels, Offset, Target};

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

/// What belonged to the environment then and is there now, by namespace, and whether others look into it.
fn namespaces(view: &Connection, number: i64, then: Offset, at: Offset) -> Result<Vec<LeftNamespace>> {
    let sql = "SELECT c.name, r.namespace, count(*),
            EXISTS (SELECT 1 FROM environment e, json_each(e.targets) t
                WHERE e.id <> :id AND e.from_offset <= :at AND e.to_offset > :at
                    AND t.value ->> '$.cluster' = c.name AND t.value ->> '$.namespace' = r.namespace)
        FROM membership m JOIN resource r ON r.id = m.resource_id JOIN cluster c ON c.id = r.cluster_id
        WHERE m.environment_id = :id AND m.from_offset <= :then AND m.to_offset > :then
            AND (SELECT v.deleted FROM version v WHERE v.resource_id = r.id AND v.from_offset <= :at
                ORDER BY v.from_offset DESC LIMIT 1) = 0
        GROUP BY c.name, r.namespace ORDER BY c.name, r.namespace";
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

/// What cleans a namespace up: a namespace that is the environment's alone goes as a whole, else what carries the labels
/// by which the environment was found.
fn kubectl(left: &LeftNamespace, targets: &[Target]) -> String {
    let of = |target: &&Target| target.cluster == left.cluster && target.namespace == left.namespace;
    let labels: Labels = targets.iter().find(of).map(|target| target.labels.clone()).unwrap_or_default();
    let context = quoted(&left.cluster);
    if left.namespace.is_empty() || (left.shared && labels.is_empty()) {
        return String::new();
    }
    let namespace = quoted(&left.namespace);
    if !left.shared {
        return format!("kubectl --context {context} delete namespace {namespace}");
    }
    let selector: Vec<String> = labels.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let selector = quoted(&selector.join(","));
    format!(
        "kubectl --context {context} --namespace {namespace} delete all,configmap,secret,ingress,pvc -l {selector}"
    )
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
        for left in &mut value.namespaces {
            left.kubectl = kubectl(left, &targets);
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
