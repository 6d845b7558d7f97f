//! How long a question may read.

use std::time::Duration;

use super::*;

#[test]
fn a_question_that_takes_too_long_is_broken_off_and_the_next_one_answered() {
    let things = (0..300)
        .map(|n| Event::Apply(Thing { app: "web".into(), ..Thing::pod("east", "shop", &n.to_string()) }));
    let world = World::new([Event::Declare(environments())].into_iter().chain(things));
    block_on(async {
        let graph = async |queries: &Queries| {
            let id = EnvironmentId::new("shop.web.production");
            queries.environment_graph(&Scope::everything(), At::Now, &id, &uncut()).await
        };
        let refused = graph(&world.queries.within(Duration::ZERO)).await.map(|graph| graph.value.nodes.len());
        assert!(matches!(refused, Err(QueryError::TooLong)), "{refused:?}");
        assert_eq!(graph(&world.queries).await.unwrap().value.nodes.len(), 300);
    });
}
