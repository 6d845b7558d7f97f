//! Configuration and what a namespace brings along: ConfigMaps, Secrets, ServiceAccounts, Namespaces.

use data_encoding::BASE64;
use serde_json::{Value, json};

use super::catalog::{Component, Fate, Location, NEEDED};
use super::metadata::{Identity, Metadata, chart_annotations, chart_labels, environment_labels, merge};
use strandline_model::Timestamp;

/// How every secret value of the demo begins, so that a test can look for it where it must not be.
pub const SECRET_CANARY: &str = "strandline-canary-";

/// [`SECRET_CANARY`] as it begins in a Secret's `data`.
pub const SECRET_CANARY_BASE64: &str = "c3RyYW5kbGluZS1jYW5hcnkt";

/// The configuration of a component with this fate.
pub(crate) fn config_map(
    location: &Location,
    component: &Component,
    identity: &Identity,
    config: u32,
    fate: Fate,
) -> Value {
    let level = if config.is_multiple_of(5) { "debug" } else { "info" };
    let features = ["new-header", "fast-path", "retry-budget", "dark-mode", "bulk-edit"];
    let count = 1 + config as usize % features.len();
    let pool = 10 + config % 7;
    let file = format!(
        "environment: {}\nregion: {}\nlisten: 0.0.0.0:{}\nlog:\n  level: {level}\n  format: json\npool:\n  size: {pool}\n  \
         timeout: 5s\nrevision: {config}\n",
        location.environment, location.region, component.port
    );
    let mut data = json!({"config.yaml": file, "log_level": level});
    if fate != Fate::Misconfigured {
        data[NEEDED] = features[..count.min(features.len())].join(",").into();
    }
    Metadata::of(identity)
        .namespace(&location.namespace)
        .labels(chart_labels(location, component))
        .annotations(chart_annotations(location))
        .object("v1", "ConfigMap", json!({"data": data}))
}

/// The credentials of a component; `rotation` counts how often they were replaced.
pub(crate) fn secret(
    location: &Location,
    component: &Component,
    identity: &Identity,
    rotation: u32,
) -> Value {
    let name = component.name;
    let value = |what: &str| format!("{SECRET_CANARY}{what}-{}-{rotation}", location.namespace);
    let mut annotations = chart_annotations(location);
    if location.project.deployer.manager == "kubectl" {
        let applied =
            json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"api_token": value("applied")}});
        annotations = merge(
            annotations,
            json!({"kubectl.kubernetes.io/last-applied-configuration": applied.to_string()}),
        );
    }
    let url = format!("{}://{name}:password@{name}-db:5432/{name}", value("url"));
    Metadata::of(identity)
        .namespace(&location.namespace)
        .labels(chart_labels(location, component))
        .annotations(annotations)
        .object(
            "v1",
            "Secret",
            json!({
                "data": {
                    "database_url": BASE64.encode(url.as_bytes()),
                    "api_token": BASE64.encode(value("token").as_bytes()),
                },
                "type": "Opaque",
            }),
        )
}

/// The credentials with which images are pulled.
pub(crate) fn registry_secret(location: &Location, identity: &Identity) -> Value {
    let login = format!("{SECRET_CANARY}registry-{}", location.namespace);
    Metadata::of(identity).namespace(&location.namespace).labels(environment_labels(location)).object(
        "v1",
        "Secret",
        json!({
            "data": {".dockerconfigjson": BASE64.encode(login.as_bytes())},
            "type": "kubernetes.io/dockerconfigjson",
        }),
    )
}

/// The account as which a component runs.
pub(crate) fn service_account(location: &Location, component: &Component, identity: &Identity) -> Value {
    Metadata::of(identity)
        .namespace(&location.namespace)
        .labels(chart_labels(location, component))
        .annotations(chart_annotations(location))
        .object("v1", "ServiceAccount", json!({"automountServiceAccountToken": false}))
}

/// The certificate bundle of every namespace.
pub(crate) fn root_certificate(namespace: &str, identity: &Identity) -> Value {
    let line = "MIIDBTCCAe2gAwIBAgIIRGVtb0NBMDAwDQYJKoZIhvcNAQELBQAwFTETMBEGA1UE\n";
    let bundle = format!("-----BEGIN CERTIFICATE-----\n{}-----END CERTIFICATE-----\n", line.repeat(16));
    Metadata::of(identity)
        .namespace(namespace)
        .annotations(json!({"kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver."}))
        .object("v1", "ConfigMap", json!({"data": {"ca.crt": bundle}}))
}

/// A namespace, active or on its way out.
pub(crate) fn namespace(identity: &Identity, labels: Value, deleting: Option<Timestamp>) -> Value {
    let labels = merge(json!({"kubernetes.io/metadata.name": identity.name}), labels);
    let phase = if deleting.is_some() { "Terminating" } else { "Active" };
    let metadata = Metadata::of(identity).labels(labels);
    // Unlike that of Pods, the deletion of a namespace has no grace period.
    let metadata = match deleting {
        Some(time) => metadata.with("deletionTimestamp", crate::api_server::seconds(time)),
        None => metadata,
    };
    metadata.object(
        "v1",
        "Namespace",
        json!({"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": phase}}),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_canary_is_told_in_base64_too() {
        assert_eq!(BASE64.encode(SECRET_CANARY.as_bytes()), SECRET_CANARY_BASE64);
    }
}
