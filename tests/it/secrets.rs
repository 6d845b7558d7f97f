//! Credentials planted wherever they are met in a cluster: none may reach the disk, an answer or the output.

use std::path::Path;

use data_encoding::BASE64;
use serde_json::{Value, json};
use strandline_log::LogReader;
use strandline_model::Offset;
use strandline_sim::api_server::{ApiServer, ServedKind, builtin_kinds};

use crate::server::{Result, Server, assert_nowhere, get, items};

/// What every planted value holds, and the same in Base64 by where in a group of three bytes it begins.
const CANARY: [&str; 4] = ["CANARY", "Q0FOQVJZ", "NBTkFSW", "DQU5BUl"];

/// Every state holds other values.
const ROUNDS: usize = 3;

const ENVIRONMENT: &str = "shop.web.production";

/// As gzip packs what it cannot make smaller: one block as it is; nobody checks the sums.
fn gzip(text: &str) -> Vec<u8> {
    let length = u16::try_from(text.len()).unwrap_or(0);
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1];
    packed.extend(length.to_le_bytes());
    packed.extend((!length).to_le_bytes());
    packed.extend(text.as_bytes());
    packed.extend([0; 8]);
    packed
}

/// The objects of a round; `planted` makes another canary at each call.
fn objects(round: usize) -> Vec<Value> {
    let mut planted = 0;
    let mut canary = || {
        planted += 1;
        format!("CANARY{round}X{planted:02}Q7ZK9WJ2M4P8")
    };
    let mut objects = secrets(&mut canary);
    objects.extend(workloads(&mut canary));
    objects.extend(others(&mut canary));
    objects
}

fn named(api_version: &str, kind: &str, name: &str, annotations: Value, rest: Value) -> Value {
    let metadata = json!({"name": name, "namespace": "shop", "annotations": annotations});
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": metadata});
    if let (Some(object), Value::Object(rest)) = (object.as_object_mut(), rest) {
        object.extend(rest);
    }
    object
}

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn secrets(canary: &mut impl FnMut() -> String) -> Vec<Value> {
    let mut secret = |name: &str, kind: &str, key: &str, value: String| {
        let annotations =
            json!({LAST_APPLIED: json!({"data": {key: canary()}}).to_string(), "note": canary()});
        let (data, text) = (json!({key: BASE64.encode(value.as_bytes())}), json!({"plain": canary()}));
        named("v1", "Secret", name, annotations, json!({"type": kind, "data": data, "stringData": text}))
    };
    let packed = BASE64.encode(&gzip("manifests with CANARY in them"));
    vec![
        secret("opaque", "Opaque", "password", "a CANARY of its own".into()),
        secret("pull", "kubernetes.io/dockerconfigjson", ".dockerconfigjson", "{\"auths\": CANARY}".into()),
        secret("account", "kubernetes.io/service-account-token", "token", "eyJ.CANARY.x".into()),
        secret("sh.helm.release.v1.web.v1", "helm.sh/release.v1", "release", packed),
    ]
}

fn workloads(canary: &mut impl FnMut() -> String) -> Vec<Value> {
    let mut pod = || {
        let env = |name: &str, value: String| json!({"name": name, "value": value});
        json!({"containers": [{
            "name": "web",
            "image": "example.com/web:1",
            "command": ["sh", "-c", format!("export API_TOKEN='{}'; run", canary())],
            "args": [format!("--password={}", canary()), "--db-password", canary(),
                format!("--header=Authorization: Bearer {}", canary())],
            "env": [
                env("PASSWORD", canary()), env("SMTP_TOKEN", canary()), env("API_KEY", canary()),
                env("A", format!("postgres://shop:{}@db/shop", canary())),
                env("B", format!("AKIA{}", canary())),
                env("C", format!("eyJhbGciOiJI.{}.{}", canary(), canary())),
                env("D", format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----", canary())),
                env("E", format!("ghp_{}", canary())),
                env("F", format!("glpat-{}", canary())),
                env("G", json!({"clientSecret": canary()}).to_string()),
            ],
        }]})
    };
    let (template, own) = (pod(), pod());
    let applied = json!({"spec": {"template": {"spec": template}}}).to_string();
    let annotations = json!({LAST_APPLIED: applied, "kapp.k14s.io/original": applied, "example.dev/deploy-token": canary()});
    let spec = json!({"template": {"metadata": {"labels": {"app": "web"}}, "spec": template}});
    vec![
        named("apps/v1", "Deployment", "web", annotations, json!({"spec": spec})),
        named("v1", "Pod", "web-0", json!({"note": format!("by xoxb-{}", canary())}), json!({"spec": own})),
    ]
}

fn others(canary: &mut impl FnMut() -> String) -> Vec<Value> {
    let key = format!("-----BEGIN EC PRIVATE KEY-----\n{}\n-----END EC PRIVATE KEY-----\n", canary());
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\nusers:\n- name: me\n  user:\n    token: {}\n    client-key-data: {}\n",
        canary(),
        BASE64.encode(key.as_bytes())
    );
    let data = json!({"tls.key": key, "config": kubeconfig, "release": BASE64.encode(&gzip(&canary())),
        "app.env": format!("PORT=80\nDB_PASSWORD={}\n", canary())});
    let spec = json!({"password": canary(), "token": canary(), "secret": canary(),
        "users": [{"name": "a", "privateKey": canary()}],
        "parameters": [{"name": "auth.password", "value": canary()}]});
    let message = format!("cannot pull with glpat-{}", canary());
    vec![
        named("v1", "ConfigMap", "settings", json!({}), json!({"data": data})),
        named("example.dev/v1", "Database", "orders", json!({}), json!({"spec": spec})),
        named("v1", "Event", "web.1", json!({}), json!({"message": message, "reason": "Failed"})),
    ]
}

