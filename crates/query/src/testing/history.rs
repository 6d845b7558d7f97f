//! A small history of which most questions are asked.

use super::{Event, Remark, Thing, environment};
use strandline_model::EnvironmentSpec;

/// The environments of [`small_history`].
pub fn environments() -> Vec<EnvironmentSpec> {
    vec![
        environment("shop/web", "production", &[("east", "shop", "web")]),
        environment("shop/web", "staging-us", &[("west", "stage", "web")]),
        environment("shop/db", "production", &[("east", "shop", "db"), ("west", "shop", "db")]),
        environment("ops/tools", "us", &[("west", "tools", "")]),
        environment("ops/tools", "development", &[("east", "tools", "")]),
    ]
}

/// A Deployment with a ReplicaSet, three Pods of different health, and a ConfigMap, of one app in one place.
fn app(cluster: &str, namespace: &str, app: &str, health: usize) -> Vec<Thing> {
    let thing = |name: &str| Thing::pod(cluster, namespace, &format!("{app}{name}"));
    let labelled = |thing: Thing| Thing { app: app.into(), ..thing };
    let owned = |by: &Thing, thing: Thing| Thing { owner: by.uid.clone(), ..thing };
    let deployment = labelled(thing("").of("apps/v1", "Deployment"));
    let set = owned(&deployment, thing("-set").of("apps/v1", "ReplicaSet"));
    let pods = (0..3).map(|n| Thing { health: (health + n) % 7, ..owned(&set, thing(&format!("-{n}"))) });
    let mut things: Vec<_> = pods.collect();
    // The Pods come before what owns them, as they may when everything is listed at once.
    things.extend([set, deployment, labelled(thing("-settings").of("v1", "ConfigMap"))]);
    things
}

/// See [`Event::Mark`].
pub fn mark(cluster: &str, kind: &str, namespace: &str, gap: bool) -> Event {
    Event::Mark { cluster: cluster.into(), kind: kind.into(), namespace: namespace.into(), gap }
}

/// Moves from the web to the database and later ends there.
pub fn mover() -> Thing {
    Thing { app: "web".into(), ..Thing::pod("east", "shop", "mover") }
}

/// What is said of a thing by its uid.
pub fn say(about: &Thing, reason: &'static str, count: u32) -> Event {
    Event::Say(Remark { about: about.clone(), reason, count, by_name: false })
}

/// Two clusters, three projects, five environments, forty resources, deletions, a move, gaps, a common uid, and
/// what is said of some of them before, while and after they are there.
pub fn small_history() -> Vec<Event> {
    let twin = |cluster: &str| Thing { uid: "twin".into(), ..Thing::pod(cluster, "tools", "twin") };
    let web = app("east", "shop", "web", 0);
    let mut events = vec![Event::Declare(environments())];
    events.extend(["Pod", "ConfigMap"].map(|kind| mark("east", kind, "", false)));
    events.extend([("Pod", ""), ("Secret", "tools")].map(|(kind, place)| mark("west", kind, place, false)));
    let places = [("west", "stage", "web", 3), ("east", "shop", "db", 6), ("west", "shop", "db", 2)];
    let others = places.map(|(cluster, namespace, name, health)| app(cluster, namespace, name, health));
    let failed = Thing { health: 2, ..Thing::pod("east", "tools", "failed") };
    let tools = [vec![Thing::pod("west", "tools", "runner"), failed], app("east", "tools", "ci", 5)];
    let things = web.iter().chain(others.iter().flatten()).chain(tools.iter().flatten()).cloned();
    events.extend([say(&web[0], "Scheduled", 1), say(&others[1][0], "BackOff", 2)]);
    events.extend(things.map(Event::Apply));
    events.extend(["east", "west"].map(|cluster| Event::Apply(twin(cluster))));
    events.extend([mark("east", "Pod", "", true), mark("west", "Event", "tools", true)]);
    events.extend([Event::Apply(mover()), Event::Nothing, Event::Delete(web[0].clone())]);
    events.extend([
        say(&web[0], "Killing", 1),
        say(&others[1][0], "BackOff", 5),
        say(&mover(), "BackOff", 3),
    ]);
    events.extend([1, 2].map(|n| say(&others[n][1], "Pulled", 1)));
    events.push(Event::Say(Remark {
        about: others[2][0].clone(),
        reason: "Created",
        count: 1,
        by_name: true,
    }));
    events.push(Event::Apply(Thing { health: 2, ..mover() }));
    events.push(Event::Apply(Thing { app: "db".into(), ..mover() }));
    events.push(Event::Apply(Thing { app: "db".into(), health: 2, ..mover() }));
    events.push(say(&mover(), "BackOff", 8));
    events.extend([mark("east", "Pod", "", false), Event::Delete(mover()), say(&mover(), "Killing", 1)]);
    // The owner goes first and the Pods after it, as the garbage collector does.
    events.extend([5, 4, 3, 1].map(|n| Event::Delete(others[0][n].clone())));
    events.push(Event::Declare(environments().into_iter().filter(|e| e.name != "development").collect()));
    events
}
