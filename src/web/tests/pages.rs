//! Lists of several pages: the next page is of the same moment, and leads back to it.

use serde_json::json;

use super::{ask_of, sound};
use crate::app::AppState;
use crate::catalog::{Authority, CatalogWriter};
use strandline_model::{AgentSpec, CatalogFact, Offset, Timestamp};
use strandline_query::testing::{Event, Thing, World, environment, facts, record};

/// More than any page has rows.
const MANY: usize = 130;

const ENVIRONMENT: &str = "/environments/shop.web.n000";

/// A world in which every list has several pages.
struct Long {
    /// The step of the first deployment to [`ENVIRONMENT`], each a minute after the one before.
    first: usize,
    /// A moment after which more happened, by time and by offset.
    before: Timestamp,
    head: Offset,
    state: AppState,
    _world: World,
}

fn long() -> Long {
    let specs: Vec<_> = (0..MANY)
        .map(|n| environment("shop/web", &format!("n{n:03}"), &[(&format!("c{n:03}"), "shop", "web")]))
        .collect();
    let mut catalog = facts(&specs);
    catalog.extend((0..MANY).map(|n| {
        let id = format!("ops/agents:a{n:03}").parse().expect("an agent's name");
        CatalogFact::Agent(Box::new(AgentSpec::new(id)))
    }));
    let pod = |n: usize| Thing { app: "web".into(), ..Thing::pod("c000", "shop", &format!("p{n:03}")) };
    let events = [Event::Catalog(catalog)].into_iter().chain((0..MANY).map(|n| Event::Apply(pod(n))));
    let mut world = World::new(events);
    let (first, clock) = (world.last() + 1, world.clock.clone());
    record(world.directory(), clock.clone(), |appender| async move {
        let catalog = CatalogWriter::new(&appender);
        for step in first..first + MANY {
            clock.set(World::time(step));
            let input = json!({ "project": "shop/web", "environment": "n000", "status": "success" });
            let input = serde_json::from_value(input).expect("a deployment");
            catalog.deploy((Authority::Everything, true), input).await.expect("the log takes it");
        }
    });
    world.project();
    let before = World::time(first + MANY - 1);
    let head = world.head();
    world.heads.resize(first + MANY, head);
    world.go_on([Event::Delete(pod(0)), Event::Nothing]);
    let state = AppState {
        queries: world.queries.clone(),
        clock: world.clock.clone(),
        ..crate::api::tests::state(true)
    };
    Long { first, before, head, state, _world: world }
}

/// The addresses in a page that go on from it, or that hold a part of it otherwise.
fn links(page: &str) -> impl Iterator<Item = String> {
    let addresses = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    addresses.map(|address| address.replace("&#38;", "&"))
}

fn next(page: &str) -> Option<String> {
    links(page).find(|address| address.contains("continue="))
}

#[tokio::test]
async fn the_next_page_of_a_list_is_of_the_same_moment() {
    let Long { before, head, state, .. } = &long();
    for path in [
        "/?tier=all",
        "/?tier=all&order=name",
        "/clusters",
        "/agents",
        "/changes",
        "/deployments",
        "/images",
        &format!("{ENVIRONMENT}?tab=changes"),
        &format!("{ENVIRONMENT}?tab=deployments"),
        &format!("{ENVIRONMENT}/diff?from=1"),
    ] {
        for at in [None, Some(head.to_string()), Some(before.to_string())] {
            let joint = if path.contains('?') { "&" } else { "?" };
            let moment = at.as_ref().map(|at| format!("at={}", at.replace(':', "%3A")));
            let address = moment.as_ref().map_or(path.to_owned(), |at| format!("{path}{joint}{at}"));
            let (status, _, page) = ask_of(state, &address, &[]).await;
            assert_eq!(status, 200, "{address}: {page}");
            let Some(next) = next(&page) else {
                assert!(path == "/changes" || path == "/images", "{address} has no next page: {page}");
                continue;
            };
            let (status, _, page) = ask_of(state, &next, &[]).await;
            assert_eq!(status, 200, "{address} leads to {next}: {page}");
            sound(&page);
            for link in links(&page).filter(|link| !link.starts_with("/api") && link.contains("continue=")) {
                if let Some(moment) = &moment {
                    let is_of_it = link.replace(':', "%3A").contains(moment.as_str());
                    assert!(is_of_it, "{next} leads to {link}");
                }
                let (status, ..) = ask_of(state, &link, &[]).await;
                assert_eq!(status, 200, "{next} leads to {link}");
            }
        }
    }
}

#[tokio::test]
async fn the_steps_of_a_rail_lead_to_the_nearest_change_however_many_came_after_it() {
    let Long { first, state, .. } = &long();
    let moment = |step: usize| World::time(step).to_string().replace(':', "%3A");
    for path in [ENVIRONMENT, "/changes?group=shop", "/?tier=all"] {
        for step in [first + 5, first + 1, first + MANY - 2] {
            let joint = if path.contains('?') { "&" } else { "?" };
            let (status, _, page) = ask_of(state, &format!("{path}{joint}at={}", moment(step)), &[]).await;
            assert_eq!(status, 200, "{path}: {page}");
            for (key, other) in [("j", step - 1), ("k", step + 1)] {
                let link = page.split("<a ").find(|link| link.contains(&format!("data-step=\"{key}\"")));
                let link = link.unwrap_or_else(|| panic!("{path} {step}: no step {key} in {page}"));
                let there = World::time(other).to_string();
                assert!(link.contains(&format!("at={there}")), "{path} {step}: {key} leads to {link}");
            }
        }
    }
}
