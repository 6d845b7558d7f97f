//! What Events said, of what was there and of what is gone.

use super::*;

/// Reason and count of what is told to a scope of an environment, the newest first.
fn told(world: &World, at: At, project: &str, name: &str) -> Vec<(String, String, u64)> {
    let (scope, id) = (Scope::projects([project.to_owned()]), EnvironmentId::of(project, name));
    let any = &EventFilter::default();
    let page =
        block_on(world.queries.ask(&scope, at, ListEnvironmentEvents::new(&id, any, &whole()))).unwrap();
    page.items.into_iter().map(|event| (event.key.name, event.reason, event.count)).collect()
}

fn lines(expected: &[(&str, &str, u64)]) -> Vec<(String, String, u64)> {
    expected.iter().map(|(name, reason, count)| ((*name).to_owned(), (*reason).to_owned(), *count)).collect()
}

#[test]
fn an_environment_tells_of_what_is_gone_and_of_what_left_until_then() {
    let world = World::new(small_history());
    let web = [("mover", "BackOff", 3), ("web-0", "Killing", 1), ("web-0", "Scheduled", 1)];
    assert_eq!(told(&world, At::Now, "shop/web", "production"), lines(&web));
    let db = [
        ("mover", "Killing", 1),
        ("mover", "BackOff", 8),
        ("db-0", "Created", 1),
        ("db-1", "Pulled", 1),
        ("db-1", "Pulled", 1),
        ("db-0", "BackOff", 5),
    ];
    assert_eq!(told(&world, At::Now, "shop/db", "production"), lines(&db));
}

/// What was said of a resource while it was another project's is told to that project alone; so it is where the environment
/// itself comes to others.
#[test]
fn what_was_said_before_it_came_is_told_to_whose_it_was() {
    let mine = |app: &str| Thing { app: app.into(), ..Thing::pod("east", "shop", "mover") };
    let of = |project: &str| {
        let spec = environment(project, "moved", &[("west", "shop", "")]);
        EnvironmentSpec { id: EnvironmentId::new("moved"), ..spec }
    };
    let declared = |owner: &str| Event::Declare(environments().into_iter().chain([of(owner)]).collect());
    let stays = Thing::pod("west", "shop", "stays");
    let world = World::new([
        declared("shop/web"),
        say(&mine("web"), "Scheduled", 1),
        Event::Apply(mine("web")),
        say(&mine("web"), "BackOff", 2),
        say(&mine("web"), "Pulled", 2),
        Event::Apply(mine("db")),
        say(&mine("db"), "Pulled", 5),
        Event::Apply(stays.clone()),
        say(&stays, "BackOff", 3),
        declared("shop/db"),
        say(&stays, "Killing", 1),
    ]);
    let lanes = vec![strandline_model::Lane::Events];
    let timeline = |project: &str| {
        let (scope, uid) = (Scope::projects([project.to_owned()]), Uid::new("shop-mover"));
        let since = Some(At::Offset(Offset::ZERO));
        let filter = TimelineFilter { since, lanes: lanes.clone(), ..TimelineFilter::default() };
        let question = GetResourceTimeline::new(&uid, None, &filter, &whole());
        let found = block_on(world.queries.ask(&scope, At::Now, question)).unwrap().timeline.entries;
        found.iter().map(|entry| entry.event.as_ref().unwrap().reason.clone()).collect::<Vec<_>>()
    };
    let web = [("mover", "Pulled", 2), ("mover", "BackOff", 2), ("mover", "Scheduled", 1)];
    assert_eq!(told(&world, At::Now, "shop/web", "production"), lines(&web));
    assert_eq!(told(&world, At::Now, "shop/db", "production"), lines(&[("mover", "Pulled", 5)]));
    assert_eq!(timeline("shop/web"), ["Pulled", "BackOff", "Scheduled"]);
    assert_eq!(timeline("shop/db"), ["Pulled"]);
    let moved = |project: &str| {
        let (scope, id) = (Scope::projects([project.to_owned()]), EnvironmentId::new("moved"));
        let question = ListEnvironmentEvents::new(&id, &EventFilter::default(), &whole());
        let page = block_on(world.queries.ask(&scope, At::Now, question));
        page.map(|page| page.items.iter().map(|event| event.reason.clone()).collect::<Vec<_>>()).ok()
    };
    assert_eq!((moved("shop/web"), moved("shop/db")), (None, Some(vec!["Killing".to_owned()])));
    let warned = |project: &str| {
        let since = Some(At::Offset(Offset::ZERO));
        let kinds = vec![FeedKind::Warning];
        let filter = ChangesFilter { since, kinds, ..ChangesFilter::default() };
        let scope = Scope::projects([project.to_owned()]);
        block_on(world.queries.ask(&scope, At::Now, ListChanges::new(&filter, &whole()))).unwrap().items.len()
    };
    assert_eq!((warned("shop/web"), warned("shop/db")), (1, 0));
}

