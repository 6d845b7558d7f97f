//! The alerts as they are written: promtool plays each, and each has a page that says what to do.

use std::collections::BTreeSet;
use std::process::Command;

use super::RULES;
use super::prometheus::{alerts, skip_without_prometheus};
use crate::checkout::{files, read, root};
use crate::server::Result;

const TESTS: &str = "tests/alerts/strandline.test.yaml";

#[test]
fn promtool_plays_every_alert() {
    if skip_without_prometheus("promtool_plays_every_alert") {
        return;
    }
    for arguments in [["check", "rules", RULES], ["test", "rules", TESTS]] {
        let output = Command::new("promtool").args(arguments).current_dir(root()).output().unwrap();
        let printed = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.success() && printed.contains("SUCCESS"), "{printed}");
    }
}

#[test]
fn every_alert_has_its_tests_its_page_and_what_a_person_needs() -> Result<()> {
    let (tests, index) = (read(TESTS), read("docs/runbooks/README.md"));
    let tests: serde_json::Value = serde_saphyr::from_str(&tests)?;
    let tests = tests["tests"].as_array().cloned().unwrap_or_default();
    let cases =
        || tests.iter().flat_map(|test| test["alert_rule_test"].as_array().cloned().unwrap_or_default());
    let alerts = alerts(&read(RULES))?;
    assert!(alerts.len() > 10, "{alerts:?}");
    for (name, rule) in &alerts {
        let of = || cases().filter(|case| case["alertname"] == name.as_str());
        let fires =
            |case: &serde_json::Value| case["exp_alerts"].as_array().is_some_and(|all| !all.is_empty());
        assert!(of().any(|case| fires(&case)), "no test in which {name} fires");
        assert!(of().any(|case| !fires(&case)), "no test in which {name} does not fire");
        let page = format!("docs/runbooks/{name}.md");
        let url = rule["annotations"]["runbook_url"].as_str().unwrap_or_default();
        assert!(url.ends_with(&format!("/-/blob/main/{page}")), "{name}: {url}");
        let text = read(&page);
        for heading in ["## Impact", "## Diagnosis", "## What to do", "The alert clears once"] {
            assert!(text.contains(heading), "{page} has no {heading}");
        }
        assert!(index.contains(&format!("[{name}]({name}.md)")), "the index leaves out {name}");
        for annotation in ["summary", "description"] {
            assert!(rule["annotations"][annotation].is_string(), "{name} has no {annotation}");
        }
        let severity = rule["labels"]["severity"].as_str().unwrap_or_default();
        assert!(["critical", "warning"].contains(&severity), "{name}: {severity}");
    }
    let pages = files(&root().join("docs/runbooks")).into_iter();
    let pages: BTreeSet<String> = pages
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
        .filter(|name| name != "README")
        .collect();
    assert_eq!(pages, alerts.keys().cloned().collect(), "pages are those of alerts");
    Ok(())
}
