//! The diagrams, one after the other, and the questions that the blueprint asks of them.

use serde_json::{Value, json};

use super::world::{Deploy, TOKENS, World};
use super::{edges, holds_one_application};
use crate::server::{Result, ids, items};

const AGENT: &str = "operation/agent-management:production";

/// What the deployment project of the push-based style deploys.
pub(super) const PUSH: Deploy<'_> = Deploy {
    project: "development/deployment",
    environment: "production frontend",
    of: "",
    agent: AGENT,
    namespace: "production",
    cluster: "prod-us",
    what: "frontend",
    branch: "",
    suffix: "",
};

/// What the deployment project of the multi-project style deploys for others.
pub(super) const MULTI: Deploy<'_> = Deploy {
    project: "operation/deployment",
    environment: "production/us-region",
    of: "development/frontend",
    agent: "operation/deployment:production-us",
    namespace: "",
    cluster: "prod-us",
    what: "frontend",
    branch: "",
    suffix: "",
};

/// An environment and its resource group, one to one, with a graph and a health.
pub(super) async fn one_project_with_two_environments(world: &World) -> Result<()> {
    let website = Deploy { project: "development/website", namespace: "", ..PUSH };
    for name in ["staging", "production"] {
        world.deploy(Deploy { environment: name, ..website }).await?;
    }
    for name in ["staging", "production"] {
        let id = format!("development.website.{name}");
        let namespace = format!("website-{name}");
        holds_one_application(world, &id, ("prod-us", &namespace, "frontend")).await?;
        let environment = world.server.ask(&format!("/environments/{id}")).await?;
        assert_eq!((&environment["tier"], &environment["slug"]), (&name.into(), &name.into()));
        assert_eq!(environment["health"]["state"], "Progressing", "no Pod has a node yet");
        world.schedule("prod-us", &namespace).await?;
        let path = format!("/environments/{id}");
        world.server.until(&path, |environment| environment["health"]["state"] == "Healthy").await?;
        let routed = |graph: &Value| {
            graph["edges"].as_array().into_iter().flatten().filter(|edge| edge["kind"] == "routes").count()
                == 2
        };
        world.server.until(&format!("{path}/graph?collapse=none"), routed).await?;
        let expected = [
            "Deployment owns ReplicaSet",
            "EndpointSlice routes Pod",
            "EndpointSlice routes Pod",
            "ReplicaSet owns Pod",
            "ReplicaSet owns Pod",
            "Service owns EndpointSlice",
            "Service selects Pod",
            "Service selects Pod",
        ];
        assert_eq!(edges(world, &id).await?, expected);
    }
    Ok(())
}

/// Resources without GitLab's labels: the environment says so, and names the labels.
pub(super) async fn without_labels_nothing_is_found(world: &World) -> Result<()> {
    // As GitLab answers to `GET /projects/:id/environments/:environment_id`, in part.
    let told = json!({
        "id": 77, "name": "qa", "slug": "qa", "external_url": null, "state": "available", "tier": "testing",
        "cluster_agent": {
            "id": 1, "name": "production", "config_project": {"path_with_namespace": "operation/agent-management"},
        },
        "kubernetes_namespace": "website-qa", "flux_resource_path": null, "last_deployment": null,
    });
    let path = "/projects/development%2Fwebsite/environments";
    let (status, told) = world.send("POST", path, TOKENS[0], &told).await?;
    assert_eq!((status, &told["metadata"]["warnings"]), (201, &Value::Null), "{told}");
    let plane = world.cluster("prod-us");
    plane.kubectl(&["create", "namespace", "website-qa"]).await?;
    plane.kubectl(&["create", "deployment", "web", "--image=example.com/web:1", "-n", "website-qa"]).await?;
    let path = "/environments/development.website.qa";
    let warned = |found: &Value| found["warnings"][0]["code"] == "no_resources";
    let found = world.server.until(path, warned).await?;
    let message = found["warnings"][0]["message"].as_str().unwrap_or_default();
    let seed =
        "There are no resources found for the environment. Do resources have GitLab preserved labels? See ";
    assert!(message.starts_with(seed), "{message}");
    for label in ["app.gitlab.com/project_id=201", "app.gitlab.com/environment_slug=qa"] {
        assert!(message.contains(label), "{message}");
    }
    let label = ["label", "deployment", "web", "-n", "website-qa"];
    let labels = ["app.gitlab.com/project_id=201", "app.gitlab.com/environment_slug=qa"];
    plane.kubectl(&[&label[..], &labels[..]].concat()).await?;
    let held = |answer: &Value| items(answer).count() == 3;
    world.server.until(&format!("{path}/resources"), held).await?;
    assert_eq!(world.server.ask(path).await?["warnings"], Value::Null);
    Ok(())
}

