//! Credentials in places where they are met, each of which must not tell; and what must stay readable.

use serde_json::{Value, json};

use super::*;

const CANARY: &str = "C4nary0Canary1Canary2";

/// The canary's Base64, of which no alignment may be found either.
const CANARY_IN_BASE64: &str = "QzRuYXJ5MENhbmFyeTFDYW5hcnky";

fn assert_hidden(place: &str, members: Value) {
    let text = body(members, CUSTOM).to_string();
    for canary in [CANARY, CANARY_IN_BASE64] {
        assert!(!text.contains(canary), "{place}: {text}");
    }
    assert!(text.contains("redacted:"), "{place}: it must be seen to change: {text}");
}

fn assert_kept(members: Value) {
    assert_eq!(body(json!({"spec": members}), CUSTOM)["spec"], members);
}

#[test]
fn members_named_like_a_credential_do_not_tell() {
    for name in [
        "password",
        "rootPassword",
        "token",
        "bootstrap-token",
        "secret",
        "Secret",
        "sharedSecret",
        "webhookSecret",
        "apiKey",
        "secretAccessKey",
        "privateKey",
        "client-key-data",
        "Authorization",
        ".dockerconfigjson",
    ] {
        assert_hidden(name, json!({"spec": {"auth": {name: CANARY}}}));
        assert_hidden(name, json!({"spec": {name: [CANARY]}}));
        assert_hidden(name, json!({"annotations": {format!("acme.example/{name}"): CANARY}}));
    }
    assert_hidden("stringData", json!({"spec": {"template": {"stringData": {"x": CANARY}}}}));
}

#[test]
fn references_and_schemas_stay_readable() {
    for name in
        ["secretName", "tlsSecret", "tokenSecretRef", "credentialName", "existingSecret", "passwordKey"]
    {
        assert_kept(json!({"auth": {name: "shop-db"}}));
    }
    assert_kept(json!({"secret": {"secretName": "tls", "items": [{"key": "tls.crt", "path": "x"}]}}));
    assert_kept(json!({"token": {"type": "string", "description": "what to show: any token"}}));
    assert_kept(json!({"properties": {"stringData": {"type": "object", "description": "as in a Secret"}}}));
    assert_kept(json!({"rules": [{"resources": ["secrets", "serviceaccounts/token"], "verbs": ["get"]}]}));
    assert_kept(
        json!({"message": "password: must be set", "note": "Bearer tokens are in use: see the token."}),
    );
    assert_kept(
        json!({"json": "{\"image\": \"web:1\", \"replicas\":  3}", "template": "{{ .Values.password }}"}),
    );
    assert_kept(
        json!({"data": "# settings\nlog: debug\ntoken-file: /run/token\npassword: \"\"\ntoken: ${TOKEN}\n"}),
    );
}

#[test]
fn marked_tokens_do_not_tell() {
    for prefix in
        ["glpat-", "glpat-x.01.", "gloas-", "hvs.", "npm_", "dckr_pat_", "sk_live_", "xapp-1-", "SG.a."]
    {
        for text in [format!("{prefix}{CANARY}"), format!("pulled with {prefix}{CANARY}, at last.")] {
            assert_hidden(prefix, json!({"status": {"message": text}}));
        }
    }
    for header in ["Authorization: Bearer ", "authorization: Basic ", "{'Authorization': \"Bearer "] {
        let command = format!("curl -H '{header}{CANARY}' https://example.com");
        assert_hidden(header, json!({"spec": {"lifecycle": {"exec": {"command": ["sh", "-c", command]}}}}));
    }
}

