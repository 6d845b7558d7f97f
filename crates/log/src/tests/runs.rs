//! Runs of watches: which may write, what they resume from, and what their end means.

use super::*;

fn pods_in(namespace: &str) -> WatchKey {
    WatchKey { namespace: namespace.into(), ..pods() }
}

fn batch_of(watch: &WatchKey, epoch: Epoch, phase: Phase, observed: Vec<Observed>, cursor: &str) -> Batch {
    Batch { watch: watch.clone(), ..batch(epoch, phase, observed, cursor) }
}

#[tokio::test]
async fn watches_of_the_same_objects_do_not_end_what_another_saw() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let (whole, narrow) = (pods(), pods_in("shop"));
    // Many runs of the narrow watch must not make its epochs look newer than those of the whole.
    for _ in 0..5 {
        log.appender.begin(Begin::new(&narrow, true)).await.unwrap();
    }
    let early = log.appender.begin(Begin::new(&narrow, true)).await.unwrap().epoch;
    let late = log.appender.begin(Begin::new(&whole, true)).await.unwrap().epoch;
    let (a, b) = (|version| pod("a", "ua", version, "1"), |version| pod("b", "ub", version, "1"));
    let append = async |watch: &WatchKey, epoch, phase, observed| {
        log.appender.append(batch_of(watch, epoch, phase, observed, "10")).await.unwrap()
    };
    append(&narrow, early, Phase::ListPage, vec![a(1), b(2)]).await;
    append(&whole, late, Phase::ListPage, vec![a(1)]).await;
    // The run that began earlier sees it again, which must not undo what the later one saw.
    append(&narrow, early, Phase::Watch, vec![a(1)]).await;
    let ended = append(&whole, late, Phase::ListEnd, vec![]).await;
    assert_eq!(ended.written, 1, "b was not listed, a was");
    log.stop();
    assert_eq!(told(dir.path()), ["+a 1", "+b 1", "-b relist"]);
}

#[tokio::test]
async fn a_list_older_than_what_is_recorded_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let epoch = log.appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch;
    let append = async |phase, version, cursor: &str| {
        let observed = vec![pod("a", "ua", version, &version.to_string())];
        log.appender.append(batch(epoch, phase, observed, cursor)).await.unwrap()
    };
    append(Phase::ListPage, 20, "25").await;
    let lagging = append(Phase::ListPage, 10, "15").await;
    assert_eq!((lagging.written, lagging.stale), (0, 1));
    // A list that is newer and yet shows an older state: the cluster was set back.
    let set_back = append(Phase::ListPage, 11, "30").await;
    assert_eq!((set_back.written, set_back.stale), (1, 0));
    log.stop();
    assert_eq!(told(dir.path()), ["+a 20", "+a 11"]);
}

#[tokio::test]
async fn another_question_is_not_answered_by_an_old_cursor() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let begin = async |selector: &str| {
        let begin = Begin { selector: selector.into(), ..Begin::new(&pods(), false) };
        log.appender.begin(begin).await.unwrap()
    };
    let end = async |epoch, names: &[&str]| {
        let observed = names.iter().map(|name| pod(name, &format!("u{name}"), 1, "1")).collect();
        log.appender.append(batch(epoch, Phase::ListPage, observed, "10")).await.unwrap();
        log.appender.append(batch(epoch, Phase::ListEnd, vec![], "10")).await.unwrap();
    };
    end(begin("").await.epoch, &["a", "b"]).await;
    assert!(begin("").await.cursor.is_some(), "the same question goes on");
    let other = begin("&labelSelector=tier").await;
    assert!(other.cursor.is_none());
    // A crash before the list is over must not forget that the question changed.
    let other = begin("&labelSelector=tier").await;
    end(other.epoch, &["a"]).await;
    let again = begin("&labelSelector=tier").await;
    assert!(again.cursor.is_some());
    end(again.epoch, &[]).await;
    log.stop();
    assert_eq!(told(dir.path()), ["+a 1", "+b 1", "-b unfollowed", "-a relist"]);
}

