//! Bad input: each with a code, a word on what to do, and nothing written.

use serde_json::{Value, json};

use super::Town;
use strandline_model::Kind;

async fn town() -> Town {
    let town = Town::new().await;
    town.write("PUT", "projects/shop%2Fweb", json!({ "id": 42 })).await;
    town.agent("ops/agents:prod", "east", "ci_access: {projects: [{id: shop/web, default_namespace: shop}]}")
        .await;
    town.write("PUT", "environments/prod", json!({ "project": "shop/web", "name": "production" })).await;
    town
}

fn deployment(more: Value) -> String {
    let mut body = json!({ "project": "shop/web", "environment": "production" });
    if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
        body.extend(more);
    }
    body.to_string()
}

fn detail(problem: &Value) -> &str {
    problem["detail"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn an_agent_that_is_hidden_from_a_project_is_as_if_it_were_not_there() {
    let town = town().await;
    town.agent("ops/hidden:secret", "east", "ci_access: {projects: [{id: shop/db}]}").await;
    town.agent("ops/hidden:broken", "east", "").await;
    // What is nearer than the one that may be told of.
    town.agent("ops/agents:prodd", "east", "ci_access: {projects: [{id: shop/db}]}").await;
    let post = async |agent: &str| {
        let body = deployment(json!({ "kubernetes": { "agent": agent, "namespace": "shop" } }));
        let told = town.refused("web", "POST", "deployments", &body, (422, "unknown_agent")).await;
        detail(&told).replace(agent, "AGENT")
    };
    let nothing = post("ops/hidden:nothing").await;
    for hidden in ["ops/hidden:secret", "ops/hidden:broken"] {
        assert_eq!(post(hidden).await, nothing, "{hidden}");
    }
    let near = post("ops/agents:prode").await;
    assert!(near.contains("did you mean `ops/agents:prod`?"), "{near}");
    assert_eq!(post("ops/agents:prodd").await, near);
    let own = deployment(json!({ "kubernetes": { "agent": "ops/agents:prodd" } }));
    let told = town.call("", "POST", "deployments", &own).await;
    assert_eq!(told.body["authorization"]["reason"], "not_listed", "who sees it learns why: {told:?}");
}

#[tokio::test]
async fn deployments_that_cannot_be_meant_are_refused() {
    let town = town().await;
    let post = async |more: Value, why: (u16, &str)| {
        town.refused("", "POST", "deployments", &deployment(more), why).await
    };
    let unknown = post(json!({ "kubernetes": { "agent": "ops/agents:prd" } }), (422, "unknown_agent")).await;
    assert!(detail(&unknown).contains("did you mean `ops/agents:prod`?"), "{unknown}");
    town.agent("ops/hidden:secret", "east", "ci_access: {projects: [{id: shop/db}]}").await;
    let hidden = post(json!({ "kubernetes": { "agent": "ops/hidden:secre" } }), (422, "unknown_agent")).await;
    assert!(!detail(&hidden).contains("ops/hidden:secret"), "it says nothing of the project: {hidden}");
    let alone = post(json!({ "kubernetes": { "agent": "prod" } }), (422, "unknown_agent")).await;
    assert!(detail(&alone).contains("shop/web:prod"), "a name alone is one of the same project: {alone}");
    let long = "n".repeat(300);
    let namespace = post(
        json!({ "kubernetes": { "agent": "ops/agents:prod", "namespace": long } }),
        (400, "invalid_body"),
    )
    .await;
    assert_eq!(namespace["place"]["field"], "kubernetes.namespace");
    assert!(detail(&namespace).contains("300 characters") && detail(&namespace).len() < 400, "{namespace}");
    for (more, field) in [
        (json!({ "status": "done" }), "status"),
        (json!({ "status": 7 }), "status"),
        (json!({ "variables": { "A": 1 } }), "variables.A"),
        (json!({ "finished_at": "noon" }), "finished_at"),
        (json!({ "id": -1 }), "id"),
        (json!({ "id": u64::MAX }), "id"),
        (json!({ "project": 7 }), "project"),
        (json!({ "project": format!("a/{}", "p".repeat(500_000)) }), "project"),
        (json!({ "kubernetes": { "agent": format!("a/{}:x", "p".repeat(500_000)) } }), "kubernetes.agent"),
        (json!({ "user": 7 }), "user"),
        (json!({ "user": "u".repeat(5000) }), "user"),
        (json!({ "job": { "name": "j".repeat(5000) } }), "job"),
        (json!({ "job": 7 }), "job"),
        (json!({ "project": "/shop" }), "project"),
        (json!({ "environment": "" }), "name"),
        (json!({ "environment": "e".repeat(256) }), "name"),
        (json!({ "kubernetes": { "agent": "a:b:c", "namespace": "x" } }), "kubernetes.agent"),
    ] {
        let problem = post(more.clone(), (400, "invalid_body")).await;
        assert_eq!(problem["place"]["field"], field, "{problem}");
        assert!(problem.to_string().len() < 10_000, "what is long is not repeated: {field}");
    }
    for (kubernetes, told) in [
        (json!({ "agent": 7 }), "`agent` must be a name"),
        (json!({ "agnt": "a" }), "unknown field `agnt`"),
        (json!({ "namespace": "a" }), "the field `agent` is missing"),
    ] {
        let problem = post(json!({ "kubernetes": kubernetes }), (400, "invalid_body")).await;
        assert!(detail(&problem).contains(told), "{problem}");
    }
    let ended = town
        .write(
            "POST",
            "deployments",
            json!({ "id": 9, "project": "shop/web", "environment": "production", "status": "failed" }),
        )
        .await;
    assert_eq!(ended["id"], 9);
    for body in [json!({ "status": "success" }), json!({ "status": "running" })] {
        town.refused("", "PUT", "deployments/9", &body.to_string(), (409, "deployment_ended")).await;
    }
    let other = post(json!({ "id": 9, "environment": "staging" }), (409, "deployment_ended")).await;
    assert!(detail(&other).contains("omit the `id`"), "{other}");
    town.write("POST", "environments/prod/stop", json!({})).await;
    let stopped = post(json!({}), (409, "environment_stopped")).await;
    assert!(detail(&stopped).contains("make it available first"), "{stopped}");
}

#[tokio::test]
async fn what_variables_do_to_rules_ends_in_a_denial() {
    let town = town().await;
    let rules = "ci_access:\n  projects:\n  - id: shop/web\n    rules:\n    - {if: '$VALUE =~ $PATTERN', namespace: $NAMESPACE}";
    town.agent("ops/agents:rules", "east", rules).await;
    let all = "a".repeat(30_000);
    for (variables, reason) in [
        (json!({ "VALUE": "a", "PATTERN": "/a/", "NAMESPACE": "$B", "B": "$NAMESPACE" }), "variable_cycle"),
        (json!({ "VALUE": format!("{all}!"), "PATTERN": "/^(a+)+$/", "NAMESPACE": "x" }), "no_rule_matched"),
        (
            json!({ "VALUE": "a", "PATTERN": "/((((a{1000}){1000}){1000}){1000})/", "NAMESPACE": "x" }),
            "bad_regex",
        ),
        (json!({ "VALUE": "a", "PATTERN": "/(/", "NAMESPACE": "x" }), "bad_regex"),
        (json!({ "VALUE": "a", "PATTERN": "/a/", "NAMESPACE": "n".repeat(300) }), "long_namespace"),
        (json!({ "VALUE": "a", "PATTERN": "/a/", "NAMESPACE": "Not One" }), "bad_namespace"),
    ] {
        let body = json!({ "project": "shop/web", "environment": "production", "status": "success", "variables": variables,
            "kubernetes": { "agent": "ops/agents:rules" } });
        let told = town.write("POST", "deployments", body).await;
        let authorization = &told["authorization"];
        assert_eq!(
            (&authorization["allowed"], &authorization["reason"]),
            (&json!(false), &json!(reason)),
            "{authorization}"
        );
        assert_eq!(told["agent"], Value::Null);
        assert_eq!(town.get("environments/prod").await["targets"], json!([]), "it moves nothing");
        assert!(!told.to_string().contains("PATTERN\":"), "variables are not kept");
    }
}

#[tokio::test]
async fn environments_keep_their_names_and_their_projects() {
    let town = town().await;
    let put = async |id: &str, body: Value, why: (u16, &str)| {
        town.refused("", "PUT", &format!("environments/{id}"), &body.to_string(), why).await
    };
    let same = json!({ "project": "shop/web", "name": "production" });
    let twice = put("second", same, (409, "duplicate_environment")).await;
    assert!(detail(&twice).contains("with the id `prod`"), "{twice}");
    let project = put("prod", json!({ "project": "shop/db" }), (400, "invalid_body")).await;
    assert_eq!(project["place"]["field"], "project");
    assert_eq!(
        put("prod", json!({ "name": "other" }), (400, "invalid_body")).await["place"]["field"],
        "name"
    );
    assert_eq!(put("new", json!({ "name": "x" }), (400, "invalid_body")).await["place"]["field"], "project");
    assert_eq!(
        put("new", json!({ "project": "shop/web" }), (400, "invalid_body")).await["place"]["field"],
        "name"
    );
    for (member, value) in [
        ("tier", json!("prod")),
        ("state", json!("gone")),
        ("labels", json!({ "a": 1 })),
        ("targets", json!({})),
        ("dynamic", json!("yes")),
        ("kubernetes_namespace", json!("n".repeat(300))),
        ("slug", json!("No Slug")),
        ("labels", json!({ "a": "v".repeat(5000) })),
        ("external_url", json!("u".repeat(5000))),
        ("auto_stop_at", json!("noon")),
        ("cluster_agent", json!("a b:c")),
    ] {
        let problem = put("prod", json!({ member: value }), (400, "invalid_body")).await;
        let field = problem["place"]["field"].as_str().unwrap_or_default();
        assert!(field.starts_with(member), "{member}: {problem}");
    }
    put("prod", json!({ "targets": [{ "cluster": "east" }] }), (400, "invalid_body")).await;
    let odd = json!({ "targets": [{ "cluster": "east", "inventory": "nothing:" }] });
    put("prod", odd, (400, "invalid_body")).await;
    put(
        "prod",
        json!({ "targets": [{ "cluster": "east", "agent": "ops/agents:prod", "namespace": "x" }] }),
        (400, "invalid_body"),
    )
    .await;
    // The id that a project's environment has by itself can be taken by another's.
    town.write("PUT", "environments/shop.web.taken", json!({ "project": "shop/db", "name": "x" })).await;
    let taken = json!({ "name": "taken" }).to_string();
    town.refused("", "POST", "projects/shop%2Fweb/environments", &taken, (409, "duplicate_environment"))
        .await;
    let taken = json!({ "project": "shop/web", "environment": "taken" }).to_string();
    town.refused("", "POST", "deployments", &taken, (409, "duplicate_environment")).await;
}

#[tokio::test]
async fn what_only_a_cluster_declares_is_changed_there() {
    let town = town().await;
    let kind = Kind::new("gitlabdeploymentcontroller.gitlab.com", "GitLabDeployment");
    let object = json!({
        "apiVersion": "gitlabdeploymentcontroller.gitlab.com/v1", "kind": "GitLabDeployment",
        "metadata": { "name": "one", "uid": "one" },
        "spec": { "environment": "production", "namespace": "one", "projects": ["my-team/project"] },
    });
    town.applied("east", kind, &object).await;
    let found = town.get("environments/my-team.project.production").await;
    assert_eq!(found["declared_by"][0]["source"], "cluster");
    let path = "environments/my-team.project.production";
    town.refused("", "POST", &format!("{path}/stop"), "{}", (409, "declared_elsewhere")).await;
    town.refused("", "DELETE", path, "", (409, "declared_elsewhere")).await;
    town.refused("web", "POST", &format!("{path}/stop"), "{}", (404, "not_found")).await;
}

#[tokio::test]
async fn names_that_look_alike_in_addresses_are_told_apart() {
    let town = town().await;
    let list = json!([{ "name": "review/a" }, { "name": "review.a" }]);
    let told = town.call("", "POST", "projects/shop%2Fweb/environments", &list.to_string()).await;
    let ids: Vec<_> =
        told.body["items"].as_array().into_iter().flatten().map(|item| item["id"].clone()).collect();
    assert_eq!(
        ids,
        [json!("shop.web.review.a"), json!(format!("shop.web.{}", strandline_syntax::slug("review.a")))]
    );
    let again = town.call("", "POST", "projects/shop%2Fweb/environments", &list.to_string()).await;
    assert_eq!(again.body["items"][1]["id"], ids[1], "the second time as the first");
}

#[tokio::test]
async fn a_list_with_a_mistake_is_not_taken_at_all() {
    let town = town().await;
    let list = json!([{ "name": "one" }, { "name": "two", "tier": "testing" }, { "name": "", "tier": "other" }, { "name": "four" }]);
    let path = "projects/shop%2Fweb/environments";
    let told = town.refused("", "POST", path, &list.to_string(), (400, "invalid_body")).await;
    assert!(
        detail(&told).starts_with("[2]: ") && detail(&told).ends_with("; nothing of the list was saved"),
        "{told}"
    );
    let mixed = json!([{ "name": "five" }, { "name": "six", "tier": "prod" }]).to_string();
    let problem =
        town.refused("", "POST", "projects/shop%2Fweb/environments", &mixed, (400, "invalid_body")).await;
    assert_eq!(problem["place"]["field"], "[1].tier");
}

#[tokio::test]
async fn agents_are_refused_with_the_line_that_is_wrong() {
    let town = town().await;
    let path = "agents/ops%2Fagents:prod";
    let large = |n: usize| format!("    - {{if: '$CI_COMMIT_BRANCH =~ /^{n}([a-z]{{60}}){{20}}$/'}}\n");
    let large: String = (0..990).map(large).collect();
    let large = format!("ci_access:\n  projects:\n  - id: shop/web\n    rules:\n{large}");
    for (configuration, expected) in [
        (large.as_str(), "the regular expressions of the file take more than 4194304 bytes"),
        ("ci_access:\n  projects:\n  - {id: shop/web, namespce: x}\n", "line 3, column 20: unknown key"),
        ("ci_access: 7", "line 1"),
        ("ci_access:\n  projects:\n  - id: shop/web\n    rules:\n    - {if: '$A =='}\n", "line 5"),
        ("\tx", "line 1"),
    ] {
        let body = json!({ "configuration": configuration }).to_string();
        let problem = town.refused("", "PUT", path, &body, (400, "invalid_body")).await;
        assert_eq!(problem["place"]["field"], "configuration");
        assert!(detail(&problem).contains(expected), "{problem}");
    }
    let kept = town.get(path).await;
    assert!(
        kept["configuration"].as_str().is_some_and(|text| text.contains("default_namespace: shop")),
        "{kept}"
    );
    let fixed = town.refused("", "PUT", "agents/ops%2Fagents:fixed", "{}", (409, "declared_elsewhere")).await;
    assert!(detail(&fixed).contains("declared by the configuration; change it there"), "{fixed}");
    town.refused("", "DELETE", "agents/ops%2Fagents:fixed", "", (409, "declared_elsewhere")).await;
    town.refused("", "DELETE", "agents/ops%2Fagents:nobody", "", (404, "not_found")).await;
    for name in ["prod", "ops:", "ops%2Fagents:a%20b"] {
        town.refused("", "PUT", &format!("agents/{name}"), "{}", (404, "not_found")).await;
    }
}

#[tokio::test]
async fn members_that_nobody_knows_are_told_and_do_no_harm() {
    let town = town().await;
    for (method, path, body, expected) in [
        (
            "PUT",
            "projects/shop%2Fweb",
            json!({ "default_brnch": "x" }),
            "unknown field `default_brnch` was ignored; did you mean `default_branch`?",
        ),
        ("PUT", "agents/ops%2Fagents:prod", json!({ "clstr": "x" }), "unknown field `clstr` was ignored"),
        ("PUT", "environments/prod", json!({ "teir": "other" }), "did you mean `tier`?"),
        (
            "PUT",
            "environments/prod",
            json!({ "targets": [{ "cluster": "a", "namespace": "b" }, { "cluster": "a", "namespace": "b", "label": {} }] }),
            "targets[1]: unknown field `label` was ignored; did you mean `labels`?",
        ),
        (
            "POST",
            "deployments",
            json!({ "project": "shop/web", "environment": "production", "namespace": "x" }),
            "unknown field `namespace` was ignored",
        ),
        (
            "POST",
            "projects/shop%2Fweb/environments",
            json!({ "name": "production", "zzz": 1 }),
            "unknown field `zzz` was ignored",
        ),
    ] {
        let told = town.write(method, path, body).await;
        let warnings = told["metadata"]["warnings"].as_array().cloned().unwrap_or_default();
        assert_eq!(warnings.len(), 1, "{path}: {told}");
        assert!(
            warnings[0].as_str().is_some_and(|warning| warning.contains(expected)),
            "{path}: {warnings:?}"
        );
    }
    let twice = "ci_access: {projects: [{id: a/b}, {id: a/b, rules: [{if: $X}]}]}";
    let told = town.agent("ops/agents:twice", "east", twice).await;
    assert!(
        told["metadata"]["warnings"][0].as_str().is_some_and(|warning| warning.starts_with("configuration:")),
        "{told}"
    );
}

#[tokio::test]
async fn members_without_measure_are_told_in_few_words() {
    let town = town().await;
    let long = json!({ "k".repeat(900_000): 1 });
    let told = town.write("PUT", "environments/prod", long).await;
    let warning = told["metadata"]["warnings"][0].as_str().unwrap_or_default();
    assert!(warning.ends_with("…` was ignored") && warning.len() < 300, "{}", warning.len());
    let many: serde_json::Map<_, _> = (0..10_000).map(|n| (format!("m{n}"), json!(n))).collect();
    let told = town.write("PUT", "environments/prod", Value::Object(many)).await;
    let warnings = told["metadata"]["warnings"].as_array().cloned().unwrap_or_default();
    assert_eq!((warnings.len(), &warnings[20]), (21, &json!("9980 more unknown fields were ignored")));
}
