//! A whole day, in steps of twenty minutes.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{hours, invariants, minutes, options, text};
use crate::api_server::ApiServer;
use crate::fleet::{Fleet, FleetOptions};
use crate::workloads::catalog::NEEDED;
use strandline_model::DeploymentSpec;

/// The reason of a Deployment's condition `Progressing`.
fn progress(deployment: &Value) -> &str {
    let conditions = deployment["status"]["conditions"].as_array().unwrap();
    let found = conditions.iter().find(|condition| condition["type"] == "Progressing");
    found.map_or("", |condition| text(condition, "/reason"))
}

fn deployment(fleet: &Fleet, cluster: usize, namespace: &str, name: &str) -> Value {
    fleet.servers()[cluster].object("apps", "Deployment", namespace, name).unwrap()
}

/// Deployments whose Pods are all ready, and all of them, in namespaces that end like this.
fn healthy(fleet: &Fleet, suffix: &str) -> (usize, usize) {
    let deployments: Vec<Value> =
        fleet.servers().iter().flat_map(|server| server.objects("apps", "Deployment")).collect();
    let chosen: Vec<&Value> =
        deployments.iter().filter(|one| text(one, "/metadata/namespace").ends_with(suffix)).collect();
    let whole = chosen.iter().filter(|one| {
        one["status"]["readyReplicas"] == one["spec"]["replicas"] && progress(one) == "NewReplicaSetAvailable"
    });
    (whole.count(), chosen.len())
}

fn waiting_reasons(server: &ApiServer, namespace: &str) -> BTreeSet<String> {
    let pods = server.objects("", "Pod");
    let mine = pods.iter().filter(|pod| text(pod, "/metadata/namespace") == namespace);
    mine.map(|pod| text(pod, "/status/containerStatuses/0/state/waiting/reason").to_owned()).collect()
}

#[test]
fn a_day_is_consistent_and_tells_its_story() {
    let options = options(42);
    let mut fleet = Fleet::new(&options);
    let (first, end) = (options.start, options.start.plus(options.history));
    let begin: u64 = fleet.servers().iter().map(ApiServer::resource_version).sum();
    let mut namespaces = BTreeSet::new();
    let mut worst = 1000;
    let mut now = first;
    while now < end {
        now = now.plus(minutes(20)).min(end);
        fleet.step(now);
        // Not at every step, since looking at everything takes longer than letting it happen.
        if now.since(first).as_secs().is_multiple_of(4800) {
            fleet.servers().iter().for_each(invariants::check);
        }
        namespaces.extend(fleet.servers()[3].names("", "Namespace", ""));
        let (whole, all) = healthy(&fleet, "-production");
        worst = worst.min(whole * 1000 / all);
        let incident = end.minus(options.history / 8);
        if now == incident.plus(minutes(20)) {
            for cluster in [0, 1] {
                let api = deployment(&fleet, cluster, "payments-api-production", "api");
                assert_eq!(progress(&api), "ProgressDeadlineExceeded");
            }
            assert!(
                waiting_reasons(&fleet.servers()[0], "payments-api-production").contains("CrashLoopBackOff")
            );
        }
        if now == incident.plus(hours(1)) {
            let api = deployment(&fleet, 0, "payments-api-production", "api");
            assert_eq!(progress(&api), "NewReplicaSetAvailable", "healed");
        }
    }
    assert!(worst >= 850, "production was never healthier than {worst} in a thousand at its worst");
    let incidents = fleet.incidents();
    let told: Vec<_> = incidents.iter().map(|(environment, at)| (environment.id.as_str(), *at)).collect();
    let api = end.minus(options.history / 8).plus(options.history / 48);
    assert_eq!(told, [("payments.api.production.us-region", api), ("search.indexer.staging", end)]);
    let indexer = deployment(&fleet, 1, "search-indexer-staging", "indexer");
    assert_eq!(progress(&indexer), "ProgressDeadlineExceeded", "something is broken at the end");
    let images = deployment(&fleet, 2, "media-images-production", "images");
    assert!(
        matches!(progress(&images), "ReplicaSetUpdated" | "NewReplicaSetCreated"),
        "something is under way"
    );
    let present: BTreeSet<String> = fleet.servers()[3].names("", "Namespace", "").into_iter().collect();
    assert!(namespaces.len() > present.len() + 3, "review apps came and went: {namespaces:?}");
    let objects: usize = fleet.servers().iter().map(ApiServer::object_count).sum();
    let changes = fleet.servers().iter().map(ApiServer::resource_version).sum::<u64>() - begin;
    println!("{objects} objects, {changes} changes, worst {worst}");
    assert!((1_500..=2_600).contains(&objects), "{objects} objects");
    assert!((20_000..=60_000).contains(&changes), "{changes} changes");
}

#[test]
fn an_incident_comes_soon_where_it_is_wanted() {
    let options = FleetOptions { opens_with_incident: true, ..options(42) };
    let mut fleet = Fleet::new(&options);
    let incidents = fleet.incidents();
    let (environment, at) = incidents.last().unwrap();
    assert_eq!(
        (environment.id.as_str(), *at),
        ("shop.cart.production.eu-region", options.start.plus(minutes(45)))
    );
    let cart = |fleet: &Fleet| deployment(fleet, 2, "shop-cart-production", "cart");
    let image = |fleet: &Fleet| text(&cart(fleet), "/spec/template/spec/containers/0/image").to_owned();
    let settings = |fleet: &Fleet| {
        let map = fleet.servers()[2].object("", "ConfigMap", "shop-cart-production", "cart-config").unwrap();
        map["data"].clone()
    };
    let (image_before, before) = (image(&fleet), settings(&fleet));
    fleet.step(*at);
    assert_eq!(progress(&cart(&fleet)), "ProgressDeadlineExceeded");
    assert_eq!(image(&fleet), image_before, "only settings were changed");
    assert!(before[NEEDED].is_string() && settings(&fleet)[NEEDED].is_null(), "{before}");
    let reasons = waiting_reasons(&fleet.servers()[2], "shop-cart-production");
    assert!(reasons.contains("CreateContainerConfigError"), "{reasons:?}");
    fleet.step(at.plus(hours(1)));
    assert_eq!(progress(&cart(&fleet)), "NewReplicaSetAvailable", "healed");
    assert_eq!(settings(&fleet), before, "taken back");
}

#[test]
fn three_hours_have_room_for_every_incident() {
    let options = FleetOptions { opens_with_incident: true, history: hours(3), ..options(1) };
    let mut fleet = Fleet::new(&options);
    let mut incidents = fleet.incidents();
    incidents.sort_by_key(|(_, at)| *at);
    let places = [
        (2, "shop-cart-production", "cart"),
        (0, "payments-api-production", "api"),
        (1, "search-indexer-staging", "indexer"),
    ];
    for ((environment, at), (cluster, namespace, name)) in incidents.into_iter().zip(places) {
        fleet.step(at);
        let deployment = deployment(&fleet, cluster, namespace, name);
        assert_eq!(progress(&deployment), "ProgressDeadlineExceeded", "{} at {at}", environment.id);
    }
    let people = |deployments: &[DeploymentSpec]| -> BTreeSet<(String, String)> {
        deployments.iter().map(|one| (one.sha.clone(), one.user.clone())).collect()
    };
    let deployments = fleet.take_deployments();
    let commits: BTreeSet<&str> = deployments.iter().map(|one| one.sha.as_str()).collect();
    assert_eq!(people(&deployments).len(), commits.len(), "one person starts the pipeline of a commit");
}
