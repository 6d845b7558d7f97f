//! Decisions are made beside the writer, and written only if what they rest on holds still.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};

use tokio::sync::oneshot;

use super::super::declared::{BY_ALIAS, Decided, DecisionBasis};
use super::super::lanes::{CALLERS, GROUP, Lanes};
use super::super::request::{Queued, Request};
use super::super::{catalog, decisions as read};
use super::*;
use strandline_model::{CatalogKind, EnvironmentSpec, ProjectSpec};

fn project(path: &str, number: u64) -> CatalogFact {
    CatalogFact::Project(ProjectSpec { path: path.into(), number: Some(number), ..ProjectSpec::default() })
}

fn declares(fact: CatalogFact) -> CatalogChange {
    CatalogChange::Declare(fact)
}

fn number(standing: Option<Standing>) -> Option<u64> {
    match standing?.fact {
        CatalogFact::Project(project) => project.number,
        _ => None,
    }
}

/// Adds one to the number of a project; `looked` is called between looking and deciding.
async fn add_one(appender: &Appender, looked: impl Fn() + Send + Sync + 'static) -> Result<u64, AppendError> {
    let decision = move |catalog: &mut Catalog<'_, '_>| {
        let next = number(catalog.get(CatalogKind::Project, "a/b")?).unwrap_or(0) + 1;
        looked();
        Ok((vec![declares(project("a/b", next))], next))
    };
    Ok(appender.decide(Source::Api, decision).await?.1)
}

#[tokio::test]
async fn a_decision_that_takes_its_time_holds_up_nothing_that_is_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let epoch = log.appender.begin(Begin::new(&pods(), true)).await.unwrap().epoch;
    let (began, beginning) = mpsc::channel();
    let (go_on, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let appender = log.appender.clone();
    let slow = tokio::spawn(async move {
        let hold = move || {
            began.send(()).unwrap();
            held.lock().unwrap_or_else(PoisonError::into_inner).recv().unwrap();
        };
        add_one(&appender, hold).await
    });
    tokio::task::spawn_blocking(move || beginning.recv().unwrap()).await.unwrap();
    for n in 1..=20_u64 {
        let observed = vec![pod("a", "1", n, &format!("{{\"n\":{n}}}"))];
        let done = log.appender.append(batch(epoch, Phase::Watch, observed, &n.to_string())).await.unwrap();
        assert_eq!(done.written, 1, "it is recorded while the decision is being made");
    }
    // Another decision passes it too.
    let other =
        log.appender.decide(Source::Api, |_| Ok((vec![declares(project("c/d", 1))], ()))).await.unwrap();
    assert_eq!(other.0.head, Offset::new(21));
    assert!(!slow.is_finished());
    go_on.send(()).unwrap();
    assert_eq!(slow.await.unwrap().unwrap(), 1);
    log.stop();
}

#[tokio::test]
async fn what_changed_while_it_was_decided_is_decided_again() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let adding = (0..30).map(|_| {
        let appender = log.appender.clone();
        tokio::spawn(async move {
            loop {
                match add_one(&appender, || ()).await {
                    Err(AppendError::Contended) => {}
                    done => return done.unwrap(),
                }
            }
        })
    });
    let mut told = Vec::new();
    for adding in adding.collect::<Vec<_>>() {
        told.push(adding.await.unwrap());
    }
    told.sort_unstable();
    assert_eq!(told, (1..=30).collect::<Vec<u64>>(), "each found what the one before it left");
    log.stop();
}

#[tokio::test]
async fn what_keeps_changing_is_not_decided_for_ever() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let (asked, runtime) = (Arc::new(AtomicUsize::new(0)), tokio::runtime::Handle::current());
    let (counted, appender) = (Arc::clone(&asked), log.appender.clone());
    // While it decides, another takes the place of what it looked at.
    let disturb = move || {
        let n = counted.fetch_add(1, Ordering::Relaxed) as u64;
        let fact = project("a/b", 100 + n);
        let other = appender.decide(Source::Api, move |_| Ok((vec![declares(fact.clone())], ())));
        runtime.block_on(other).unwrap();
    };
    let refused = add_one(&log.appender, disturb).await.unwrap_err();
    assert!(matches!(refused, AppendError::Contended), "{refused}");
    assert_eq!(asked.load(Ordering::Relaxed), 8);
    log.stop();
    assert_eq!(told(dir.path()).len(), 8, "of the decision itself nothing is written");
}

