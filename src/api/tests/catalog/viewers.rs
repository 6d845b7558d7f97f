//! Who sees what: pipelines over several projects, and agents that do not let everyone in.

use serde_json::{Value, json};

use super::{Town, codes, ids, labelled};

/// Seed 002, word for word, with the address of our own page.
const NO_ACCESS: &str = "You don't have access to an agent that deployed to this environment. Please contact agent \
                         administrator if you are allowed in \"user_access\" in agent config file. See \
                         /help/troubleshooting#no-access.";
const NO_RESOURCES: &str = "There are no resources found for the environment. Do resources have GitLab preserved labels? \
                            See /help/troubleshooting#no-resources.";

#[tokio::test]
async fn a_pipeline_of_one_project_deploys_for_another() {
    let town = Town::new().await;
    town.write("PUT", "projects/dev%2Ffrontend", json!({ "id": 7 })).await;
    let configuration = "ci_access: {projects: [{id: ops/deploy}]}\nuser_access: {projects: [{id: ops/deploy}, {id: dev/frontend}]}";
    town.agent("ops/deploy:prod", "east", configuration).await;
    town.pod("east", "frontend", "web", &labelled("7", "production")).await;
    let body = json!({ "project": "ops/deploy", "environment": { "project": "dev/frontend", "name": "production" },
        "status": "success", "kubernetes": { "agent": "prod", "namespace": "frontend" } });
    // Each alone may not: the one would move what is not its own, the other would speak for the job.
    for token in ["operator", "frontend", "third", "web"] {
        let why = (403, "forbidden");
        town.refused(token, "POST", "deployments", &body.to_string(), why).await;
    }
    let told = town.write_as("both", "POST", "deployments", body).await;
    assert_eq!(
        (&told["environment"], &told["project"]),
        (&json!("dev.frontend.production"), &json!("ops/deploy"))
    );
    assert_eq!(
        (&told["environment_created"], &told["agent"]["id"]),
        (&json!(true), &json!("ops/deploy:prod"))
    );
    for token in ["operator", "frontend", "both"] {
        let seen = town.get_as(token, "environments/dev.frontend.production").await;
        assert_eq!(
            (&seen["project"], &seen["access"]),
            (&json!("dev/frontend"), &json!("granted")),
            "{token}"
        );
        assert_eq!(seen["last_deployment"]["project"], "ops/deploy");
        let held = town.get_as(token, "environments/dev.frontend.production/resources").await;
        assert_eq!(ids(&held), ["east-frontend-web"], "{token}");
        let told = town.get_as(token, &format!("deployments/{}", told["id"])).await;
        assert_eq!(told["status"], "success", "{token}");
        assert_eq!(ids(&town.get_as(token, "environments").await), ["dev.frontend.production"], "{token}");
    }
    for token in ["third", "web"] {
        for path in
            ["environments/dev.frontend.production", "agents/ops%2Fdeploy:prod", "projects/dev%2Ffrontend"]
        {
            assert_eq!(town.call(token, "GET", path, "").await.status, 404, "{token} {path}");
        }
        assert_eq!(town.call(token, "GET", &format!("deployments/{}", told["id"]), "").await.status, 404);
        assert!(ids(&town.get_as(token, "environments").await).is_empty(), "{token}");
    }
    // What nobody may write of, nobody learns of: the same words whether it is there or not.
    let status = json!({ "status": "failed" }).to_string();
    let refusal = town
        .refused("frontend", "PUT", &format!("deployments/{}", told["id"]), &status, (403, "forbidden"))
        .await;
    assert!(refusal["detail"].as_str().is_some_and(|detail| detail.contains("`ops/deploy`")), "{refusal}");
}

