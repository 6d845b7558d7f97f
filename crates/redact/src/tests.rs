#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use strandline_model::Timestamp;

mod canaries;
mod choices;
mod corpus;
mod real;

const POD: TypeMeta<'_> = TypeMeta { api_version: "v1", kind: "Pod" };
const SECRET: TypeMeta<'_> = TypeMeta { api_version: "v1", kind: "Secret" };
const CUSTOM: TypeMeta<'_> = TypeMeta { api_version: "acme.example/v1", kind: "Widget" };

fn rules() -> Rules {
    Rules::new([7; 32])
}

fn object(members: Value) -> Value {
    let mut object = json!({"metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1"}});
    for (key, value) in members.as_object().unwrap() {
        if key == "annotations" {
            object["metadata"][key] = value.clone();
        } else {
            object[key] = value.clone();
        }
    }
    object
}

/// Cleans twice, as cleaning what is clean must change nothing.
fn cleaned(raw: &str, defaults: TypeMeta<'_>) -> Observation {
    let once = clean(raw, defaults, &rules()).unwrap();
    let twice = clean(&once.body, defaults, &rules()).unwrap();
    assert_eq!(once.body, twice.body);
    assert_eq!(once.digest, twice.digest);
    assert!(serde_json::from_str::<Value>(&once.body).is_ok(), "{}", once.body);
    once
}

fn body(members: Value, defaults: TypeMeta<'_>) -> Value {
    serde_json::from_str(&cleaned(&object(members).to_string(), defaults).body).unwrap()
}

#[test]
fn list_and_watch_give_the_same_bytes() {
    let listed = r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"spec":{"x":1.50}}"#;
    let watched = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"1"},"spec":{"x":1.50}}"#;
    let expected = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","uid":"u","resourceVersion":"1"},"spec":{"x":1.50}}"#;
    assert_eq!(cleaned(listed, POD).body, expected);
    assert_eq!(cleaned(watched, CUSTOM).body, expected);
}