#[tokio::test]
async fn another_cluster_under_the_same_name_forgets_every_cursor() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let identify = async |uid: &str| log.appender.identify("one", uid).await.unwrap();
    assert_eq!(identify("u1").await, Identified::Known);
    let run = log.appender.begin(Begin::new(&pods(), false)).await.unwrap().epoch;
    let observed = vec![pod("a", "ua", 1, "1")];
    log.appender.append(batch(run, Phase::ListPage, observed, "10")).await.unwrap();
    log.appender.append(batch(run, Phase::ListEnd, vec![], "10")).await.unwrap();
    assert_eq!(identify("u1").await, Identified::Known);
    assert!(log.appender.begin(Begin::new(&pods(), false)).await.unwrap().cursor.is_some());
    let run = log.appender.begin(Begin::new(&pods(), false)).await.unwrap().epoch;
    assert_eq!(identify("u2").await, Identified::Replaced);
    let late = log.appender.append(batch(run, Phase::Watch, vec![], "11")).await;
    assert!(matches!(late, Err(AppendError::Superseded(_))), "what began before may not write");
    assert!(log.appender.begin(Begin::new(&pods(), false)).await.unwrap().cursor.is_none());
    assert_eq!(identify("u2").await, Identified::Known);
    log.stop();
    assert_eq!(told(dir.path()), ["+a 1", "Gap"]);
}

#[tokio::test]
async fn a_dismissed_watch_leaves_a_mark_and_no_cursor() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    for (namespace, unfollow) in [("shop", true), ("bank", false)] {
        let watch = pods_in(namespace);
        let epoch = log.appender.begin(Begin::new(&watch, false)).await.unwrap().epoch;
        let Observed::Applied(object) = pod(namespace, namespace, 1, "1") else { unreachable!() };
        let observed = vec![Observed::Applied(Observation { namespace: namespace.into(), ..object })];
        log.appender.append(batch_of(&watch, epoch, Phase::ListPage, observed, "10")).await.unwrap();
        log.appender.append(batch_of(&watch, epoch, Phase::ListEnd, vec![], "10")).await.unwrap();
        assert_eq!(log.appender.watches("one").await.unwrap().len(), 1);
        let mark = CoverageMark::excluded(watch.clone(), Timestamp::from_micros(0), "excluded", "");
        log.appender.dismiss(mark, unfollow).await.unwrap();
        assert!(log.appender.watches("one").await.unwrap().is_empty());
        assert!(log.appender.begin(Begin::new(&watch, false)).await.unwrap().cursor.is_none());
        let mark = CoverageMark::excluded(watch, Timestamp::from_micros(0), "", "");
        log.appender.dismiss(mark, false).await.unwrap();
    }
    log.stop();
    let expected = ["+shop 1", "-shop unfollowed", "Excluded", "Excluded", "+bank 1", "Excluded", "Excluded"];
    assert_eq!(told(dir.path()), expected);
}

#[tokio::test]
async fn a_keyframe_that_is_no_longer_at_hand_is_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let body = |n: u64| format!(r#"{{"filler":"{}","n":{n}}}"#, "x y z ".repeat(200));
    for version in 1..4 {
        // Each time another writer, which knows nothing but what is written.
        let log = start(dir.path());
        let epoch = log.appender.begin(Begin::new(&pods(), false)).await.unwrap().epoch;
        let observed = vec![pod("a", "ua", version, &body(version))];
        log.appender.append(batch(epoch, Phase::Watch, observed, &version.to_string())).await.unwrap();
        log.stop();
    }
    let connection = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
    let mut statement = connection.prepare("SELECT base FROM change ORDER BY \"offset\"").unwrap();
    let bases: Vec<Option<i64>> =
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(bases, [None, Some(1), Some(1)]);
    assert_eq!(told(dir.path()), [1, 2, 3].map(|n| format!("+a {}", body(n))));
}

