//! Kinds as a question names them, found among those that are recorded.
//!
//! They are looked up here and not by the command line, which then needs no cluster: by the kind's name, its plural,
//! Kubernetes' own short names and, where these fail, the names in recorded CustomResourceDefinitions.

use rusqlite::{Connection, named_params};

use crate::error::{QueryError, Result};
use crate::moment::Moment;
use crate::scope::{ResolvedScope, looked_at};
use crate::words::Words;
use strandline_log::LogReader;
use strandline_model::{Change, Kind, KindName, Offset};

/// The most definitions of custom kinds that are read for the names that clusters serve them under.
const DEFINITIONS_MAX: i64 = 2000;

/// The most kinds that one question names.
const NAMES_MAX: usize = 64;

/// From what kinds are known.
pub(super) struct Known<'a> {
    pub(super) view: &'a Connection,
    pub(super) log: &'a mut LogReader,
    pub(super) moment: &'a Moment,
    pub(super) scope: &'a ResolvedScope,
}

/// The view's numbers of the kinds that are meant, in all clusters, as a JSON array for `json_each`; none where all are.
pub(super) fn numbers(q: &mut Known<'_>, names: &[KindName]) -> Result<Option<String>> {
    if names.is_empty() {
        return Ok(None);
    }
    let known = recorded(q.view)?;
    let Named { by_rule, others } = named(names, &known)?;
    let served: Vec<Kind> = served_as(q, &others)?.into_iter().flatten().collect();
    let is_meant = |kind: &Kind| by_rule.iter().any(|name| name.means(kind)) || served.contains(kind);
    let meant: Vec<i64> = known.iter().filter(|(_, kind)| is_meant(kind)).map(|(id, _)| *id).collect();
    Ok(Some(serde_json::json!(meant).to_string()))
}

/// The kinds that are recorded, with the view's numbers of them.
fn recorded(view: &Connection) -> Result<Vec<(i64, Kind)>> {
    let mut statement = view.prepare_cached(r#"SELECT id, "group", kind FROM kind WHERE kind <> ''"#)?;
    let rows = statement.query_map([], |row| {
        Ok((row.get::<_, i64>(0)?, Kind::new(row.get::<_, String>(1)?, row.get::<_, String>(2)?)))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The names that are given, each once.
struct Named<'a> {
    /// Those that mean recorded kinds by the rules of names.
    by_rule: Vec<&'a KindName>,
    /// Those that clusters may serve custom kinds under, or that mean nothing.
    others: Vec<&'a KindName>,
}

fn named<'a>(names: &'a [KindName], known: &[(i64, Kind)]) -> Result<Named<'a>> {
    let mut given = std::collections::HashSet::new();
    let names: Vec<_> = names.iter().filter(|name| given.insert(*name)).collect();
    if names.len() > NAMES_MAX {
        return Err(QueryError::TooManyKinds { count: names.len(), most: NAMES_MAX });
    }
    let means_recorded = |name: &&KindName| known.iter().any(|(_, kind)| name.means(kind));
    let (by_rule, others) = names.into_iter().partition(means_recorded);
    Ok(Named { by_rule, others })
}

/// For each name, the custom kinds that clusters in sight served under it by the moment, or served last, where it does not
/// follow from the kind's.
fn served_as(q: &mut Known<'_>, names: &[&KindName]) -> Result<Vec<Vec<Kind>>> {
    let mut found = vec![Vec::new(); names.len()];
    if names.is_empty() {
        return Ok(found);
    }
    let sql = concat!(
        r#"SELECT (SELECT max(v.from_offset) FROM version v
            WHERE v.resource_id = r.id AND v.deleted = 0 AND v.from_offset <= :at)
        FROM kind k JOIN resource r ON r.kind_id = k.id JOIN cluster c ON c.id = r.cluster_id
        WHERE k."group" = 'apiextensions.k8s.io' AND k.kind = 'CustomResourceDefinition' AND "#,
        looked_at!(cluster),
        " ORDER BY r.id DESC LIMIT :limit"
    );
    let offsets = {
        let mut statement = q.view.prepare_cached(sql)?;
        let at = q.moment.offset;
        let params = named_params! {
            ":at": at.as_i64(), ":scope": q.scope.with_places(q.view, at)?, ":limit": DEFINITIONS_MAX,
        };
        let rows = statement.query_map(params, |row| row.get::<_, Option<i64>>(0))?;
        rows.collect::<rusqlite::Result<Vec<_>>>()?
    };
    for offset in offsets.into_iter().flatten() {
        // A definition that retention has pruned names nothing any more.
        let Ok(Change::Applied { body, .. }) = q.log.at(Offset::from_i64(offset)).map(|record| record.change)
        else {
            continue;
        };
        // What is no JSON defines nothing.
        let definition: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
        let spec = &definition["spec"];
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let (group, of) = (text(&spec["group"]), &spec["names"]);
        let short = of["shortNames"].as_array().into_iter().flatten();
        let served: Vec<String> =
            [&of["plural"], &of["singular"]].into_iter().chain(short).map(text).collect();
        for (name, kinds) in names.iter().zip(&mut found) {
            if name.is_one_of(&group, served.iter().map(String::as_str)) {
                kinds.push(Kind::new(group.clone(), text(&of["kind"])));
            }
        }
    }
    Ok(found)
}

/// The words of a question, with the kinds that it names.
pub(super) fn words<'a>(q: &mut Known<'_>, words: Words<'a>, names: &'a [KindName]) -> Result<Words<'a>> {
    if names.is_empty() {
        return Ok(words);
    }
    let Named { by_rule, others } = named(names, &recorded(q.view)?)?;
    let served = served_as(q, &others)?;
    let words = by_rule.into_iter().fold(words, |words, name| words.kind_name(name, Vec::new()));
    Ok(others.into_iter().zip(served).fold(words, |words, (name, served)| words.kind_name(name, served)))
}
