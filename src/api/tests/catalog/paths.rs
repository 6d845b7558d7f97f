//! Paths of projects are the same whatever their case, as in GitLab, and told as they were first declared.

use serde_json::{Value, json};

use super::Town;
use strandline_syntax::percent_encode;

/// What a list holds of each item.
fn all(list: &Value, member: &str) -> Vec<Value> {
    list["items"].as_array().into_iter().flatten().map(|item| item[member].clone()).collect()
}

#[tokio::test]
async fn a_project_is_one_in_whatever_case_it_is_written() {
    let town = Town::new().await;
    town.write("PUT", "projects/shop%2FWeb", json!({ "id": 42 })).await;
    let again = town.write("PUT", "projects/SHOP%2Fweb", json!({ "labels": { "team": "a" } })).await;
    assert_eq!((&again["path"], &again["number"]), (&json!("shop/Web"), &json!(42)), "{again}");
    assert_eq!(all(&town.get("projects").await, "id"), ["shop/Web"]);
    for path in ["shop/Web", "SHOP/WEB", "shop/web"] {
        let project = town.get(&format!("projects/{}", percent_encode(path))).await;
        assert_eq!(project["id"], "shop/Web", "{path}");
    }

    let body = json!({ "name": "production", "project": "Shop/Web" });
    let made = town.write("POST", "projects/sHOP%2Fweb/environments", body).await;
    assert_eq!((&made["project"], &made["id"]), (&json!("shop/Web"), &json!("shop.Web.production")));
    let same = town.write("PUT", "environments/shop.Web.production", json!({ "project": "SHOP/web" })).await;
    assert_eq!(same["project"], "shop/Web");

    // The configuration declares an agent of `ops/agents`.
    let agent = town.agent("OPS/Agents:prod", "east", "ci_access: {projects: [{id: shop/web}]}").await;
    assert_eq!(agent["id"], "ops/agents:prod", "{agent}");
    let deployment = json!({
        "project": "SHOP/WEB", "environment": "production", "status": "running",
        "kubernetes": { "agent": "Ops/agents:prod", "namespace": "shop" },
    });
    let deployed = town.write_as("web", "POST", "deployments", deployment).await;
    assert_eq!((&deployed["project"], &deployed["environment"]), (&json!("shop/Web"), &made["id"]));
    assert_eq!(deployed["environment_created"], false);
    assert_eq!(deployed["agent"]["id"], "ops/agents:prod", "{deployed}");
    let id = &deployed["id"];
    let ended = format!("deployments/{id}?project=shop%2FWEB");
    assert_eq!(town.write("PUT", &ended, json!({ "status": "success" })).await["project"], "shop/Web");
    assert_eq!(town.get(&ended).await["status"], "success");
    let listed = town.get("deployments?project=SHOP%2Fweb").await;
    assert_eq!(all(&listed, "id"), std::slice::from_ref(id));

    let query = r#"{ one: project(fullPath: "shop/Web") { id fullPath } other: project(fullPath: "SHOP/WEB") { id fullPath } }"#;
    let told = town.write("POST", "graphql", json!({ "query": query })).await;
    assert_eq!(told["data"]["one"], told["data"]["other"], "{told}");
    assert_eq!(told["data"]["one"]["fullPath"], "shop/Web");

    town.write("DELETE", "projects/SHOP%2FWEB", Value::Null).await;
    assert_eq!(all(&town.get("projects").await, "id"), Vec::<Value>::new());
}

#[tokio::test]
async fn a_project_that_nobody_declares_is_as_its_environments_say() {
    let town = Town::new().await;
    for (path, name) in [("Free%2FOne", "a"), ("free%2Fone", "b"), ("FREE%2FONE", "a")] {
        let made =
            town.write("POST", &format!("projects/{path}/environments"), json!({ "name": name })).await;
        assert_eq!(made["project"], "Free/One", "{path}");
    }
    assert_eq!(all(&town.get("environments?project=free%2Fone").await, "name"), ["a", "b"]);
    let query = r#"{ project(fullPath: "FREE/one") { id fullPath } }"#;
    let told = town.write("POST", "graphql", json!({ "query": query })).await;
    assert_eq!(told["data"]["project"]["fullPath"], "Free/One", "{told}");
}