#[tokio::test]
async fn what_was_alive_of_a_kind_that_was_removed_ends_with_when_it_was_last_seen() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let epoch = log.appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch;
    let append = async |phase, observed| {
        log.appender.append(batch(epoch, phase, observed, "10")).await.unwrap();
    };
    append(Phase::ListPage, vec![pod("a", "ua", 1, "1")]).await;
    append(Phase::ListEnd, vec![]).await;
    let mark = CoverageMark::excluded(pods(), Timestamp::from_micros(0), "removed", "");
    assert_eq!(log.appender.dismiss(mark, true).await.unwrap().written, 2);
    let again = log.appender.begin(Begin::new(&pods(), false)).await.unwrap();
    assert_eq!((again.cursor, again.last_seen), (None, None), "a kind that is back begins with a list");
    log.stop();
    assert_eq!(told(dir.path()), ["+a 1", "-a kind removed", "Excluded"]);
}

#[tokio::test]
async fn a_cluster_that_is_declared_no_more_is_a_gap_from_when_it_was_last_seen() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let cluster = |name: &str| CatalogFact::Cluster(ClusterSpec { name: name.into(), region: String::new() });
    let declare = async |names: &[&str]| {
        let facts = names.iter().map(|name| cluster(name)).collect();
        log.appender.declare(Source::Config, facts).await.unwrap().written
    };
    assert_eq!(declare(&["one", "two", "three"]).await, 3);
    let now = SystemClock.now();
    let mut last_seen = None;
    for name in ["one", "two", "three"] {
        let watch = WatchKey { cluster: name.into(), ..pods() };
        let epoch = log.appender.begin(Begin::new(&watch, true)).await.unwrap().epoch;
        log.appender
            .append(Batch { watch: watch.clone(), ..batch(epoch, Phase::ListEnd, vec![], "1") })
            .await
            .unwrap();
        for watch in [WatchKey::discovery(name, ""), watch.clone()] {
            log.appender.mark(CoverageMark::watched(watch, now)).await.unwrap();
        }
        if name == "one" {
            last_seen = log.appender.begin(Begin::new(&watch, false)).await.unwrap().last_seen;
        }
    }
    let unreachable = CoverageMark::gap(WatchKey::discovery("three", ""), now, reason::UNREACHABLE, "");
    log.appender.mark(unreachable).await.unwrap();
    let head = log.appender.mark(CoverageMark::watched(pods(), now)).await.unwrap().head;
    assert_eq!(declare(&["two"]).await, 2);
    // What did not go, went into a gap before, or is in the gap of its end already, is not marked.
    declare(&["two"]).await;
    log.stop();
    let mut reader = LogReader::open(dir.path()).unwrap();
    let told = reader.after(head, 10).unwrap().into_iter().map(|record| match record.change {
        Change::Coverage(mark) => {
            assert!(mark.watch.is_discovery() && Some(mark.since) == last_seen, "{mark:?}");
            format!("{:?} {} {}", mark.state, mark.watch.cluster, mark.reason)
        }
        Change::Withdrawn { name, .. } => format!("withdrawn {name}"),
        other => format!("{other:?}"),
    });
    let expected = ["Gap one restarted", "withdrawn one", "withdrawn three"];
    assert_eq!(told.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn what_events_confirm_moves_on_when_a_watch_was_last_complete() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let last_seen = async || log.appender.begin(Begin::new(&pods(), false)).await.unwrap();
    let session = last_seen().await;
    log.appender.append(batch(session.epoch, Phase::ListEnd, vec![], "7")).await.unwrap();
    let listed = last_seen().await.last_seen.unwrap();
    let confirm = async |at: Timestamp| {
        let epoch = last_seen().await.epoch;
        log.appender.append(batch(epoch, Phase::Confirmed(at), vec![], "8")).await.unwrap();
        last_seen().await.last_seen.unwrap()
    };
    let later = listed.plus(std::time::Duration::from_micros(1));
    assert_eq!(confirm(listed.minus(std::time::Duration::from_secs(60))).await, listed, "it never goes back");
    assert_eq!(confirm(later).await, later);
    let ahead = SystemClock.now().plus(std::time::Duration::from_secs(3600));
    assert!(confirm(ahead).await < ahead, "and never beyond now");
    log.stop();
}

