//! A job deploys; an environment is stopped and taken up again; bodies say what changes.

use serde_json::{Value, json};

use super::{Town, codes, ids, labelled};

const WEB: &str = "ci_access: {projects: [{id: shop/web, default_namespace: shop}]}";
const ENVIRONMENT: &str = "environments/shop.web.production";

/// A project whose number is known, an agent that lets it deploy, and Pods of its production and of others.
async fn town() -> Town {
    let town = Town::new().await;
    town.write("PUT", "projects/shop%2Fweb", json!({ "id": 42, "default_branch": "main" })).await;
    town.agent("ops/agents:prod", "east", WEB).await;
    town.agent("ops/agents:second", "west", WEB).await;
    town.pod("east", "shop", "ours", &labelled("42", "production")).await;
    town.pod("east", "shop", "other", &labelled("43", "production")).await;
    town.pod("east", "shop", "plain", &[]).await;
    town.pod("west", "elsewhere", "moved", &labelled("42", "production")).await;
    town
}

fn deployment(status: &str, kubernetes: Value) -> Value {
    json!({ "project": "shop/web", "environment": "production", "status": status, "ref": "main", "sha": "8f3c",
        "job": { "id": 9001, "name": "deploy" }, "user": "maeda", "kubernetes": kubernetes })
}

#[tokio::test]
async fn the_last_successful_deployment_decides_where_an_environment_is() {
    let town = town().await;
    let begun =
        town.write("POST", "deployments", deployment("running", json!({ "agent": "ops/agents:prod" }))).await;
    assert_eq!(begun["environment_created"], true);
    assert_eq!(begun["authorization"]["allowed"], true);
    assert_eq!(begun["authorization"]["entry"], "project shop/web");
    let running = town.get(ENVIRONMENT).await;
    assert_eq!((codes(&running), &running["last_deployment"]), (vec!["no_target"], &Value::Null));
    assert_eq!((&running["targets"], &running["tier"]), (&json!([]), &json!("production")));

    let done =
        town.write("PUT", &format!("deployments/{}", begun["id"]), json!({ "status": "success" })).await;
    assert_eq!(
        (&done["status"], &done["sha"], &done["environment_created"]),
        (&json!("success"), &json!("8f3c"), &json!(false))
    );
    let first = town.get(ENVIRONMENT).await;
    let labels =
        json!({ "app.gitlab.com/project_id": "42", "app.gitlab.com/environment_slug": "production" });
    let target =
        json!({ "cluster": "east", "namespace": "shop", "labels": labels, "agent": "ops/agents:prod" });
    assert_eq!(first["targets"], json!([target]));
    let agent = json!({ "id": "ops/agents:prod", "name": "prod", "project": "ops/agents", "kubernetes_namespace": "shop" });
    assert_eq!(first["last_deployment"]["agent"], agent);
    assert_eq!((&first["last_deployment"]["id"], codes(&first)), (&begun["id"], vec![]));
    let resources = format!("{ENVIRONMENT}/resources");
    assert_eq!(ids(&town.get(&resources).await), ["east-shop-ours"]);

    let second = json!({ "agent": "ops/agents:second", "namespace": "elsewhere" });
    town.write("POST", "deployments", deployment("success", second)).await;
    let moved = town.get(ENVIRONMENT).await;
    assert_eq!(
        (&moved["targets"][0]["cluster"], &moved["targets"][0]["namespace"]),
        (&json!("west"), &json!("elsewhere"))
    );
    assert_eq!(ids(&town.get(&resources).await), ["west-elsewhere-moved"]);
    let (then, before) = (&first["metadata"]["offset"], &running["metadata"]["offset"]);
    let past = town.get(&format!("{ENVIRONMENT}?at={then}")).await;
    assert_eq!((&past["targets"], &past["last_deployment"]), (&first["targets"], &first["last_deployment"]));
    assert_eq!(ids(&town.get(&format!("{resources}?at={then}")).await), ["east-shop-ours"]);
    assert_eq!(town.get(&format!("{ENVIRONMENT}?at={before}")).await["targets"], json!([]));

    let all = town.get(&format!("{ENVIRONMENT}/deployments?status=success")).await;
    assert_eq!(all["items"].as_array().map(Vec::len), Some(2));
    let told = town.get(&format!("deployments/{}?at={before}", begun["id"])).await;
    assert_eq!(told["status"], "running");
}

