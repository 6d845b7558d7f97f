//! The start page from fixed environments.

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::format::fixtures::onset;
use crate::format::summaries::{bare_summary, degraded, full_summary};
use crate::web::overview::rendered;
use http::HeaderValue;
use http::header::COOKIE;
use strandline_model::{HealthCounts, Timestamp};
use strandline_protocol::{EnvironmentSummary, Trend, TrendBucket};

/// The groups of environments, with a day of health in which half an hour was not recorded.
pub(crate) fn by_region(environments: &[EnvironmentSummary]) -> Overview {
    let mut overview = grouped(environments, &[GroupBy::Region]);
    let hours = |hours: u64| NOON.minus(Duration::from_secs(3600 * hours));
    let part = |hour: u64| TrendBucket {
        from: hours(hour),
        until: hours(hour - 1),
        environments: if hour == 1 { overview.totals.environments } else { HealthCounts::default() },
        most: overview.totals.environments,
        covered: hour != 5,
    };
    let buckets = (1..=24).rev().map(part).collect();
    let (since, until) = (hours(24), NOON);
    overview.trend = Some(Trend { since, until, counted_since: since, buckets, gaps: vec![] });
    overview
}

/// The same by the first group of the project, and by region.
pub(crate) fn by_group_and_region(environments: &[EnvironmentSummary]) -> Overview {
    grouped(environments, &[GroupBy::Group, GroupBy::Region])
}

fn grouped(environments: &[EnvironmentSummary], by: &[GroupBy]) -> Overview {
    let mut groups: BTreeMap<Vec<String>, OverviewGroup> = BTreeMap::new();
    let mut totals = OverviewCounts::default();
    for one in environments {
        let group = one.project.split('/').next().unwrap_or_default().to_owned();
        let keys: Vec<_> = match by {
            [_, _] => vec![group, one.region.clone()],
            _ => vec![one.region.clone()],
        };
        let empty =
            || OverviewGroup { keys: keys.clone(), counts: OverviewCounts::default(), attention: vec![] };
        let group = groups.entry(keys.clone()).or_insert_with(empty);
        for counts in [&mut group.counts, &mut totals] {
            counts.count(one.health, one.resources);
        }
    }
    Overview {
        group_by: by.to_vec(),
        groups: groups.into_values().collect(),
        groups_left_out: 0,
        totals,
        trend: None,
        environments: None,
        warnings: Vec::new(),
    }
}

fn one(project: &str, region: &str, health: Option<Health>) -> EnvironmentSummary {
    bare_summary(environment(project, region, health))
}

fn some() -> Vec<EnvironmentSummary> {
    let mut unknown = one("shop/db", "eu", Some(Health::Unknown));
    unknown.last_known = Some(Health::Healthy);
    let broken = full_summary(environment("pay/web", "us", Some(Health::Degraded)));
    let well = one("shop/api", "eu", Some(Health::Healthy));
    vec![broken, unknown, well, one("shop/cron", "", None)]
}

/// Nothing that is shown of an environment is more than text.
pub(super) fn sound_with_hostile_names(bad: &Environment) {
    let mut one = full_summary(Environment { region: HOSTILE.into(), ..bad.clone() });
    if let Some(cause) = &mut one.cause {
        (cause.reason, cause.message) = (HOSTILE.into(), HOSTILE.repeat(20));
        (cause.key.name, cause.key.kind.kind) = (HOSTILE.into(), HOSTILE.into());
        (cause.key.cluster, cause.id) = (HOSTILE.into(), Uid::new(HOSTILE));
    }
    if let Some(deployment) = &mut one.last_deployment {
        let spec = &mut deployment.spec;
        (spec.user, spec.reference, spec.sha) = (HOSTILE.into(), HOSTILE.into(), HOSTILE.into());
    }
    if let Some(change) = &mut one.last_change {
        (change.id, change.by) = (Uid::new(HOSTILE), HOSTILE.into());
        (change.key.name, change.key.kind.kind, change.key.cluster) =
            (HOSTILE.into(), HOSTILE.into(), HOSTILE.into());
    }
    if let Some(version) = &mut one.version {
        (version.repository, version.tags) = (HOSTILE.into(), vec![HOSTILE.into(), HOSTILE.into()]);
    }
    let mut found = onset();
    for cause in &mut found.causes {
        if let Some(resource) = &mut cause.entry.resource {
            (resource.key.name, resource.reason) = (HOSTILE.into(), HOSTILE.into());
        }
    }
    let other = EnvironmentSummary { project: "pay/x".into(), ..one.clone() };
    for query in ["", "wall=1", "group_by=label:team", "tier=all&order=name&at=7"] {
        let page =
            rendered(&request("/", query), vec![one.clone(), other.clone()], Some(found.clone()), snapshot());
        sound(&page);
    }
}

