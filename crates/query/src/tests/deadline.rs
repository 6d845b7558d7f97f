//! How long a question may read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use super::*;
use crate::kept::Kept;
use crate::kept_lines::KeptLines;
use crate::overview::KeptMoves;
use crate::question::{Context, Question};
use crate::reader::{Patience, Reader};
use crate::standings::Standings;
use strandline_sqlite::{Abandoned, Asker, Pool};

/// What the readers here may keep, in bytes.
const CACHE: usize = 1024 * 1024;

fn nothing_kept() -> Kept {
    Kept { standings: Standings::default(), moves: KeptMoves::default(), lines: KeptLines::new(0) }
}

#[test]
fn a_question_that_takes_too_long_is_broken_off_and_the_next_one_answered() {
    let things = (0..300)
        .map(|n| Event::Apply(Thing { app: "web".into(), ..Thing::pod("east", "shop", &n.to_string()) }));
    let world = World::new([Event::Declare(environments())].into_iter().chain(things));
    block_on(async {
        let graph = async |queries: &Queries| {
            let id = EnvironmentId::new("shop.web.production");
            queries.ask(&Scope::everything(), At::Now, GetEnvironmentGraph::new(&id, &uncut())).await
        };
        let refused = graph(&world.queries.within(Duration::ZERO)).await.map(|graph| graph.value.nodes.len());
        assert!(matches!(refused, Err(QueryError::TooLong)), "{refused:?}");
        assert_eq!(graph(&world.queries).await.unwrap().value.nodes.len(), 300);
    });
}

#[test]
fn a_reader_whose_time_is_over_is_as_good_as_new_for_the_next_question() {
    let world = World::new([Event::Declare(environments())]);
    let mut reader = Reader::open(world.directory(), CACHE, nothing_kept()).unwrap();
    // SQLite looks at the clock once in thousands of steps, which ending a transaction takes part in.
    for _ in 0..20_000 {
        let begun = reader.begin(Patience::on_thread(Duration::ZERO), &Abandoned::default());
        assert!(matches!(begun, Ok(_) | Err(QueryError::TooLong)), "{:?}", begun.map(|_| ()));
    }
}

#[test]
fn a_question_that_nobody_waits_for_is_broken_off() {
    const ENDLESS: &str =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    // It ends by itself long after the test has failed.
    const LONGEST: Duration = Duration::from_secs(120);
    let world = World::new([Event::Declare(environments())]);
    let directory = world.directory().to_owned();
    let pool = Pool::new(1, move || Reader::open(&directory, CACHE, nothing_kept()));
    let (began, begins) = tokio::sync::oneshot::channel();
    block_on(async {
        let question = |reader: &mut Reader, abandoned: &Abandoned| {
            let read = reader.begin(Patience::on_thread(LONGEST), abandoned)?;
            let _ = began.send(());
            Ok::<_, QueryError>(read.view.query_row(ENDLESS, [], |row| row.get::<_, i64>(0))?)
        };
        let asker = Asker::from("somebody");
        tokio::select! {
            answer = pool.run(&asker, question) => panic!("an endless question has an answer: {answer:?}"),
            _ = begins => {}
        }
        // There is one reader, which comes back when the question has noticed.
        let next = pool
            .run(&asker, |reader, abandoned| reader.begin(Patience::on_thread(LONGEST), abandoned).is_ok());
        let begun = tokio::time::timeout(LONGEST / 2, next).await;
        assert!(
            begun.is_ok_and(|begun| begun.is_ok_and(|begun| begun)),
            "it was read on though nobody waited"
        );
    });
}

/// Counts as far as it is told to, and how often it is asked.
#[derive(serde::Serialize)]
struct CountTo {
    most: i64,
    #[serde(skip)]
    asked: Arc<AtomicUsize>,
}

impl Question for CountTo {
    const NAME: &'static str = "count";
    type Answer = (i64, ThreadId);

    fn is_short(&self) -> bool {
        true
    }

    fn answer(&self, context: Context<'_>) -> crate::error::Result<Self::Answer> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT ?1) SELECT count(*) FROM n";
        Ok((context.view.query_row(sql, [self.most], |row| row.get(0))?, thread::current().id()))
    }
}

#[test]
fn a_short_question_that_takes_long_is_asked_again_on_a_thread() {
    let world = World::new([Event::Declare(environments())]);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let asking = thread::current().id();
    runtime.block_on(async {
        let count = async |most: i64| {
            let asked = Arc::new(AtomicUsize::new(0));
            let question = CountTo { most, asked: Arc::clone(&asked) };
            let (counted, on) = world.queries.ask(&Scope::everything(), At::Now, question).await.unwrap();
            assert_eq!(counted, most);
            (on, asked.load(Ordering::Relaxed))
        };
        let (on, asked) = count(1).await;
        assert!((on != asking, asked) == (true, 1), "there is no reader yet");
        let (on, asked) = count(3_000_000).await;
        assert!((on != asking, asked) == (true, 2), "it takes much longer than a worker has");
        // However busy the machine is, one of many that take microseconds is answered in time.
        let mut answers = Vec::new();
        while answers.len() < 1000 && !answers.contains(&(asking, 1)) {
            answers.push(count(1).await);
        }
        assert!(answers.contains(&(asking, 1)), "{answers:?}");
    });
}
