//! How long a question may read.

use std::time::Duration;

use super::*;
use crate::reader::Reader;
use strandline_sqlite::{Abandoned, Asker, Pool};

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
fn a_question_that_nobody_waits_for_is_broken_off() {
    const ENDLESS: &str =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    // It ends by itself long after the test has failed.
    const LONGEST: Duration = Duration::from_secs(120);
    let world = World::new([Event::Declare(environments())]);
    let directory = world.directory().to_owned();
    let pool = Pool::new(1, move || Reader::open(&directory));
    let (began, begins) = tokio::sync::oneshot::channel();
    block_on(async {
        let question = |reader: &mut Reader, abandoned: &Abandoned| {
            let (view, _log) = reader.begin(LONGEST, abandoned)?;
            let _ = began.send(());
            Ok::<_, QueryError>(view.query_row(ENDLESS, [], |row| row.get::<_, i64>(0))?)
        };
        let asker = Asker::from("somebody");
        tokio::select! {
            answer = pool.run(&asker, question) => panic!("an endless question has an answer: {answer:?}"),
            _ = begins => {}
        }
        // There is one reader, which comes back when the question has noticed.
        let next = pool.run(&asker, |reader, abandoned| reader.begin(LONGEST, abandoned).is_ok());
        let begun = tokio::time::timeout(LONGEST / 2, next).await;
        assert!(
            begun.is_ok_and(|begun| begun.is_ok_and(|begun| begun)),
            "it was read on though nobody waited"
        );
    });
}
