//! What concerns us of an object's metadata.

use std::borrow::Cow;

use serde::Deserialize;

use strandline_model::Timestamp;
use strandline_redact::Observation;

/// What concerns us of an object's metadata; none where that cannot be read.
pub(super) fn metadata<'a, M: Deserialize<'a>>(raw: &'a str) -> Option<M> {
    #[derive(Deserialize)]
    struct Object<M> {
        metadata: M,
    }
    serde_json::from_str(raw).ok().map(|object: Object<M>| object.metadata)
}

#[derive(Default, Deserialize)]
struct Times<'a> {
    #[serde(borrow, default, rename = "creationTimestamp")]
    created: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "deletionTimestamp")]
    deleted: Option<Cow<'a, str>>,
    #[serde(default, rename = "deletionGracePeriodSeconds")]
    grace: Option<i64>,
    #[serde(borrow, default, rename = "managedFields")]
    managed: Option<Vec<Managed<'a>>>,
}

#[derive(Deserialize)]
struct Managed<'a> {
    #[serde(borrow, default)]
    time: Option<Cow<'a, str>>,
}

/// The newest time in an object's metadata: it was changed then or later, by the cluster's clock.
pub(super) fn changed_at(raw: &str) -> Option<Timestamp> {
    let times: Times<'_> = metadata(raw)?;
    let parse = |text: &str| text.parse::<Timestamp>().ok();
    // A deletion is dated to the end of its grace period.
    let grace = times.grace.unwrap_or(0).max(0).saturating_mul(1_000_000);
    let deleted = times.deleted.as_deref().and_then(parse);
    let deleted = deleted.map(|deleted| Timestamp::from_micros(deleted.as_micros().saturating_sub(grace)));
    let managed = times.managed.unwrap_or_default();
    let managed = managed.iter().filter_map(|entry| parse(entry.time.as_deref()?)).max();
    times.created.as_deref().and_then(parse).max(deleted).max(managed)
}

/// The same of an object that was made ready for the log, without reading all of it again.
pub(super) fn observed_at(seen: &Observation) -> Option<Timestamp> {
    let managed = seen.changed_by.as_ref().and_then(|changed| changed.time);
    if managed.is_some() && !seen.body.contains("\"deletionTimestamp\":") {
        return managed;
    }
    changed_at(&seen.body).max(managed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    #[test]
    fn the_newest_time_of_an_object_is_that_of_its_last_change() {
        let object = |times: &str| format!(r#"{{"spec":{{}},"metadata":{{"name":"a",{times}}}}}"#);
        let created = r#""creationTimestamp":"1970-01-01T00:00:10Z""#;
        let deleted = r#""deletionTimestamp":"1970-01-01T00:00:50Z","deletionGracePeriodSeconds":30"#;
        let managed = r#""managedFields":[{"time":"1970-01-01T00:00:15Z"},{"manager":"m"}]"#;
        let cases = [
            (created.to_owned(), Some(at(10))),
            (format!("{created},{managed}"), Some(at(15))),
            (format!("{created},{managed},{deleted}"), Some(at(20))),
            (r#""creationTimestamp":null"#.to_owned(), None),
            (r#""creationTimestamp":"soon""#.to_owned(), None),
        ];
        for (times, expected) in cases {
            assert_eq!(changed_at(&object(&times)), expected, "{times}");
        }
    }
}
