//! Argo CD's own cases: how far our verdicts agree with those of its rules and scripts.

use std::io::Write;

use serde_json::Value;

use crate::{Agreement, Case, assess};
use strandline_object::Object;

/// The cases beside the checkout, one JSON object a line.
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/health/argo-cd-cases.jsonl");

#[derive(Debug, Default)]
struct Tally {
    agreement: Agreement,
    /// How many agree because nothing is known of an object that may be new.
    as_new: usize,
    differ: Vec<String>,
}

/// Says something even where the output of tests is captured.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

fn tally(lines: &str, of_ours: bool) -> Tally {
    let mut tally = Tally::default();
    for line in lines.lines() {
        let case: Case = line.parse().expect("each line is a case");
        if case.case.starts_with("builtin/") != of_ours {
            continue;
        }
        let text = case.object.to_string();
        let verdict = assess(&Object::parse(&text).expect("an object can be read"));
        let members: Value = serde_json::from_str(line).expect("each line is JSON");
        // Built-in kinds are judged in Argo CD's own words.
        let same_message =
            !of_ours || members["message"].as_str().is_none_or(|message| message == verdict.message);
        tally.agreement.count(&case, &verdict);
        tally.as_new += usize::from(case.agrees(&verdict) && verdict.later.is_some());
        if !case.agrees(&verdict) || !same_message {
            tally.differ.push(format!("{}: wants {:?}, found {verdict:?}", case.case, case.want));
        }
    }
    tally
}

/// The figures of docs/health.md, which `strandline health --check` prints.
#[test]
fn we_agree_with_argo_cd() {
    let path = std::env::var("STRANDLINE_ARGO_CD_CASES").unwrap_or_else(|_| CASES.to_owned());
    let Ok(lines) = std::fs::read_to_string(&path) else {
        return say(&format!("NOT RUN: {path} is not there, so verdicts were not compared with Argo CD's"));
    };
    let (built_in, custom) = (tally(&lines, true), tally(&lines, false));
    let Agreement { cases, agree, degraded, degraded_as_healthy } = custom.agreement;
    say(&format!(
        "agreement with Argo CD: {} of {} built-in, {agree} of {cases} custom resources, \
         {} of these as new; {degraded_as_healthy} of {degraded} Degraded are called Healthy",
        built_in.agreement.agree, built_in.agreement.cases, custom.as_new,
    ));
    assert!(built_in.differ.is_empty(), "{:#?}", built_in.differ);
    assert!(agree * 100 >= cases * 85, "{:#?}", custom.differ);
    assert!(degraded_as_healthy * 100 <= degraded, "{:#?}", custom.differ);
}