/// One project deploys both applications with an agent that another project shares with it; the agent's own project
/// deploys Prometheus.
pub(super) async fn push_based(world: &World) -> Result<()> {
    let prometheus = Deploy {
        project: "operation/agent-management",
        environment: "production prometheus",
        namespace: "monitoring",
        what: "prometheus",
        ..PUSH
    };
    world.deploy(prometheus).await?;
    world.deploy(PUSH).await?;
    world.deploy(Deploy { environment: "production backend", what: "backend", ..PUSH }).await?;
    // Two groups in one namespace, told apart by GitLab's labels alone.
    for (id, namespace, name) in [
        ("development.deployment.production-frontend", "production", "frontend"),
        ("development.deployment.production-backend", "production", "backend"),
        ("operation.agent-management.production-prometheus", "monitoring", "prometheus"),
    ] {
        holds_one_application(world, id, ("prod-us", namespace, name)).await?;
    }
    // `project.environment.lastDeployment(status: SUCCESS).agent`, and the slug and number beside it.
    let frontend = world.server.ask("/environments/development.deployment.production-frontend").await?;
    let agent = json!({
        "id": AGENT, "name": "production", "project": "operation/agent-management",
        "kubernetes_namespace": "production", "only_labelled": true,
    });
    assert_eq!(frontend["last_deployment"]["agent"], agent);
    assert_eq!(frontend["last_deployment"]["status"], "success");
    assert_eq!((&frontend["tier"], &frontend["region"]), (&json!("production"), &json!("us")));
    let labels = json!({
        "app.gitlab.com/project_id": "204", "app.gitlab.com/environment_slug": frontend["slug"],
    });
    let targets =
        json!([{"cluster": "prod-us", "namespace": "production", "labels": labels, "agent": AGENT}]);
    assert_eq!(frontend["targets"], targets);
    let served = world.server.ask("/agents/operation%2Fagent-management%3Aproduction").await?;
    let served: Vec<_> = served["environments"].as_array().into_iter().flatten().collect();
    assert_eq!(
        served,
        [
            "development.deployment.production-backend",
            "development.deployment.production-frontend",
            "development.website.production",
            "development.website.qa",
            "development.website.staging",
            "operation.agent-management.production-prometheus",
        ]
    );
    Ok(())
}