#[test]
fn a_private_key_in_base64_does_not_tell_wherever_in_its_file_it_stands() {
    // `-----BEGIN CERTIFICATE-----`, then ` PRIVATE KEY-----` in each alignment, with the canary behind it.
    for label in ["UFJJVkFURSBLRVktLS0tLQo", "BSSVZBVEUgS0VZLS0tLS0K", "QUklWQVRFIEtFWS0tLS0tCg"] {
        let file = format!("LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUUK{label}{CANARY_IN_BASE64}");
        assert_hidden(label, json!({"binaryData": {"bundle.pem": file}}));
        assert_hidden(label, json!({"spec": {"text": format!("key: {file}, as you see")}}));
    }
    let certificate = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUUKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=";
    assert_kept(json!({"caBundle": certificate}));
}

#[test]
fn what_is_packed_does_not_tell() {
    let packed = format!("H4sIAAAAAAAA{CANARY_IN_BASE64}");
    assert_hidden("a release of Helm in a ConfigMap", json!({"data": {"release": packed}}));
    assert_hidden("an applied state", json!({"annotations": {"objectset.rio.cattle.io/applied": packed}}));
}

#[test]
fn documents_inside_of_strings_do_not_tell() {
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "data": {"x": CANARY_IN_BASE64}});
    let pod = json!({"kind": "Pod", "metadata": {"annotations": {"note": secret.to_string()}},
        "spec": {"containers": [{"env": [{"name": "DB_PASSWORD", "value": CANARY}]}]}});
    let again = json!([{"applied": pod.to_string()}]).to_string();
    for (place, document) in
        [("a Secret", secret), ("a Pod", pod), ("a document in a document", json!(again))]
    {
        let text = document.as_str().map_or_else(|| document.to_string(), str::to_owned);
        assert_hidden(place, json!({"annotations": {"kapp.k14s.io/original": text}}));
        assert_hidden(place, json!({"data": {"file.json": text}}));
    }
    let arguments = json!([format!("--password={CANARY}"), "--token", CANARY]).to_string();
    assert_hidden("arguments", json!({"spec": {"args": ["--run", arguments]}}));
    let registry = json!({"auths": {"example.com": {"username": "shop", "password": CANARY}}});
    assert_hidden("a registry's file", json!({"data": {"config.json": registry.to_string()}}));
}

#[test]
fn configuration_files_inside_of_strings_do_not_tell() {
    for line in [
        "password: C",
        "    token: C",
        "- token: 'C'",
        "\"password\": \"C\",",
        "db.password = C",
        "API_KEY=C",
        "export GITHUB_TOKEN=\"C\"",
        "client-key-data: C # not for you",
        "smtp_password=C;",
        "password: \"C, never closed",
    ] {
        let file = format!("# a file\nuser: shop\n{}\nport: 80\n", line.replace('C', CANARY));
        assert_hidden(line, json!({"data": {"settings": file}}));
        let ended = format!("user: shop\n{}", line.replace('C', CANARY));
        assert_hidden(line, json!({"data": {"settings": ended}}));
    }
    let kubeconfig = format!("apiVersion: v1\nusers:\n- name: me\n  user:\n    token: {CANARY}\n");
    let cleaned = body(json!({"data": {"config": kubeconfig}}), CUSTOM);
    let text = cleaned["data"]["config"].as_str().unwrap();
    assert!(text.starts_with("apiVersion: v1\nusers:\n- name: me\n  user:\n    token: redacted:"), "{text}");
}

#[test]
fn a_change_of_what_is_hidden_is_a_change_wherever_it_stands() {
    let places: [fn(&str) -> Value; 5] = [
        |value| json!({"spec": {"token": value}}),
        |value| json!({"spec": {"args": [format!("--password={value}")]}}),
        |value| json!({"data": {"f": format!("a: b\npassword: {value}\n")}}),
        |value| json!({"data": {"f": json!({"password": value}).to_string()}}),
        |value| json!({"data": {"f": format!("H4sIAAAAAAAAAAAAAAAAAAAA{value}")}}),
    ];
    for place in places {
        let digest = |value: &str| cleaned(&object(place(value)).to_string(), CUSTOM).digest;
        assert_eq!(digest(CANARY), digest(CANARY));
        assert_ne!(digest(CANARY), digest("An0therCanary"));
    }
}
