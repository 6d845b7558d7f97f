//! What operators choose, Secrets that are written oddly, and logins that are shown to people.

use serde_json::{Value, json};

use super::*;

fn with(choices: Choices, members: Value, kind: TypeMeta<'_>) -> Value {
    let rules = rules().with(choices);
    let once = clean(&object(members).to_string(), kind, &rules).unwrap();
    assert_eq!(clean(&once.body, kind, &rules).unwrap().body, once.body);
    serde_json::from_str(&once.body).unwrap()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn operators_hide_names_and_keep_others() {
    let choices =
        Choices::new(&texts(&["partner-code", "LICENCE_NUMBER"]), &texts(&["db-token"]), Vec::new());
    let spec = json!({"spec": {
        "partnerCode": "tulip", "acme": {"PARTNER_CODE": "tulip"}, "code": "tulip", "dbToken": "hunter2", "token": "hunter2",
        "args": ["--partner-code=tulip", "--licence-number", "tulip", "--db-token=hunter2"],
        "env": [{"name": "ACME_PARTNER_CODE", "value": "tulip"}, {"name": "DB_TOKEN", "value": "hunter2"}],
        "file": "a: b\npartner_code: tulip\n",
    }});
    let body = with(choices, spec.clone(), CUSTOM);
    let text = body.to_string();
    assert_eq!((text.matches("tulip").count(), text.matches("hunter2").count()), (1, 3), "{text}");
    assert_eq!((&body["spec"]["code"], &body["spec"]["dbToken"]), (&json!("tulip"), &json!("hunter2")));
    let own = self::body(spec, CUSTOM);
    assert!(own["spec"]["partnerCode"] == "tulip" && own["spec"]["dbToken"] != "hunter2", "{own}");
}

#[test]
fn what_is_left_out_keeps_its_names_alone() {
    let left_out = |namespaces: &[&str], names: &[&str]| {
        let (kind, namespaces, names) = ("ConfigMap".parse().unwrap(), texts(namespaces), texts(names));
        Choices::new(&[], &[], vec![LeftOut { kind, namespaces, names }])
    };
    let config = TypeMeta { api_version: "v1", kind: "ConfigMap" };
    let map = json!({"data": {"colour": "green"}, "binaryData": {"x": "Z3JlZW4="}, "annotations": {"note": "green"}});
    let body = with(left_out(&[], &[]), map.clone(), config);
    assert_eq!(body["metadata"]["name"], "a");
    assert!(Mask::is_hidden(body["data"]["colour"].as_str().unwrap()), "{body}");
    assert!(!body.to_string().contains("green") && !body.to_string().contains("Z3JlZW4"), "{body}");
    for (choices, kind, hidden) in [
        (left_out(&["n"], &["a"]), config, true),
        (left_out(&["other"], &[]), config, false),
        (left_out(&[], &["other"]), config, false),
        (left_out(&[], &[]), CUSTOM, false),
    ] {
        assert_eq!(with(choices, map.clone(), kind)["data"]["colour"] != "green", hidden);
    }
}

#[test]
fn a_secret_is_one_however_it_is_written() {
    let nothing = TypeMeta { api_version: "", kind: "" };
    for (api_version, kind) in [
        ("v1", "Secret"),
        ("", "Secret"),
        ("v1", "secret"),
        ("core/v1", "SECRET"),
        (" v1", "Secret "),
        ("v1beta1", "Secret"),
    ] {
        let raw = json!({"apiVersion": api_version, "kind": kind, "data": {"x": "dHVsaXA="}, "stringData": {"y": "tulip"},
            "annotations": {"note": "tulip"}, "odd": "tulip"});
        let body = self::body(raw, nothing).to_string();
        assert!(!body.contains("tulip") && !body.contains("dHVsaXA"), "{api_version} {kind}: {body}");
    }
    let raw = json!({"apiVersion": "v2", "kind": "Thing", "type": "Opaque", "data": {"x": "dHVsaXA="}});
    assert!(!self::body(raw, nothing).to_string().contains("dHVsaXA"));
    // What another group calls a Secret is read like any custom resource, but for its data.
    let raw = json!({"apiVersion": "acme.example/v1", "kind": "Secret", "spec": {"path": "shop/db"}});
    assert_eq!(self::body(raw, nothing)["spec"]["path"], "shop/db");
}

#[test]
fn logins_in_addresses_are_not_shown() {
    for (text, shown) in [
        ("https://eu.example.com:6443/x", "https://eu.example.com:6443/x"),
        ("https://me:tulip@eu.example.com/x@y", "https://eu.example.com/x@y"),
        ("socks5://me@proxy:1080", "socks5://proxy:1080"),
        (
            "cannot use \"http://u:tulip@p\": bad; nor http://a:tulip@b",
            "cannot use \"http://p\": bad; nor http://b",
        ),
        ("no address", "no address"),
        ("://@", "://"),
    ] {
        assert_eq!(without_logins(text), shown);
        assert_eq!(
            text.starts_with("http") && text != shown,
            has_login(text) && text.starts_with("http"),
            "{text}"
        );
    }
}

#[test]
fn what_the_documents_say_is_kept_is_kept() {
    // The Base64 of the Base64 of `password: hunter2`.
    let twice = "Y0dGemMzZHZjbVE2SUdoMWJuUmxjakk9";
    let documents = include_str!("../../../../docs/operations/security.md");
    for (name, members) in [
        ("free-text", json!({"message": "the password is tulip", "status": {"note": "token: expired"}})),
        (
            "plain-word",
            json!({"spec": {"tlsSecret": "shop-tls", "key": "tulip", "dsn": "db.shop:5432", "auth": "basic"}}),
        ),
        ("labels", json!({"spec": {"selector": {"matchLabels": {"password": "hunter2"}}}})),
        ("positional", json!({"spec": {"args": ["anothertool", "-p", "hunter2"]}})),
        ("encoded", json!({"spec": {"blob": twice}})),
        ("ciphertext", json!({"spec": {"encryptedData": {"blob": "AgBy3i4OJSWK+PiTySYZZA=="}}})),
        ("public", json!({"spec": {"env": [{"name": "PUBLIC_KEY", "value": "aB3dE5fG7hI9jK1lM3"}]}})),
        (
            "template",
            json!({"spec": {"password": "$(DB_PASSWORD)", "token": "vault:shop/db", "args": ["--password={{ .x }}"]}}),
        ),
    ] {
        assert!(documents.contains(&format!("- **`{name}`**")), "{name} is not in the documents");
        let cleaned = self::body(members.clone(), CUSTOM);
        for (key, value) in members.as_object().unwrap() {
            assert_eq!(&cleaned[key], value, "{name}");
        }
    }
    let listed = documents.lines().filter(|line| line.starts_with("- **`") && line.contains("`**:")).count();
    assert!(listed >= 8, "{listed}");
}
