//! The contract's examples, played against a server that has what they speak of: each by itself, and all together.

use super::*;
use crate::api::routes::ROUTES;
use crate::api::tests::schema::resolve;
use crate::app::{CurrentPresentation, Presentation};
use strandline_model::{EnvironmentFilter, SavedView, Tier, TimeContext, Timestamp};

const UID: &str = "6f2c0a1e-0b8e-4a8f-9d43-0c6f3e0b7a11";

/// A server with the view, the environments, the resource, the deployment and the past that the examples speak of.
async fn spoken_of() -> Town {
    let filter = EnvironmentFilter { tiers: vec![Tier::Production], ..EnvironmentFilter::default() };
    let view = SavedView { name: "production-by-region".into(), filter, ..SavedView::default() };
    let views = Presentation { views: vec![view], ..Presentation::default() };
    let current_presentation = CurrentPresentation::new(views);
    let state = move |state: &AppState| AppState {
        current_presentation: current_presentation.clone(),
        ..state.clone()
    };
    let town = Town::serving(move |of_town| routes(&state(of_town))).await;
    let cluster = ClusterSpec { name: "eu-west".into(), region: "eu".into() };
    town.declare(Source::Config, vec![CatalogFact::Cluster(cluster)]).await;
    town.write("PUT", "projects/shop%2Fweb", json!({ "id": 42 })).await;
    town.agent("ops/agents:production", "eu-west", "ci_access: {projects: [{id: shop/web}]}").await;
    for name in ["production", "staging"] {
        let body = json!({ "project": "shop/web", "name": name, "targets": [{ "cluster": "eu-west", "namespace": "shop" }] });
        town.write("PUT", &format!("environments/shop.web.{name}"), body).await;
    }
    // What GitLab's labels say belongs to the environment.
    let labels =
        json!({ "app.gitlab.com/environment_slug": "production", "app.gitlab.com/project_id": "42" });
    let metadata = json!({ "name": "web", "namespace": "shop", "uid": UID, "labels": labels });
    let deployment = |replicas: u32| {
        let containers = json!([{ "name": "web", "image": "nginx:1.27" }]);
        json!({ "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
            "spec": { "replicas": replicas, "template": { "spec": { "containers": containers } } } })
    };
    town.applied("eu-west", Kind::new("apps", "Deployment"), &deployment(2)).await;
    let body = json!({ "id": 512, "project": "shop/web", "environment": "production", "status": "success" });
    town.write("POST", "deployments", body).await;
    // As many changes as the examples' offsets are high.
    let watch =
        WatchKey { cluster: "eu-west".into(), kind: Kind::new("", "ConfigMap"), namespace: String::new() };
    let epoch = town.appender.begin(Begin::new(&watch, false)).await.expect("a run").epoch;
    let object = |n: u64| {
        let (name, uid) = (format!("c{n}"), format!("config-{n}"));
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "other", "uid": uid } });
        Observed::Applied(observation("other", &name, &uid, n, &object))
    };
    let observed = (1..=1300).map(object).collect();
    let batch = Batch { watch, epoch, phase: Phase::UpToDate, observed, cursor: None };
    town.appender.append(batch).await.expect("the log takes it");
    // Until after the examples' times: the world begins on 2026-09-21 and goes by minutes.
    town.minute.set(90_000);
    town.pass();
    town.applied("eu-west", Kind::new("apps", "Deployment"), &deployment(3)).await;
    town
}

/// The examples of a parameter, as they stand in a query or a path.
fn examples(parameter: &Value) -> Vec<String> {
    let several = parameter["examples"].as_object().into_iter().flatten().map(|(_, one)| &one["value"]);
    let written = |name: &str, value: &Value| {
        let values = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let one = |value: &Value| format!("{name}={}", strandline_syntax::percent_encode(&text(value)));
        values.iter().map(one).collect::<Vec<_>>().join("&")
    };
    let name = parameter["name"].as_str().unwrap_or_default();
    parameter.get("example").into_iter().chain(several).map(|value| written(name, value)).collect()
}

/// An operation's address with its path's examples, what it requires, and the examples of each other parameter.
fn of_operation(path: &str, operation: &Value) -> (String, Vec<String>, Vec<Vec<String>>) {
    let (mut path, mut required, mut others) = (path.to_owned(), Vec::new(), Vec::new());
    for reference in operation["parameters"].as_array().into_iter().flatten() {
        let parameter = resolve(document(), reference["$ref"].as_str().unwrap_or_default());
        if parameter["in"] == "header" {
            continue;
        }
        let found = examples(parameter);
        if parameter["in"] == "path" {
            let value = found[0].split_once('=').map_or("", |(_, value)| value);
            path = path.replace(&format!("{{{}}}", parameter["name"].as_str().unwrap_or_default()), value);
        } else if parameter["required"] == true {
            required.push(found[0].clone());
        } else if !found.is_empty() {
            others.push(found);
        }
    }
    (path, required, others)
}

fn document() -> &'static Value {
    crate::api::document::JSON.as_ref().expect("the document is YAML")
}