fn assert_silent(what: &str, text: &str) {
    for canary in CANARY {
        assert!(!text.contains(canary), "{canary} in {what}: {text}");
    }
}

/// Asks for everything the program has to say and finds no canary in it.
async fn assert_no_answer_tells(server: &Server, uids: &[String]) -> Result<()> {
    let mut paths: Vec<String> =
        ["/", "/api/v1/environments", "/api/v1/clusters", "/api/v1/openapi.json"].map(str::to_owned).into();
    paths.extend(["/openapi.yaml", "/readyz?verbose=true", "/livez", "/nothing"].map(str::to_owned));
    for place in ["", "/resources", "/graph", "/graph?collapse=kind", "/why", "/health"] {
        paths.push(format!("/api/v1/environments/{ENVIRONMENT}{place}"));
    }
    paths.push(format!("/environments/{ENVIRONMENT}"));
    for uid in uids {
        let api = format!("/api/v1/resources/{uid}");
        paths.extend([format!("/resources/{uid}"), api.clone()]);
        paths.extend([format!("{api}/history?bodies=true"), format!("{api}/health")]);
    }
    for path in paths {
        let (_, body) = get(&format!("{}{path}", server.url())).await?;
        assert!(!body.is_empty(), "{path}");
        assert_silent(&path, &body);
    }
    for form in ["table", "wide", "json", "yaml", "name"] {
        let mut commands = vec![
            vec!["get", "environments"],
            vec!["get", "clusters"],
            vec!["get", "resources", "-e", ENVIRONMENT],
            vec!["tree", ENVIRONMENT, "--all"],
            vec!["why", ENVIRONMENT],
        ];
        commands.extend(uids.iter().map(|uid| vec!["history", uid.as_str(), "--bodies"]));
        // Intervals have no names.
        if form != "name" {
            commands.push(vec!["health", ENVIRONMENT]);
            commands.extend(uids.iter().map(|uid| vec!["health", "--resource", uid.as_str()]));
        }
        for mut command in commands {
            command.extend(["-o", form]);
            let printed = server.cli(&command).await?;
            assert_silent(&command.join(" "), &printed);
        }
    }
    Ok(())
}

/// Bodies stand packed in the log, so its bytes alone prove little.
fn assert_the_log_is_silent(data: &Path) -> Result<()> {
    let mut log = LogReader::open(data)?;
    let (head, mut at) = (log.head()?, Offset::ZERO);
    while at < head {
        for record in log.after(at, 100)? {
            assert_silent("a record", &format!("{record:?}"));
            at = record.offset;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn no_credential_reaches_disk_answer_or_output_and_each_change_of_one_shows() -> Result<()> {
    let simulated = ApiServer::start("one", builtin_kinds()).await?;
    simulated.add_kind(ServedKind::custom("example.dev", "v1", "Database", "databases"));
    let config = format!(
        "clusters:\n  - name: one\n    url: {}\nenvironments:\n  - project: shop/web\n    name: production\n    \
         cluster: one\n    namespace: shop\n",
        simulated.url()
    );
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path(), &config).await?;
    let resources = format!("/environments/{ENVIRONMENT}/resources?limit=500");
    let recorded = |round| objects(round).into_iter().filter(|object| object["kind"] != "Event").count();
    for object in objects(0) {
        simulated.apply(object);
    }
    let list = server.until(&resources, |list| items(list).count() >= recorded(0)).await?;
    let uids: Vec<String> = items(&list).filter_map(|item| item["id"].as_str().map(str::to_owned)).collect();
    for round in 1..ROUNDS {
        for object in objects(round) {
            simulated.apply(object);
        }
        for uid in &uids {
            // What is hidden is seen to have changed.
            let path = format!("/resources/{uid}/history");
            server.until(&path, |history| items(history).count() > round).await?;
        }
    }
    assert_no_answer_tells(&server, &uids).await?;
    assert_nowhere(folder.path(), &CANARY)?;
    let data = server.data();
    server.stop().await?;
    assert_nowhere(folder.path(), &CANARY)?;
    assert_the_log_is_silent(&data)
}