/// A project with which the agent is not shared, and a branch that the rules do not name: told, recorded, and of no
/// effect.
pub(super) async fn what_is_not_authorised_moves_nothing(world: &World) -> Result<()> {
    let id = "development.deployment.production-frontend";
    let path = format!("/environments/{id}");
    let before = world.server.ask(&path).await?;
    let other = Deploy { project: "development/frontend", of: "development/deployment", ..PUSH };
    let refused = world.deploy(other).await.err().ok_or("another project may deploy")?.to_string();
    assert!(refused.contains("the agent is not shared with the project `development/frontend`"), "{refused}");
    let branch = Deploy { branch: "fix-login", namespace: "elsewhere", ..PUSH };
    let refused = world.deploy(branch).await.err().ok_or("any branch may deploy")?.to_string();
    assert!(refused.contains("no rule matched"), "{refused}");
    // A job that goes on all the same, without a word to the agent.
    let deployment = json!({
        "project": "development/frontend", "status": "success", "ref": "main",
        "environment": {"name": "production frontend", "project": "development/deployment"},
        "kubernetes": {"agent": AGENT, "namespace": "elsewhere"},
    });
    let (status, told) = world.send("POST", "/deployments", TOKENS[0], &deployment).await?;
    assert_eq!((status, &told["authorization"]["allowed"]), (201, &json!(false)), "{told}");
    assert_eq!((&told["agent"], &told["authorization"]["reason"]), (&Value::Null, &json!("not_listed")));
    let last = |after: &Value| after["last_deployment"]["id"] == told["id"];
    let after = world.server.until(&path, last).await?;
    assert_eq!(after["targets"], before["targets"]);
    holds_one_application(world, id, ("prod-us", "production", "frontend")).await?;
    for (project, allowed) in [("development/deployment", true), ("development/frontend", false)] {
        let question = format!(
            "/agents/operation%2Fagent-management%3Aproduction/allowed?project={project}\
             &environment=production%20frontend&ref=main&var=CI_DEFAULT_BRANCH=main"
        );
        assert_eq!(world.server.ask(&question).await?["allowed"], allowed, "{project}");
    }
    Ok(())
}

/// From the moment at which a deployment to another namespace ended well, the group is there; before, it was not.
pub(super) async fn another_namespace_moves_the_group(world: &World) -> Result<()> {
    let id = "development.deployment.production-frontend";
    let before = holds_one_application(world, id, ("prod-us", "production", "frontend")).await?;
    world.deploy(Deploy { namespace: "production-2", ..PUSH }).await?;
    let path = format!("/environments/{id}");
    world.server.until(&path, |found| found["targets"][0]["namespace"] == "production-2").await?;
    holds_one_application(world, id, ("prod-us", "production-2", "frontend")).await?;
    let backend = "development.deployment.production-backend";
    holds_one_application(world, backend, ("prod-us", "production", "backend")).await?;
    let then = world.server.ask(&format!("{path}?at={before}")).await?;
    assert_eq!(then["targets"][0]["namespace"], "production");
    let then = world.server.ask(&format!("{path}/resources?at={before}&limit=500")).await?;
    assert_eq!(items(&then).count(), 6);
    assert!(items(&then).all(|item| item["namespace"] == "production"), "{then}");
    Ok(())
}

/// One project deploys for others, whose environments stay theirs, to two regions; the server dies in the middle.
pub(super) async fn multi_project(world: &mut World) -> Result<()> {
    let eu = Deploy {
        environment: "production/eu-region",
        agent: "operation/deployment:production-eu",
        cluster: "prod-eu",
        ..MULTI
    };
    world.deploy(MULTI).await?;
    world.deploy(eu).await?;
    let running = json!({
        "project": "operation/deployment", "status": "running", "ref": "main",
        "environment": {"name": "production/us-region", "project": "development/backend"},
        "kubernetes": {"agent": MULTI.agent},
        "variables": {"UPSTREAM_PROJECT_PATH": "development/backend", "UPSTREAM_PROJECT_NAME": "backend"},
    });
    let (status, told) = world.send("POST", "/deployments", TOKENS[0], &running).await?;
    assert_eq!((status, &told["authorization"]["rule"]), (201, &json!(1)), "{told}");
    world.server.kill_and_restart().await?;
    let path = format!("/deployments/{}", told["id"]);
    let (status, told) = world.send("PUT", &path, TOKENS[0], &json!({"status": "success"})).await?;
    assert_eq!((status, &told["agent"]["kubernetes_namespace"]), (200, &json!("backend")), "{told}");
    for deploy in [MULTI, eu] {
        world.deploy(Deploy { of: "development/backend", what: "backend", ..deploy }).await?;
    }
    let own = Deploy { environment: "production prometheus", of: "", what: "prometheus", ..MULTI };
    world.deploy(own).await?;
    for name in ["frontend", "backend"] {
        for region in ["us", "eu"] {
            let id = format!("development.{name}.production.{region}-region");
            holds_one_application(world, &id, (&format!("prod-{region}"), name, name)).await?;
        }
    }
    let prometheus = "operation.deployment.production-prometheus";
    holds_one_application(world, prometheus, ("prod-us", "prometheus", "prometheus")).await?;
    Ok(())
}

