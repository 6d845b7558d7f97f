//! Argo CD's own cases: how far our verdicts agree with those of its rules and scripts.

use std::io::Write;
use std::path::Path;

use serde_json::Value;

use crate::health::assess;
use crate::model::Health;
use crate::object::Object;

/// The cases beside the checkout, one JSON object a line.
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/data/health/argo-cd-cases.jsonl");

#[derive(Debug, Default)]
struct Tally {
    total: usize,
    agree: usize,
    degraded: usize,
    degraded_called_healthy: usize,
    differ: Vec<String>,
}

/// Says something even where the output of tests is captured.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn tally(lines: &str, of_ours: bool) -> Tally {
    let mut tally = Tally::default();
    for case in lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("each line is JSON")) {
        let name = case["case"].as_str().expect("a case has a name");
        if name.starts_with("builtin/") != of_ours {
            continue;
        }
        let text = case["object"].to_string();
        let verdict = assess(&Object::parse(&text).expect("an object can be read"));
        let found = verdict.health.map_or("none", Health::as_str);
        let want = case["want"].as_str().expect("a case has a health");
        let same_message =
            !of_ours || case["message"].as_str().is_none_or(|message| message == verdict.message);
        tally.total += 1;
        tally.degraded += usize::from(want == "Degraded");
        tally.degraded_called_healthy += usize::from(want == "Degraded" && found == "Healthy");
        if found == want && same_message {
            tally.agree += 1;
        } else {
            tally.differ.push(format!("{name}: wants {want}, found {found} {verdict:?}"));
        }
    }
    tally
}

#[test]
fn we_agree_with_argo_cd() {
    let path = std::env::var("STRANDLINE_ARGO_CD_CASES").unwrap_or_else(|_| CASES.to_owned());
    let Ok(lines) = std::fs::read_to_string(Path::new(&path)) else {
        return say(&format!("NOT RUN: {path} is not there, so verdicts were not compared with Argo CD's"));
    };
    let built_in = tally(&lines, true);
    let custom = tally(&lines, false);
    if std::env::var_os("STRANDLINE_DIFFERENCES").is_some() {
        custom.differ.iter().for_each(|line| say(line));
    }
    say(&format!(
        "agreement with Argo CD: {} of {} built-in, {} of {} custom resources; {} of {} Degraded are called Healthy",
        built_in.agree,
        built_in.total,
        custom.agree,
        custom.total,
        custom.degraded_called_healthy,
        custom.degraded
    ));
    assert!(built_in.differ.is_empty(), "{:#?}", built_in.differ);
    assert!(custom.agree * 100 >= custom.total * 75, "{:#?}", custom.differ);
    assert!(custom.degraded_called_healthy * 100 < custom.degraded * 3, "{:#?}", custom.differ);
}
