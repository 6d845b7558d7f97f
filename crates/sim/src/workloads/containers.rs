//! What runs in a Pod: the specification that templates and Pods share.

use serde_json::{Value, json};

use super::catalog::{Component, Location, NEEDED, Shape, Template};
use super::config::SECRET_CANARY;
use super::metadata::{merge, pod_labels, selector_labels};

/// The `template` of a Deployment, ReplicaSet or StatefulSet.
pub(crate) fn template(location: &Location, template: &Template, hash: Option<&str>) -> Value {
    let mut labels = pod_labels(location, template.component);
    if let Some(hash) = hash {
        labels = merge(labels, json!({"pod-template-hash": hash}));
    }
    json!({
        "metadata": {
            "labels": labels,
            "annotations": template_annotations(template),
        },
        "spec": pod_spec(location, template),
    })
}

/// Annotations of Pods and their templates.
pub(crate) fn template_annotations(template: &Template) -> Value {
    json!({
        "checksum/config": blake3::hash(&template.config.to_le_bytes()).to_hex().as_str(),
        "prometheus.io/port": template.component.port.to_string(),
        "prometheus.io/scrape": "true",
    })
}

/// The Pod specification as a chart writes it, with the server's defaults.
pub(crate) fn pod_spec(location: &Location, template: &Template) -> Value {
    let component = template.component;
    let mut spec = json!({
        "volumes": volumes(component),
        "containers": [container(location, template)],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": component.name,
        "serviceAccount": component.name,
        "securityContext": {
            "runAsUser": 10001,
            "runAsNonRoot": true,
            "fsGroup": 10001,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "schedulerName": "default-scheduler",
        "enableServiceLinks": false,
    });
    if component.replicas > 1 {
        spec["topologySpreadConstraints"] = json!([{
            "maxSkew": 1,
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "ScheduleAnyway",
            "labelSelector": {"matchLabels": selector_labels(component)},
        }]);
    }
    if component.is_deployment() {
        spec["imagePullSecrets"] = json!([{"name": "gitlab-registry"}]);
    }
    spec
}

fn volumes(component: &Component) -> Value {
    let name = component.name;
    json!([
        {"name": "config", "configMap": {"name": format!("{name}-config"), "defaultMode": 420}},
        {"name": "credentials", "secret": {"secretName": format!("{name}-credentials"), "defaultMode": 256}},
        {"name": "tmp", "emptyDir": {}},
    ])
}

fn container(location: &Location, template: &Template) -> Value {
    let component = template.component;
    let stateful = !component.is_deployment();
    let mut mounts = json!([
        {"name": "config", "readOnly": true, "mountPath": "/etc/app"},
        {"name": "credentials", "readOnly": true, "mountPath": "/run/secrets/app"},
        {"name": "tmp", "mountPath": "/tmp"},
    ]);
    if let (true, Some(list)) = (stateful, mounts.as_array_mut()) {
        list.push(json!({"name": "data", "mountPath": "/var/lib/data"}));
    }
    json!({
        "name": component.name,
        "image": template.image(location),
        "args": ["--config=/etc/app/config.yaml", "--log-format=json"],
        "ports": [
            {"name": "main", "containerPort": component.port, "protocol": "TCP"},
            {"name": "metrics", "containerPort": 9102, "protocol": "TCP"},
        ],
        "env": environment(location, component),
        "resources": resources(component),
        "volumeMounts": mounts,
        "livenessProbe": probe(component, "/-/live", 15, 20),
        "readinessProbe": probe(component, "/-/ready", 3, 5),
        "startupProbe": probe(component, "/-/started", 0, 2),
        "lifecycle": {"preStop": {"sleep": {"seconds": 5}}},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": true,
            "allowPrivilegeEscalation": false,
        },
    })
}

fn environment(location: &Location, component: &Component) -> Value {
    let (config, secret) = (format!("{}-config", component.name), format!("{}-credentials", component.name));
    let from_config = |name: &str, key: &str| json!({"name": name, "valueFrom": {"configMapKeyRef": {"name": config, "key": key}}});
    let from_secret = |name: &str, key: &str| json!({"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}});
    let from_field = |name: &str, path: &str| json!({"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}});
    let mut variables = vec![
        from_field("POD_NAME", "metadata.name"),
        from_field("POD_IP", "status.podIP"),
        json!({"name": "ENVIRONMENT", "value": location.environment}),
        json!({"name": "REGION", "value": location.region}),
        json!({"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://otel-collector.observability:4317"}),
        from_config("LOG_LEVEL", "log_level"),
        from_config("FEATURES", NEEDED),
        from_secret("DATABASE_URL", "database_url"),
        from_secret("API_TOKEN", "api_token"),
    ];
    // A literal credential, as one finds them in the wild: it must be masked before it is recorded.
    if component.shape == Shape::Worker {
        variables
            .push(json!({"name": "SMTP_PASSWORD", "value": format!("{SECRET_CANARY}{}", component.name)}));
    }
    Value::Array(variables)
}

fn resources(component: &Component) -> Value {
    match component.shape {
        Shape::Server | Shape::Worker => json!({
            "limits": {"memory": "512Mi"},
            "requests": {"cpu": "250m", "memory": "384Mi"},
        }),
        Shape::Stateful | Shape::Database => json!({
            "limits": {"memory": "2Gi"},
            "requests": {"cpu": "1", "memory": "2Gi"},
        }),
    }
}

fn probe(component: &Component, path: &str, delay: u32, period: u32) -> Value {
    let mut probe = match component.shape {
        Shape::Server | Shape::Worker => json!({"httpGet": {"path": path, "port": "main", "scheme": "HTTP"}}),
        Shape::Stateful | Shape::Database => json!({"tcpSocket": {"port": "main"}}),
    };
    if delay > 0 {
        probe["initialDelaySeconds"] = delay.into();
    }
    merge(
        probe,
        json!({"timeoutSeconds": 2, "periodSeconds": period, "successThreshold": 1, "failureThreshold": 3}),
    )
}
