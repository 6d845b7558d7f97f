//! Every route that takes a moment, asked again: the same offset gives the same bytes whatever happened since, a time
//! and a duration mean the offset that they stand for, and what is gone says when it was there.
//!
//! The routes are taken from their table, so that a new one is held to the same.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::super::server::{Server, body, server, status};
use super::reads::there;
use super::servers::seed;
use crate::api::routes;
use crate::app::AppState;
use crate::http::params::AT;
use strandline_model::{CoverageState, EnvironmentSpec, EnvironmentState, Kind};
use strandline_query::testing::{Event, Thing, World, environments, mark, small_history};
use strandline_syntax::percent_encode;

/// Environments and resources of the small world, in place of the ones that other tests ask for.
const ENVIRONMENTS: [&str; 4] =
    ["shop.web.production", "shop.web.staging-us", "ops.tools.development", "shop.db.stopped"];
const RESOURCES: [&str; 6] = ["shop-web", "shop-web-0", "shop-web-1", "shop-mover", "shop-db-set", "twin"];

/// Every address that takes a moment, with several things in the place of its parameter.
fn targets() -> Vec<String> {
    let takes_moment = |route: &&crate::http::router::Route<AppState>| {
        let operation = route.operation(&http::Method::GET);
        operation.is_some_and(|operation| operation.parameters.contains(&AT))
    };
    let mut all = Vec::new();
    for route in crate::api::routes::ROUTES.iter().filter(takes_moment) {
        let target = there(route.path);
        if route.path.contains("environments/{id}") {
            all.extend(ENVIRONMENTS.map(|id| target.replace("shop.db.production", id)));
        }
        if route.path.contains("{uid}") {
            all.extend(RESOURCES.map(|uid| target.replace("stage-web-0", uid)));
        }
        all.push(target);
    }
    all
}

/// A recorded world behind a server, in which more can happen.
struct Recorded {
    world: World,
    server: Server,
}

impl Recorded {
    async fn new() -> Self {
        let world = World::new(small_history());
        let appender = world.write();
        seed(&appender).await;
        drop(appender);
        world.project();
        let (queries, clock) = (world.queries.clone(), world.clock.clone());
        let state = AppState { queries, clock, ..super::super::state(true) };
        Recorded { world, server: server(routes(&state), |_| {}).await }
    }

    /// Resources end, a kind is no longer followed, a cluster cannot be reached any more and is removed with all
    /// environments but one, which is stopped.
    fn go_on(&mut self) {
        let ended = ["web-1", "web", "db-0"].map(|name| Event::Delete(Thing::pod("east", "shop", name)));
        let set = Event::Cover {
            cluster: "east".into(),
            kind: Kind::new("apps", "ReplicaSet"),
            state: CoverageState::Excluded,
        };
        let left = environments().into_iter().take(1);
        let stopped = |spec| EnvironmentSpec { state: EnvironmentState::Stopped, ..spec };
        let changed = Thing { health: 2, ..Thing::pod("east", "tools", "ci-0") };
        self.world.go_on(ended.into_iter().chain([
            set,
            mark("west", "", "", true),
            Event::Apply(changed),
            Event::Declare(left.map(stopped).collect()),
        ]));
    }

    /// Status and body; what tells one request from another is left out.
    async fn ask(&self, target: &str, at: &str) -> (String, Value) {
        let mark = if target.contains('?') { '&' } else { '?' };
        let answer = self.server.ask("GET", &format!("{target}{mark}at={}", percent_encode(at)), "").await;
        let mut value: Value = serde_json::from_str(body(&answer)).unwrap_or_default();
        if let Some(problem) = value.as_object_mut() {
            problem.remove("trace_id");
        }
        (status(&answer).to_owned(), value)
    }
}

#[tokio::test]
async fn an_offset_is_answered_by_every_route_as_it_was_whatever_happened_since() {
    let mut recorded = Recorded::new().await;
    let head = recorded.world.head().get();
    let offsets: Vec<u64> = (1..head).step_by(11).chain([head - 1, head]).collect();
    let mut before = BTreeMap::new();
    for target in targets() {
        for offset in &offsets {
            let answer = recorded.ask(&target, &offset.to_string()).await;
            before.insert((target.clone(), *offset), answer);
        }
    }
    assert!(before.values().filter(|(status, _)| status == "200").count() > before.len() / 3);
    recorded.go_on();
    let now = recorded.world.clock.clone();
    now.set(World::time(recorded.world.last()).plus(Duration::from_secs(365 * 86_400)));
    // Something is recorded that the view does not hold yet.
    let appender = recorded.world.write();
    strandline_query::testing::end(&appender, &Thing::pod("east", "tools", "ci-1")).await;
    for ((target, offset), expected) in &before {
        let answer = recorded.ask(target, &offset.to_string()).await;
        assert_eq!(answer, *expected, "{target} at {offset}");
    }
    // What was there and is gone says until when. That something never became so is not found either, and no such end.
    let of_one = |target: &&String| target.contains("/environments/") || target.contains("/resources/");
    for target in targets().iter().filter(of_one).filter(|target| !target.contains("/onset")) {
        let was_there = offsets.iter().any(|offset| before[&(target.clone(), *offset)].0 == "200");
        let (status, problem) = recorded.ask(target, "now").await;
        if !was_there || status == "200" || status == "409" {
            continue;
        }
        let last = problem["gone"]["last_offset"].as_u64();
        let last =
            last.unwrap_or_else(|| panic!("{target} was there, and says not when: {status} {problem}"));
        assert_eq!(
            (status.as_str(), problem["gone"]["at"].is_string()),
            ("404", true),
            "{target}: {problem}"
        );
        assert_eq!(recorded.ask(target, &last.to_string()).await.0, "200", "{target} at {last}");
        assert_eq!(recorded.ask(target, &(last + 1).to_string()).await.0, "404", "{target} after {last}");
    }
}

