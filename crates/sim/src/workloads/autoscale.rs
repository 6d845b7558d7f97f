//! Autoscalers.

use serde_json::{Value, json};

use super::catalog::{Component, Location};
use super::metadata::{Identity, Metadata, chart_annotations, chart_labels, condition};
use crate::api_server::seconds;
use strandline_model::Timestamp;

/// An autoscaler's state.
#[derive(Clone, Debug)]
pub(crate) struct Autoscaler {
    pub(crate) identity: Identity,
    pub(crate) minimum: u32,
    pub(crate) maximum: u32,
    pub(crate) current: u32,
    pub(crate) desired: u32,
    /// Average use of the requested CPU in percent.
    pub(crate) utilization: u64,
    pub(crate) scaled_at: Timestamp,
}

/// The HorizontalPodAutoscaler of a Deployment.
pub(crate) fn autoscaler(location: &Location, component: &Component, scaler: &Autoscaler) -> Value {
    let millis = scaler.utilization * 250 / 100;
    let created = scaler.identity.created;
    let limited = scaler.desired == scaler.maximum;
    let (limit_reason, limit_message) = if limited {
        ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
    } else {
        ("DesiredWithinRange", "the desired count is within the acceptable range")
    };
    Metadata::of(&scaler.identity)
        .namespace(&location.namespace)
        .labels(chart_labels(location, component))
        .annotations(chart_annotations(location))
        .object(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            json!({
                "spec": {
                    "scaleTargetRef": {"kind": "Deployment", "name": component.name, "apiVersion": "apps/v1"},
                    "minReplicas": scaler.minimum,
                    "maxReplicas": scaler.maximum,
                    "metrics": [{"type": "Resource", "resource": {
                        "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70},
                    }}],
                },
                "status": {
                    "lastScaleTime": seconds(scaler.scaled_at),
                    "currentReplicas": scaler.current,
                    "desiredReplicas": scaler.desired,
                    "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {
                        "averageUtilization": scaler.utilization, "averageValue": format!("{millis}m"),
                    }}}],
                    "conditions": [
                        condition("AbleToScale", true, created, "ReadyForNewScale", "recommended size matches current size"),
                        condition("ScalingActive", true, created, "ValidMetricFound", "the HPA was able to successfully \
                            calculate a replica count from cpu resource utilization (percentage of request)"),
                        condition("ScalingLimited", limited, scaler.scaled_at, limit_reason, limit_message),
                    ],
                },
            }),
        )
}
