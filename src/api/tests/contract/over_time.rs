//! Images and fields over time.

use serde_json::{Value, json};

use super::{by, holds, page};
use crate::format::tests::{NOON, image_use};
use strandline_model::Offset;
use strandline_protocol::{FieldValue, VersionChange};

#[test]
fn what_was_over_time_has_the_documented_shape() {
    let lasting = image_use("nginx:1.27");
    let mut over = lasting.clone();
    (over.intervals[0].until, over.intervals[0].until_offset) = (Some(NOON), Some(Offset::new(9)));
    holds("ImageUsePage", &page(vec![lasting, over]));
    let value = |values: Value, change, until, changed_by| FieldValue {
        id: "7 spec.x".into(),
        field: "spec.x".into(),
        values: values.as_array().cloned().unwrap_or_default(),
        change,
        from: NOON,
        until,
        offset: Offset::new(7),
        changed_by,
    };
    let values = [
        value(json!([]), VersionChange::Deleted, None, None),
        value(json!([1, "a", null, {}, []]), VersionChange::Applied, Some(NOON), Some(by())),
    ];
    holds("FieldValuePage", &page(values.to_vec()));
}