#[test]
fn the_start_page_shows_what_needs_attention_and_why() {
    let page = rendered(&request("/", ""), some(), Some(onset()), snapshot());
    sound(&page);
    for text in [
        "<title>2 need attention · Production",
        // Tiles, with what became of them.
        "href=\"/?health=Degraded\"><b>1</b>",
        "+1 in 60m",
        "of 4</span>",
        "<rect class=\"gap\" x=\"19\" width=\"1\"",
        // Cards.
        "CrashLoopBackOff</b> in 12 of 36 Pods, such as <a href=\"/resources/web-0?cluster=",
        "Likely cause:",
        "/environments/pay.web.production#why\">Why<",
        "/environments/pay.web.production/diff?from=2026-11-",
        "/environments/pay.web.production?at=1234\">Link to this state<",
        "<code title=\"registry.example.com/shop/web\">2.40.0, 2.33.0</code>",
        "by <b>chiyo</b>",
        "e0df993b",
        "failed",
        "Part of it is not recorded; the last known health is Healthy.",
        // The map.
        "group × region",
        "<th scope=\"row\">pay</th>",
        "href=\"/?group=pay&#38;region=us\"",
        // The table.
        "last known: Healthy",
        "No region",
        "aria-label=\"Healthy 21h, Degraded 120m, No health 60m\"",
        "aria-sort=\"descending\"",
        "href=\"/?order=deployed\">Last deployment</a>",
        "continue=1.5b5d.00\" rel=\"next\"",
    ] {
        assert!(page.contains(text), "{text} in\n{page}");
    }
    let position = |text: &str| page.find(text);
    assert!(position("Needs attention") < position("class=\"group\""));
    // Only groups with something wrong are open.
    assert_eq!(page.matches("<details class=\"group\"").count(), 3);
    assert_eq!(page.matches(" open>").count(), 2, "{page}");
}

#[test]
fn the_past_is_shown_like_the_present_and_a_health_leaves_the_others_out() {
    let past = rendered(&request("/", "at=1234&health=Degraded"), some(), None, blind_snapshot());
    sound(&past);
    for text in [
        "/environments/pay.web.production?at=1234",
        "Cluster <b>eu-west</b>: 2 kinds not watched since",
        "href=\"/?health=Degraded\">Back to live",
        "1,200 changes behind",
        "href=\"/?at=1234&#38;health=Degraded&#38;region=us\"",
        "<title>2 need attention · Production at 2026-11-20 12:00:00 UTC",
        "value=\"1234\"",
        "<span class=\"hidden\">Remove filter: </span>Health <b>Degraded</b>",
        "href=\"/?at=1234&#38;health=Degraded&#38;tier=all\"",
    ] {
        assert!(past.contains(text), "{text} in\n{past}");
    }
    assert!(!past.contains("/environments/shop.api.production"), "the filter holds");
    assert!(!past.contains("What changed"), "no onset is known");
    let healthy = rendered(&request("/", "health=Healthy"), some(), None, snapshot());
    sound(&healthy);
    assert!(!healthy.contains("Nothing needs attention"), "what is not shown does");
}

#[test]
fn the_form_keeps_what_was_asked_for_and_groups_lead_to_themselves() {
    let found = vec![one("shop/web", "eu", Some(Health::Healthy)), one("shop/db", "us", None)];
    let query = "tier=all&state=stopped&labels=team%3Dpay&name=review/**&group_by=region&at=7";
    let page = rendered(&request("/", query), found, None, snapshot());
    sound(&page);
    for text in [
        "<input type=\"hidden\" name=\"state\" value=\"stopped\">",
        "name=\"labels\" value=\"team=pay\"",
        "name=\"name\" value=\"review/**\"",
        "<option value=\"all\" selected>All tiers</option>",
        "labels=team%3Dpay&#38;name=review%2F%2A%2A&#38;group_by=region&#38;at=7&#38;region=eu\"",
        "group_by=cluster\">cluster</a>",
        "href=\"/?at=1234&#38;view=mine\"",
        "<datalist id=\"group-values\"><option value=\"eu\">",
        "list=\"group-values\"",
    ] {
        assert!(page.contains(text), "{text} in\n{page}");
    }
}

