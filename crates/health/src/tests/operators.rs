//! Objects as the controllers in wide use write them, each with the health that it is to get, and the table of docs/health.md
//! that lists them.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{Case, assess};
use strandline_model::Health;
use strandline_object::Object;
use strandline_object::manifests;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/operators");

/// The cases of all files, in the order of their names, each with what the controller writes.
fn cases() -> Vec<(Case, String)> {
    let mut files: Vec<_> =
        fs::read_dir(Path::new(CASES)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let texts = files.iter().map(|file| fs::read_to_string(file).unwrap());
    let found = texts.flat_map(|text| manifests::read(&text)).map(|document| document.unwrap().text);
    let case = |text: String| {
        let writes = serde_json::from_str::<Value>(&text).unwrap()["writes"].as_str().unwrap().to_owned();
        (text.parse().unwrap_or_else(|why| panic!("{text}: {why}")), writes)
    };
    found.map(case).collect()
}

#[test]
fn controllers_in_wide_use_are_understood() {
    let cases = cases();
    assert!(cases.len() > 100, "{}", cases.len());
    let judged = cases.iter().map(|(case, _)| {
        let text = case.object.to_string();
        (case, assess(&Object::parse(&text).unwrap()))
    });
    let wrong: Vec<_> = judged
        .filter(|(case, verdict)| !case.agrees(verdict))
        .map(|(case, verdict)| {
            format!("{} wants {:?} {:?}, found {verdict:?}", case.case, case.want, case.later)
        })
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_documentation_lists_what_each_writes_and_how_it_is_judged() {
    let health = |health: Option<Health>| health.map_or("none", Health::as_str);
    let mut table =
        "| controller and kind | state | what it writes | health |\n|---|---|---|---|\n".to_owned();
    for (case, writes) in cases() {
        let (controller, state) = case.case.split_once('/').unwrap();
        let kind = case.object["kind"].as_str().unwrap();
        let later = case.later.map(|later| format!(", then {}", health(later))).unwrap_or_default();
        let want = health(case.want);
        writeln!(table, "| {controller} `{kind}` | {state} | {writes} | {want}{later} |").unwrap();
    }
    let documented = include_str!("../../../../docs/health.md");
    assert!(documented.contains(&table), "docs/health.md lacks this table:\n{table}");
}