#[test]
fn who_changed_it_is_kept_and_the_rest_of_managed_fields_is_not() {
    let mut object =
        object(json!({"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "CANARY"}}));
    object["metadata"]["managedFields"] = json!([
        {"manager": "old", "operation": "Apply", "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:CANARY": {}}},
        {"manager": "kubelet", "operation": "Update", "subresource": "status", "time": "2026-01-02T00:00:00Z"},
        {"manager": "last", "operation": "Update", "time": "2026-01-02T00:00:00Z"},
        {"manager": "timeless", "operation": "Update"},
    ]);
    let cleaned = cleaned(&object.to_string(), POD);
    assert!(!cleaned.body.contains("CANARY") && !cleaned.body.contains("annotations"), "{}", cleaned.body);
    let changed_by = cleaned.changed_by.unwrap();
    assert_eq!((changed_by.manager.as_str(), changed_by.operation.as_str()), ("last", "Update"));
    assert_eq!(changed_by.time, Some("2026-01-02T00:00:00Z".parse::<Timestamp>().unwrap()));
}

#[test]
fn a_secret_keeps_its_keys_and_where_it_came_from() {
    let secret = json!({
        "type": "Opaque",
        "immutable": true,
        "data": {"password": "aHVudGVyMg==", "null": null, "odd": [1]},
        "stringData": {"user": "hunter2"},
        "unheard": "hunter2",
        "annotations": {"meta.helm.sh/release-name": "shop", "acme/raw": "hunter2"},
    });
    let body = body(secret, SECRET);
    let text = body.to_string();
    assert!(!text.contains("hunter2") && !text.contains("aHVudGVyMg"), "{text}");
    assert_eq!(body["type"], "Opaque");
    assert_eq!(body["immutable"], true);
    assert_eq!(body["data"]["null"], Value::Null);
    assert!(Mask::is_hidden(body["data"]["password"].as_str().unwrap()));
    assert_eq!(body["metadata"]["annotations"]["meta.helm.sh/release-name"], "shop");
    assert_eq!(body["unheard"], body["stringData"]["user"], "equal values have equal digests");
}

#[test]
fn a_change_of_a_secret_is_a_change() {
    let digest = |value: &str| cleaned(&object(json!({"data": {"a": value}})).to_string(), SECRET).digest;
    assert_eq!(digest("b25l"), digest("b25l"));
    assert_ne!(digest("b25l"), digest("dHdv"));
}

#[test]
fn credentials_are_found_by_name() {
    let masked = [
        "PASSWORD",
        "DB_PASSWORD",
        "dbPasswd",
        "API_KEY",
        "apikey",
        "GITHUB_TOKEN",
        "MYSQL_PWD",
        "SMTP_PASS",
        "CLIENT_SECRET",
        "PRIVATE_KEY",
        "AWS_ACCESS_KEY_ID",
        "SENTRY_DSN",
        "BASIC_AUTH",
        "connection-string",
        "GOOGLE_CREDENTIALS",
        "Authorization",
    ];
    let kept =
        ["AUTHOR", "HOME", "SECRET_NAME", "TOKEN_TTL", "PASSWORD_FILE", "COMPASS", "LOG_LEVEL", "TOKEN_URL"];
    for (names, hidden) in [(&masked[..], true), (&kept[..], false)] {
        for name in names {
            let spec = json!({"spec": {"deep": [{"env": [{"value": "hunter2", "name": name}]}]}});
            let value = body(spec, CUSTOM)["spec"]["deep"][0]["env"][0]["value"].clone();
            assert_eq!(value != "hunter2", hidden, "{name}");
        }
    }
}

#[test]
fn references_and_switches_are_no_credentials() {
    for value in ["", "true", "False", "$(DB_PASSWORD)", "${DB_PASSWORD}"] {
        let spec = json!({"spec": {"env": [{"name": "PASSWORD", "value": value}]}});
        assert_eq!(body(spec, POD)["spec"]["env"][0]["value"], value);
    }
    let spec = json!({"spec": {
        "volumes": [{"secret": {"secretName": "tls"}}],
        "env": [{"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}],
        "imagePullSecrets": [{"name": "registry"}],
        "automountServiceAccountToken": false,
    }});
    assert_eq!(body(spec.clone(), POD)["spec"], spec["spec"]);
}

#[test]
fn credentials_are_found_by_what_they_are() {
    let cases = [
        ("postgres://app:hunter2@db/shop", "postgres://", "@db/shop"),
        ("by ghp_0123456789abcdefghij!", "by ", "!"),
        ("glpat-0123456789abcdefghij", "", ""),
        ("xoxb-0123456789-abc", "", ""),
        ("id AKIA0123456789ABCDEF.", "id ", "."),
        ("eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", "", ""),
        ("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb", "a\n", "\nb"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE, cut off", "", ""),
        ("val password: String = \"hunter2\"", "val password: String = \"", "\""),
        ("String password = \"hunter2\";", "String password = \"", "\";"),
        ("let password: &str = \"hunter2\";", "let password: &str = \"", "\";"),
        ("password: str = \"hunter2\"", "password: str = \"", "\""),
        (
            "port = 1\npassword: str = 'hunter2'\nuser = 'shop'",
            "port = 1\npassword: str = '",
            "'\nuser = 'shop'",
        ),
    ];
    for (value, before, after) in cases {
        for members in [
            json!({"annotations": {"x": value}}),
            json!({"spec": {"env": [{"name": "X", "value": value}]}}),
            json!({"data": {"file.conf": value}}),
        ] {
            let body = body(members, CUSTOM);
            let found = [
                &body["metadata"]["annotations"]["x"],
                &body["spec"]["env"][0]["value"],
                &body["data"]["file.conf"],
            ];
            let text = found.iter().find_map(|value| value.as_str()).unwrap();
            let hidden = text.strip_prefix(before).and_then(|text| text.strip_suffix(after));
            assert!(hidden.is_some_and(Mask::is_hidden), "{value}: {text}");
        }
    }
    for value in [
        "string password = 2;",
        "https://example.org:8443/path?x=a@b",
        "git@github.com:shop/web",
        "registry/app@sha256:0123456789012345678901234567890123456789012345678901234567890123",
        "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
        "postgres://app:$(PASSWORD)@db/shop",
    ] {
        assert_eq!(body(json!({"spec": {"x": value}}), CUSTOM)["spec"]["x"], value);
    }
}

#[test]
fn commands_do_not_tell() {
    let args = json!({"spec": {"containers": [{
        "command": ["sh", "-c", "export DB_PASSWORD='hunter2 x'; run --api-token hunter2 && TOKEN=hunter2 go"],
        "args": ["--password=hunter2", "--db-password", "hunter2", "--token-file=/run/token", "--verbose", "x"],
    }]}});
    let body = body(args, POD);
    let text = body.to_string();
    assert!(!text.contains("hunter2"), "{text}");
    let args = &body["spec"]["containers"][0]["args"];
    assert!(args[0].as_str().unwrap().starts_with("--password=redacted:"));
    assert_eq!((&args[3], &args[5]), (&json!("--token-file=/run/token"), &json!("x")));
}

#[test]
fn secrets_and_passwords_inside_other_objects_do_not_tell() {
    let spec = json!({"spec": {
        "manifest": {"data": {"a": "Q0FOQVJZ"}, "kind": "Secret", "apiVersion": "v1", "stringData": {"b": "CANARY"}},
        "values": {"auth": {"password": "CANARY", "userPassword": 31337, "rootPassword": "CANARY", "secretName": "db"}},
        "parameters": [{"name": "redis.password", "value": "CANARY"}],
    }});
    let body = body(spec, CUSTOM);
    let text = body.to_string();
    assert!(!text.contains("CANARY") && !text.contains("Q0FOQVJZ") && !text.contains("31337"), "{text}");
    assert_eq!(body["spec"]["values"]["auth"]["secretName"], "db");
}

#[test]
fn escapes_do_not_hide_a_credential() {
    let raw = r#"{"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"spec":{"env":[{"n\u0061me":"P\u0041SSWORD","v\u0061lue":"hunter2"},{"name":"X","value":"\u0067hp_0123456789abcdef"}]}}"#;
    let body = cleaned(raw, POD).body;
    assert!(!body.contains("hunter2") && !body.contains("0123456789abcdef"), "{body}");
}

#[test]
fn what_is_no_object_has_a_reason() {
    let cases = [
        ("", "syntax"),
        ("[]", "syntax"),
        ("{\"metadata\":{\"name\":\"a\"", "syntax"),
        ("{}", "no_metadata"),
        (r#"{"metadata":null}"#, "no_metadata"),
        (r#"{"metadata":{"uid":"u"}}"#, "no_name"),
        (r#"{"metadata":{"name":5,"uid":"u"}}"#, "no_name"),
        (r#"{"metadata":{"name":"a","uid":""}}"#, "no_uid"),
        (r#"{"metadata":{"name":"a","uid":".."}}"#, "no_uid"),
        (r#"{"metadata":{"name":"a","uid":"u"}}"#, "no_resource_version"),
    ];
    for (raw, code) in cases {
        assert_eq!(clean(raw, POD, &rules()).unwrap_err().code(), code, "{raw}");
    }
}

#[test]
fn odd_objects_are_survived() {
    let with =
        |rest: &str| format!(r#"{{"metadata":{{"name":"a","uid":"u","resourceVersion":"1"}},{rest}}}"#);
    let deep = |n: usize| with(&format!(r#""spec":{}{}"#, "[".repeat(n), "]".repeat(n)));
    assert!(clean(&deep(9_000), POD, &rules()).is_ok());
    assert_eq!(clean(&deep(1_000_000), POD, &rules()), Err(CleanError::TooDeep));
    for rest in [
        r#""spec":"\ud800""#,
        r#""spec":{"env":[{"name":"PASSWORD","value":"\ud800 CANARY"}]}"#,
        r#""spec":{"env":[{"name":"PASSWORD","value":"CANARY","value":"CANARY"}]}"#,
        r#""spec":1e999999,"status":-0.000000000000000000000000000000000000000000000000000001"#,
        r#""metadata":{"name":"a","uid":"u","resourceVersion":"1","annotations":{"\ud800":"glpat-CANARYCANARY"}}"#,
    ] {
        let once = clean(&with(rest), POD, &rules()).unwrap();
        assert!(!once.body.contains("CANARY"), "{}", once.body);
        assert_eq!(clean(&once.body, POD, &rules()).unwrap().body, once.body);
    }
}

#[test]
fn long_texts_are_searched_once() {
    // Each would take minutes if every beginning were followed to the end of the text.
    let parts = [
        "eyJ",
        "eyJhbGciOi.",
        "-----BEGIN ",
        "://a",
        "--token --",
        "TOKEN=$(",
        "a@b:",
        "xoxb-",
        "AKIA ",
        "= ",
        "LS0tLS1CRUdJTi",
        "H4sI",
        "Authorization: Bearer ",
        "\npassword: ",
        "\n- \"token\": \"",
        "{\"a\":[",
        "hvs.",
        "\"token\", ",
        "f(\"token\", \"",
        "f(a,\"token\",`x",
        "{token, <<\"",
        "f(",
        "setToken(\"",
        "token = `",
        "token = \"\"\"",
        "\ntoken = <<EOF",
        "\"a\" \"b\"\n",
        "token \"x\"; {",
        "user u token ",
        "\n[a.b]:1 u:$(",
        "ENV TOKEN ",
        "a: 'x', token: ",
        "token: a ",
        "token: str = ",
        "\ntoken: &'a b = \"",
        "string token = 1",
        "token string = \"",
    ];
    for part in parts {
        cleaned(&object(json!({"spec": {"args": [part.repeat(100_000)]}})).to_string(), CUSTOM);
    }
    let labels: serde_json::Map<_, _> = (0..64_000).map(|n| (format!("l{n}"), json!("x"))).collect();
    let annotations =
        json!({"big": "x".repeat(1_500_000), "kubectl.kubernetes.io/last-applied-configuration": "{}"});
    let body = cleaned(&object(json!({"data": labels, "annotations": annotations})).to_string(), SECRET).body;
    assert!(body.len() < 5_000_000);
}

const CANARY: &str = "C4naryC4naryC4nary";

/// Any JSON with a canary planted in one of the places that must not tell.
fn planted() -> impl Strategy<Value = (Value, bool)> {
    let noise = "[a-zA-Z\"\\\\{}:@/=\\- é\n]{0,12}";
    let plant = prop_oneof![
        Just(json!({"env": [{"name": "DB_PASSWORD", "value": CANARY}]})),
        Just(json!({"args": [format!("--auth-token={CANARY}")]})),
        Just(json!({"args": ["--password", CANARY]})),
        Just(
            json!({"kind": "Secret", "apiVersion": "v1", "data": {"x": CANARY}, "stringData": {"y": CANARY}})
        ),
        Just(json!({"adminPassword": CANARY})),
        (noise, noise).prop_map(|(a, b)| json!({"text": format!("{a}glpat-{CANARY} {b}")})),
        (noise, noise).prop_map(|(a, b)| json!({"text": format!("{a} ghp_{CANARY}\n{b}")})),
        noise.prop_map(|a| json!({"url": format!("{a} amqp://user:{CANARY}@host/{a}")})),
        noise.prop_map(|a| json!({"key": format!("{a}-----BEGIN EC PRIVATE KEY-----\n{CANARY}")})),
    ];
    let around = plant.prop_recursive(4, 12, 4, move |inner| {
        prop_oneof![
            (inner.clone(), noise).prop_map(|(plant, text)| json!([text, plant, 1, null])),
            (inner, noise, "[a-z]{1,5}")
                .prop_map(|(plant, text, key)| json!({"name": text, key: plant, "value": text})),
        ]
    });
    (around, any::<bool>())
}

proptest! {
    #[test]
    fn no_canary_is_told((plant, status) in planted()) {
        let key = if status { "status" } else { "spec" };
        let body = cleaned(&object(json!({key: plant})).to_string(), CUSTOM).body;
        prop_assert!(!body.contains(CANARY), "{}", body);
    }

    #[test]
    fn what_a_thread_cleaned_before_changes_nothing(plants in prop::collection::vec(planted(), 1..6)) {
        let raw = |plant: &Value, key: &str| object(json!({key: plant})).to_string();
        let all: Vec<String> = plants.iter().flat_map(|(plant, _)| ["spec", "values"].map(|key| raw(plant, key))).collect();
        let own = Choices::new(&["text".to_owned(), "name".to_owned()], &["adminPassword".to_owned()], Vec::new());
        let rules = [rules(), rules().with(own)];
        // A thread of its own remembers nothing.
        let alone = |raw: &str, rules: &Rules| {
            std::thread::scope(|scope| scope.spawn(|| clean(raw, CUSTOM, rules)).join().unwrap())
        };
        for raw in all.iter().chain(&all) {
            for rules in &rules {
                prop_assert_eq!(clean(raw, CUSTOM, rules), alone(raw, rules));
            }
        }
    }

    #[test]
    fn no_secret_is_told(data in prop::collection::btree_map("[a-z.]{1,8}", "[A-Za-z0-9+/]{12,40}", 1..5), also in "[A-Za-z0-9]{12,20}") {
        let secret = json!({"data": data, "extra": {"nested": [also]}, "annotations": {"acme/x": also}});
        let body = cleaned(&object(secret).to_string(), SECRET).body;
        prop_assert!(data.values().chain([&also]).all(|value| !body.contains(value.as_str())), "{}", body);
    }

    #[test]
    fn cleaning_never_panics(text in ".{0,120}|[\\[\\]{}\",:\\\\a1 ]{0,120}", strings in prop::collection::vec(any::<String>(), 1..8)) {
        let _ = clean(&text, POD, &rules()).is_ok();
        let command = object(json!({"spec": {"args": strings, "env": strings}}));
        cleaned(&command.to_string(), CUSTOM);
    }

    #[test]
    fn commands_are_cleaned_once(words in prop::collection::vec("(--token|PASSWORD=|\n|password: |H4sIAAAAAAAAAAAAAAAAAAAA|Authorization: Bearer |hvs.0123456789.|a://|u:p|@|=| |\"|'|glpat-0123456789|x|-|,|`|<<|setToken\\(|\\{token, |user u |ENV TOKEN |token: str = |string token = 1|\\$\\(A\\)|eyJhbGciOiJI.eyJzdWIiOiIx.c2ln)", 1..10)) {
        cleaned(&object(json!({"spec": {"args": [words.concat(), words]}})).to_string(), CUSTOM);
    }
}
