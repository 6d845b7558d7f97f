//! The fleet as kube-runtime's watcher sees it over HTTP.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, pin_mut};
use kube::api::{ApiResource, DynamicObject};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client, ResourceExt};

use super::{minutes, options, text};
use crate::api_server::{ApiServer, ServedKind};
use crate::fleet::Fleet;

/// resourceVersions by namespace and name.
type Seen = BTreeMap<(String, String), String>;

fn truth(server: &ApiServer, kind: &ServedKind) -> Seen {
    let objects = server.objects(&kind.kind.group, &kind.kind.kind);
    let field =
        |object: &serde_json::Value, name: &str| text(object, &format!("/metadata/{name}")).to_owned();
    let keyed = objects.iter().map(|object| {
        ((field(object, "namespace"), field(object, "name")), field(object, "resourceVersion"))
    });
    keyed.collect()
}

/// Follows a kind for as long as the test runs.
fn follow(server: &ApiServer, kind: &ServedKind, config: Config) -> Arc<Mutex<Seen>> {
    let client = Client::try_from(kube::Config::new(server.url().parse().unwrap())).unwrap();
    let resource = ApiResource {
        group: kind.kind.group.clone(),
        version: kind.version.clone(),
        api_version: kind.api_version(),
        kind: kind.kind.kind.clone(),
        plural: kind.plural.clone(),
    };
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    let shared = Arc::new(Mutex::new(Seen::new()));
    let seen = Arc::clone(&shared);
    tokio::spawn(async move {
        let key = |object: &DynamicObject| (object.namespace().unwrap_or_default(), object.name_any());
        let version = |object: &DynamicObject| object.resource_version().unwrap();
        let mut fresh = Seen::new();
        let events = watcher(api, config).default_backoff();
        pin_mut!(events);
        while let Some(event) = events.next().await {
            let mut seen = seen.lock().unwrap();
            match event.unwrap() {
                Event::Init => fresh.clear(),
                Event::InitApply(object) => drop(fresh.insert(key(&object), version(&object))),
                Event::InitDone => *seen = std::mem::take(&mut fresh),
                Event::Apply(object) => drop(seen.insert(key(&object), version(&object))),
                Event::Delete(object) => drop(seen.remove(&key(&object))),
            }
        }
    });
    shared
}

#[tokio::test]
async fn every_kind_of_every_cluster_can_be_followed() {
    let options = options(8);
    let mut fleet = Fleet::start(&options).await.unwrap();
    let mut followed = Vec::new();
    for (number, server) in fleet.servers().iter().enumerate() {
        for kind in server.kinds() {
            let config = if number % 2 == 0 {
                Config::default().page_size(20)
            } else {
                Config::default().streaming_lists()
            };
            followed.push((number, follow(server, &kind, config), kind));
        }
    }
    let mut now = options.start;
    for _ in 0..30 {
        now = now.plus(minutes(1));
        fleet.step(now);
        tokio::task::yield_now().await;
    }
    for (number, seen, kind) in followed {
        let expected = truth(&fleet.servers()[number], &kind);
        while *seen.lock().unwrap() != expected {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