#[tokio::test]
async fn every_example_works_alone_and_with_all_others() {
    let town = spoken_of().await;
    let (mut asked, mut refused) = (0, Vec::new());
    for route in ROUTES.iter().filter(|route| route.path.starts_with("/api/v1/")) {
        let Some(operation) = document()["paths"][route.path].get("get") else { continue };
        let (path, required, others) = of_operation(route.path, operation);
        let alone =
            others.iter().flatten().map(|example| [&required[..], std::slice::from_ref(example)].concat());
        let together = others.iter().map(|examples| examples[0].clone());
        let together = [required.clone(), together.collect()].concat();
        for query in alone.chain([together, required.clone()]) {
            let mut address = format!("{path}?{}", query.join("&"));
            if path.ends_with("/watch") && !address.contains("timeout=") {
                // What was missed alone, so that the stream ends.
                address.push_str("&timeout=0s");
            }
            let answer = town.answer("", "GET", &address, "").await;
            asked += 1;
            // When what is Healthy became worse is not known.
            if status(&answer) != "200" && !answer.contains("onset_unknown") {
                refused.push(format!("{address}: {}", body(&answer)));
            }
        }
        for missing in &required {
            let rest: Vec<_> = required.iter().filter(|one| *one != missing).cloned().collect();
            let answer = town.answer("", "GET", &format!("{path}?{}", rest.join("&")), "").await;
            assert_eq!(status(&answer), "400", "{path} without {missing}");
        }
    }
    assert!(asked > 100, "{asked}");
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

#[tokio::test]
async fn every_example_of_a_body_is_taken() {
    let town = spoken_of().await;
    let mut taken = 0;
    for (path, schema) in [
        ("projects/shop%2Fweb", "ProjectInput"),
        ("agents/ops%2Fagents:production", "AgentInput"),
        ("environments/shop.web.production", "EnvironmentInput"),
        ("deployments/512?project=shop%2Fweb", "StatusInput"),
    ] {
        let example = &document()["components"]["schemas"][schema]["examples"][0];
        town.write("PUT", path, example.clone()).await;
        taken += 1;
    }
    let example = &document()["components"]["schemas"]["DeploymentInput"]["examples"][0];
    town.write("POST", "deployments", example.clone()).await;
    assert_eq!(taken, 4);
}

#[tokio::test]
async fn what_may_lack_a_body_may_lack_its_type_too() {
    let town = spoken_of().await;
    let mut seen = (0, 0);
    for route in ROUTES {
        for (method, operation) in document()["paths"][route.path].as_object().into_iter().flatten() {
            let Some(body) = operation.get("requestBody") else { continue };
            let (path, ..) = of_operation(route.path, operation);
            let head = format!(
                "{} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n",
                method.to_uppercase()
            );
            let optional = body["required"] == false;
            for more in
                ["", "content-length: 0\r\n", "content-length: 0\r\ncontent-type: application/json\r\n"]
            {
                let answer = town.server.raw(format!("{head}{more}\r\n").as_bytes()).await;
                let expected = if optional { ["200", "202"] } else { ["400", "400"] };
                assert!(expected.contains(&status(&answer)), "{method} {path} {more}: {answer}");
            }
            seen = if optional { (seen.0 + 1, seen.1) } else { (seen.0, seen.1 + 1) };
        }
    }
    assert!(seen.0 >= 3 && seen.1 >= 6, "{seen:?}");
}

#[test]
fn patterns_take_what_the_server_takes() {
    let schema = |name: &str| &document()["components"]["schemas"][name];
    let takes = |name: &str, text: &str| {
        crate::api::tests::schema::violations(document(), schema(name), &json!(text)).is_empty()
    };
    for moment in [
        "now",
        "0",
        "1234",
        "5m",
        "1d12h",
        "250ms",
        "2026-11-20T14:05Z",
        "2026-11-20T14:05:00Z",
        "2026-11-20t14:05:00z",
        "2026-11-20T14:05:00.123+01:00",
        "",
        "m",
        "-5m",
        "5y",
        "5 m",
        "yesterday",
        "2026-11-20",
        "NOW",
        "-2h",
        "2h ago",
        "2H",
        "-2h ago",
        "+2h",
        "14:05",
        "9:05:07.5",
        "Yesterday 14:05",
        "yesterdayT14:05",
        "today",
        "tomorrow",
        "2026-11-20 14:05",
        "2026-11-20T14:05",
        "2026-11-20 14:05 Europe/Berlin",
        "14:05 +0200",
        "14:05-03",
        "@1795183500",
        "@1795183500.25",
        "@-1",
        "14:05 14:05",
        "14",
        "14h05",
        "1.5h",
        "0x1f",
    ] {
        let read = TimeContext::utc(Timestamp::from_micros(1_795_183_500_000_000)).read(moment).is_ok();
        assert_eq!(takes("Moment", moment), read, "{moment}");
    }
    for (token, expected) in [
        (format!("4d.5b2278225d.{}", "0a".repeat(16)), true),
        (format!("4d-n65e6e0c2d8000.5b5d.{}", "0a".repeat(16)), true),
        ("4d.5b5d".to_owned(), false),
        (String::new(), false),
        (format!("4D.5b5d.{}", "0a".repeat(16)), false),
    ] {
        assert_eq!(takes("PageToken", &token), expected, "{token}");
    }
}
