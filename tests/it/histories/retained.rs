//! Random histories of which the beginning is let go: what can still be asked for is answered as before.

use serde_json::Value;

use super::*;
use strandline_model::KindPattern;
use strandline_protocol::SearchType;
use strandline_query::{
    GetEnvironmentGraph, GetResource, ListClusters, ListEnvironmentResources, ListEnvironments, Search,
};
use strandline_view::{PruneRequest, Pruning};

/// All that is answered about a moment, but for how far the view lags.
async fn answers(queries: &Queries, at: Offset) -> Vec<Value> {
    let (scope, at) = (Scope::everything(), At::Offset(at));
    let mut all = Vec::new();
    let mut tell = |answer: Value| all.push(answer);
    let environments = queries
        .ask(&scope, at, ListEnvironments::new(&EnvironmentFilter::default(), &whole()))
        .await
        .unwrap()
        .items;
    for environment in &environments {
        tell(json(environment));
        let graph =
            queries.ask(&scope, at, GetEnvironmentGraph::new(&environment.id, &uncut())).await.unwrap();
        tell(json(&graph.value));
        tell(json(&graph.metadata.coverage));
        let held = queries
            .ask(
                &scope,
                at,
                ListEnvironmentResources::new(&environment.id, &ResourceFilter::default(), &whole()),
            )
            .await
            .unwrap();
        for resource in held.items {
            let cluster = Some(resource.key.cluster.as_str());
            tell(json(
                &queries.ask(&scope, at, GetResource::new(&resource.id, cluster)).await.unwrap().value,
            ));
            tell(json(&resource));
        }
    }
    for text in ["web", "a", "p"] {
        let search =
            Search::new(text.parse().unwrap(), &[SearchType::Resources, SearchType::Images], Search::MAX);
        let found = queries.ask(&scope, at, search).await.unwrap().value;
        // What went before the earliest moment is not known any more.
        let resources = found.resources.iter().flat_map(|hits| &hits.items);
        resources.filter(|hit| hit.item.gone.is_none()).for_each(|hit| tell(json(hit)));
        let images = found.images.iter().flat_map(|hits| &hits.items);
        images.filter(|hit| hit.item.in_use).for_each(|hit| tell(json(hit)));
    }
    let overview = queries.ask(&scope, at, GetOverview::default()).await.unwrap();
    tell(json(&overview.value));
    tell(json(&overview.metadata.coverage));
    tell(json(&queries.ask(&scope, at, ListClusters::new(&whole())).await.unwrap().items));
    all
}

fn json(answer: &impl serde::Serialize) -> Value {
    serde_json::to_value(answer).unwrap()
}

/// What has not changed since before the earliest moment is told to be so since then.
fn since(value: &mut Value, earliest: strandline_model::Timestamp) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let time = field.as_str().and_then(|text| text.parse::<strandline_model::Timestamp>().ok());
                match time.filter(|time| name.contains("since") && *time < earliest) {
                    Some(_) => *field = Value::String(earliest.to_string()),
                    None => since(field, earliest),
                }
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| since(item, earliest));
            // What lasts longest comes first in some lists.
            items.sort_by_key(Value::to_string);
        }
        _ => {}
    }
}

fn agrees(seed: u64, steps: usize) {
    let played = play(seed, steps);
    let directory = played.directory.path();
    let head = played.records.last().unwrap().offset.get();
    let mut dice = Dice(seed ^ 0xC0_FFEE);
    let floor = Offset::new(1 + dice.below(usize::try_from(head - 1).unwrap()) as u64);
    // Pods are kept for less long than the rest.
    let pods = Offset::new(floor.get() + dice.below(usize::try_from(head - floor.get()).unwrap()) as u64);
    let moments: Vec<Offset> = (pods.get()..=head).map(Offset::new).collect();
    let all = |moments: &[Offset]| {
        block_on(async {
            let mut all = Vec::new();
            for moment in moments {
                all.push(answers(&played.queries, *moment).await);
            }
            all
        })
    };
    let compare = |after: &[Vec<Value>], before: &[Vec<Value>], what: &str| {
        for ((after, before), moment) in after.iter().zip(before).zip(&moments) {
            assert_eq!(after.len(), before.len(), "seed {seed}, {floor} to {head}, at {moment}, {what}");
            for (after, before) in after.iter().zip(before) {
                let before = as_far_as_known(before, after);
                assert_eq!(*after, before, "seed {seed}, {floor} to {head}, at {moment}, {what}");
            }
        }
    };
    let before = all(&moments);
    let (compacted, kinds) = testing::record(directory, played.clock.clone(), |appender| async move {
        let pattern: KindPattern = "Pod".parse().unwrap();
        (appender.compact(floor).await.unwrap(), appender.raise_floors(vec![(pattern, pods)]).await.unwrap())
    });
    assert_eq!(compacted.offset, floor.min(Offset::new(head - 1)));
    block_on(async {
        let earlier = At::Offset(Offset::new(compacted.offset.get() - 1));
        let refused = played.queries.ask(&Scope::everything(), earlier, GetOverview::default()).await;
        assert!(matches!(refused, Err(QueryError::Compacted { .. })), "{refused:?}");
    });
    let pruning = Pruning::default();
    pruning.request(PruneRequest { before: compacted.offset, kinds: kinds.clone() });
    let mut projector = Projector::open(directory, ProjectorOptions::small(RuleSet::default())).unwrap();
    while projector.prune(&pruning).unwrap() {}
    assert!(pruning.is_done());
    compare(&all(&moments), &before, "pruned");
    testing::record(directory, played.clock.clone(), |appender| async move {
        while !appender.sweep(17).await.unwrap().done {}
        while !appender.thin(13).await.unwrap().done {}
    });
    compare(&all(&moments), &before, "swept and thinned");
    played.rebuild();
    let earliest = kinds.iter().map(|floor| floor.observed_at).max().max(compacted.observed_at).unwrap();
    let clamped = |mut all: Vec<Vec<Value>>| {
        all.iter_mut().flatten().for_each(|answer| since(answer, earliest));
        all
    };
    compare(&clamped(all(&moments)), &clamped(before), "built anew");
}

/// An answer without when resources were created of which the answer after it does not say so. The first that was seen of
/// a resource says when: once that was let go, and what is left first cannot be read, nobody knows.
fn as_far_as_known(before: &Value, after: &Value) -> Value {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let of = |(name, value): (&String, &Value)| {
                let after = after.get(name).unwrap_or(&Value::Null);
                let unknown = name == "created_at" && after.is_null();
                (name.clone(), if unknown { Value::Null } else { as_far_as_known(value, after) })
            };
            before.iter().map(of).collect()
        }
        (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
            before.iter().zip(after).map(|(before, after)| as_far_as_known(before, after)).collect()
        }
        _ => before.clone(),
    }
}

#[test]
fn what_can_still_be_asked_for_is_answered_as_before_its_past_was_let_go() {
    if let Some(seed) = set("STRANDLINE_HISTORY_SEED") {
        return agrees(seed, 160);
    }
    let first = set("STRANDLINE_HISTORY_FIRST").unwrap_or(1);
    for seed in first..first + set("STRANDLINE_HISTORIES").unwrap_or(2) {
        agrees(seed, 160);
    }
}
