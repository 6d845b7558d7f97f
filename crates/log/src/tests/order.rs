//! What a watch tells twice, late or in disorder.

use super::*;

#[tokio::test]
async fn of_two_incarnations_the_older_is_stale_however_late_it_comes() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let session = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    let gone = |uid: &str| Observed::Deleted {
        namespace: "shop".into(),
        name: "a".into(),
        uid: Uid::new(uid),
        resource_version: ResourceVersion::new("8"),
    };
    let told_in_disorder = vec![
        pod("a", "1", 5, "{}"),
        pod("a", "2", 9, "{}"),
        // The end of the first, which the second has told already, and a state from before it.
        gone("1"),
        pod("a", "1", 7, "{\"n\":1}"),
        pod("a", "2", 9, "{}"),
    ];
    let done = log.appender.append(batch(session.epoch, Phase::Watch, told_in_disorder, "9")).await.unwrap();
    assert_eq!((done.written, done.unchanged, done.stale), (3, 1, 1));
    log.stop();
    assert_eq!(told(dir.path()), ["+a {}", "-a replaced", "+a {}"]);
}

#[tokio::test]
async fn a_life_told_again_ends_as_it_ended() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let session = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
    let life = || {
        let gone = Observed::Deleted {
            namespace: "shop".into(),
            name: "a".into(),
            uid: Uid::new("1"),
            resource_version: ResourceVersion::new("3"),
        };
        vec![pod("a", "1", 1, "{}"), pod("a", "1", 2, "{\"n\":1}"), gone]
    };
    for _ in 0..2 {
        log.appender.append(batch(session.epoch, Phase::Watch, life(), "3")).await.unwrap();
    }
    let end = log.appender.append(batch(session.epoch, Phase::ListEnd, vec![], "3")).await.unwrap();
    assert_eq!(end.written, 0, "nothing is left for a list to miss");
    log.stop();
    assert_eq!(told(dir.path()).last().map(String::as_str), Some("-a watched"));
}

/// What repeated and reordered states of one object amount to: those written, and how many changed nothing or
/// were stale. Two versions share a body.
fn counted(versions: &[u64]) -> (Vec<String>, usize, usize) {
    let (mut written, mut unchanged, mut stale) = (Vec::new(), 0, 0);
    let mut newest = 0;
    for &version in versions {
        let body = format!("{{\"n\":{}}}", version / 2);
        if version < newest {
            stale += 1;
        } else if version == newest || written.last() == Some(&body) {
            unchanged += 1;
        } else {
            written.push(body);
        }
        newest = newest.max(version);
    }
    (written, unchanged, stale)
}

proptest! {
    #![proptest_config(strandline_testkit::cases(16))]

    #[test]
    fn repeated_and_reordered_states_are_counted_and_written_once(
        seen in prop::collection::vec((0..3_usize, 1..12_u64), 1..60), size in 1..9_usize,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut sums = (0, 0, 0);
        runtime.block_on(async {
            let log = start(dir.path());
            let session = log.appender.begin(Begin::new(&pods(), true)).await.unwrap();
            for chunk in seen.chunks(size) {
                let state = |(object, version): &(usize, u64)| {
                    let body = format!("{{\"n\":{}}}", version / 2);
                    pod(&format!("o{object}"), &format!("u{object}"), *version, &body)
                };
                let states = chunk.iter().map(state).collect();
                let done = log.appender.append(batch(session.epoch, Phase::Watch, states, "1")).await.unwrap();
                sums = (sums.0 + done.written, sums.1 + done.unchanged, sums.2 + done.stale);
            }
            log.stop();
        });
        let told = told(dir.path());
        let mut expected = (0, 0, 0);
        for object in 0..3 {
            let versions: Vec<u64> =
                seen.iter().filter(|(other, _)| *other == object).map(|(_, version)| *version).collect();
            let (written, unchanged, stale) = counted(&versions);
            let prefix = format!("+o{object} ");
            let bodies: Vec<&str> = told.iter().filter_map(|line| line.strip_prefix(&prefix)).collect();
            prop_assert_eq!(&bodies, &written);
            expected = (expected.0 + written.len(), expected.1 + unchanged, expected.2 + stale);
        }
        prop_assert_eq!(sums, expected);
    }
}
