//! The trend of an overview is what the histories of its environments amount to, and each of its environments is what
//! other questions say of it.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::overview::{history, keys, passes, question};
use super::*;
use strandline_gitlab::Membership;
use strandline_model::{GroupBy, HealthCounts, Timestamp, attention};

/// The question for environments one by one. Trends are held against the histories of environments instead: their spans end
/// with the time of each world.
pub(super) fn by_name(page: &PageRequest) -> GetOverview {
    let rows = OverviewRows { order: OverviewOrder::Name, page: page.clone() };
    GetOverview { environments: Some(rows), ..GetOverview::default() }
}

/// Leaves out of an environment what rests on its past: since when it is as it is, and its last change, which is none by a
/// controller, as which field managers have been known since they first wrote a status there.
pub(super) fn without_past(value: &mut serde_json::Value) {
    if value["health"].is_object() {
        value["health"]["since"] = serde_json::Value::Null;
    }
    for member in ["since", "strip"] {
        if let Some(told) = value.get_mut(member) {
            *told = serde_json::Value::Null;
        }
    }
    value.as_object_mut().and_then(|members| members.remove("last_change"));
}

fn scope_of(path: Option<&str>) -> Scope {
    path.map_or_else(Scope::everything, |path| Scope::members(Membership::new([path], [path])))
}

/// The environments that an overview is about, as the list has them.
async fn chosen(world: &World, scope: &Scope, at: At, request: &GetOverview) -> Vec<Environment> {
    let all = ListEnvironments::new(&EnvironmentFilter::default(), &whole());
    let all = world.queries.ask(scope, at, all).await.unwrap().items;
    all.into_iter().filter(|one| passes(&request.filter, one)).collect()
}

async fn histories(
    world: &World,
    scope: &Scope,
    at: At,
    since: Option<At>,
    of: &[Environment],
) -> Vec<HealthHistory> {
    let mut found = Vec::new();
    for one in of.iter().filter(|one| one.access == EnvironmentAccess::Granted) {
        let filter = HealthFilter { since, limit: 10_000 };
        let history = world.queries.ask(scope, at, GetEnvironmentHealth::new(&one.id, filter)).await;
        found.push(history.unwrap().value);
    }
    found
}

fn counts_at(histories: &[HealthHistory], time: Timestamp) -> HealthCounts {
    let mut counts = HealthCounts::default();
    for history in histories {
        let holds = |one: &&HealthInterval| {
            one.from <= time && one.until.is_none_or(|until| until > time) && one.health.is_some()
        };
        for interval in history.intervals.iter().filter(holds) {
            *counts.slot(interval.health) += 1;
        }
    }
    counts
}

/// Holds a trend against the histories of its environments.
async fn trend_holds(world: &World, scope: &Scope, at: At, request: &GetOverview) {
    let filter = request.trend.unwrap();
    let trend = world.queries.ask(scope, at, request.clone()).await.unwrap().value.trend.unwrap();
    let of = chosen(world, scope, at, request).await;
    let histories = histories(world, scope, at, filter.since, &of).await;
    let begins: BTreeSet<Timestamp> =
        histories.iter().flat_map(|history| &history.intervals).map(|one| one.from).collect();
    assert_eq!(trend.buckets.first().map(|part| part.from), Some(trend.since));
    assert_eq!(trend.buckets.last().map(|part| part.until), Some(trend.until));
    for part in &trend.buckets {
        let context = format!("{part:?} at {at:?} for {request:?}: {histories:#?}");
        assert_eq!(part.environments, counts_at(&histories, part.until), "{context}");
        let mut most = counts_at(&histories, part.from);
        for time in begins.iter().filter(|time| part.from < **time && **time <= part.until) {
            let mut then = counts_at(&histories, *time);
            for health in Health::ALL.map(Some) {
                *most.slot(health) = (*most.slot(health)).max(*then.slot(health));
            }
        }
        assert_eq!(part.most, most, "{context}");
    }
}

