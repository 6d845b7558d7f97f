//! kube-runtime's watcher as an independent judge of the protocol.

use std::collections::BTreeMap;
use std::pin::pin;

use futures_util::{StreamExt, TryStreamExt};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, ResourceExt};

use super::{ApiServer, config_map, server};

fn api(server: &ApiServer) -> Api<DynamicObject> {
    let config = kube::Config::new(server.url().parse().unwrap());
    let client = Client::try_from(config).unwrap();
    Api::all_with(client, &ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap")))
}

type Seen = BTreeMap<String, String>;

fn truth(server: &ApiServer) -> Seen {
    let objects = server.objects("", "ConfigMap");
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    objects.iter().map(|object| (text(&object["metadata"]["name"]), text(&object["data"]["value"]))).collect()
}

fn fold(seen: &mut Seen, fresh: &mut Seen, event: Event<DynamicObject>) {
    let value = |object: &DynamicObject| object.data["data"]["value"].as_str().unwrap().to_owned();
    match event {
        Event::Init => fresh.clear(),
        Event::InitApply(object) => drop(fresh.insert(object.name_any(), value(&object))),
        Event::InitDone => *seen = std::mem::take(fresh),
        Event::Apply(object) => drop(seen.insert(object.name_any(), value(&object))),
        Event::Delete(object) => drop(seen.remove(&object.name_any())),
    }
}

async fn reaches_the_truth(config: Config, storm: Option<u64>) {
    let server = server().await;
    for number in 0..30 {
        server.apply(config_map(&format!("c{number}"), 0));
    }
    if let Some(seed) = storm {
        server.faults().storm(seed, 100);
    }
    let events = watcher(api(&server), config).default_backoff();
    let mut events = pin!(events);
    let (mut seen, mut fresh) = (Seen::new(), Seen::new());
    for step in 1..=200_u64 {
        let name = format!("c{}", step * 7 % 40);
        if step % 5 == 0 {
            server.delete("", "ConfigMap", "shop", &name);
        } else {
            server.apply(config_map(&name, step));
        }
        if step % 10 == 0
            && let Ok(Some(Ok(event))) =
                tokio::time::timeout(std::time::Duration::from_millis(5), events.next()).await
        {
            fold(&mut seen, &mut fresh, event);
        }
    }
    server.faults().clear();
    server.apply(config_map("last", 1));
    while seen != truth(&server) {
        match events.next().await.unwrap() {
            Ok(event) => fold(&mut seen, &mut fresh, event),
            Err(error) => assert!(storm.is_some(), "{error}"),
        }
    }
}

#[tokio::test]
async fn a_list_watch_reaches_the_truth() {
    reaches_the_truth(Config::default().page_size(7), None).await;
}

#[tokio::test]
async fn a_streaming_list_reaches_the_truth() {
    reaches_the_truth(Config::default().streaming_lists(), None).await;
}

#[tokio::test]
async fn a_list_watch_reaches_the_truth_after_a_storm() {
    for seed in 1..=3 {
        reaches_the_truth(Config::default().page_size(7), Some(seed)).await;
    }
}

#[tokio::test]
async fn aggregated_discovery_is_read_by_kube() {
    let server = server().await;
    let config = kube::Config::new(server.url().parse().unwrap());
    let client = Client::try_from(config).unwrap();
    let groups = client.list_api_groups_aggregated().await.unwrap();
    assert!(groups.items.len() >= 5);
    let core = client.list_core_api_versions_aggregated().await.unwrap();
    assert!(core.items[0].versions[0].resources.iter().any(|r| r.resource.as_deref() == Some("pods")));
    let discovery = kube::discovery::Discovery::new(client.clone()).run().await.unwrap();
    assert!(discovery.has_group("apps"));
    let lines = api(&server).watch(&kube::api::WatchParams::default(), "1").await.unwrap();
    server.apply(config_map("a", 0));
    assert!(pin!(lines).try_next().await.unwrap().is_some());
}
