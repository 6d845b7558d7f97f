//! How Pods are reached: Services, EndpointSlices, Ingresses.

use serde_json::{Value, json};

use super::catalog::{Component, Location, Shape};
use super::metadata::{Identity, Metadata, chart_annotations, chart_labels, merge, selector_labels};

/// The Service of a component; a stateful one has no address of its own.
pub(crate) fn service(
    location: &Location,
    component: &Component,
    identity: &Identity,
    address: &str,
) -> Value {
    let address = if component.shape == Shape::Stateful { "None" } else { address };
    Metadata::of(identity)
        .namespace(&location.namespace)
        .labels(chart_labels(location, component))
        .annotations(chart_annotations(location))
        .object(
            "v1",
            "Service",
            json!({
                "spec": {
                    "ports": [
                        {"name": "main", "protocol": "TCP", "port": 80, "targetPort": "main"},
                        {"name": "metrics", "protocol": "TCP", "port": 9102, "targetPort": "metrics"},
                    ],
                    "selector": selector_labels(component),
                    "clusterIP": address,
                    "clusterIPs": [address],
                    "type": "ClusterIP",
                    "sessionAffinity": "None",
                    "ipFamilies": ["IPv4"],
                    "ipFamilyPolicy": "SingleStack",
                    "internalTrafficPolicy": "Cluster",
                },
                "status": {"loadBalancer": {}},
            }),
        )
}

/// One Pod behind a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) pod: String,
    pub(crate) uid: String,
    pub(crate) address: String,
    pub(crate) node: String,
    pub(crate) zone: String,
    pub(crate) ready: bool,
    pub(crate) terminating: bool,
}

/// The EndpointSlice of a Service.
pub(crate) fn endpoint_slice(
    location: &Location,
    component: &Component,
    identity: &Identity,
    service: &Identity,
    endpoints: &[Endpoint],
) -> Value {
    let endpoints: Vec<Value> = endpoints
        .iter()
        .map(|endpoint| {
            json!({
                "addresses": [endpoint.address],
                "conditions": {
                    "ready": endpoint.ready && !endpoint.terminating,
                    "serving": endpoint.ready,
                    "terminating": endpoint.terminating,
                },
                "targetRef": {
                    "kind": "Pod",
                    "namespace": location.namespace,
                    "name": endpoint.pod,
                    "uid": endpoint.uid,
                },
                "nodeName": endpoint.node,
                "zone": endpoint.zone,
            })
        })
        .collect();
    let labels = json!({
        "kubernetes.io/service-name": service.name,
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    });
    Metadata::of(identity)
        .namespace(&location.namespace)
        .with("generateName", format!("{}-", service.name))
        .labels(merge(chart_labels(location, component), labels))
        .owner("v1", "Service", service)
        .object(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            json!({
                "addressType": "IPv4",
                "endpoints": endpoints,
                "ports": [
                    {"name": "main", "port": component.port, "protocol": "TCP"},
                    {"name": "metrics", "port": 9102, "protocol": "TCP"},
                ],
            }),
        )
}

/// The way in from outside.
pub(crate) fn ingress(location: &Location, component: &Component, identity: &Identity) -> Value {
    let host = location.host(component);
    let backend = json!({"service": {"name": component.name, "port": {"name": "main"}}});
    let annotations = json!({
        "cert-manager.io/cluster-issuer": "letsencrypt",
        "nginx.ingress.kubernetes.io/proxy-body-size": "8m",
    });
    Metadata::of(identity)
        .namespace(&location.namespace)
        .labels(chart_labels(location, component))
        .annotations(merge(chart_annotations(location), annotations))
        .object(
            "networking.k8s.io/v1",
            "Ingress",
            json!({
                "spec": {
                    "ingressClassName": "nginx",
                    "tls": [{"hosts": [host], "secretName": format!("{}-credentials", component.name)}],
                    "rules": [{
                        "host": host,
                        "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]},
                    }],
                },
                "status": {"loadBalancer": {"ingress": [{"hostname": format!("lb.{}.example.com", location.cluster)}]}},
            }),
        )
}
