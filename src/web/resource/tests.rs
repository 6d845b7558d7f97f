use super::*;
use crate::model::{Health, ResourceVersion};
use crate::present::tests::NOON;

#[test]
fn what_is_missing_comes_first_among_the_links() {
    let lines = edges::lines(&Shell::bare(""), &linked(), "eu-west");
    let told: Vec<_> = lines.iter().map(|line| (line.verb, line.name.as_str(), line.missing)).collect();
    assert_eq!(told, [("mounts", "<lost>", true), ("selected by", "front", false)]);
    assert_eq!(lines[0].href, None);
    assert_eq!(lines[1].href.as_deref(), Some("/resources/front?cluster=eu-west"));
}

#[test]
fn the_history_folds_what_says_the_same_and_tells_later_from_earlier() {
    let version = |offset: u64, health| Version {
        id: offset.to_string(),
        offset: Offset::new(offset),
        observed_at: NOON.plus(std::time::Duration::from_secs(offset * 60)),
        change: VersionChange::Applied,
        resource_version: ResourceVersion::new("1"),
        health: Some(health),
        reason: String::new(),
        message: String::new(),
        rule: "builtin/Pod".into(),
        rule_set: "4".into(),
        changed_by: None,
        cause: None,
        object: None,
    };
    let newest_first =
        [(9, Health::Healthy), (8, Health::Healthy), (7, Health::Degraded), (6, Health::Degraded)];
    let versions = newest_first.map(|(offset, health)| version(offset, health));
    let request = crate::web::tests::request("/resources/{uid}", "cluster=c");
    let now = NOON.plus(std::time::Duration::from_secs(420));
    let told = |shown: u64| -> Vec<_> {
        let found = lines(&request, &versions, Some(Offset::new(shown)), now);
        found.into_iter().map(|line| (line.distance, line.alike.len(), line.shown)).collect()
    };
    let line = |distance: &str, alike, shown| (distance.to_owned(), alike, shown);
    assert_eq!(told(7), [line("2m later", 1, false), line("0s ago", 0, true), line("60s ago", 0, false)]);
    assert_eq!(told(99).len(), 3, "the one shown stands by itself");
    let mut versions = versions;
    versions[2].rule_set = "5".into();
    let found = lines(&request, &versions, None, now);
    let rules: Vec<_> = found.iter().map(|line| (line.alike.len(), line.rule.as_str())).collect();
    assert_eq!(rules, [(0, ""), (0, "builtin/Pod, rules 4"), (0, "builtin/Pod, rules 5"), (0, "")]);
}
