//! What the service tells of itself: its probes, and how the building of a view stands.

use serde_json::json;

use super::holds;
use strandline_model::Timestamp;
use strandline_protocol::{Check, RebuildReport, RebuildState};

#[test]
fn rebuilds_have_the_documented_shape() {
    let report = RebuildReport {
        state: RebuildState::Failed,
        begun_at: Some(Timestamp::from_micros(0)),
        ended_at: Some(Timestamp::from_micros(1)),
        error: "no room".into(),
        ..RebuildReport::default()
    };
    holds("Rebuild", &report);
    holds("Rebuild", &RebuildReport::default());
    for state in [RebuildState::None, RebuildState::Building, RebuildState::Done] {
        holds("Rebuild", &RebuildReport { state, ..RebuildReport::default() });
    }
}

#[test]
fn probes_have_the_documented_shape() {
    let check = Check { name: "log".into(), ok: false, detail: "disk full".into() };
    holds("Report", &json!({ "ok": false, "checks": [check] }));
}
