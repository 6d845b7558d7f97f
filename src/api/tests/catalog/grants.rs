//! Whom callers may name, and where they may point an environment.

use serde_json::{Value, json};

use super::{Town, ids, labelled};
use strandline_model::{CatalogFact, NamespaceGrant, ProjectSpec, Source};
use strandline_syntax::{Glob, percent_encode};

const WEB: &str = "environments/shop.web.production";

/// An agent that lets `shop/web` look, and deploy into one namespace of its own and one that it shares.
const SHARED: &str = "ci_access:\n  projects:\n  - id: shop/web\n    rules:\n    - {if: '$CI_ENVIRONMENT_NAME == \"production\"', \
     namespace: web-production}\n    - {if: '$CI_ENVIRONMENT_NAME == \"shared\"', namespace: shared}\n  - {id: dev/backend}\n\
     user_access: {access_as: {agent: {}}, projects: [{id: shop/web}, {id: dev/backend}]}";

async fn town() -> Town {
    let town = Town::new().await;
    town.write("PUT", "projects/shop%2Fweb", json!({ "id": 42 })).await;
    town.write("PUT", "projects/dev%2Fbackend", json!({ "id": 43 })).await;
    town.agent("ops/agents:prod", "east", SHARED).await;
    for (namespace, name) in
        [("kube-system", "dns"), ("payments-api-production", "pay"), ("shared", "theirs")]
    {
        town.pod("east", namespace, name, &labelled("43", "production")).await;
    }
    town.pod("east", "web-production", "web", &labelled("42", "production")).await;
    town.pod("east", "web-production", "bare", &[]).await;
    town.pod("east", "shared", "ours", &labelled("42", "shared")).await;
    town
}

fn target(namespace: &str, more: &Value) -> Value {
    let mut target = json!({ "agent": "ops/agents:prod", "namespace": namespace });
    if let (Some(target), Value::Object(more)) = (target.as_object_mut(), more) {
        target.extend(more.clone());
    }
    json!({ "project": "shop/web", "name": "production", "targets": [target] })
}

#[tokio::test]
async fn an_environment_looks_only_where_its_project_was_let() {
    let town = town().await;
    let why = (403, "not_granted");
    let helm = json!({ "inventory": "helm:payments-api-production/api" });
    let nowhere = json!({ "project": "shop/web", "name": "production", "targets": [{ "agent": "ops/agents:prod", "inventory": "argocd:api" }] });
    let settings = |more: Value| {
        let mut body =
            json!({ "project": "shop/web", "name": "production", "cluster_agent": "ops/agents:prod" });
        body.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
        body
    };
    let flux = "helm.toolkit.fluxcd.io/v2/namespaces/flux/helmreleases/api";
    for body in [
        target("kube-system", &json!({ "labels": {} })),
        target("kube-system", &Value::Null),
        target("payments-api-production", &helm),
        target("payments-api-production", &json!({ "labels": { "app": "pay" } })),
        // Its rule for this environment grants another namespace.
        target("shared", &Value::Null),
        nowhere,
        settings(json!({ "kubernetes_namespace": "kube-system" })),
        settings(json!({ "kubernetes_namespace": "kube-system", "flux_resource_path": flux })),
        settings(json!({ "flux_resource_path": flux })),
    ] {
        for path in [WEB, "projects/shop%2Fweb/environments"] {
            let method = if path == WEB { "PUT" } else { "POST" };
            town.refused("web", method, path, &body.to_string(), why).await;
        }
        town.refused("web", "POST", "projects/shop%2Fweb/environments", &json!([body]).to_string(), why)
            .await;
    }
    // Whether there is another agent is nobody's to find out so.
    let mut absent = target("web-production", &Value::Null);
    absent["targets"][0]["agent"] = json!("ops/agents:none");
    town.agent("ops/agents:none2", "east", "").await;
    let mut closed = absent.clone();
    closed["targets"][0]["agent"] = json!("ops/agents:none2");
    let detail = async |body: &Value| {
        let told = town.refused("web", "PUT", WEB, &body.to_string(), why).await;
        told["detail"].as_str().unwrap_or_default().replace("none2", "none")
    };
    assert_eq!(detail(&absent).await, detail(&closed).await);
    // Of what is granted, what carries its labels counts, whatever else it asks for.
    for more in
        [Value::Null, json!({ "labels": {} }), json!({ "labels": { "app.gitlab.com/project_id": "43" } })]
    {
        let written = town.write_as("web", "PUT", WEB, target("web-production", &more)).await;
        assert_eq!(written["targets"][0]["only_labelled"], true);
        let held = town.get_as("web", &format!("{WEB}/resources")).await;
        assert_eq!(ids(&held), ["east-web-production-web"], "{more}");
    }
    town.write_as("web", "PUT", WEB, json!({ "targets": null, "cluster_agent": "ops/agents:prod", "kubernetes_namespace": "web-production" })).await;
    assert_eq!(ids(&town.get_as("web", &format!("{WEB}/resources")).await), ["east-web-production-web"]);
    // Nothing of this holds for who sees everything.
    town.write("PUT", WEB, target("kube-system", &json!({ "labels": {} }))).await;
    assert_eq!(ids(&town.get(&format!("{WEB}/resources")).await), ["east-kube-system-dns"]);
}

