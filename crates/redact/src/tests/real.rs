//! Objects that others wrote: what health and the graph read of them stays.

use std::io::Write;

use serde_json::Value;

use super::*;
use strandline_health::assess;
use strandline_object::Object;
use strandline_relations::{Relations, edges};

/// Argo CD's cases beside the checkout, one JSON object a line.
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/health/argo-cd-cases.jsonl");

/// An object with what a cluster gives every object.
fn of_a_cluster(mut object: Value) -> Value {
    for (key, value) in [("name", "x"), ("uid", "u"), ("resourceVersion", "1")] {
        if object["metadata"][key].as_str().is_none_or(str::is_empty) {
            object["metadata"][key] = Value::from(value);
        }
    }
    object
}

/// Cleans an object; its verdict and its edges stay what they were. Tells how many values it has, and which changed.
fn compared(object: &Value) -> (usize, Vec<String>) {
    let before = object.to_string();
    let after = cleaned(&before, TypeMeta { api_version: "", kind: "" }).body;
    let (old, new) = (Object::parse(&before).unwrap(), Object::parse(&after).unwrap());
    assert_eq!(assess(&old), assess(&new), "{before}\n{after}");
    assert_eq!(edges(&old, &Relations::default()), edges(&new, &Relations::default()), "{before}\n{after}");
    corpus::changed_between(object, &serde_json::from_str(&after).unwrap())
}

#[test]
fn what_health_and_the_graph_read_stays_in_argo_cds_cases() {
    let path = std::env::var("STRANDLINE_ARGO_CD_CASES").unwrap_or_else(|_| CASES.to_owned());
    let Ok(lines) = std::fs::read_to_string(&path) else {
        let text = format!("NOT RUN: {path} is not there, so nothing was compared with Argo CD's objects");
        let _ = writeln!(std::io::stderr(), "{text}");
        return;
    };
    let (mut count, mut changed, mut cases) = (0, Vec::new(), 0);
    for line in lines.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (values, differ) = compared(&of_a_cluster(case["object"].clone()));
        cases += 1;
        count += values;
        changed.extend(differ.into_iter().map(|value| format!("{}: {value}", case["case"])));
    }
    println!("{cases} cases: {} of {count} values masked: {changed:#?}", changed.len());
    assert!(cases > 400 && changed.len() * 200 <= count, "{changed:#?}");
}