#[tokio::test]
async fn what_ended_otherwise_moves_nothing() {
    let town = town().await;
    town.write("POST", "deployments", deployment("success", json!({ "agent": "ops/agents:prod" }))).await;
    for status in ["created", "blocked", "running", "failed", "canceled", "skipped"] {
        let second = json!({ "agent": "ops/agents:second", "namespace": "elsewhere" });
        town.write("POST", "deployments", deployment(status, second)).await;
        assert_eq!(town.get(ENVIRONMENT).await["targets"][0]["cluster"], "east", "{status}");
    }
}

#[tokio::test]
async fn an_unauthorised_deployment_is_recorded_and_moves_nothing() {
    let town = town().await;
    town.write("POST", "deployments", deployment("success", json!({ "agent": "ops/agents:prod" }))).await;
    let never = "ci_access:\n  projects:\n  - id: shop/web\n    rules:\n    - {if: $CI_COMMIT_TAG}\n    - {if: $CI_COMMIT_BRANCH == CI_DEFAULT_BRANCH, when: never}\n    - {namespace: any}";
    let none = "ci_access: {projects: [{id: shop/web, rules: [{if: $CI_COMMIT_TAG}]}]}";
    let other = "ci_access: {projects: [{id: shop/db}]}";
    for (name, configuration, reason, rule) in [
        ("never", never, "rule_never", json!(2)),
        ("none", none, "no_rule_matched", Value::Null),
        ("other", other, "not_listed", Value::Null),
        ("empty", "", "not_listed", Value::Null),
    ] {
        town.agent(&format!("ops/agents:{name}"), "west", configuration).await;
        let asked = json!({ "agent": format!("ops/agents:{name}"), "namespace": "elsewhere" });
        let told = town.write("POST", "deployments", deployment("success", asked)).await;
        let authorization = &told["authorization"];
        assert_eq!(
            (&authorization["allowed"], &authorization["reason"]),
            (&json!(false), &json!(reason)),
            "{name}"
        );
        assert_eq!(authorization["rule"], rule, "{name}: {authorization}");
        assert!(authorization["message"].as_str().is_some_and(|message| !message.is_empty()), "{name}");
        assert_eq!(told["agent"], Value::Null, "{name}: agent and namespace are not recorded");
        let environment = town.get(ENVIRONMENT).await;
        assert_eq!(environment["targets"][0]["agent"], "ops/agents:prod", "{name}");
        assert_eq!(environment["last_deployment"]["id"], told["id"], "{name}: it ended well all the same");
        let twin = town.get(&format!("agents/ops%2Fagents:{name}/allowed?project=shop/web&environment=production&ref=main&namespace=elsewhere&var=CI_DEFAULT_BRANCH=main")).await;
        assert_eq!(
            (&twin["allowed"], &twin["reason"]),
            (&json!(false), &json!(reason)),
            "{name}: told by the twin"
        );
    }
}

#[tokio::test]
async fn a_body_changes_what_it_says_and_null_takes_it_back() {
    let town = town().await;
    let whole = json!({ "project": "shop/web", "name": "staging", "tier": "production", "region": "eu",
        "labels": { "team": "a" }, "external_url": "https://a.test", "dynamic": true, "auto_stop_at": "2027-01-01T00:00:00Z",
        "cluster_agent": "ops/agents:prod", "kubernetes_namespace": "shop", "flux_resource_path": "",
        "targets": [{ "cluster": "east", "namespace": "shop", "labels": {} }], "id": 7 });
    let path = "environments/stage";
    let mut held = town.write("PUT", path, whole).await;
    let without = |mut value: Value| {
        value.as_object_mut().map(|members| members.remove("metadata"));
        value
    };
    let same = town.write("PUT", path, json!({})).await;
    held = without(held);
    assert_eq!(without(same), held, "nothing said, nothing changed");
    for (member, value, then) in [
        ("tier", json!("testing"), json!("staging")),
        ("region", json!("us"), Value::Null),
        ("labels", json!({ "b": "c" }), Value::Null),
        ("external_url", json!("https://b.test"), Value::Null),
        ("dynamic", json!(false), Value::Null),
        ("auto_stop_at", json!("2028-01-01T00:00:00Z"), Value::Null),
        ("cluster_agent", json!("ops/agents:second"), Value::Null),
        ("kubernetes_namespace", json!("other"), Value::Null),
        ("targets", json!([{ "cluster": "west", "namespace": "shop" }]), Value::Null),
        ("state", json!("stopping"), json!("available")),
    ] {
        let put = without(town.write("PUT", path, json!({ member: value })).await);
        let mut expected = held.clone();
        expected[member] = value.clone();
        if value == false {
            expected.as_object_mut().map(|members| members.remove(member));
        }
        assert_eq!(put, expected, "{member}");
        held = without(town.write("PUT", path, json!({ member: null })).await);
        assert_eq!(held[member], then, "{member}");
    }
    // A name alone is one of the environment's own project, whether the body tells it or not.
    let placed =
        json!({ "cluster_agent": "own", "targets": [{ "agent": "own", "inventory": "argocd:web" }] });
    let put = town.write("PUT", path, placed).await;
    assert_eq!(
        (&put["cluster_agent"], &put["targets"][0]["agent"]),
        (&json!("shop/web:own"), &json!("shop/web:own"))
    );
    town.write("PUT", path, json!({ "cluster_agent": null, "targets": null })).await;
    let read = town.get(path).await;
    assert_eq!(
        (&read["number"], &read["slug"], codes(&read)),
        (&json!(7), &json!("staging"), vec!["no_target"])
    );
    town.write("PUT", "projects/shop%2Fweb", json!({ "default_branch": "trunk" })).await;
    let project = town.get("projects/shop%2Fweb").await;
    assert_eq!((&project["number"], &project["default_branch"]), (&json!(42), &json!("trunk")));
    town.write("PUT", "projects/shop%2Fweb", json!({ "id": null })).await;
    assert_eq!(town.get("projects/shop%2Fweb").await["number"], Value::Null);
}

