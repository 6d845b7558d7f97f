use super::*;
use crate::format::tests::NOON;
use strandline_model::{DeletionCause, Health, Offset, ResourceVersion};
use strandline_protocol::{ObjectText, Version, VersionChange};

#[test]
fn what_is_missing_comes_first_among_the_links() {
    let lines = edges::lines(&Shell::bare(""), &linked(), "eu-west");
    let told: Vec<_> = lines.iter().map(|line| (line.verb, line.name.as_str(), line.missing)).collect();
    assert_eq!(told, [("mounts", "<lost>", true), ("selected by", "front", false)]);
    assert_eq!(lines[0].href, None);
    assert_eq!(lines[1].href.as_deref(), Some("/resources/front?cluster=eu-west"));
}

/// A version of a Deployment with so many replicas, an image, and so many of them ready.
fn version(offset: u64, (replicas, image, ready): (u64, &str, u64), health: Health) -> Version {
    Version {
        id: offset.to_string(),
        offset: Offset::new(offset),
        observed_at: NOON.plus(std::time::Duration::from_secs(offset * 60)),
        change: VersionChange::Applied,
        resource_version: ResourceVersion::new("1"),
        health: Some(health),
        reason: String::new(),
        message: String::new(),
        rule: "builtin/Deployment".into(),
        rule_set: "4".into(),
        later: None,
        changed_by: None,
        cause: None,
        object: Some(ObjectText::from(&serde_json::json!({
            "metadata": {"resourceVersion": offset.to_string()},
            "spec": {"replicas": replicas, "template": {"spec": {"containers": [{"name": "web", "image": image}]}}},
            "status": {"readyReplicas": ready},
        }))),
    }
}

/// Six versions of a Deployment, newest first.
fn versions() -> Vec<Version> {
    let (well, ill) = (Health::Healthy, Health::Degraded);
    vec![
        version(9, (5, "web:2", 5), well),
        version(8, (5, "web:2", 4), well),
        version(7, (5, "web:2", 3), well),
        version(6, (5, "web:2", 3), well),
        version(5, (3, "web:2", 0), ill),
        version(4, (3, "web:1", 3), well),
    ]
}

fn history(query: &str, main: Vec<Version>, later: Vec<Version>) -> History {
    let request = crate::web::tests::request("/resources/{uid}", query);
    let now = NOON.plus(std::time::Duration::from_secs(420));
    let found = Versions { main, later };
    History::new(&request, &found, &Kind::new("apps", "Deployment"), &versions::lens(), true, now)
}

/// What the entries say, with the number of versions in those that hold several.
fn told(entries: &[Entry]) -> Vec<(&str, usize)> {
    let mut told = Vec::new();
    for entry in entries {
        told.push(match entry {
            Entry::One(line) => (line.said.as_str(), 1),
            Entry::Run(words, lines) => (words.as_str(), lines.len()),
        });
    }
    told
}

#[test]
fn each_version_says_what_it_changed_and_those_of_status_alone_stand_together() {
    let mut all = versions();
    all.insert(0, version(10, (5, "web:2", 6), Health::Healthy));
    let found = history("cluster=c", all.clone(), Vec::new());
    assert_eq!(
        told(&found.entries),
        [
            ("status only: readyReplicas", 1),
            ("3 versions with status changes only", 3),
            ("replicas 3 → 5", 1),
            ("image web 1 → 2", 1),
            ("first version recorded", 1),
        ]
    );
    let Entry::One(shown) = &found.entries[0] else { panic!("the version shown stands by itself") };
    assert!(shown.shown && shown.href == "/resources/{uid}?at=10&cluster=c", "{shown:?}");
    assert_eq!(shown.changes.as_deref(), Some("/resources/{uid}/diff?at=10&cluster=c"));
    all[3].rule_set = "5".into();
    let rules = history("", all, Vec::new());
    let ruled = |entry: &&Entry| matches!(entry, Entry::One(line) if !line.rule.is_empty());
    assert_eq!(rules.entries.iter().filter(ruled).count(), 2, "another judge shows, there and back");
}

#[test]
fn the_list_begins_with_the_moment_and_what_came_later_is_apart() {
    let mut main = versions();
    let later: Vec<_> = main.drain(..2).collect();
    let found = history("at=7", main, later);
    let Some(Entry::One(first)) = found.entries.first() else { panic!("{found:?}") };
    assert_eq!(
        (first.shown, first.distance.as_str(), first.said.as_str()),
        (true, "0s ago", "no visible differences")
    );
    assert_eq!(told(&found.later), [("2 versions with status changes only", 2)]);
    assert_eq!(found.later_words, "2 later versions");
    let newest = history("", versions(), Vec::new());
    assert!(newest.later.is_empty() && newest.later_words.is_empty());
}

#[test]
fn the_end_and_a_new_beginning_are_no_differences() {
    let mut all = versions();
    all.truncate(3);
    (all[1].change, all[1].object, all[1].cause) =
        (VersionChange::Deleted, None, Some(DeletionCause::Watched));
    let found = history("", all, Vec::new());
    assert_eq!(told(&found.entries), [("created again", 1), ("", 1), ("first version recorded", 1)]);
    let Entry::One(end) = &found.entries[1] else { panic!("{found:?}") };
    assert_eq!((end.end.as_str(), &end.changes), ("deleted", &None));
}