/// Removes the gaps, which of a time are also those that were found out later, and the moments of page tokens.
fn drop_gaps(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !["coverage", "gap", "gaps", "last_error"].contains(&name.as_str()));
            if let Some(Value::String(token)) = members.get_mut("continue") {
                *token = token.rsplit('.').next().unwrap_or_default().to_owned();
            }
            members.values_mut().for_each(drop_gaps);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_gaps),
        _ => {}
    }
}

#[tokio::test]
async fn a_time_and_a_duration_are_answered_by_every_route_as_the_offset_they_stand_for() {
    let recorded = Recorded::new().await;
    let last = recorded.world.last();
    recorded.world.clock.set(World::time(last));
    for target in targets() {
        for step in (1..last).step_by(9) {
            let offset = recorded.world.heads[step].to_string();
            let (expected_status, mut expected) = recorded.ask(&target, &offset).await;
            drop_gaps(&mut expected);
            let expected = (expected_status, expected);
            let time = World::time(step).to_string();
            let without_zone = time.replace('T', " ").replace('Z', "");
            for at in [format!("{}m", last - step), format!("{}m ago", last - step), without_zone, time] {
                let (status, mut value) = recorded.ask(&target, &at).await;
                if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
                    let asked = metadata.remove("at");
                    assert_eq!(asked, Some(serde_json::json!(World::time(step))), "{target} names the time");
                    let delay = metadata.remove("delay_ms");
                    assert_eq!(delay, Some(5000.into()), "{target} states how late changes may be");
                }
                drop_gaps(&mut value);
                assert_eq!((status, value), expected, "{target} at {at}, which is {offset}");
            }
        }
    }
}

#[tokio::test]
async fn of_two_times_the_later_may_come_first() {
    let recorded = Recorded::new().await;
    let last = recorded.world.last();
    recorded.world.clock.set(World::time(last));
    let get = async |target: &str| {
        let answer = recorded.server.ask("GET", target, "").await;
        (status(&answer).to_owned(), serde_json::from_str::<Value>(body(&answer)).unwrap_or_default())
    };
    let environment = "/api/v1/environments/shop.web.production/diff";
    let resource = "/api/v1/resources/shop-web/diff";
    let offset = recorded.world.heads[last / 2].to_string();
    let (time, hour) = (World::time(last - 2).to_string(), format!("{}m", last - 3));
    for path in [environment, resource, "/api/v1/images"] {
        for (one, other) in [(&offset, &time), (&hour, &time), (&hour, &offset)] {
            let right = get(&format!("{path}?from={one}&to={other}")).await;
            assert_eq!(right.0, "200", "{path} from {one} to {other}: {}", right.1);
            let swapped = get(&format!("{path}?from={other}&to={one}")).await;
            let order = [&right, &swapped].map(|(_, value)| value["from"]["offset"].clone());
            assert!(right == swapped, "{path}: {order:?} of {one} and {other}");
        }
    }
    // Each further page is asked for as the first one was.
    let (_, whole) = get(&format!("{environment}?from=1&to={offset}&children=true")).await;
    let mut target = format!("{environment}?from={offset}&to=1&children=true&limit=1");
    let mut items = Vec::new();
    loop {
        let answer = recorded.server.ask("GET", &target, "").await;
        assert_eq!(status(&answer), "200", "{target}: {answer}");
        let page: Value = serde_json::from_str(body(&answer)).unwrap_or_default();
        items.extend(page["items"].as_array().cloned().unwrap_or_default());
        let Some(next) = answer.lines().find_map(|line| line.strip_prefix("link: <")) else { break };
        target = next.split('>').next().unwrap_or_default().to_owned();
    }
    assert!(items.len() > 1, "{whole}");
    assert_eq!(Value::from(items), whole["items"]);
}
