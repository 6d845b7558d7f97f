//! Environments, overviews and views as the document has them.

use super::*;
use crate::format::summaries::{bare_summary, degraded};
use strandline_protocol::{OverviewPage, Trend, TrendBucket};

#[test]
fn environments_have_the_documented_shape() {
    let mut unknown = environment("shop/web", "", Some(Health::Unknown));
    unknown.health.last_known = Some(Health::Healthy);
    unknown.targets[0].labels.insert("app".into(), "web".into());
    unknown.targets[0].inventory = "argocd:shop".parse().ok();
    let bare = environment("shop/db", "eu", None);
    holds("EnvironmentPage", &page(vec![unknown.clone(), bare.clone()]));
    holds("EnvironmentPage", &empty::<strandline_protocol::Environment>());
    holds("EnvironmentAnswer", &Answer { value: unknown, metadata: full_snapshot() });
    holds("EnvironmentAnswer", &Answer { value: bare, metadata: snapshot() });
}

#[test]
fn overviews_and_views_have_the_documented_shape() {
    let mut counts = OverviewCounts { denied: 1, total: 2, ..OverviewCounts::default() };
    let bare = OverviewGroup { keys: vec![String::new()], counts, attention: vec![] };
    counts.health = Some(Health::Degraded);
    let one = OverviewEnvironment {
        id: EnvironmentId::new("shop.web.production"),
        project: "shop/web".into(),
        name: "production".into(),
        health: Health::Degraded,
        since: NOON,
    };
    let full = OverviewGroup { keys: vec!["eu".into()], counts, attention: vec![one] };
    let group_by = vec![GroupBy::Region, GroupBy::Label("team".into())];
    let groups = vec![full, bare];
    let overview = Overview {
        group_by: group_by.clone(),
        groups,
        groups_left_out: 3,
        totals: counts,
        trend: None,
        environments: None,
        warnings: Vec::new(),
    };
    holds("OverviewAnswer", &Answer { value: overview.clone(), metadata: full_snapshot() });
    let bucket = TrendBucket {
        from: NOON,
        until: NOON,
        environments: counts.environments,
        most: counts.environments,
        covered: true,
    };
    let trend = Trend {
        since: NOON,
        until: NOON,
        counted_since: NOON,
        buckets: vec![bucket],
        gaps: full_snapshot().coverage.gaps,
    };
    let page = OverviewPage {
        items: vec![degraded(), bare_summary(environment("shop/db", "", None))],
        next: Some(format!("1.5b5d.{}", "0".repeat(32))),
    };
    let overview = Overview { trend: Some(trend), environments: Some(page), ..overview };
    holds("OverviewAnswer", &Answer { value: overview, metadata: snapshot() });
    let filter = EnvironmentFilter {
        search: String::new(),
        tiers: vec![Tier::Production],
        regions: vec!["eu".into()],
        projects: "shop/*".parse().into_iter().collect(),
        groups: "shop".parse().into_iter().collect(),
        clusters: vec!["eu-west".into()],
        agents: "shop/agents:one".parse().into_iter().collect(),
        states: EnvironmentFilter::IN_USE.to_vec(),
        names: "production/*".parse().into_iter().collect(),
        healths: vec![Health::Degraded],
        labels: "team=payments".parse().unwrap_or_default(),
    };
    let view = SavedView { name: "a".into(), title: "A".into(), filter, group_by };
    let views = [view, SavedView::default()];
    holds("ViewList", &json!({ "items": views }));
    let route = ROUTES.iter().find(|route| route.path == "/api/v1/overview");
    let operation = route.and_then(|route| route.operation(&http::Method::GET));
    let parameters = operation.map(|operation| operation.parameters);
    let known: BTreeSet<_> = parameters.into_iter().flatten().map(|parameter| parameter.name).collect();
    let shown = json!(views[0].filter);
    let shown = shown.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    assert!(shown.clone().count() == 10 && shown.collect::<BTreeSet<_>>().is_subset(&known), "{known:?}");
}
