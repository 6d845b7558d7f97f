//! Kinds as a question names them, found among those that are recorded.
//!
//! They are looked up here and not by the command line, which then needs no cluster: by the kind's name, its plural,
//! Kubernetes' own short names and, where these fail, the names in recorded CustomResourceDefinitions.

use rusqlite::Connection;

use crate::error::Result;
use crate::words::Words;
use strandline_log::LogReader;
use strandline_model::{Change, Kind, KindName, Offset};

/// The most definitions of custom kinds that are read for the names that clusters serve them under.
const DEFINITIONS_MAX: i64 = 2000;

/// The view's numbers of the kinds that are meant, in all clusters, as a JSON array for `json_each`; none where all are.
pub(super) fn numbers(view: &Connection, log: &mut LogReader, names: &[KindName]) -> Result<Option<String>> {
    if names.is_empty() {
        return Ok(None);
    }
    let known = recorded(view)?;
    let mut meant = Vec::new();
    for name in names {
        let by_rule = known.iter().filter(|(_, kind)| name.means(kind)).map(|(id, _)| *id);
        let before = meant.len();
        meant.extend(by_rule);
        if meant.len() == before {
            let served = served_as(view, log, name)?;
            meant.extend(known.iter().filter(|(_, kind)| served.contains(kind)).map(|(id, _)| *id));
        }
    }
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

/// The custom kinds that clusters serve, or served last, under a name that does not follow from the kind's.
fn served_as(view: &Connection, log: &mut LogReader, name: &KindName) -> Result<Vec<Kind>> {
    let sql = r#"SELECT (SELECT max(v.from_offset) FROM version v WHERE v.resource_id = r.id AND v.deleted = 0)
        FROM kind k JOIN resource r ON r.kind_id = k.id
        WHERE k."group" = 'apiextensions.k8s.io' AND k.kind = 'CustomResourceDefinition'
        ORDER BY r.id DESC LIMIT ?1"#;
    let offsets = {
        let mut statement = view.prepare_cached(sql)?;
        let rows = statement.query_map([DEFINITIONS_MAX], |row| row.get::<_, Option<i64>>(0))?;
        rows.collect::<rusqlite::Result<Vec<_>>>()?
    };
    let mut found = Vec::new();
    for offset in offsets.into_iter().flatten() {
        // A definition that retention has pruned names nothing any more.
        let Ok(Change::Applied { body, .. }) = log.at(Offset::from_i64(offset)).map(|record| record.change)
        else {
            continue;
        };
        // What is no JSON defines nothing.
        let definition: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
        let spec = &definition["spec"];
        let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        let (group, of) = (text(&spec["group"]), &spec["names"]);
        let short = of["shortNames"].as_array().into_iter().flatten();
        let names: Vec<String> =
            [&of["plural"], &of["singular"]].into_iter().chain(short).map(text).collect();
        if name.is_one_of(&group, names.iter().map(String::as_str)) {
            found.push(Kind::new(group, text(&of["kind"])));
        }
    }
    Ok(found)
}

/// The words of a question, with the kinds that it names.
pub(super) fn words<'a>(
    view: &Connection,
    log: &mut LogReader,
    words: Words<'a>,
    names: &'a [KindName],
) -> Result<Words<'a>> {
    let known = if names.is_empty() { Vec::new() } else { recorded(view)? };
    names.iter().try_fold(words, |words, name| {
        let by_rule = known.iter().any(|(_, kind)| name.means(kind));
        Ok(words.kind_name(name, if by_rule { Vec::new() } else { served_as(view, log, name)? }))
    })
}