#[tokio::test]
async fn what_is_alive_is_read_in_pages_and_when_it_was_verified_is_remembered() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let begin = async || log.appender.begin(Begin::new(&pods(), false)).await.unwrap();
    let first = begin().await.epoch;
    let names: Vec<String> = (0..5).map(|n| format!("p{n}")).collect();
    let list = names.iter().map(|name| pod(name, name, 5, "{}")).collect();
    log.appender.append(batch(first, Phase::ListEnd, list, "7")).await.unwrap();
    // Objects that were seen by a later run stand behind the others.
    let session = begin().await;
    let seen = vec![pod("p0", "p0", 9, "{}"), pod("p3", "p3", 8, "{}")];
    log.appender.append(batch(session.epoch, Phase::Watch, seen, "9")).await.unwrap();
    let (mut found, mut after) = (Vec::new(), Some(LivePosition::default()));
    while let Some(position) = after {
        let page = log.appender.live_objects(&pods(), position, 2).await.unwrap();
        assert!(page.objects.len() <= 2);
        found.extend(
            page.objects.into_iter().map(|object| format!("{} {}", object.name, object.resource_version)),
        );
        after = page.next;
    }
    assert_eq!(found, ["p1 5", "p2 5", "p4 5", "p0 9", "p3 8"]);
    let listed = session.verified_at.unwrap();
    let later = listed.plus(std::time::Duration::from_secs(1));
    let agree = async |epoch, agreement| log.appender.agreement(&pods(), epoch, agreement).await;
    agree(session.epoch, Agreement::Verified(later)).await.unwrap();
    let earlier = Begin { since: Some(listed), ..Begin::new(&pods(), true) };
    let session = log.appender.begin(earlier).await.unwrap();
    assert_eq!((session.verified_at, session.last_seen), (Some(later), Some(listed)));
    assert!(agree(first, Agreement::Verified(later)).await.is_err(), "of an earlier run");
    // In doubt from the first time on, however often a run begins or doubts, until it is verified again.
    assert_eq!(session.unverified_since, Some(listed));
    agree(session.epoch, Agreement::InDoubt(later)).await.unwrap();
    let session = begin().await;
    assert_eq!(session.unverified_since, Some(listed));
    agree(session.epoch, Agreement::Verified(later)).await.unwrap();
    agree(session.epoch, Agreement::InDoubt(later)).await.unwrap();
    let session = begin().await;
    assert_eq!(session.unverified_since, Some(later));
    log.appender.append(batch(session.epoch, Phase::ListEnd, Vec::new(), "10")).await.unwrap();
    agree(session.epoch, Agreement::InDoubt(later.plus(std::time::Duration::from_secs(1)))).await.unwrap();
    let session = begin().await;
    assert!(session.unverified_since > Some(later), "a list shows all there is");
    log.stop();
}

#[tokio::test]
async fn a_cursor_holds_for_one_served_version_and_one_definition() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let begin = async |version: &str, definition: Option<&str>| {
        let (served_version, definition) = (Some(version.to_owned()), definition.map(str::to_owned));
        log.appender.begin(Begin { served_version, definition, ..Begin::new(&pods(), false) }).await.unwrap()
    };
    let list = async |epoch, body: &str| {
        let observed = vec![pod("a", "ua", 5, body)];
        let written =
            log.appender.append(batch(epoch, Phase::ListPage, observed, "10")).await.unwrap().written;
        written + log.appender.append(batch(epoch, Phase::ListEnd, vec![], "10")).await.unwrap().written
    };
    let first = begin("v1", None).await;
    assert_eq!(list(first.epoch, "old shape").await, 1);
    let same = begin("v1", None).await;
    assert!(same.cursor.is_some(), "the same version");
    assert_eq!(list(same.epoch, "another").await, 0, "the same resourceVersion is the same state");

    let other = begin("v2", None).await;
    assert_eq!(other.cursor, None);
    assert_eq!(list(other.epoch, "new shape").await, 1, "only its shape differs");
    assert!(log.appender.define(pods(), "generation 1".to_owned()).await.unwrap(), "the first is no change");
    assert!(begin("v2", Some("generation 1")).await.cursor.is_some());
    assert!(!log.appender.define(pods(), "generation 2".to_owned()).await.unwrap());
    let defined = begin("v2", Some("generation 2")).await;
    assert_eq!(defined.cursor, None);
    assert_eq!(list(defined.epoch, "newest shape").await, 1);
    assert_eq!(list(defined.epoch, "another").await, 0, "all have been shown in their new shape");
    log.stop();
    assert_eq!(told(dir.path()), ["+a old shape", "+a new shape", "+a newest shape"]);
}

