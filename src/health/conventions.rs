//! Kinds without a rule of their own, by the one convention that most of them keep: a condition `Ready`.

use super::Finding;
use super::fields::{Malformed, Section, observed};
use crate::model::Health;
use crate::object::Object;

/// Judges by the condition `Ready`; none where the object has no such condition, so that nothing is known.
pub(super) fn judge(object: &Object<'_>) -> Result<Option<Finding>, Malformed> {
    let status = Section::status(object);
    let Some(ready) = status.condition("Ready")? else { return Ok(None) };
    let (reason, message) = (ready.text("reason")?, ready.text("message")?);
    let health = match ready.text("status")? {
        // What the controller says of an earlier wish does not hold for this one.
        _ if status.integer("observedGeneration")?.is_some() && !observed(object, status)? => {
            Health::Progressing
        }
        "True" => Health::Healthy,
        "False" => Health::Degraded,
        _ => Health::Progressing,
    };
    Ok(Some(Finding::new(health, reason, message)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::line;

    #[test]
    fn ready_decides_once_the_wish_was_seen() {
        for (status, observed, expected) in [
            ("True", 2, "conventions/Ready: Healthy [Why] so"),
            ("False", 2, "conventions/Ready: Degraded [Why] so"),
            ("Unknown", 2, "conventions/Ready: Progressing [Why] so"),
            ("True", 1, "conventions/Ready: Progressing [Why] so"),
        ] {
            let conditions = json!([{"type": "Ready", "status": status, "reason": "Why", "message": "so"}]);
            let object = json!({"apiVersion": "example.dev/v1", "kind": "Database", "metadata": {"generation": 2},
                "status": {"observedGeneration": observed, "conditions": conditions}});
            assert_eq!(line(&object), expected);
        }
        let silent =
            json!({"apiVersion": "example.dev/v1", "kind": "Database", "status": {"phase": "Running"}});
        assert_eq!(line(&silent), "unassessed: Unknown []");
    }
}