#[test]
fn views_of_the_reader_stand_beside_those_of_the_configuration_and_a_wall_goes_through_both() {
    let title = HOSTILE.chars().take(40).collect::<String>();
    let kept = serde_json::to_vec(&[(title.as_str(), "region=eu&tier=all"), ("Bare", "")]);
    let text = data_encoding::BASE64URL_NOPAD.encode(&kept.expect("it is JSON"));
    let cookie = HeaderValue::from_str(&format!("strandline-views={text}")).expect("a header");
    let page = |query: &str| {
        let mut request = request("/", query);
        let mut context = Context::clone(&request.context);
        context.headers.insert(COOKIE, cookie.clone());
        request.context = context.into();
        let page = rendered(&request, some(), None, snapshot());
        sound(&page);
        page
    };
    let shown = page("tier=all&region=eu&at=1234&order=");
    for part in [
        "<a href=\"/?at=1234&#38;view=mine\">",
        "<a href=\"/?at=1234&#38;region=eu&#38;tier=all\" aria-current=\"page\">&#60;script&#62;alert(1)",
        "<a href=\"/?at=1234\">Bare</a>",
        "<input type=\"hidden\" name=\"shown\" value=\"region=eu&#38;tier=all\">",
        "action=\"/views/remove\"",
    ] {
        assert!(shown.contains(part), "{part} in\n{shown}");
    }
    for (query, next) in [
        ("wall=1&tier=all&region=eu", Some("/?wall=1")),
        ("wall=1", Some("/?wall=1&#38;view=mine")),
        ("wall=1&region=us", None),
        ("tier=all&region=eu", None),
    ] {
        let page = page(query);
        let goes_on = page.split("content=\"30; url=").nth(1).and_then(|rest| rest.split('"').next());
        assert_eq!(goes_on, next, "{query}");
    }
}

#[test]
fn a_screen_on_the_wall_has_no_controls() {
    let page = rendered(&request("/", "wall=1"), some(), Some(onset()), snapshot());
    sound(&page);
    assert!(page.contains("class=\"start wall\"") && page.contains("CrashLoopBackOff"));
    for control in ["id=\"filters\"", "class=\"group\"", ">Why<", "aria-label=\"Views\""] {
        assert!(!page.contains(control), "{control} in\n{page}");
    }
    let well = vec![one("shop/web", "eu", Some(Health::Healthy))];
    assert!(rendered(&request("/", "wall=1"), well, None, snapshot()).contains("Nothing needs attention"));
}

#[test]
fn a_page_of_many_environments_stays_small() {
    let many: Vec<_> = (0..50)
        .map(|n| {
            let mut one = degraded();
            one.project = format!("group-{:02}/team-{}/project-{n:04}", n % 40, n % 5);
            one.region = format!("region-{}", n % 8);
            one.keys = vec![vec![one.region.clone()]];
            one.since = Timestamp::from_micros(NOON.as_micros() - n);
            one
        })
        .collect();
    let page = rendered(&request("/", ""), many, Some(onset()), snapshot());
    sound(&page);
    assert!(page.len() < 100_000, "{} bytes", page.len());
}

#[test]
fn a_gap_that_is_over_is_told_with_both_ends() {
    let mut snapshot = blind_snapshot();
    for gap in &mut snapshot.coverage.gaps {
        gap.until = Some(gap.since.plus(Duration::from_secs(60)));
    }
    let page = rendered(&request("/", ""), some(), None, snapshot);
    sound(&page);
    assert!(
        page.contains("Cluster <b>eu-west</b>: 2 kinds not watched from") && page.contains("until"),
        "{page}"
    );
    assert!(page.contains("shows\">all clusters recorded") && !page.contains("not watched since"), "{page}");
}