#[tokio::test]
async fn what_was_granted_stays_as_it_was_given_when_its_project_changes_something_else() {
    let town = town().await;
    let settings = json!({ "project": "shop/web", "name": "production", "cluster_agent": "ops/agents:prod",
        "kubernetes_namespace": "kube-system" });
    town.write("PUT", WEB, settings).await;
    let before = town.get(WEB).await["targets"].clone();
    town.write_as("web", "PUT", WEB, json!({ "external_url": "https://shop.example" })).await;
    assert_eq!(town.get(WEB).await["targets"], before);
    let again = json!({ "kubernetes_namespace": "payments-api-production" }).to_string();
    town.refused("web", "PUT", WEB, &again, (403, "not_granted")).await;
}

#[tokio::test]
async fn the_configuration_grants_namespaces_to_a_project() {
    let town = Town::new().await;
    let grant = |cluster: &str, agent: Option<&str>, namespace: &str, whole| NamespaceGrant {
        cluster: cluster.into(),
        agent: agent.map(|agent| agent.parse().expect("an agent")),
        namespace: namespace.parse::<Glob>().expect("a pattern"),
        whole,
    };
    let project = ProjectSpec {
        path: "shop/web".into(),
        number: Some(42),
        namespaces: vec![
            grant("east", None, "web-*", true),
            grant("", Some("ops/agents:prod"), "shared", false),
        ],
        ..ProjectSpec::default()
    };
    let open = "user_access: {access_as: {agent: {}}, projects: [{id: shop/web}]}";
    town.agent("ops/agents:prod", "east", open).await;
    town.declare(Source::Folder, vec![CatalogFact::Project(project)]).await;
    town.pod("east", "web-production", "bare", &[]).await;
    town.pod("east", "shared", "theirs", &[]).await;
    town.pod("east", "shared", "ours", &labelled("42", "production")).await;
    let place = |place: Value| json!({ "project": "shop/web", "name": "production", "targets": [place] });
    let whole = place(json!({ "cluster": "east", "namespace": "web-production", "labels": {} }));
    town.write_as("web", "PUT", WEB, whole).await;
    assert_eq!(ids(&town.get_as("web", &format!("{WEB}/resources")).await), ["east-web-production-bare"]);
    let labelled = place(json!({ "agent": "ops/agents:prod", "namespace": "shared", "labels": {} }));
    town.write_as("web", "PUT", WEB, labelled).await;
    assert_eq!(ids(&town.get_as("web", &format!("{WEB}/resources")).await), ["east-shared-ours"]);
    for refused in [
        json!({ "cluster": "west", "namespace": "web-production" }),
        json!({ "cluster": "east", "namespace": "shared" }),
        json!({ "agent": "ops/agents:prod", "namespace": "web-production" }),
    ] {
        town.refused("web", "PUT", WEB, &place(refused).to_string(), (403, "not_granted")).await;
    }
}