/// Reads all pages of so many, and holds each environment against other questions.
async fn rows_hold(world: &World, scope: &Scope, at: At, request: &GetOverview, limit: usize) {
    let order = request.environments.as_ref().unwrap().order;
    let mut expected = chosen(world, scope, at, request).await;
    let newest = |one: &Environment| match one.access {
        EnvironmentAccess::Granted => std::cmp::Reverse(Some(one.health.since)),
        EnvironmentAccess::Denied => std::cmp::Reverse(None),
    };
    match order {
        OverviewOrder::Attention | OverviewOrder::Deployed => {
            expected.sort_by_key(|one| (attention(one.health.state), newest(one), one.id.clone()));
        }
        OverviewOrder::Since => expected.sort_by_key(|one| (newest(one), one.id.clone())),
        OverviewOrder::Name => {
            expected.sort_by_key(|one| (one.project.clone(), one.name.clone(), one.id.clone()));
        }
    }
    if order == OverviewOrder::Deployed {
        expected.sort_by_key(|one| one.id.clone());
    }
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = PageRequest { limit, after };
        let rows = OverviewRows { order, page };
        let question = GetOverview { environments: Some(rows), ..request.clone() };
        let answer = world.queries.ask(scope, at, question).await.unwrap();
        let page = answer.value.environments.unwrap();
        assert!(page.items.len() <= limit);
        found.extend(page.items);
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    let names = |list: Vec<EnvironmentId>| list.into_iter().map(|id| id.to_string()).collect::<Vec<_>>();
    assert_eq!(
        names(found.iter().map(|one| one.id.clone()).collect()),
        names(expected.iter().map(|one| one.id.clone()).collect()),
        "at {at:?} for {request:?}"
    );
    for (row, one) in found.iter().zip(&expected) {
        row_holds(world, scope, at, request, row, one).await;
    }
}

async fn row_holds(
    world: &World,
    scope: &Scope,
    at: At,
    request: &GetOverview,
    row: &EnvironmentSummary,
    one: &Environment,
) {
    let health = (row.health, row.since, row.last_known, row.resources, row.access);
    let expected = (one.health.state, one.health.since, one.health.last_known, one.health.counts, one.access);
    assert_eq!(health, expected, "{row:?}");
    let by = if request.group_by.is_empty() { vec![GroupBy::Region] } else { request.group_by.clone() };
    assert_eq!(row.keys.iter().cloned().collect::<BTreeSet<_>>(), keys(request, &by, one));
    if one.access == EnvironmentAccess::Denied {
        assert_eq!((&row.cause, &row.version, row.strip.as_slice()), (&None, &None, &[][..]));
        return;
    }
    let why = world.queries.ask(scope, at, ExplainEnvironment::new(&one.id, 1)).await.unwrap().value;
    let worst = why.paths.first().and_then(|path| path.steps.last());
    let cause = row.cause.as_ref();
    let told = |id: &Uid, reason: &str, health| (id.clone(), reason.to_owned(), health);
    assert_eq!(
        cause.map(|cause| told(&cause.id, &cause.reason, cause.health)),
        worst.map(|worst| told(&worst.id, &worst.reason, worst.health)),
    );
    assert!(cause.is_none_or(|cause| 0 < cause.alike && cause.alike <= cause.of && cause.roots == why.roots));
    let environments =
        EnvironmentFilter { projects: vec![one.project.parse().unwrap()], ..EnvironmentFilter::default() };
    let kinds = vec![FeedKind::Spec, FeedKind::Created];
    let since = Some(At::Offset(Offset::ZERO));
    let filter = ChangesFilter { environments, kinds, since, ..ChangesFilter::default() };
    let changes = world.queries.ask(scope, at, ListChanges::new(&filter, &whole())).await.unwrap().items;
    let is_of_it = |entry: &&FeedEntry| entry.environments.iter().any(|told| told.id == one.id);
    let made = changes.iter().filter(is_of_it).find(|entry| !entry.by.is_empty());
    assert_eq!(
        row.last_change.as_ref().map(|change| (change.offset, change.by.as_str())),
        made.map(|entry| (entry.entry.offset, entry.by.as_str())),
        "{changes:#?}"
    );
    let since = request.trend.and_then(|trend| trend.since);
    let filter = HealthFilter { since, limit: EnvironmentSummary::STRIP };
    let history = world.queries.ask(scope, at, GetEnvironmentHealth::new(&one.id, filter)).await.unwrap();
    let strip = history.value.intervals.iter().rev();
    let strip: Vec<_> = strip.map(|one| StripPart { from: one.from, health: one.health }).collect();
    assert_eq!(row.strip, strip);
}

