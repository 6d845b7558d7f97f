//! A caller against a world in which the others never were: whatever others write, take in advance or guess, and whatever
//! agents' files say of them, every answer that the caller gets is the same.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Town, body, labelled};
use crate::site;
use strandline_syntax::percent_encode;
use strandline_testkit;

/// Who asks, and whose project it is.
const OWN: (&str, &str) = ("web", "shop/web");

/// Tokens that write, each of one project, with its number. The first is who asks.
const CALLERS: [(&str, &str, u64); 3] =
    [("web", "shop/web", 42), ("third", "dev/backend", 43), ("frontend", "dev/frontend", 44)];

const AGENTS: [&str; 2] = ["ops/agents:prod", "ops/agents:test"];
const NAMESPACES: [&str; 4] = ["web", "backend", "frontend", "kube-system"];
const NAMES: [&str; 3] = ["production", "review/a", ".api.production"];
const NUMBERS: [u64; 2] = [7, 8];
const IDS: [&str; 6] = [
    "shop.web.production",
    "shop.web.other",
    "dev.backend.production",
    "dev.backend.x",
    "plain",
    "shop.web.review.a",
];

/// What an agent says of one project.
#[derive(Clone, Debug)]
struct Share {
    project: usize,
    /// The namespace that its rule grants; none for an entry without rules.
    namespace: Option<usize>,
    protected: bool,
    lets_in: bool,
}

/// What somebody does.
#[derive(Clone, Debug)]
enum Step {
    /// Who runs the agents changes what one of them says.
    Share { agent: usize, cluster: bool, shares: Vec<Share>, themselves: bool },
    /// A Pod of a project's environment is there from now on.
    Pod { project: usize, namespace: usize, name: usize },
    /// A token writes.
    Write { caller: usize, request: Request },
}

/// What a token asks for; small numbers choose from few values, so that they meet often.
#[derive(Clone, Debug)]
struct Request {
    method: &'static str,
    path: String,
    body: Value,
}

fn share() -> impl Strategy<Value = Share> {
    let namespace = prop::option::of(0..NAMESPACES.len());
    (0..CALLERS.len(), namespace, any::<bool>(), any::<bool>())
        .prop_map(|(project, namespace, protected, lets_in)| Share { project, namespace, protected, lets_in })
}

/// Where an environment is to look.
fn target() -> impl Strategy<Value = Value> {
    let labels =
        prop_oneof![Just(Value::Null), Just(json!({})), Just(json!({ "app.gitlab.com/project_id": "43" })),];
    let mark = prop_oneof![4 => Just(Value::Null), 1 => Just(json!("helm:backend/api"))];
    (0..AGENTS.len(), 0..NAMESPACES.len(), labels, mark).prop_map(|(agent, namespace, labels, mark)| {
        json!({ "agent": AGENTS[agent], "namespace": NAMESPACES[namespace], "labels": labels, "inventory": mark })
    })
}

fn environment() -> impl Strategy<Value = Value> {
    let place = prop_oneof![
        Just(json!({})),
        prop::collection::vec(target(), 1..3).prop_map(|targets| json!({ "targets": targets })),
        (0..AGENTS.len(), 0..NAMESPACES.len()).prop_map(|(agent, namespace)| {
            json!({ "cluster_agent": AGENTS[agent], "kubernetes_namespace": NAMESPACES[namespace] })
        }),
    ];
    (prop::option::weighted(0.9, 0..NAMES.len()), place).prop_map(|(name, mut place)| {
        if let (Some(name), Some(place)) = (name, place.as_object_mut()) {
            place.insert("name".into(), json!(NAMES[name]));
        }
        place
    })
}