/// Of what was nobody's for a while, that is told to who got it next, and of what comes back nothing that others heard.
#[test]
fn what_is_said_while_others_have_it_is_theirs_when_it_comes_back() {
    let mine = |app: &str| Thing { app: app.into(), ..Thing::pod("east", "shop", "mover") };
    let steps = ["web", "db", "", "web"].into_iter().zip(["Created", "Pulled", "Scheduled", "Killing"]);
    let steps = steps.flat_map(|(app, reason)| {
        [Event::Apply(mine(app)), say(&mine(app), reason, 1), say(&mine(app), "BackOff", reason.len() as u32)]
    });
    let world = World::new([Event::Declare(environments())].into_iter().chain(steps));
    let web = [
        ("mover", "BackOff", 9),
        ("mover", "Killing", 1),
        ("mover", "Scheduled", 1),
        ("mover", "Created", 1),
    ];
    assert_eq!(told(&world, At::Now, "shop/web", "production"), lines(&web));
    let db = [("mover", "BackOff", 7), ("mover", "Pulled", 1)];
    assert_eq!(told(&world, At::Now, "shop/db", "production"), lines(&db));
}

/// A name means whoever carries it, or did last: what others said of theirs is told to nobody who has it later or had it
/// before.
#[test]
fn what_is_said_of_a_name_is_told_to_whose_it_was() {
    let of = |app: &str| Thing { app: app.into(), uid: app.into(), ..Thing::pod("east", "shop", "same") };
    let say = |app: &str, reason| Event::Say(Remark { about: of(app), reason, count: 1, by_name: true });
    let world = World::new([
        Event::Declare(environments()),
        Event::Apply(of("web")),
        say("web", "BackOff"),
        Event::Delete(of("web")),
        say("web", "Killing"),
        Event::Apply(of("db")),
        say("db", "Pulled"),
        Event::Delete(of("db")),
        say("db", "Created"),
    ]);
    let web = lines(&[("same", "Killing", 1), ("same", "BackOff", 1)]);
    let db = lines(&[("same", "Created", 1), ("same", "Pulled", 1), ("same", "Killing", 1)]);
    assert_eq!(told(&world, At::Now, "shop/web", "production"), web);
    assert_eq!(told(&world, At::Now, "shop/db", "production"), db);
    for (project, expected) in [("shop/web", web), ("shop/db", db)] {
        let (scope, since) = (Scope::projects([project.to_owned()]), Some(At::Offset(Offset::ZERO)));
        let filter = EventFeedFilter { since, ..EventFeedFilter::default() };
        let found = block_on(world.queries.ask(&scope, At::Now, ListEvents::new(&filter, &whole()))).unwrap();
        let found: Vec<_> =
            found.items.into_iter().map(|it| (it.event.key.name, it.event.reason, it.event.count)).collect();
        assert_eq!(found, expected, "{project}");
    }
}

/// Retention may let go of where a kind belonged before it lets go of its Events: they are not taken for nobody's.
#[test]
fn what_was_said_before_the_floor_of_a_kind_is_told_to_nobody_who_comes_later() {
    let mine = |app: &str| Thing { app: app.into(), ..Thing::pod("east", "shop", "mover") };
    let steps = [Event::Apply(mine("web")), say(&mine("web"), "BackOff", 2), Event::Apply(mine("db"))];
    let world = World::new([Event::Declare(environments())].into_iter().chain(steps));
    let floor = world.heads[world.last()].as_i64();
    let view = rusqlite::Connection::open(strandline_view::path(world.directory())).unwrap();
    view.execute_batch(&format!(
        "DELETE FROM membership WHERE to_offset <= {floor};
        INSERT INTO kind_floor SELECT 'east', '', 'Pod', {floor}, 0, 0"
    ))
    .unwrap();
    assert_eq!(told(&world, At::Now, "shop/db", "production"), []);
}

#[test]
fn the_past_knows_nothing_of_later_counts() {
    let world = World::new(small_history());
    let first = At::Time(World::time(
        small_history().iter().position(|step| matches!(step, Event::Delete(_))).unwrap() + 1,
    ));
    assert_eq!(told(&world, first, "shop/db", "production"), lines(&[("db-0", "BackOff", 2)]));
    let web = lines(&[("web-0", "Scheduled", 1)]);
    assert_eq!(
        told(&world, first, "shop/web", "production"),
        web,
        "said before it was there, told after its end"
    );
}

#[test]
fn a_name_means_whoever_carries_it_in_that_cluster_only() {
    let about =
        |cluster: &str| Thing { uid: format!("{cluster}-uid"), ..Thing::pod(cluster, "tools", "same") };
    let by_name = Remark { about: about("east"), reason: "Pulled", count: 1, by_name: true };
    let things = [Event::Say(by_name), Event::Apply(about("east")), Event::Apply(about("west"))];
    let other = Event::Apply(Thing { uid: "third".into(), ..about("east").of("v1", "Secret") });
    let world = World::new(things.into_iter().chain([other]));
    let (all, any) = (&Scope::everything(), &EventFilter::default());
    for (uid, expected) in [("east-uid", 1), ("west-uid", 0), ("third", 0)] {
        let (uid, page) = (Uid::new(uid), whole());
        let found =
            block_on(world.queries.ask(all, At::Now, ListResourceEvents::new(&uid, None, any, &page)))
                .unwrap();
        assert_eq!(found.items.len(), expected, "{uid:?}");
    }
}