#[tokio::test]
async fn what_a_person_says_is_gone_ends_and_comes_back_as_the_same_life() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let epoch = log.appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch;
    let append = async |epoch, phase, observed| {
        log.appender.append(batch(epoch, phase, observed, "10")).await.unwrap().written
    };
    append(epoch, Phase::ListPage, vec![pod("a", "ua", 1, "1"), pod("b", "ub", 2, "1")]).await;
    append(epoch, Phase::ListEnd, vec![]).await;
    log.appender.mark(CoverageMark::watched(pods(), Timestamp::from_micros(0))).await.unwrap();
    let all = |kind: &str| Forget {
        cluster: pods().cluster,
        kind: kind.parse().unwrap(),
        namespace: None,
        name: None,
        uid: None,
        dry_run: false,
        force: false,
        by: "alice".into(),
    };
    let forget = async |forget| log.appender.forget(forget).await.unwrap();
    let unknown = forget(all("widget")).await.unwrap_err();
    assert!(matches!(unknown, ForgetRefusal::UnknownKind { .. }), "{unknown}");
    let watched = forget(Forget { name: Some("a".into()), ..all("pod") }).await.unwrap_err();
    assert!(matches!(watched, ForgetRefusal::Watched(_)), "{watched}");
    let other = forget(Forget { name: Some("z".into()), force: true, ..all("pod") }).await;
    assert_eq!(other, Err(ForgetRefusal::Nothing));

    let gap = CoverageMark::gap(pods(), Timestamp::from_micros(0), "not_served", "");
    log.appender.mark(gap).await.unwrap();
    let one = Forget { uid: Some(Uid::new("ub")), ..all("pod") };
    let dry = forget(Forget { dry_run: true, ..one.clone() }).await.unwrap();
    assert_eq!((dry.ended.len(), dry.gaps), (1, 0), "and nothing is written");
    assert_eq!(forget(one).await.unwrap().ended.len(), 1);
    let rest = forget(all("pods")).await.unwrap();
    assert_eq!((rest.ended.len(), rest.gaps), (1, 1));
    assert_eq!(forget(all("pods")).await, Err(ForgetRefusal::Nothing), "the gap is over");

    let again = log.appender.begin(Begin::new(&pods(), false)).await.unwrap();
    assert_eq!(again.cursor, None, "what is there after all is listed");
    assert_eq!(append(again.epoch, Phase::ListPage, vec![pod("a", "ua", 1, "1")]).await, 1);
    log.stop();
    let expected = ["+a 1", "+b 1", "Watched", "Gap", "-b forgotten", "-a forgotten", "Excluded", "+a 1"];
    assert_eq!(told(dir.path()), expected);
    let mut reader = LogReader::open(dir.path()).unwrap();
    let records = reader.after(Offset::ZERO, 100).unwrap();
    let lives: std::collections::BTreeSet<_> = records
        .iter()
        .filter_map(|record| match &record.change {
            Change::Applied { id, uid, .. } if uid.as_str() == "ua" => Some(format!("{id:?}")),
            _ => None,
        })
        .collect();
    assert_eq!(lives.len(), 1, "the same life");
}