/// All environments of a tier over all projects, and those of one region of them.
pub(super) async fn production_of_the_organization(world: &World) -> Result<()> {
    let eu = ["development.backend.production.eu-region", "development.frontend.production.eu-region"];
    let us = [
        "development.backend.production.us-region",
        "development.deployment.production-backend",
        "development.deployment.production-frontend",
        "development.frontend.production.us-region",
        "development.website.production",
        "operation.agent-management.production-prometheus",
        "operation.deployment.production-prometheus",
    ];
    let mut all: Vec<&str> = eu.into_iter().chain(us).collect();
    all.sort_unstable();
    let found = world.server.ask("/environments?tier=production").await?;
    let mut found = ids(&found);
    found.sort_unstable();
    assert_eq!(found, all);
    assert_eq!(ids(&world.server.ask("/environments?tier=production&region=eu").await?), eu);
    assert_eq!(ids(&world.server.ask("/environments?tier=production&region=us").await?), us);
    let of_two =
        "/environments?tier=production&project=development/frontend&project=development/backend&region=us";
    assert_eq!(ids(&world.server.ask(of_two).await?), [us[0], us[3]]);
    Ok(())
}

/// Members of the deployment project see what it deploys; members of an application's project see their own, and what is
/// in it where the agent lets them.
pub(super) async fn who_sees_what(world: &World) -> Result<()> {
    let [_, operators, frontend, backend] = TOKENS;
    let own = ["production.eu-region", "production.us-region"];
    let of = |project: &str| own.map(|name| format!("development.{project}.{name}"));
    for (token, expected) in [
        (frontend, of("frontend").to_vec()),
        (backend, of("backend").to_vec()),
        (
            operators,
            [
                &of("backend")[..],
                &of("frontend")[..],
                &[
                    "operation.agent-management.production-prometheus",
                    "operation.deployment.production-prometheus",
                ]
                .map(str::to_owned),
            ]
            .concat(),
        ),
    ] {
        let (_, answer) = world.read_as(token, "/environments").await?;
        assert_eq!(ids(&answer), expected, "{token}");
    }
    let resources = |id: &str| format!("/environments/{id}/resources");
    for (token, id, expected) in [
        (frontend, &of("frontend")[0], 200),
        (operators, &of("frontend")[0], 200),
        (backend, &of("backend")[1], 200),
        (backend, &of("backend")[0], 403),
        (backend, &of("frontend")[1], 404),
    ] {
        let (status, answer) = world.read_as(token, &resources(id)).await?;
        assert_eq!(status, expected, "{token} {id}: {answer}");
        if status == 403 {
            let detail = answer["detail"].as_str().unwrap_or_default();
            let message = "You don't have access to an agent that deployed to this environment. Please contact agent \
                           administrator if you are allowed in \"user_access\" in agent config file. See ";
            assert!(detail.starts_with(message), "{detail}");
        }
    }
    let (_, hidden) = world.read_as(backend, &format!("/environments/{}", of("backend")[0])).await?;
    assert_eq!((&hidden["access"], &hidden["health"]["state"]), (&json!("denied"), &Value::Null));
    assert_eq!(hidden["warnings"][0]["code"], "no_agent_access");
    Ok(())
}