#[tokio::test]
async fn a_deployment_shows_what_carries_the_labels_of_its_environment_and_no_more() {
    let town = town().await;
    let body = json!({ "project": "shop/web", "environment": "production", "status": "success",
        "kubernetes": { "agent": "ops/agents:prod" } });
    let told = town.write_as("web", "POST", "deployments", body.clone()).await;
    assert_eq!(told["agent"]["only_labelled"], true, "{told}");
    assert_eq!(ids(&town.get_as("web", &format!("{WEB}/resources")).await), ["east-web-production-web"]);
    // Without a number nothing can be told to be its own, and so nothing is shown.
    town.write("PUT", "projects/shop%2Fweb", json!({ "id": null })).await;
    assert!(ids(&town.get_as("web", &format!("{WEB}/resources")).await).is_empty());
    town.write("PUT", "projects/shop%2Fweb", json!({ "id": 42 })).await;
    town.write("POST", "deployments", body).await;
    assert_eq!(ids(&town.get(&format!("{WEB}/resources")).await), ["east-web-production-web"]);
}

#[tokio::test]
async fn numbers_of_projects_are_given_by_who_sees_everything_and_are_unique() {
    let town = town().await;
    for id in [json!(43), json!(44), Value::Null] {
        let body = json!({ "id": id }).to_string();
        town.refused("web", "PUT", "projects/shop%2Fweb", &body, (403, "not_granted")).await;
    }
    town.write_as("web", "PUT", "projects/shop%2Fweb", json!({ "id": 42, "default_branch": "main" })).await;
    let taken = json!({ "id": 43 }).to_string();
    town.refused("", "PUT", "projects/shop%2Fweb", &taken, (409, "duplicate_project")).await;
}

#[tokio::test]
async fn ids_that_a_token_gives_begin_with_its_project() {
    let town = town().await;
    for id in ["payments.api.x", "dev.backend.staging", "shop.webx.a", "shop.web.", "shop.web..api.x", "prod"]
    {
        let body = json!({ "project": "shop/web", "name": "mine" }).to_string();
        let path = format!("environments/{id}");
        town.refused("web", "PUT", &path, &body, (400, "invalid_body")).await;
    }
    let own = json!({ "project": "shop/web", "name": "mine" });
    assert_eq!(
        town.write_as("web", "PUT", "environments/shop.web.another", own).await["id"],
        "shop.web.another"
    );
    // What was given to it under another id it goes on to change.
    town.write("PUT", "environments/prod", json!({ "project": "shop/web", "name": "other" })).await;
    town.write_as("web", "PUT", "environments/prod", json!({ "region": "eu" })).await;
}

#[tokio::test]
async fn an_agent_tells_of_the_askers_own_jobs_only() {
    let town = town().await;
    let path = format!("agents/{}/allowed", percent_encode("ops/agents:prod"));
    // Both projects see an environment that it serves, and so the agent.
    town.write_as("web", "PUT", WEB, target("web-production", &Value::Null)).await;
    let body = json!({ "project": "dev/backend", "environment": "production", "status": "success",
        "kubernetes": { "agent": "ops/agents:prod", "namespace": "shared" } });
    town.write_as("third", "POST", "deployments", body).await;
    let ask = async |token: &str, query: &str| town.call(token, "GET", &format!("{path}?{query}"), "").await;
    let own = ask("web", "project=shop%2Fweb&environment=production").await;
    assert_eq!((own.status, &own.body["namespace"]), (200, &json!("web-production")), "{own:?}");
    for query in
        ["project=dev%2Fbackend&namespace=shared", "project=dev%2Fnothing", "project=shop%2Fweb&group=dev"]
    {
        let told = ask("web", query).await;
        assert_eq!((told.status, &told.body["code"]), (403, &json!("forbidden")), "{query}");
    }
    assert_eq!(ask("", "project=dev%2Fbackend&namespace=shared").await.status, 200);
    // What it is told stands for the moment that it may see: the coverage of its own places.
    let gaps = &own.body["metadata"]["coverage"];
    assert_eq!(gaps, &town.get_as("web", "agents/ops%2Fagents:prod").await["metadata"]["coverage"]);
}

