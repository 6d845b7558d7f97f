//! What a caller may see.

use std::collections::BTreeSet;

use rusqlite::Connection;

use crate::access::Membership;

/// What a caller may see; every query takes one and puts it into its SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// Of what the caller is a member; none where nothing is hidden.
    membership: Option<Membership>,
}

impl Scope {
    /// Sees everything.
    pub fn everything() -> Self {
        Scope { membership: None }
    }

    /// What such a member sees, and nothing else: the environments of the projects, of those below
    /// the groups, and those that are shared with one of them or deployed by one of them; of an environment that an agent
    /// serves, resources only where the agent lets its members in. Besides, the clusters and namespaces that such
    /// environments look at; only offsets and the lag count changes of others.
    pub fn members(membership: Membership) -> Self {
        Scope { membership: Some(membership) }
    }

    /// What members of these projects see.
    pub fn projects(paths: impl IntoIterator<Item = String>) -> Self {
        Scope::members(Membership::new(paths, [""; 0]))
    }

    /// Looks up what this amounts to in a view. Which agents let a caller in is what they say now, whatever the moment
    /// that is asked for.
    pub(super) fn look_up(&self, view: &Connection) -> rusqlite::Result<Sight> {
        let Some(membership) = &self.membership else { return Ok(Sight(None)) };
        let mut paths = Vec::new();
        let mut statement = view.prepare_cached("SELECT path FROM viewer")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let path = row.get_ref(0)?.as_str()?;
            if membership.holds(path) {
                paths.push(path.to_owned());
            }
        }
        let mut agents = BTreeSet::new();
        let mut statement = view.prepare_cached("SELECT path, agent FROM agent_viewer")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if membership.holds(row.get_ref(0)?.as_str()?) {
                agents.insert(row.get::<_, String>(1)?);
            }
        }
        Ok(Sight(Some(serde_json::json!({"paths": paths, "agents": agents}).to_string())))
    }
}

/// A scope as statements take it: the paths and agents of the view that are within it, or NULL for all.
#[derive(Clone, Debug)]
pub(super) struct Sight(Option<String>);

impl Sight {
    /// Whether nothing is hidden from it.
    pub(super) fn is_everything(&self) -> bool {
        self.0.is_none()
    }

    /// What `:scope` is bound to.
    pub(super) fn as_sql(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// SQL that holds where `:scope` sees that the environment `e` is there.
macro_rules! sees {
    () => {
        "(:scope IS NULL OR e.project IN (SELECT value FROM json_each(:scope, '$.paths'))
            OR (e.viewers <> '[]' AND EXISTS (SELECT 1 FROM json_each(e.viewers) viewer
                WHERE viewer.value IN (SELECT value FROM json_each(:scope, '$.paths')))))"
    };
}
pub(super) use sees;

/// SQL that holds where `:scope` may read what the environment `e` holds: it sees it, and every agent that serves it
/// lets it in.
macro_rules! reads {
    () => {
        concat!(
            "(:scope IS NULL OR (",
            $crate::query::scope::sees!(),
            " AND (e.agents = '[]' OR NOT EXISTS (SELECT 1 FROM json_each(e.agents) agent
                WHERE agent.value NOT IN (SELECT value FROM json_each(:scope, '$.agents'))))))"
        )
    };
}
pub(super) use reads;

/// SQL that holds where `:scope` looks, at `:at`: at a cluster `c` or, as `looked_at!(namespace)`, at what a row of
/// coverage `g` tells of it, which is the scope's where it speaks of all namespaces or of one that the scope looks at.
///
/// A scope looks where the targets of its projects' environments are: into all namespaces, where a target names none.
macro_rules! looked_at {
    (cluster) => {
        looked_at!(@ "")
    };
    (namespace) => {
        looked_at!(@ " AND (g.namespace IN ('', t.value ->> '$.namespace') OR t.value ->> '$.namespace' = '')")
    };
    (@ $narrower:literal) => {
        concat!(
            "(:scope IS NULL OR EXISTS (SELECT 1 FROM environment e, json_each(e.targets) t
                WHERE e.from_offset <= :at AND e.to_offset > :at AND t.value ->> '$.cluster' = c.name",
            $narrower,
            " AND ",
            $crate::query::scope::reads!(),
            "))"
        )
    };
}
pub(super) use looked_at;

/// SQL that holds where the environment asked about, `:environment`, is read by `:scope` at `:at` and has a target `t` in the
/// cluster `c`, with what else is asked of that target; and where no environment is asked about.
macro_rules! concerned {
    ($narrower:literal) => {
        concat!(
            "(:environment IS NULL OR EXISTS (SELECT 1 FROM environment e, json_each(e.targets) t
                WHERE e.id = :environment AND e.from_offset <= :at AND e.to_offset > :at AND ",
            $crate::query::scope::reads!(),
            " AND t.value ->> '$.cluster' = c.name",
            $narrower,
            "))"
        )
    };
}
pub(super) use concerned;

/// SQL that holds where the resource `r` is in sight of `:scope` at `:at`: it belongs to one of its environments.
macro_rules! in_sight {
    () => {
        concat!(
            "(:scope IS NULL OR EXISTS (SELECT 1 FROM membership m JOIN environment e ON e.id = m.environment_id
                WHERE m.resource_id = r.id AND m.from_offset <= :at AND m.to_offset > :at
                    AND e.from_offset <= :at AND e.to_offset > :at AND ",
            $crate::query::scope::reads!(),
            "))"
        )
    };
}
pub(super) use in_sight;

/// A filter's values as a JSON array for `json_each`, or NULL where the filter is not set.
pub(super) fn one_of<'a, T, V: serde::Serialize>(
    values: &'a [T],
    value: impl Fn(&'a T) -> V,
) -> Option<String> {
    let list: Vec<serde_json::Value> = values.iter().map(|item| serde_json::json!(value(item))).collect();
    (!list.is_empty()).then(|| serde_json::Value::Array(list).to_string())
}