/// What a token asks for, most often of its own project.
fn request(caller: usize) -> impl Strategy<Value = Request> {
    let project =
        move || prop_oneof![6 => Just(caller), 1 => 0..CALLERS.len()].prop_map(|project| CALLERS[project].1);
    let status = || prop::sample::select(vec!["running", "success", "failed"]);
    let at = |method: &'static str, path: String, body: Value| Request { method, path, body };
    prop_oneof![
        4 => (prop::sample::select(&IDS[..]), prop::option::weighted(0.95, project()), environment()).prop_map(move |(id, project, mut body)| {
            body["project"] = project.map_or(Value::Null, Value::from);
            at("PUT", format!("environments/{id}"), body)
        }),
        2 => (project(), environment())
            .prop_map(move |(project, body)| at("POST", format!("projects/{}/environments", percent_encode(project)), body)),
        4 => (project(), 0..NAMES.len(), 0..NUMBERS.len(), status(), 0..AGENTS.len(), prop::option::of(0..NAMESPACES.len()), any::<bool>())
            .prop_map(move |(project, name, number, status, agent, namespace, protected)| {
                let kubernetes = json!({ "agent": AGENTS[agent], "namespace": namespace.map(|n| NAMESPACES[n]) });
                at("POST", "deployments".into(), json!({ "id": NUMBERS[number], "project": project, "environment": NAMES[name],
                    "status": status, "ref_protected": protected, "kubernetes": kubernetes }))
            }),
        2 => (0..NUMBERS.len(), prop::option::of(project()), status()).prop_map(move |(number, project, status)| {
            let of = project.map(|project| format!("?project={}", percent_encode(project))).unwrap_or_default();
            at("PUT", format!("deployments/{}{of}", NUMBERS[number]), json!({ "status": status }))
        }),
        1 => prop::sample::select(&IDS[..]).prop_map(move |id| at("POST", format!("environments/{id}/stop"), json!({}))),
        1 => prop::sample::select(&IDS[..]).prop_map(move |id| at("DELETE", format!("environments/{id}"), json!({}))),
        1 => (project(), 42_u64..46)
            .prop_map(move |(project, id)| at("PUT", format!("projects/{}", percent_encode(project)), json!({ "id": id }))),
        1 => (project(), any::<bool>()).prop_map(move |(project, cluster)| {
            let body = if cluster { json!({ "cluster": "east" }) } else { json!({ "configuration": "ci_access: {}" }) };
            at("PUT", format!("agents/{}", percent_encode(&format!("{project}:own"))), body)
        }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let shares =
        (0..AGENTS.len(), any::<bool>(), prop::collection::vec(share(), 0..4), prop::bool::weighted(0.2));
    prop_oneof![
        1 => shares.prop_map(|(agent, cluster, shares, themselves)| Step::Share { agent, cluster, shares, themselves }),
        3 => (0..CALLERS.len(), 0..NAMESPACES.len(), 0..NAMES.len())
            .prop_map(|(project, namespace, name)| Step::Pod { project, namespace, name }),
        7 => (0..CALLERS.len()).prop_flat_map(|caller| (Just(caller), request(caller))).prop_map(|(caller, request)| Step::Write { caller, request }),
    ]
}

/// An agent's file, for all projects or as if there were only the one who asks.
fn file(shares: &[Share], themselves: bool, all: bool) -> String {
    let theirs = || shares.iter().filter(|share| all || CALLERS[share.project].1 == OWN.1);
    let entry = |share: &Share| {
        let rules = share.namespace.map(|namespace| json!([{ "namespace": NAMESPACES[namespace] }]));
        json!({ "id": CALLERS[share.project].1, "protected_branches_only": share.protected, "rules": rules.unwrap_or(json!([])) })
    };
    let entries: Vec<_> = theirs().map(entry).collect();
    let members: Vec<_> = theirs()
        .filter(|share| share.lets_in)
        .map(|share| json!({ "id": CALLERS[share.project].1 }))
        .collect();
    let act = if themselves { json!({ "user": {} }) } else { json!({ "agent": {} }) };
    // JSON is YAML.
    json!({ "ci_access": { "projects": entries }, "user_access": { "access_as": act, "projects": members } })
        .to_string()
}

/// The same town, with everybody in it or with the one who asks alone.
struct Side {
    town: Town,
    all: bool,
}

impl Side {
    async fn new(all: bool) -> Self {
        let town = Town::serving(site::site).await;
        for (_, path, number) in CALLERS {
            if all || path == OWN.1 {
                town.write("PUT", &format!("projects/{}", percent_encode(path)), json!({ "id": number }))
                    .await;
            } else {
                town.pass();
            }
        }
        // At first each has a namespace of its own, and everybody is let in.
        let share = |project| Share { project, namespace: Some(project), protected: false, lets_in: true };
        let shares: Vec<_> = (0..CALLERS.len()).map(share).collect();
        for agent in AGENTS {
            town.agent(agent, "east", &file(&shares, false, all)).await;
        }
        Side { town, all }
    }

    /// Takes a step, if it is one of this side; tells what was answered to the one who asks.
    async fn take(&self, step: &Step) -> Option<String> {
        let town = &self.town;
        match step {
            Step::Share { agent, cluster, shares, themselves } => {
                let cluster = if *cluster { "west" } else { "east" };
                town.agent(AGENTS[*agent], cluster, &file(shares, *themselves, self.all)).await;
            }
            Step::Pod { project, namespace, name } if self.all || CALLERS[*project].1 == OWN.1 => {
                let slug = strandline_syntax::slug(NAMES[*name]);
                let number = CALLERS[*project].2.to_string();
                let pod = format!("{}-{name}", CALLERS[*project].0);
                town.pod("east", NAMESPACES[*namespace], &pod, &labelled(&number, &slug)).await;
            }
            Step::Write { caller, request } if self.all || CALLERS[*caller].0 == OWN.0 => {
                let (token, body) = (CALLERS[*caller].0, request.body.to_string());
                let answer =
                    town.answer(token, request.method, &format!("/api/v1/{}", request.path), &body).await;
                town.pass();
                return (token == OWN.0).then(|| plain(&answer));
            }
            Step::Pod { .. } | Step::Write { .. } => town.pass(),
        }
        None
    }

    /// What the streams of environments and of their resources say of what happened since an offset, one after the other.
    async fn watched(&self, since: u64) -> Vec<(String, Value)> {
        let mut said = self.stream(&format!("watch?state=available,stopping,stopped&from={since}")).await;
        for id in IDS {
            said.extend(self.stream(&format!("environments/{id}/resources?watch=true&from={since}")).await);
        }
        said
    }

    /// What a stream says of what was missed, or why it is refused.
    async fn stream(&self, path: &str) -> Vec<(String, Value)> {
        let answer = self.town.answer(OWN.0, "GET", &format!("/api/v1/{path}&timeout=0s"), "").await;
        if !answer.starts_with("HTTP/1.1 200") {
            return vec![(plain(&answer), Value::Null)];
        }
        let (mut events, mut name) = (Vec::new(), "");
        for line in body(&answer).lines() {
            if let Some(event) = line.strip_prefix("event:") {
                name = event.trim();
            }
            if let Some(data) = line.strip_prefix("data:") {
                let mut value: Value = serde_json::from_str(data).expect("JSON");
                uncounted(&mut value);
                events.push((name.to_owned(), value));
            }
        }
        assert_eq!(events.last().map(|(name, _)| name.as_str()), Some("bookmark"), "{answer}");
        events
    }

    async fn read(&self, path: &str) -> String {
        plain(&self.town.answer(OWN.0, "GET", path, "").await)
    }
}

/// An answer without what says how much was written: offsets, and what is made of them.
fn plain(answer: &str) -> String {
    const COUNTED: [&str; 5] = ["link", "etag", "content-length", "x-request-id", "date"];
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let head: Vec<_> =
        head.lines().filter(|line| !COUNTED.iter().any(|name| line.starts_with(name))).collect();
    let body = match serde_json::from_str::<Value>(body) {
        Ok(mut value) => {
            uncounted(&mut value);
            value.to_string()
        }
        // A page shows offsets wherever it shows a moment, and a problem the trace of its request.
        Err(_) => body
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| word.len() < 16 || !word.bytes().all(|b| b.is_ascii_hexdigit()))
            .filter(|word| !word.bytes().any(|b| b.is_ascii_digit()))
            .collect::<Vec<_>>()
            .join(" "),
    };
    format!("{}\n{body}", head.join("\n"))
}

fn uncounted(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for name in [
                "offset",
                "last_offset",
                "head",
                "lag_changes",
                "trace_id",
                "continue",
                "from_offset",
                "to_offset",
            ] {
                members.remove(name);
            }
            // Entries of a timeline are told apart by offset and number in the view.
            let counted = |id: &Value| {
                id.as_str().is_some_and(|id| id.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.')))
            };
            if members.get("id").is_some_and(counted) {
                members.remove("id");
            }
            // What is gone is said with the offset of its last state.
            if let Some(Value::String(detail)) = members.get_mut("detail") {
                let (before, after) = detail.split_once("use at=").unwrap_or((detail, ""));
                *detail = format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()));
            }
            // When the newest change was recorded is for everybody to see, be it of others.
            if let Some(Value::Object(metadata)) = members.get_mut("metadata") {
                metadata.remove("time");
            }
            members.values_mut().for_each(uncounted);
        }
        Value::Array(items) => items.iter_mut().for_each(uncounted),
        _ => {}
    }
}

