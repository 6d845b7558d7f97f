//! What is kept for how long.

use std::time::Duration;

use super::*;

#[test]
fn history_is_bounded_unless_someone_says_otherwise() {
    let hours = |hours: u64| Duration::from_secs(hours * 3600);
    let kept = |text: &str| read(&format!("{CLUSTER}{text}")).unwrap().retention;
    let default = kept("");
    assert_eq!((default.age, default.size), (Some(hours(720)), Some(10 * 1024 * 1024 * 1024)));
    assert_eq!((default.at_least, default.every), (hours(1), hours(1)));
    let reported = kept("retention: {age: 7d, size: 500MB, at_least: 2h, every: 10m}");
    assert_eq!((reported.age, reported.size), (Some(hours(168)), Some(500_000_000)));
    assert_eq!((reported.at_least, reported.every), (hours(2), Duration::from_secs(600)));
    let endless = kept("retention: {age: forever, size: none}");
    assert_eq!((endless.age, endless.size), (None, None));
    assert_eq!(kept("retention: {size: 3TiB}").size, Some(3 << 40));
    let kinds = kept("retention: {kinds: {'*.apps': 9d, Event: 3d, Deployment.apps: 20d}}").kinds;
    let kinds: Vec<_> = kinds.iter().map(|(pattern, age)| (pattern.to_string(), *age)).collect();
    let named = [("Deployment.apps", 480), ("Event", 72), ("*.apps", 216)];
    assert_eq!(
        kinds,
        named.map(|(kind, age)| (kind.to_owned(), hours(age))),
        "what names a kind comes first"
    );
}

#[test]
fn what_cannot_be_meant_is_told_with_its_place() {
    let mistakes = [
        ("retention: {age: long}", "2:18: invalid duration `long`", "write it as 30d, 12h or `forever`"),
        ("retention: {age: 0d}", "2:18: invalid duration `0d`", "write it as 30d, 12h or `forever`"),
        ("retention: {every: 0}", "2:20: invalid duration `0`", "write it as 30m, 1h or 1d"),
        ("retention: {size: 10}", "2:19: invalid size `10`", "write it as 10GiB, 500MiB, 20GB or `none`"),
        (
            "retention: {size: 99999999TiB}",
            "2:19: invalid size `99999999TiB`",
            "write it as 10GiB, 500MiB, 20GB or `none`",
        ),
        (
            "retention: {age: 30m}",
            "2:18: the age `30m` is below `at_least`",
            "use a longer `age`, or a shorter `at_least` (default: 1h)",
        ),
    ];
    let between = "use one between `at_least` (default: 1h) and `age` (default: 30d)";
    let of_kinds = [
        ("retention: {kinds: {Pod: long}}", "2:26: invalid duration `long`", "write it as 12h or 7d"),
        (
            "retention: {kinds: {Pod: 31d}}",
            "2:26: the age `31d` of `Pod` is above the general `age`",
            between,
        ),
        ("retention: {kinds: {Pod: 5m}}", "2:26: the age `5m` of `Pod` is below `at_least`", between),
        (
            "retention: {kinds: {pods: 5d}}",
            "2:27: invalid kind `pods`; write Kind, Kind.group or *.group",
            "such as Secret, Lease.coordination.k8s.io or *.metrics.k8s.io",
        ),
    ];
    for (text, expected, hint) in mistakes.into_iter().chain(of_kinds) {
        check(&format!("{CLUSTER}{text}"), &[expected], Some(hint));
    }
}

#[test]
fn how_often_clusters_are_compared_is_bounded() {
    let every = |text: &str| read(&format!("{CLUSTER}consistency: {{every: {text}}}"));
    assert_eq!(read(CLUSTER).unwrap().consistency, None);
    assert_eq!(every("12h").unwrap().consistency, Some(Duration::from_secs(12 * 3600)));
    assert_eq!(every("10m").unwrap().consistency, Some(Duration::from_secs(600)));
    for (text, wrong) in
        [("9m", "a comparison every `9m` is too frequent"), ("often", "invalid duration `often`")]
    {
        let refused = every(text).unwrap_err().to_string();
        assert!(refused.contains(wrong) && refused.contains("2:22"), "{refused}");
    }
}
