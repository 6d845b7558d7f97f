//! The pages of Events and deployments across environments.

use std::time::Duration;

use super::{HOSTILE, listed, request, sound};
use crate::format::summaries::deployment;
use crate::format::tests::{NOON, environment, folded_event};
use crate::web::event_feed::rendered;
use crate::web::{changes, deployment_feed};
use strandline_model::{EnvironmentId, Offset, Tier, Uid};
use strandline_protocol::{FeedEnvironment, FeedEvent, Page, UnknownWord};

fn event(offset: u64) -> FeedEvent {
    let environment = |n| FeedEnvironment {
        id: EnvironmentId::new(format!("shop.web.{n}{HOSTILE}")),
        project: "shop/web".into(),
        name: HOSTILE.into(),
        tier: Tier::Production,
        region: HOSTILE.into(),
    };
    let mut event = folded_event(HOSTILE, HOSTILE);
    event.note = HOSTILE.into();
    event.component = HOSTILE.into();
    event.key.name = HOSTILE.into();
    event.key.namespace = HOSTILE.into();
    event.key.cluster = "eu&west".into();
    event.uid = Uid::new("u/1");
    FeedEvent { offset: Offset::new(offset), environments: (0..6).map(environment).collect(), event }
}

#[test]
fn events_lead_to_their_objects_as_they_were_then_and_stay_text() {
    let query = "group=shop&type=warning,normal&reason=BackOff&since=2h&labels=team%3Dx";
    let mut by_name = event(8);
    by_name.event.uid = Uid::default();
    let page = rendered(&request("/events", query), &listed(vec![event(9), by_name]));
    sound(&page);
    for part in [
        "/resources/u%2F1?at=9&#38;cluster=eu%26west",
        "and 2 more",
        "<option value=\"warning,normal\" selected>",
        "<input type=\"hidden\" name=\"labels\" value=\"team=x\">",
        "href=\"/events?group=shop&#38;type=warning%2Cnormal&#38;since=2h&#38;labels=team%3Dx\"",
        "format=csv",
        "continue=token",
        "value=\"BackOff\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(page.matches("href=\"/resources/").count(), 1, "{page}");
    let nothing = rendered(&request("/events", ""), &listed(vec![]));
    sound(&nothing);
    assert!(nothing.contains("No Events match"), "{nothing}");
}

#[test]
fn deployments_lead_to_their_pages_and_environments_and_stay_text() {
    let mut one = deployment(&environment("shop/web", "eu", None));
    one.spec.environment = EnvironmentId::new(format!("shop/web {HOSTILE}"));
    one.spec.reference = HOSTILE.into();
    one.spec.user = HOSTILE.into();
    let query = "status=failed&ref=v2.*&agent=shop/agents:eu&since=2h&at=1234";
    let page = deployment_feed::rendered(&request("/deployments", query), &listed(vec![one]));
    sound(&page);
    for part in [
        "/deployments/7?at=1234&#38;project=shop%2Fweb",
        "href=\"/environments/shop%2Fweb%20",
        "<option value=\"failed\" selected>",
        "<input type=\"hidden\" name=\"agent\" value=\"shop/agents:eu\">",
        "name=\"ref\" value=\"v2.*\"",
        "/api/v1/deployments?status=failed",
        "continue=token",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let nothing = deployment_feed::rendered(&request("/deployments", ""), &listed(vec![]));
    sound(&nothing);
    assert!(nothing.contains("No deployments match") && !nothing.contains("since <time"), "{nothing}");
}

#[test]
fn the_heading_says_when_a_list_begins() {
    let ago = |hours: u64| NOON.minus(Duration::from_secs(hours * 3600)).to_string();
    for (query, since) in [
        ("", Some(ago(24))),
        ("since=2h", Some(ago(2))),
        ("since=2026-11-20T00:00:00Z", Some("2026-11-20T00:00:00Z".to_owned())),
        ("since=7", None),
    ] {
        let events = rendered(&request("/events", query), &listed(vec![]));
        for page in [events, changes::rendered(&request("/changes", query), &listed(vec![]))] {
            let said = page.split("since <time datetime=\"").nth(1).and_then(|rest| rest.split('"').next());
            assert_eq!(said.map(str::to_owned), since, "{query}: {page}");
        }
    }
}

#[test]
fn a_list_without_anything_says_what_of_its_filter_fits_nothing() {
    fn warned<T>() -> Page<T> {
        let mut page = listed(vec![]);
        page.metadata.warnings = vec![UnknownWord {
            code: UnknownWord::CODE.to_owned(),
            parameter: "project".to_owned(),
            value: HOSTILE.to_owned(),
            suggestion: None,
            message: format!("no project is called {HOSTILE}"),
        }];
        page
    }
    for page in [
        rendered(&request("/events", ""), &warned()),
        deployment_feed::rendered(&request("/deployments", ""), &warned()),
        changes::rendered(&request("/changes", ""), &warned()),
    ] {
        sound(&page);
        assert!(page.contains("<p class=\"notice\">no project is called &#60;script&#62;"), "{page}");
    }
}
