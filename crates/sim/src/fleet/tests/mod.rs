//! What holds for the simulated fleet at any moment, and the story it tells.

#![expect(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod day;
mod followed;
mod invariants;
mod redacted;

use std::collections::BTreeSet;

use serde_json::Value;

use super::schedule::{hours, minutes};
use super::{Fleet, FleetOptions};
use crate::api_server::ApiServer;
use crate::workloads::{SECRET_CANARY, SECRET_CANARY_BASE64};
use strandline_model::{Tier, Timestamp};

fn options(seed: u64) -> FleetOptions {
    FleetOptions::new(seed, "2026-11-20T06:00:00Z".parse().unwrap())
}

/// All objects of a server as text.
fn everything(server: &ApiServer) -> Vec<String> {
    let kinds = server.kinds().into_iter();
    let objects = kinds.flat_map(|kind| server.objects(&kind.kind.group, &kind.kind.kind));
    objects.map(|object| object.to_string()).collect()
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or("")
}

#[test]
fn one_seed_tells_one_story_in_steps_of_any_size() {
    let tell = |seed, step| {
        let options = options(seed);
        let mut fleet = Fleet::new(&options);
        let end = options.start.plus(hours(2));
        let mut now = options.start;
        while now < end {
            now = now.plus(step).min(end);
            fleet.step(now);
        }
        let objects: Vec<_> = fleet.servers().iter().map(everything).collect();
        (objects, fleet.servers().iter().map(ApiServer::resource_version).collect::<Vec<_>>())
    };
    let told = tell(1, minutes(1));
    assert!(told == tell(1, minutes(7)), "the size of steps must not matter");
    assert!(told != tell(2, minutes(7)));
}

#[test]
fn the_fleet_says_what_to_declare() {
    let fleet = Fleet::new(&options(3));
    let clusters: Vec<_> = fleet.clusters().into_iter().map(|(spec, _)| (spec.name, spec.region)).collect();
    let regions = [("us-east", "us"), ("us-west", "us"), ("eu-central", "eu"), ("eu-west", "eu")];
    assert_eq!(clusters, regions.map(|(name, region)| (name.to_owned(), region.to_owned())));
    let environments = fleet.environments();
    let names: BTreeSet<&str> = environments.iter().map(|environment| environment.id.as_str()).collect();
    for name in [
        "shop.web.production.us-region",
        "payments.ledger.production.eu-region",
        "search.indexer.staging",
        "shop.web.review.fix-login",
    ] {
        assert!(names.contains(name), "{name} in {names:?}");
    }
    for environment in &environments {
        let expected = if environment.tier == Tier::Production { 2 } else { 1 };
        assert_eq!(environment.targets.len(), expected, "{}", environment.id);
        for target in &environment.targets {
            let position = clusters
                .iter()
                .position(|(name, _)| target.agent.as_ref().is_some_and(|agent| agent.name() == *name))
                .unwrap();
            let server = &fleet.servers()[position];
            let deployments = server.objects("apps", "Deployment");
            let matching = deployments.iter().filter(|object| {
                text(object, "/metadata/namespace") == target.namespace
                    && target
                        .labels
                        .iter()
                        .flatten()
                        .all(|(key, value)| object["metadata"]["labels"][key] == **value)
            });
            assert!(matching.count() > 0, "{target:?}");
        }
    }
}

#[test]
fn objects_are_of_realistic_size_and_secrets_carry_the_canary() {
    let fleet = Fleet::new(&options(4));
    let server = &fleet.servers()[0];
    let pods = server.objects("", "Pod");
    let bytes: usize = pods.iter().map(|pod| pod.to_string().len()).sum();
    let average = bytes / pods.len();
    assert!((5_000..12_000).contains(&average), "{average} bytes");
    let secrets = server.objects("", "Secret");
    assert!(!secrets.is_empty());
    for secret in &secrets {
        for value in secret["data"].as_object().unwrap().values() {
            assert!(value.as_str().unwrap().starts_with(SECRET_CANARY_BASE64));
        }
    }
    assert!(secrets.iter().any(|secret| secret.to_string().contains("last-applied-configuration")));
    assert!(pods.iter().any(|pod| pod.to_string().contains(SECRET_CANARY)), "a literal in an env");
    let manager = &pods[0]["metadata"]["managedFields"];
    assert!(manager.as_array().unwrap().iter().any(|entry| entry["manager"] == "kubelet"));
}

#[test]
fn some_pods_belong_by_their_owners_only() {
    let fleet = Fleet::new(&options(5));
    let pods = fleet.servers()[0].objects("", "Pod");
    let labelled = |pod: &&Value| pod["metadata"]["labels"].get("app.gitlab.com/project_id").is_some();
    let (with, without) =
        (pods.iter().filter(labelled).count(), pods.iter().filter(|pod| !labelled(pod)).count());
    assert!(with > 20 && without > 20, "{with} with labels, {without} without");
}

#[test]
fn a_moment_that_has_passed_changes_nothing() {
    let options = options(6);
    let mut fleet = Fleet::new(&options);
    fleet.step(options.start.plus(minutes(10)));
    let versions: Vec<_> = fleet.servers().iter().map(ApiServer::resource_version).collect();
    fleet.step(options.start);
    fleet.step(Timestamp::from_micros(0));
    assert_eq!(versions, fleet.servers().iter().map(ApiServer::resource_version).collect::<Vec<_>>());
    assert_eq!(fleet.now(), options.start.plus(minutes(10)));
}