#[tokio::test]
async fn what_is_anothers_is_as_if_it_were_not_there() {
    let town = Town::new().await;
    town.write("PUT", "environments/secret.one", json!({ "project": "dev/backend", "name": "hidden" })).await;
    let body = json!({ "project": "dev/backend", "environment": "hidden", "id": 77 });
    town.write("POST", "deployments", body).await;
    for (method, there, nowhere, content) in [
        ("DELETE", "environments/secret.one", "environments/nobody", ""),
        ("POST", "environments/secret.one/stop", "environments/nobody/stop", ""),
        ("PUT", "deployments/77", "deployments/78", r#"{"status": "failed"}"#),
        ("GET", "environments/secret.one/left-behind", "environments/nobody/left-behind", ""),
        ("GET", "deployments?environment=secret.one", "deployments?environment=nobody", ""),
    ] {
        let name = |path: &str| path.replace("secret.one", "nobody").replace("77", "78");
        let [seen, none] = [
            town.refused("web", method, there, content, (404, "not_found")).await,
            town.refused("web", method, nowhere, content, (404, "not_found")).await,
        ];
        let told = |problem: &Value| name(problem["detail"].as_str().unwrap_or_default());
        assert_eq!(told(&seen), told(&none), "{method} {there}");
    }
    let mine = json!({ "project": "shop/web", "name": "mine" }).to_string();
    for content in [mine.as_str(), "{}"] {
        let put = async |id: &str| {
            let path = format!("environments/{id}");
            let told = town.refused("web", "PUT", &path, content, (400, "invalid_body")).await;
            told["detail"].as_str().unwrap_or_default().replace(id, "ID")
        };
        assert_eq!(put("secret.one").await, put("nobody.one").await);
    }
}

#[tokio::test]
async fn nobody_looks_past_an_agent_by_naming_its_cluster() {
    let town = Town::new().await;
    let target = json!({ "targets": [{ "cluster": "east", "namespace": "kube-system", "labels": {} }] });
    let mut named = target.clone();
    named["name"] = json!("mine");
    let why = (403, "not_granted");
    town.write_as("web", "POST", "projects/shop%2Fweb/environments", json!({ "name": "mine" })).await;
    for (method, path, content) in [
        ("PUT", "environments/shop.web.mine", target),
        ("POST", "projects/shop%2Fweb/environments", named.clone()),
        ("POST", "projects/shop%2Fweb/environments", json!([named])),
        ("PUT", "agents/shop%2Fweb:own", json!({ "cluster": "east" })),
    ] {
        let told = town.refused("web", method, path, &content.to_string(), why).await;
        assert!(!told["detail"].as_str().unwrap_or_default().is_empty(), "{told}");
        town.write(method, path, content).await;
    }
    town.write_as("web", "PUT", "agents/shop%2Fweb:own", json!({ "cluster": null })).await;
}

/// What an environment holds, in every way in which it is told.
const HELD: [&str; 6] = ["/resources", "/graph", "/why", "/health", "/events", "/left-behind"];

#[tokio::test]
async fn a_section_that_nobody_knows_is_told_to_members_of_the_agents_project_and_the_file_holds() {
    let town = Town::new().await;
    let configuration = "ci_access: {projects: [{id: shop/web}]}\nuser_access: {projects: [{id: shop/web}]}\nfuture: {a: 1}\n";
    let written = town.agent("ops/deploy:prod", "east", configuration).await;
    let expected = "3:1: unknown section; it is ignored; remove it, or move it to the section it belongs to";
    assert_eq!(written["metadata"]["warnings"][0], format!("configuration:{expected}"));
    let body = json!({ "project": "shop/web", "environment": "production", "status": "success",
        "kubernetes": { "agent": "ops/deploy:prod", "namespace": "shop" } });
    town.write_as("web", "POST", "deployments", body).await;
    for (token, warnings) in [("", json!([expected])), ("operator", json!([expected])), ("web", json!([]))] {
        let agent = town.get_as(token, "agents/ops%2Fdeploy:prod").await;
        assert_eq!((&agent["warnings"], &agent["problem"]), (&warnings, &json!("")), "{token}");
    }
    let listed = town.get_as("operator", "agents").await;
    assert_eq!(listed["items"][0]["warnings"], json!([expected]));
}

#[tokio::test]
async fn an_agent_keeps_what_it_serves_from_those_it_does_not_let_in() {
    let town = Town::new().await;
    town.write("PUT", "projects/shop%2Fweb", json!({ "id": 42 })).await;
    let closed = "ci_access: {projects: [{id: shop/web}]}";
    town.agent("ops/agents:prod", "east", closed).await;
    town.pod("east", "shop", "web", &labelled("42", "production")).await;
    let body = json!({ "project": "shop/web", "environment": "production", "status": "success",
        "kubernetes": { "agent": "ops/agents:prod", "namespace": "shop" } });
    town.write_as("web", "POST", "deployments", body).await;
    let path = "environments/shop.web.production";
    for configuration in [closed, "user_access: {projects: [{id: shop/other}]}", "user_access: {}"] {
        town.agent("ops/agents:prod", "east", configuration).await;
        let seen = town.get_as("web", path).await;
        assert_eq!((&seen["access"], &seen["health"]["state"]), (&json!("denied"), &Value::Null));
        let counts = seen["health"]["counts"].as_object().cloned().unwrap_or_default();
        assert!(counts.values().all(|count| count == 0), "{counts:?}");
        assert_eq!(seen["warnings"], json!([{ "code": "no_agent_access", "message": NO_ACCESS }]));
        for held in HELD {
            let told = town.call("web", "GET", &format!("{path}{held}"), "").await;
            assert_eq!((told.status, &told.body["code"]), (403, &json!("agent_access_denied")), "{held}");
            assert_eq!(told.body["detail"], NO_ACCESS, "{held}");
        }
        for uid in ["resources/east-shop-web", "resources/east-shop-web/history"] {
            assert_eq!(town.call("web", "GET", uid, "").await.status, 404, "{uid}");
        }
        let listed = town.get_as("web", "environments").await;
        assert_eq!(listed["items"][0]["access"], "denied");
        assert!(
            ids(&town.get_as("web", "environments?health=Healthy").await).is_empty(),
            "not by a filter either"
        );
        assert!(ids(&town.get_as("web", "clusters").await).is_empty());
        let agent = town.get_as("web", "agents/ops%2Fagents:prod").await;
        assert_eq!(agent.get("configuration"), None, "it is told to members of the agent's project alone");
        assert_eq!(town.get(path).await["access"], "granted", "who sees everything is not asked");
    }
    let open = "ci_access: {projects: [{id: shop/web}]}\nuser_access: {projects: [{id: Shop/Web}]}";
    town.agent("ops/agents:prod", "east", open).await;
    let seen = town.get_as("web", path).await;
    assert_eq!(
        (&seen["access"], &seen["health"]["state"], codes(&seen)),
        (&json!("granted"), &json!("Healthy"), vec![])
    );
    for held in HELD {
        town.get_as("web", &format!("{path}{held}")).await;
    }
    assert_eq!(ids(&town.get_as("web", &format!("{path}/resources")).await), ["east-shop-web"]);
    assert_eq!(town.get_as("web", "resources/east-shop-web").await["name"], "web");
}

#[tokio::test]
async fn who_finds_nothing_is_told_which_labels_were_looked_for() {
    let town = Town::new().await;
    town.write("PUT", "projects/shop%2Fweb", json!({ "id": 42 })).await;
    town.agent("ops/agents:prod", "east", "ci_access: {projects: [{id: shop/web}]}").await;
    town.pod("east", "shop", "bare", &[]).await;
    let body = json!({ "project": "shop/web", "environment": "production", "status": "success",
        "kubernetes": { "agent": "ops/agents:prod", "namespace": "shop" } });
    town.write("POST", "deployments", body).await;
    let seen = town.get("environments/shop.web.production").await;
    let labels =
        json!({ "app.gitlab.com/project_id": "42", "app.gitlab.com/environment_slug": "production" });
    assert_eq!(codes(&seen), ["no_resources"]);
    assert_eq!(seen["warnings"][0]["labels"], labels);
    let message = seen["warnings"][0]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with(NO_RESOURCES), "{message}");
    for label in ["app.gitlab.com/project_id=42", "app.gitlab.com/environment_slug=production"] {
        assert!(message.contains(label), "{message}");
    }
    town.pod("east", "shop", "bare", &labelled("42", "production")).await;
    assert!(codes(&town.get("environments/shop.web.production").await).is_empty());
    // An agent of which no cluster is known leads nowhere, and it is said why.
    town.write("PUT", "agents/ops%2Fagents:prod", json!({ "cluster": null })).await;
    let nowhere = town.get("environments/shop.web.production").await;
    assert_eq!(codes(&nowhere), ["agent_without_cluster"]);
    assert!(
        nowhere["warnings"][0]["message"].as_str().is_some_and(|told| told.contains("`ops/agents:prod`"))
    );
}

#[tokio::test]
async fn what_is_left_is_told_only_to_those_who_were_let_in() {
    let town = Town::new().await;
    town.write("PUT", "projects/shop%2Fweb", json!({ "id": 42 })).await;
    let closed = "ci_access: {projects: [{id: shop/web}]}";
    town.agent("ops/agents:prod", "east", closed).await;
    town.pod("east", "shop", "web", &labelled("42", "production")).await;
    let body = json!({ "project": "shop/web", "environment": "production", "status": "success",
        "kubernetes": { "agent": "ops/agents:prod", "namespace": "shop" } });
    town.write_as("web", "POST", "deployments", body).await;
    town.write_as("web", "POST", "environments/shop.web.production/stop", json!({})).await;
    let left = "environments/shop.web.production/left-behind";
    town.refused("web", "GET", left, "", (403, "agent_access_denied")).await;
    let open = "ci_access: {projects: [{id: shop/web}]}\nuser_access: {projects: [{id: shop/web}]}";
    town.agent("ops/agents:prod", "east", open).await;
    assert_eq!(town.get_as("web", left).await["resources"], json!(1));
}
