//! Saved views, as each caller gets them.

use super::*;
use crate::api::routes;
use crate::app::{CurrentPresentation, Presentation};
use strandline_model::{EnvironmentFilter, Health, SavedView, Tier};

fn view(name: &str, filter: EnvironmentFilter) -> SavedView {
    SavedView { name: name.into(), filter, ..SavedView::default() }
}

#[tokio::test]
async fn a_view_is_listed_for_who_sees_an_environment_that_it_selects() {
    let all = EnvironmentFilter::default();
    let failing = EnvironmentFilter {
        tiers: vec![Tier::Production],
        healths: vec![Health::Degraded],
        states: EnvironmentFilter::IN_USE.to_vec(),
        ..all.clone()
    };
    let of_others = EnvironmentFilter { groups: "ops".parse().into_iter().collect(), ..all.clone() };
    let views = vec![view("all", all), view("failing", failing), view("secret", of_others)];
    let presentation = CurrentPresentation::new(Presentation { views, ..Presentation::default() });
    let serving = move |state: &AppState| {
        routes(&AppState { current_presentation: presentation.clone(), ..state.clone() })
    };
    let town = Town::serving(serving).await;
    for (project, name) in [("shop/web", "production"), ("dev/frontend", "staging")] {
        let body = json!({ "project": project, "name": name });
        town.write("PUT", &format!("environments/{}", format!("{project}.{name}").replace('/', ".")), body)
            .await;
    }
    for (token, listed) in [
        ("web", &["all", "failing"][..]),
        ("frontend", &["all"]),
        ("operator", &[]),
        ("", &["all", "failing", "secret"]),
    ] {
        let views = town.get_as(token, "views").await;
        let names: Vec<_> =
            views["items"].as_array().into_iter().flatten().map(|view| &view["name"]).collect();
        assert_eq!(names, listed, "{token}");
        for name in ["all", "failing", "secret"] {
            let is_listed = listed.contains(&name);
            let Told { status, body } = town.call(token, "GET", &format!("overview?view={name}"), "").await;
            assert_eq!(status, if is_listed { 200 } else { 404 }, "{token} {name}: {body}");
            let detail = body["detail"].as_str().unwrap_or_default();
            assert!(
                is_listed || name == "secret" || token.is_empty() || !detail.contains("secret"),
                "{detail}"
            );
        }
    }
}