#[test]
fn the_last_change_is_of_neither_a_controller_nor_a_gitops_tool() {
    let deployment = |image: &str, manager: &str| {
        Event::Object(json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "api", "namespace": "shop", "creationTimestamp": World::time(2),
                "managedFields": [{"manager": manager}]},
            "spec": {"template": {"spec": {"containers": [{"name": "api", "image": image}]}}}}))
    };
    let reported = Event::Object(json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "other", "namespace": "shop", "creationTimestamp": World::time(2),
            "managedFields": [{"manager": "scaler", "subresource": "status"}]}}));
    let world = World::new([
        Event::Declare(vec![environment("shop/web", "production", &[("one", "shop", "")])]),
        deployment("api:1", "kubectl-create"),
        reported,
        deployment("api:2", "kubectl-edit"),
        deployment("api:3", "argocd-controller"),
        deployment("api:4", "scaler"),
    ]);
    let last = |heads: usize| {
        let at = At::Offset(world.heads[heads]);
        let answer = block_on(world.queries.ask(&Scope::everything(), at, by_name(&whole()))).unwrap();
        let change = answer.value.environments.unwrap().items.pop().unwrap().last_change;
        change.map(|change| (change.what, change.by, change.key.name, change.offset))
    };
    let told = |what: &str, by: &str, heads: usize| {
        Some((what.to_owned(), by.to_owned(), "api".to_owned(), world.heads[heads]))
    };
    assert_eq!(last(1), None, "what is declared is nobody's change");
    assert_eq!(last(3), told("created", "kubectl-create", 2));
    assert_eq!(last(4), told("changed", "kubectl-edit", 4));
    assert_eq!(last(6), told("changed", "kubectl-edit", 4));
}

proptest! {
    #![proptest_config(strandline_testkit::cases(12))]

    #[test]
    fn an_overview_agrees_with_what_each_environment_is_asked(
        events in history(),
        requests in prop::collection::vec((question(), 0..4_usize, 1..7_usize, 1..4_usize), 20),
        steps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 20),
        scopes in prop::collection::vec(prop::sample::select(vec![None, Some("shop"), Some("ops/tools")]), 20),
        grace in prop::sample::select(vec![0, 150]),
    ) {
        let progressing_grace = std::time::Duration::from_secs(grace);
        let world = World::judged_by(RuleSet { progressing_grace, ..RuleSet::default() }, events);
        world.clock.set(World::time(world.last() + 1));
        block_on(async {
            for (((request, order, buckets, limit), (step, begin)), scope) in
                requests.into_iter().zip(&steps).zip(&scopes)
            {
                let (scope, step) = (scope_of(*scope), step.index(world.heads.len()));
                let since = match begin.index(step + 2) {
                    0 => None,
                    begin => Some(At::Offset(world.heads[begin - 1])),
                };
                let order = OverviewOrder::ALL[order];
                let request = GetOverview {
                    trend: Some(TrendFilter { since, buckets }),
                    environments: Some(OverviewRows { order, page: whole() }),
                    ..request
                };
                for at in [At::Offset(world.heads[step]), At::Now] {
                    trend_holds(&world, &scope, at, &request).await;
                    rows_hold(&world, &scope, at, &request, limit).await;
                }
            }
        });
    }
}
