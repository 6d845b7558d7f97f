//! Discovery, lists and single objects.

use http_body_util::BodyExt;
use hyper::Request;
use serde_json::{Value, json};
use tower_service::Service;

use super::{CONFIG_MAPS, config_map, get, request, server};
use crate::api_server::{ApiServer, ServedKind, builtin_kinds};

fn names(list: &Value) -> Vec<String> {
    let items = list["items"].as_array().unwrap();
    items.iter().map(|item| item["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn pages_show_one_moment_while_objects_change() {
    let server = server().await;
    for number in 0..10 {
        server.apply(config_map(&format!("c{number}"), 0));
    }
    let (_, first) = get(&server, &format!("{CONFIG_MAPS}?limit=4")).await;
    assert_eq!(first["metadata"]["remainingItemCount"], 6);
    server.delete("", "ConfigMap", "shop", "c5");
    server.apply(config_map("c6", 1));
    server.apply(config_map("c55", 0));
    let mut seen = names(&first);
    let mut page = first.clone();
    while let Some(token) = page["metadata"]["continue"].as_str() {
        page = get(&server, &format!("{CONFIG_MAPS}?limit=4&continue={token}")).await.1;
        assert_eq!(page["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
        let old = page["items"].as_array().unwrap().iter().all(|item| item["data"]["value"] == "0");
        assert!(old, "a page must not show what came after the first");
        seen.extend(names(&page));
    }
    assert_eq!(seen, (0..10).map(|number| format!("c{number}")).collect::<Vec<_>>());
    assert_eq!((server.requests().lists, server.requests().pages), (1, 3));
}

#[tokio::test]
async fn a_token_expires_with_the_window() {
    let server = server().await;
    server.set_window(5);
    for number in 0..10 {
        server.apply(config_map(&format!("c{number}"), 0));
    }
    let (_, page) = get(&server, &format!("{CONFIG_MAPS}?limit=4")).await;
    let token = page["metadata"]["continue"].as_str().unwrap().to_owned();
    for number in 0..10 {
        server.apply(config_map(&format!("c{number}"), 1));
    }
    let (status, answer) = get(&server, &format!("{CONFIG_MAPS}?limit=4&continue={token}")).await;
    assert_eq!((status, answer["reason"].as_str()), (410, Some("Expired")));
    let (status, _) = get(&server, &format!("{CONFIG_MAPS}?continue=nonsense")).await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn items_of_built_in_kinds_do_not_say_what_they_are() {
    let server = server().await;
    server.add_kind(ServedKind::custom("example.dev", "v1", "Widget", "widgets"));
    server.apply(config_map("a", 0));
    let widget = json!({"apiVersion": "example.dev/v1", "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop"}, "spec": {"size": 1}});
    server.apply(widget);
    let (_, maps) = get(&server, CONFIG_MAPS).await;
    assert_eq!(maps["kind"], "ConfigMapList");
    assert_eq!(maps["items"][0].get("kind"), None);
    let (_, widgets) = get(&server, "/apis/example.dev/v1/widgets").await;
    assert_eq!(widgets["items"][0]["kind"], "Widget");
    let (_, single) = get(&server, "/api/v1/namespaces/shop/configmaps/a").await;
    assert_eq!((&single["kind"], &single["apiVersion"]), (&json!("ConfigMap"), &json!("v1")));
}

#[tokio::test]
async fn metadata_is_completed_as_by_a_real_server() {
    let server = server().await;
    let object = |replicas: u64, ready: u64| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"replicas": replicas}, "status": {"readyReplicas": ready}})
    };
    let first = server.apply(object(1, 0));
    let uid = server.objects("apps", "Deployment")[0]["metadata"]["uid"].clone();
    let second = server.apply(object(1, 1));
    assert_eq!(server.objects("apps", "Deployment")[0]["metadata"]["generation"], 1);
    server.apply(object(2, 1));
    let metadata = server.objects("apps", "Deployment")[0]["metadata"].clone();
    assert!(first < second);
    assert_eq!((&metadata["uid"], &metadata["generation"]), (&uid, &json!(2)));
    assert_eq!(metadata["managedFields"][0]["manager"], "kubectl-edit");
    let version = server.resource_version_of("apps", "Deployment");
    assert_eq!(server.apply(object(2, 1)), version, "what changes nothing is no event");
    assert_eq!(server.resource_version(), version);
    server.delete("apps", "Deployment", "shop", "web");
    server.apply(object(2, 1));
    assert_ne!(server.objects("apps", "Deployment")[0]["metadata"]["uid"], uid, "another life, another uid");
    assert_eq!(server.resource_version_of("apps", "ReplicaSet"), 0);
}