/// All that there is to ask about what the steps speak of.
fn questions() -> Vec<String> {
    let mut paths: Vec<String> = [
        "environments",
        "overview",
        "deployments",
        "deployments?limit=1",
        "deployments?group=dev,shop&since=30d&format=csv",
        "deployments?tier=production,staging&state=available,stopped",
        "deployments?region=moon&by=a*",
        "deployments?ref=*&cluster=east&name=**",
        "events?since=30d",
        "events?group=nobody&since=30d",
        "events?environment=shop.web.production&since=30d&format=csv",
        "agents",
        "clusters",
        "coverage",
        "projects",
        "groups",
        "images",
        "resources?kind=Pod",
        "resources?kind=Pod&gone=any",
        "environments?limit=1",
        "resources?namespace=backend",
    ]
    .map(|path| format!("/api/v1/{path}"))
    .into();
    for id in IDS.into_iter().chain(["shop.web..api.production", "shop.web.-api.production"]) {
        for below in [
            "",
            "/resources",
            "/graph",
            "/why",
            "/health",
            "/events",
            "/deployments",
            "/left-behind",
            "/timeline",
        ] {
            paths.push(format!("/api/v1/environments/{id}{below}"));
        }
        paths.push(format!("/environments/{id}"));
    }
    for number in NUMBERS {
        paths.push(format!("/api/v1/deployments/{number}"));
        paths.extend(CALLERS.map(|(_, project, _)| {
            format!("/api/v1/deployments/{number}?project={}", percent_encode(project))
        }));
    }
    for agent in AGENTS.into_iter().chain(["ops/agents:none", "dev/backend:own", "shop/web:own"]) {
        let agent = percent_encode(agent);
        paths.push(format!("/api/v1/agents/{agent}"));
        paths.extend(CALLERS.map(|(_, project, _)| {
            format!(
                "/api/v1/agents/{agent}/allowed?project={}&environment=production",
                percent_encode(project)
            )
        }));
    }
    for (caller, project, _) in CALLERS {
        paths.push(format!("/api/v1/projects/{}", percent_encode(project)));
        for name in 0..NAMES.len() {
            let uid = format!("east-backend-{caller}-{name}");
            paths.extend(
                ["", "/history", "/edges", "/health"].map(|below| format!("/api/v1/resources/{uid}{below}")),
            );
        }
    }
    paths.extend(["/", "/coverage", "/images", "/events", "/changes"].map(str::to_owned));
    paths
}

proptest! {
    #![proptest_config(strandline_testkit::cases(strandline_testkit::few_of(200)))]

    #[test]
    fn what_others_do_changes_no_answer(steps in prop::collection::vec(step(), 1..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (full, alone) = (Side::new(true).await, Side::new(false).await);
            let mut begun = vec![];
            for (number, step) in steps.iter().enumerate() {
                begun.push((full.town.world.head().get(), alone.town.world.head().get()));
                let answers = (full.take(step).await, alone.take(step).await);
                assert_eq!(answers.0, answers.1, "step {number}: {step:?} of {steps:#?}");
            }
            for (of_full, of_alone) in begun {
                assert_eq!(full.watched(of_full).await, alone.watched(of_alone).await, "since {of_full} after {steps:#?}");
            }
            for path in questions() {
                assert_eq!(full.read(&path).await, alone.read(&path).await, "{path} after {steps:#?}");
            }
        });
    }
}
