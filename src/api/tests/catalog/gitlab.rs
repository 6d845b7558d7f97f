//! What GitLab's REST API answers is taken as it is, without a word about it.

use serde_json::{Value, json};

use super::Town;

fn user() -> Value {
    json!({ "id": 1, "name": "Ada", "username": "ada", "state": "active", "locked": false,
        "avatar_url": null, "web_url": "https://gitlab.test/ada" })
}

/// As `GET /projects/:id` answers, shortened: it tells a hundred things more.
fn project() -> Value {
    json!({ "id": 42, "description": null, "name": "web", "name_with_namespace": "Shop / web", "path": "web",
        "path_with_namespace": "shop/web", "created_at": "2026-01-01T10:00:00.000+02:00", "default_branch": "main",
        "tag_list": [], "topics": [], "ssh_url_to_repo": "git@gitlab.test:shop/web.git", "star_count": 0,
        "namespace": { "id": 3, "name": "Shop", "path": "shop", "kind": "group", "full_path": "shop" },
        "visibility": "private", "shared_with_groups": [], "ci_config_path": "" })
}

/// As `GET /projects/:id/cluster_agents/:agent_id` answers.
fn agent() -> Value {
    json!({ "id": 7, "name": "prod", "config_project": { "id": 20, "description": "", "name": "agents",
        "name_with_namespace": "Ops / agents", "path": "agents", "path_with_namespace": "ops/agents",
        "created_at": "2026-01-01T20:00:00.000Z" }, "created_at": "2026-02-01T20:00:00.000Z", "created_by_user_id": 1,
        "is_receptive": false })
}

/// As `GET /projects/:id/deployments/:deployment_id` answers.
fn deployment() -> Value {
    json!({ "id": 4200, "iid": 2, "ref": "main", "sha": "a91957a858320c0e17f3a0eca7cfacbff50ea29a", "status": "success",
        "created_at": "2026-09-21T14:50:00.444Z", "updated_at": "2026-09-21T14:51:00.444Z", "user": user(),
        "environment": { "id": 9, "name": "production", "external_url": "https://shop.test" },
        "deployable": { "id": 664, "status": "success", "stage": "deploy", "name": "deploy", "ref": "main", "tag": false,
            "coverage": null, "created_at": "2026-09-21T14:49:00.027Z", "started_at": null, "finished_at": null,
            "duration": null, "user": user(), "commit": { "id": "a91957a8", "title": "Fix" },
            "pipeline": { "id": 5, "status": "success" }, "project": { "ci_job_token_scope_enabled": false } },
        "pending_approval_count": 0, "approvals": [], "approval_summary": { "rules": [] } })
}

/// As an item of `GET /projects/:id/environments` answers.
fn listed(id: u64, name: &str, slug: &str, tier: &str) -> Value {
    json!({ "id": id, "name": name, "slug": slug, "external_url": format!("https://{slug}.test"), "state": "available",
        "created_at": "2026-05-25T18:55:13.252Z", "updated_at": "2026-05-27T18:55:13.252Z", "tier": tier,
        "enable_advanced_logs_querying": false, "logs_api_path": "/shop/web/-/logs/k8s.json",
        "auto_stop_at": null, "auto_stop_setting": "always", "description": "", "description_html": "",
        "kubernetes_namespace": null, "flux_resource_path": null })
}

/// As `GET /projects/:id/environments/:environment_id` answers.
fn single() -> Value {
    let mut one = listed(48, "review/fix-foo", "review-fix-foo-dfjre3", "development");
    one["last_deployment"] = deployment();
    one["cluster_agent"] = agent();
    one["kubernetes_namespace"] = json!("review-fix-foo");
    one["flux_resource_path"] = json!("");
    one["auto_stop_at"] = json!("2026-12-03T18:55:13.252+00:00");
    one
}

fn silent(answer: &Value) {
    assert_eq!(answer["metadata"]["warnings"], Value::Null, "{answer}");
}

#[tokio::test]
async fn the_answers_of_gitlab_are_taken_as_they_are() {
    let town = Town::new().await;
    silent(&town.write("PUT", "projects/shop%2Fweb", project()).await);
    let known = town.get("projects/shop%2Fweb").await;
    assert_eq!((&known["number"], &known["default_branch"]), (&json!(42), &json!("main")));

    let mut declared = agent();
    declared["cluster"] = json!("east");
    silent(&town.write("PUT", "agents/ops%2Fagents:prod", declared).await);
    assert_eq!(town.get("agents/ops%2Fagents:prod").await["number"], 7);
    silent(&town.write("PUT", "agents/ops%2Fagents:prod", agent()).await);
    assert_eq!(
        town.get("agents/ops%2Fagents:prod").await["cluster"],
        "east",
        "what GitLab does not know stays"
    );

    let list = json!([listed(1, "production", "production", "production"), listed(2, "qa", "qa", "testing")]);
    let taken = town.write("POST", "projects/shop%2Fweb/environments", list).await;
    let items = taken["items"].as_array().cloned().unwrap_or_default();
    assert_eq!(items.iter().map(|one| &one["name"]).collect::<Vec<_>>(), ["production", "qa"]);
    items.iter().for_each(silent);

    let review = town.write("POST", "projects/shop%2Fweb/environments", single()).await;
    silent(&review);
    assert_eq!((&review["slug"], &review["number"]), (&json!("review-fix-foo-dfjre3"), &json!(48)));
    let told = town.get(&format!("environments/{}", review["id"].as_str().unwrap_or_default())).await;
    assert_eq!(
        (&told["cluster_agent"], &told["auto_stop_at"]),
        (&json!("ops/agents:prod"), &json!("2026-12-03T18:55:13.252Z"))
    );
    let labels = json!({ "app.gitlab.com/project_id": "42", "app.gitlab.com/environment_slug": "review-fix-foo-dfjre3" });
    let target = json!({ "cluster": "east", "namespace": "review-fix-foo", "labels": labels, "agent": "ops/agents:prod" });
    assert_eq!(told["targets"], json!([target]), "the settings tell where it is before any deployment does");
    let mut named = single();
    named["project"] = project();
    silent(
        &town
            .write("PUT", &format!("environments/{}", review["id"].as_str().unwrap_or_default()), named)
            .await,
    );

    let mut ended = deployment();
    ended["project"] = project();
    let recorded = town.write("POST", "deployments", ended.clone()).await;
    silent(&recorded);
    assert_eq!((&recorded["id"], &recorded["environment_created"]), (&json!(4200), &json!(false)));
    assert_eq!(
        (&recorded["job"], &recorded["user"]),
        (&json!({ "id": 664, "name": "deploy" }), &json!("ada"))
    );
    let again = town.call("", "POST", "deployments", &ended.to_string()).await;
    assert_eq!((again.status, &again.body["id"]), (200, &json!(4200)), "told twice, recorded once");
}