#[tokio::test(start_paused = true)]
async fn a_decision_that_takes_too_long_ends_where_it_next_looks_something_up() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    let runtime = tokio::runtime::Handle::current();
    let decision = move |catalog: &mut Catalog<'_, '_>| {
        for n in 0..1000 {
            catalog.get(CatalogKind::Project, &format!("a/{n}"))?;
            runtime.block_on(tokio::time::advance(std::time::Duration::from_secs(1)));
        }
        Ok((vec![declares(project("a/b", 1))], ()))
    };
    let refused = log.appender.decide(Source::Api, decision).await.unwrap_err();
    assert!(matches!(refused, AppendError::TooLong), "{refused}");
    log.stop();
    assert_eq!(told(dir.path()).len(), 0);
}

#[tokio::test]
async fn a_decision_that_writes_nothing_does_not_wait_for_the_writer() {
    let dir = tempfile::tempdir().unwrap();
    let log = start(dir.path());
    add_one(&log.appender, || ()).await.unwrap();
    log.stop();
    // Nobody takes from the queue.
    let (_writer, appender) = LogWriter::open(dir.path(), Arc::new(SystemClock)).unwrap();
    let read =
        |catalog: &mut Catalog<'_, '_>| Ok((Vec::new(), number(catalog.get(CatalogKind::Project, "a/b")?)));
    let (looked, found) = appender.decide(Source::Api, read).await.unwrap();
    assert_eq!((looked.head, found), (Offset::new(1), Some(1)));
}

#[tokio::test]
async fn an_environment_is_found_by_its_name_through_an_index() {
    let dir = tempfile::tempdir().unwrap();
    let named = |project: &'static str, name: &'static str| {
        move |catalog: &mut Catalog<'_, '_>| {
            let found = catalog.environment_named(project, name)?;
            Ok((Vec::new(), found.map(|standing| standing.fact.name())))
        }
    };
    let log = start(dir.path());
    let environment = |id: &str, name: &str| {
        let spec = EnvironmentSpec {
            id: strandline_model::EnvironmentId::new(id),
            ..EnvironmentSpec::new("a/b", name)
        };
        declares(CatalogFact::from(spec))
    };
    let some = vec![environment("a/b/one", "qa"), environment("a/b/two", "live: eu")];
    log.appender.decide(Source::Api, move |_| Ok((some.clone(), ()))).await.unwrap();
    let asked = [("a/b", "qa"), ("a/b", "live: eu"), ("a/b", "live"), ("a", "b:qa"), ("c", "qa")];
    let expected = [Some("a/b/one"), Some("a/b/two"), None, None, None].map(|id| id.map(str::to_owned));
    for ((project, name), expected) in asked.into_iter().zip(&expected) {
        let found = log.appender.decide(Source::Api, named(project, name)).await.unwrap().1;
        assert_eq!(found, *expected, "{project} {name}");
    }
    let gone = CatalogChange::Withdraw(CatalogKind::Environment, "a/b/one".into());
    log.appender.decide(Source::Api, move |_| Ok((vec![gone.clone()], ()))).await.unwrap();
    assert_eq!(log.appender.decide(Source::Api, named("a/b", "qa")).await.unwrap().1, None);
    log.stop();
    let file = rusqlite::Connection::open(dir.path().join("log.db")).unwrap();
    // However many facts there are, one is looked for among few: a start declares all that a configuration names, one by one.
    for (sql, by) in [
        (BY_ALIAS, "live_by_alias (alias=?)"),
        (read::BY_NAME, "subject_by_name (kind_id=? AND name=?)"),
        (catalog::BY_NAME, "subject_by_name (kind_id=? AND name=?)"),
    ] {
        let mut statement = file.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let any = rusqlite::params_from_iter(vec![""; statement.parameter_count()]);
        let rows = statement.query_map(any, |row| row.get::<_, String>(3)).unwrap();
        let plan = rows.collect::<rusqlite::Result<Vec<_>>>().unwrap().join("; ");
        assert!(plan.contains(by) && !plan.contains("SCAN"), "{plan}");
    }
    // As a log has it that was written before names were kept.
    assert_eq!(file.execute("UPDATE live SET alias = NULL", []).unwrap(), 1);
    drop(file);
    let log = start(dir.path());
    let found = log.appender.decide(Source::Api, named("a/b", "live: eu")).await.unwrap().1;
    assert_eq!(found.as_deref(), Some("a/b/two"));
    log.stop();
}