#[tokio::test]
async fn a_stopped_environment_holds_nothing_and_tells_what_it_left() {
    let town = town().await;
    for (name, namespace) in [("review/a", "review-a"), ("review/b", "shop")] {
        let mut body = deployment("success", json!({ "agent": "ops/agents:prod", "namespace": namespace }));
        body["environment"] = json!(name);
        town.write("POST", "deployments", body).await;
    }
    town.write("POST", "deployments", deployment("success", json!({ "agent": "ops/agents:prod" }))).await;
    let listed = town.get("environments?project=shop/web").await;
    let id = |name: &str| {
        let found = listed["items"].as_array().into_iter().flatten().find(|one| one["name"] == name);
        found
            .map(|one| {
                (
                    one["id"].as_str().unwrap_or_default().to_owned(),
                    one["slug"].as_str().unwrap_or_default().to_owned(),
                )
            })
            .unwrap_or_default()
    };
    for (name, namespace, shared) in [("review/a", "review-a", false), ("review/b", "shop", true)] {
        let (id, slug) = id(name);
        let path = format!("environments/{}", strandline_syntax::percent_encode(&id));
        town.pod("east", namespace, &format!("of-{slug}"), &labelled("42", &slug)).await;
        let before = town.get(&path).await;
        let uid = format!("east-{namespace}-of-{slug}");
        assert_eq!(ids(&town.get(&format!("{path}/resources")).await), [&uid]);
        assert_eq!(town.get(&format!("{path}/left-behind")).await["namespaces"], json!([]), "in use");

        let stopped = town.call("", "POST", &format!("{path}/stop"), "").await;
        assert_eq!((stopped.status, &stopped.body["state"]), (200, &json!("stopped")));
        let environment = town.get(&path).await;
        assert_eq!((&environment["targets"], codes(&environment)), (&json!([]), vec![]));
        assert!(ids(&town.get(&format!("{path}/resources")).await).is_empty());
        let then = &before["metadata"]["offset"];
        assert_eq!(town.get(&format!("{path}?at={then}")).await["state"], "available");
        assert_eq!(ids(&town.get(&format!("{path}/resources?at={then}")).await).len(), 1, "its past stays");
        let history = town.get(&format!("resources/{uid}/history")).await;
        assert_eq!(history["items"].as_array().map(Vec::len), Some(1));

        let left = town.get(&format!("{path}/left-behind")).await;
        let kubectl = match shared {
            false => "kubectl --context east delete namespace review-a".to_owned(),
            true => format!(
                "kubectl --context east --namespace shop delete Pod -l \
                 app.gitlab.com/environment_slug={slug},app.gitlab.com/project_id=42"
            ),
        };
        let namespaces = json!([{ "cluster": "east", "namespace": namespace, "resources": 1, "shared": shared, "kubectl": kubectl }]);
        assert_eq!((&left["namespaces"], &left["resources"]), (&namespaces, &json!(1)));
        assert!(left["stopped_at"].is_string());

        let refusal = json!({ "project": "shop/web", "environment": name }).to_string();
        town.refused("", "POST", "deployments", &refusal, (409, "environment_stopped")).await;
        town.write("PUT", &path, json!({ "state": "available" })).await;
        assert_eq!(
            ids(&town.get(&format!("{path}/resources")).await),
            [&uid],
            "it finds again what is there"
        );
        assert_eq!(town.get(&format!("{path}/left-behind")).await["stopped_at"], Value::Null);
    }
}