#[tokio::test]
async fn users_who_act_as_themselves_are_let_in_nowhere() {
    let town = town().await;
    town.write_as("web", "PUT", WEB, target("web-production", &Value::Null)).await;
    assert_eq!(town.get_as("web", WEB).await["access"], "granted");
    town.agent("ops/agents:prod", "east", &SHARED.replace("{agent: {}}", "{user: {}}")).await;
    assert_eq!(town.get_as("web", WEB).await["access"], "denied");
}

#[tokio::test]
async fn what_only_the_job_says_is_said_to_be_unverified_where_it_decides() {
    let town = town().await;
    let configuration = "ci_access:\n  projects:\n  - id: shop/web\n    protected_branches_only: true\n    rules:\n    \
         - {if: '$CI_COMMIT_BRANCH == CI_DEFAULT_BRANCH && $TEAM == \"web\"', namespace: $CI_ENVIRONMENT_SLUG-$SUFFIX}";
    town.agent("ops/agents:rules", "east", configuration).await;
    let body = json!({ "project": "shop/web", "environment": "production", "status": "success", "ref": "main",
        "ref_protected": true, "variables": { "TEAM": "web", "SUFFIX": "$LAST", "LAST": "1" },
        "kubernetes": { "agent": "ops/agents:rules" } });
    town.write("PUT", "projects/shop%2Fweb", json!({ "default_branch": "main" })).await;
    let told = town.write_as("web", "POST", "deployments", body).await;
    let authorization = &told["authorization"];
    assert_eq!(
        (&authorization["allowed"], &authorization["namespace"]),
        (&json!(true), &json!("production-1"))
    );
    let said = ["CI_COMMIT_BRANCH", "CI_COMMIT_REF_PROTECTED", "LAST", "SUFFIX", "TEAM"];
    assert_eq!(authorization["unverified"], json!(said), "{authorization}");
}

#[tokio::test]
async fn numbers_of_deployments_are_their_projects_own() {
    let town = town().await;
    let body = |project: &str, id: u64| json!({ "id": id, "project": project, "environment": "production" });
    // What another project has, or takes in advance, changes nothing of what its own jobs are answered.
    let first = town.write_as("third", "POST", "deployments", body("dev/backend", 512)).await;
    let ours = town.call("web", "POST", "deployments", &body("shop/web", 512).to_string()).await;
    assert_eq!(ours.status, 201, "{ours:?}");
    for (token, project) in [("web", "shop/web"), ("third", "dev/backend")] {
        let status = json!({ "status": "running" });
        let told = town.write_as(token, "PUT", "deployments/512", status).await;
        assert_eq!((&told["project"], &told["status"]), (&json!(project), &json!("running")));
        assert_eq!(town.get_as(token, "deployments/512").await["project"], project);
        let listed = town.get_as(token, "deployments").await;
        assert_eq!(listed["items"].as_array().map(Vec::len), Some(1), "{listed}");
    }
    let ended = json!({ "status": "failed" });
    town.write_as("web", "PUT", "deployments/512?project=shop%2Fweb", ended.clone()).await;
    for path in ["deployments/512?project=dev%2Fbackend", "deployments/512?project=dev%2Fnothing"] {
        town.refused("web", "PUT", path, &ended.to_string(), (403, "forbidden")).await;
        assert_eq!(town.call("web", "GET", path, "").await.status, 404);
    }
    assert_eq!(town.get_as("third", "deployments/512").await["status"], "running");
    // Who sees both says which.
    let both =
        town.refused("", "PUT", "deployments/512", &ended.to_string(), (409, "ambiguous_deployment")).await;
    assert!(both["detail"].as_str().is_some_and(|told| told.contains("dev/backend, shop/web")), "{both}");
    assert_eq!(town.call("", "GET", "deployments/512", "").await.status, 409);
    assert_eq!(town.get("deployments/512?project=dev%2Fbackend").await["id"], first["id"]);
    let all = town.get("deployments?limit=1").await;
    let next = all["metadata"]["continue"].as_str().unwrap_or_default().to_owned();
    let rest = town.get(&format!("deployments?limit=1&continue={next}")).await;
    assert_eq!(
        (&all["items"][0]["project"], &rest["items"][0]["project"]),
        (&json!("shop/web"), &json!("dev/backend"))
    );
}