fn queued(request: Request) -> Queued {
    Queued { request, reply: oneshot::channel().0, handed_over: None }
}

fn decided(changes: usize) -> Queued {
    let changes = vec![declares(project("a/b", 1)); changes];
    queued(Request::Decided(Decided { source: Source::Api, basis: DecisionBasis::default(), changes }))
}

#[tokio::test]
async fn clusters_go_before_callers_and_callers_are_not_left_out() {
    let (senders, mut lanes) = Lanes::new();
    let send = |queued: Queued| senders.of(&queued).try_send(queued).map_err(|_| ()).unwrap();
    for _ in 0..20 {
        send(decided(1));
    }
    for _ in 0..200 {
        send(queued(Request::FollowClock));
    }
    for (clusters, callers) in [(GROUP, 8), (200 - GROUP, 8), (0, 4)] {
        let first = lanes.wait().await.unwrap();
        let mut group = Vec::new();
        lanes.fill(first, &mut group);
        let order: Vec<bool> = group.iter().map(|queued| queued.request.is_callers()).collect();
        let expected = [vec![false; clusters], vec![true; callers]].concat();
        assert_eq!(order, expected, "what clusters tell goes first");
    }
    // A large decision goes alone.
    for _ in 0..3 {
        send(decided(500));
    }
    for expected in [2, 1] {
        let (first, mut group) = (lanes.take().unwrap(), Vec::new());
        lanes.fill(first, &mut group);
        assert_eq!(group.len(), expected);
    }
    drop(senders);
    assert!(lanes.wait().await.is_none() && lanes.is_closed());
}

#[tokio::test]
async fn callers_who_find_too_many_waiting_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (_writer, appender) = LogWriter::open(dir.path(), Arc::new(SystemClock)).unwrap();
    let mut admitted: Vec<_> = (0..CALLERS).map(|_| appender.admit().unwrap()).collect();
    assert!(matches!(appender.admit(), Err(AppendError::Busy)));
    admitted.pop();
    assert!(appender.downgrade().upgrade().unwrap().admit().is_ok(), "leave ends with who had it");
}

#[tokio::test]
async fn what_nobody_waits_for_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let (writer, appender) = LogWriter::open(dir.path(), Arc::new(SystemClock)).unwrap();
    let gone = {
        let appender = appender.clone();
        tokio::spawn(async move { add_one(&appender, || ()).await })
    };
    while appender.queue_load_of_callers() == 0 {
        tokio::task::yield_now().await;
    }
    gone.abort();
    assert!(gone.await.unwrap_err().is_cancelled());
    let log = Running { appender, thread: std::thread::spawn(move || writer.run()) };
    assert_eq!(add_one(&log.appender, || ()).await.unwrap(), 1);
    log.stop();
    assert_eq!(told(dir.path()).len(), 1);
}

#[tokio::test]
async fn a_writer_that_is_at_something_says_for_how_long() {
    let dir = tempfile::tempdir().unwrap();
    let (began, beginning) = mpsc::channel();
    let (go_on, held) = mpsc::channel::<()>();
    let (writer, appender) = LogWriter::open(dir.path(), Arc::new(SystemClock)).unwrap();
    let writer = writer.with_room(move || {
        began.send(()).unwrap();
        held.recv().unwrap();
        true
    });
    let health = writer.health();
    assert_eq!(health.turning_for(), None);
    let log = Running { appender, thread: std::thread::spawn(move || writer.run()) };
    let appender = log.appender.clone();
    let asking = tokio::spawn(async move { add_one(&appender, || ()).await.unwrap() });
    tokio::task::spawn_blocking(move || beginning.recv().unwrap()).await.unwrap();
    assert!(health.turning_for().is_some());
    go_on.send(()).unwrap();
    asking.await.unwrap();
    log.stop();
    assert_eq!(health.turning_for(), None);
}
