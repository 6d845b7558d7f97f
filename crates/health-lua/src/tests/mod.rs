//! Scripts judged from end to end.
#![expect(clippy::unwrap_used, reason = "a test that cannot read its own fixture has failed")]

mod hostile;
mod layout;
mod lua;
mod patterns;
mod sources;

use serde_json::{Value, json};

use crate::{Judge, Scripts};
use strandline_health::Patience;
use strandline_model::{Health, Verdict};
use strandline_object::Object;

/// A set with one script, for the kind Thing.
pub(super) fn one(script: &str) -> Scripts {
    Scripts::from_folder([("example.org/Thing/health.lua".to_owned(), script.to_owned())]).unwrap()
}

/// An object of the kind Thing.
pub(super) fn thing(status: &Value) -> Value {
    json!({"apiVersion": "example.org/v1", "kind": "Thing", "metadata": {"name": "it", "generation": 2}, "status": status})
}

/// The verdict of a judge.
pub(super) fn judged(judge: &Judge, object: &Value) -> Verdict {
    judge.judge(&Object::parse(&object.to_string()).unwrap())
}

/// The verdict of a script in one readable line.
pub(super) fn line(script: &str, object: &Value) -> String {
    shown(judged(&Judge::new(&one(script), Patience::default()), object))
}

/// A verdict in one readable line.
pub(super) fn shown(verdict: Verdict) -> String {
    let Verdict { health, reason, message, rule, .. } = verdict;
    let health = health.map_or("none", Health::as_str);
    format!("{rule}: {health} [{reason}] {message}").trim_end().to_owned()
}

/// What a Lua expression is, as text.
pub(super) fn value(expression: &str) -> String {
    let script = format!("return {{status = 'Healthy', message = tostring({expression})}}");
    let verdict = judged(&Judge::new(&one(&script), Patience::default()), &thing(&Value::Null));
    assert_eq!(verdict.health, Some(Health::Healthy), "{expression}: {verdict:?}");
    verdict.message
}