#[tokio::test]
async fn what_is_not_there_or_not_allowed_is_said_as_status() {
    let server = server().await;
    server.apply(config_map("a", 0));
    for (path, expected) in [
        ("/api/v1/namespaces/shop/configmaps/b", 404),
        ("/api/v1/gadgets", 404),
        ("/apis/none.dev/v1", 404),
        ("/apis/none.dev/v1/things", 404),
        ("/api/v1/configmaps?limit=x", 400),
        ("/api/v1/configmaps?resourceVersion=99999", 504),
        ("/api/v1/namespaces/shop/nodes", 404),
    ] {
        let (status, body) = get(&server, path).await;
        assert_eq!((status, body["kind"].as_str()), (expected, Some("Status")), "{path}");
    }
    let answer = request(&server, "DELETE", "/api/v1/namespaces/shop/configmaps/a", "application/json").await;
    assert_eq!(answer.status(), 405);
    let (_, selected) = get(&server, &format!("{CONFIG_MAPS}?labelSelector=app%3Db")).await;
    assert_eq!(names(&selected), Vec::<String>::new());
    let (_, selected) = get(&server, "/api/v1/namespaces/other/configmaps").await;
    assert_eq!(names(&selected), Vec::<String>::new());
}

#[tokio::test]
async fn discovery_tells_kinds_that_come_and_go() {
    let server = server().await;
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let told = async |path: &str| {
        let answer = request(&server, "GET", path, accept).await;
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(body.to_vec()).unwrap()
    };
    server.add_kind(ServedKind::custom("example.dev", "v1", "Widget", "widgets"));
    assert!(told("/apis").await.contains("APIGroupDiscoveryList"));
    assert!(told("/apis").await.contains("widgets"));
    assert!(!told("/api").await.contains("widgets"));
    assert_eq!(get(&server, "/apis/example.dev/v1").await.1["resources"][0]["name"], "widgets");
    server.set_stale("example.dev", true);
    let stale = told("/apis").await;
    assert!(stale.contains("Stale") && !stale.contains("widgets"));
    assert_eq!(get(&server, "/apis/example.dev/v1").await.0, 503);
    server.set_stale("example.dev", false);
    server.remove_kind("example.dev", "Widget");
    assert!(!told("/apis").await.contains("example.dev"));
    assert_eq!(get(&server, "/apis/example.dev/v1/widgets").await.0, 404);
    assert_eq!(get(&server, "/version").await.0, 200);
    assert_eq!(get(&server, "/readyz").await.0, 200);
}

#[tokio::test]
async fn a_store_set_back_goes_on_from_its_copy() {
    let server = server().await;
    server.apply(config_map("old", 0));
    let copy = server.copy_store();
    server.apply(config_map("old", 1));
    server.apply(config_map("lost", 0));
    let lost = server.object("", "ConfigMap", "shop", "lost").unwrap();
    server.restore_store(&copy);
    let (_, list) = get(&server, CONFIG_MAPS).await;
    assert_eq!((names(&list), &list["items"][0]["data"]["value"]), (vec!["old".to_owned()], &json!("0")));
    server.apply(config_map("old", 2));
    server.apply(config_map("lost", 0));
    let again = server.object("", "ConfigMap", "shop", "lost").unwrap();
    assert_eq!(again["metadata"]["resourceVersion"], lost["metadata"]["resourceVersion"]);
    assert_ne!(again["metadata"]["uid"], lost["metadata"]["uid"], "the same version names another object");
}

#[tokio::test]
async fn lists_of_metadata_hold_nothing_else() {
    let server = server().await;
    server.apply(config_map("one", 0));
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json";
    let answer = request(&server, "GET", CONFIG_MAPS, accept).await;
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    let list: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!((&list["kind"], names(&list)), (&json!("PartialObjectMetadataList"), vec!["one".to_owned()]));
    assert!(list["items"][0].get("data").is_none());
}

#[tokio::test]
async fn answers_without_a_network_tell_the_time_of_the_objects() {
    let server = ApiServer::new("test", builtin_kinds());
    let asked = Request::builder().uri(CONFIG_MAPS).body(()).unwrap();
    let answer = server.in_process().call(asked).await.unwrap();
    assert_eq!(answer.headers()["date"], "Thu, 01 Jan 2026 00:00:00 GMT");
}
