//! What bodies may hold, whatever they hold.

mod load;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::input::{AgentRef, TEXT_MAX};
use super::{AgentInput, CatalogCode, DeploymentInput, EnvironmentInput, ProjectInput};
use strandline_syntax::is_dns_label;

const MEMBERS: [&str; 24] = [
    "id",
    "project",
    "name",
    "slug",
    "tier",
    "region",
    "labels",
    "external_url",
    "state",
    "dynamic",
    "auto_stop_at",
    "cluster_agent",
    "kubernetes_namespace",
    "flux_resource_path",
    "targets",
    "cluster",
    "configuration",
    "default_branch",
    "environment",
    "status",
    "kubernetes",
    "variables",
    "user",
    "job",
];

/// Values that members have, often those of other members.
fn value() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("shop/web"),
        Just("ops/agents:prod"),
        Just("production"),
        Just("available"),
        Just("success"),
        Just("2026-11-20T12:00:00Z"),
        Just("Not One"),
        Just(""),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        word.prop_map(Value::from),
        "[a-z/:. -]{0,80}".prop_map(Value::from),
    ];
    let key = prop_oneof![
        proptest::sample::select(&MEMBERS[..]).prop_map(str::to_owned),
        Just("namespace".to_owned()),
        Just("agent".to_owned()),
        Just("path_with_namespace".to_owned()),
    ];
    leaf.prop_recursive(3, 12, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(key.clone(), inner, 0..4)
                .prop_map(|members| Value::from(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn body() -> impl Strategy<Value = Value> {
    let member = (proptest::sample::select(&MEMBERS[..]), value());
    proptest::collection::vec(member, 0..6)
        .prop_map(|members| {
            members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>()
        })
        .prop_map(Value::from)
}

proptest! {
    #[test]
    fn any_body_is_taken_or_refused_with_its_field(body in body()) {
        if let Ok(input) = serde_json::from_value::<EnvironmentInput>(body.clone()) {
            match input.check(None, Some("shop/web")) {
                Ok(_) => {
                    let namespace = body["kubernetes_namespace"].as_str().unwrap_or_default();
                    prop_assert!(namespace.is_empty() || is_dns_label(namespace));
                    for target in body["targets"].as_array().into_iter().flatten() {
                        let said = |name: &str| target[name].as_str().is_some_and(|text| !text.is_empty());
                        prop_assert_eq!(said("cluster"), target["agent"].is_null());
                    }
                }
                Err(refusal) => {
                    prop_assert_eq!(refusal.code, CatalogCode::InvalidValue);
                    prop_assert!(!refusal.field.is_empty(), "{}", refusal);
                }
            }
        }
        if let Ok(input) = serde_json::from_value::<DeploymentInput>(body.clone())
            && let Err(refusal) = input.check()
        {
            prop_assert!(!refusal.field.is_empty(), "{}", refusal);
        }
        if let Ok(input) = serde_json::from_value::<AgentInput>(body.clone()) {
            let refused = input.check().err();
            prop_assert!(refused.is_none_or(|refusal| !refusal.field.is_empty()));
        }
        if let Ok(input) = serde_json::from_value::<ProjectInput>(body) {
            prop_assert!(input.warnings().len() <= 21);
        }
    }
}

#[test]
fn an_agent_is_named_in_three_ways() {
    for (given, expected) in [
        (json!("ops/agents:prod"), Some("ops/agents:prod")),
        (json!("prod"), Some("shop/web:prod")),
        (
            json!({ "name": "prod", "config_project": { "path_with_namespace": "ops/agents", "id": 1 } }),
            Some("ops/agents:prod"),
        ),
        (json!({ "name": "prod", "config_project": "ops/agents", "id": 7 }), Some("ops/agents:prod")),
        (json!("Prod"), None),
        (json!(""), None),
        (json!("ops/agents:"), None),
        (json!("a".repeat(TEXT_MAX)), None),
    ] {
        let named: AgentRef = serde_json::from_value(given.clone()).expect("one of its forms");
        let id = named.id("kubernetes.agent", "shop/web").ok().map(|id| id.to_string());
        assert_eq!(id.as_deref(), expected, "{given}");
    }
}

#[test]
fn an_external_url_with_a_login_is_refused() {
    let check = |url: &str| {
        let input: EnvironmentInput =
            serde_json::from_value(json!({"external_url": url})).expect("it is one");
        input.check(None, Some("shop/web"))
    };
    assert!(check("https://shop.example.com/@me").is_ok());
    let error = check("https://me:tulip@shop.example.com").expect_err("it has a login");
    assert_eq!((error.code, error.field.as_str()), (CatalogCode::InvalidValue, "external_url"));
    assert!(!format!("{error:?} {error}").contains("tulip"));
}
