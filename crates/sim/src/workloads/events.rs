//! Kubernetes' own kind Event: what controllers and kubelets remark.

use serde_json::{Value, json};

use super::metadata::{Identity, Metadata};
use crate::api_server::seconds;
use strandline_model::Timestamp;

/// A remark on an object, counted while it repeats.
#[derive(Clone, Debug)]
pub(crate) struct Remark {
    pub(crate) identity: Identity,
    pub(crate) namespace: String,
    pub(crate) kind: &'static str,
    pub(crate) api_version: &'static str,
    pub(crate) about: Identity,
    pub(crate) warning: bool,
    pub(crate) reason: &'static str,
    pub(crate) message: String,
    pub(crate) component: &'static str,
    pub(crate) count: u32,
    pub(crate) last: Timestamp,
}

/// The object of a remark.
pub(crate) fn event(remark: &Remark) -> Value {
    Metadata::of(&remark.identity).namespace(&remark.namespace).object(
        "v1",
        "Event",
        json!({
            "involvedObject": {
                "kind": remark.kind,
                "namespace": remark.namespace,
                "name": remark.about.name,
                "uid": remark.about.uid,
                "apiVersion": remark.api_version,
            },
            "reason": remark.reason,
            "message": remark.message,
            "source": {"component": remark.component},
            "firstTimestamp": seconds(remark.identity.created),
            "lastTimestamp": seconds(remark.last),
            "count": remark.count,
            "type": if remark.warning { "Warning" } else { "Normal" },
            "eventTime": Value::Null,
            "reportingComponent": remark.component,
            "reportingInstance": "",
        }),
    )
}
