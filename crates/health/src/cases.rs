//! Objects with the health that somebody says they have, with which verdicts are compared.

use std::str::FromStr;

use serde_json::Value;

use strandline_model::{Health, Verdict};

/// An object with the health that it is said to have.
#[derive(Clone, Debug)]
pub struct Case {
    /// What the case is called; may be empty.
    pub case: String,
    /// The health that is wanted; none for no health.
    pub want: Option<Health>,
    /// The health once the same state has lasted for too long, where the case has that.
    pub later: Option<Option<Health>>,
    /// The object.
    pub object: Value,
}

impl FromStr for Case {
    type Err = String;

    /// Reads `{case, want, later, object}` as JSON; other members are left to whoever wrote them.
    fn from_str(text: &str) -> Result<Self, String> {
        let members: Value = serde_json::from_str(text).map_err(|_| "not JSON")?;
        let text = |name: &str| members.get(name).and_then(Value::as_str);
        let health = |word: &str| match word.eq_ignore_ascii_case("none") {
            true => Ok(None),
            false => Health::from_str(word).map(Some).map_err(|why| format!("{why}, or none")),
        };
        let object = members.get("object").filter(|object| object.is_object());
        let (Some(want), Some(object)) = (text("want"), object) else {
            return Err("not a case; it needs `want`, a health or none, and `object`".to_owned());
        };
        Ok(Case {
            case: text("case").unwrap_or_default().to_owned(),
            want: health(want)?,
            later: text("later").map(health).transpose()?,
            object: object.clone(),
        })
    }
}

impl Case {
    /// Whether a verdict is the one that the case wants.
    pub fn agrees(&self, verdict: &Verdict) -> bool {
        let later = verdict.later.as_ref().map(|later| later.health);
        verdict.health == self.want && self.later.is_none_or(|want| later == Some(want))
    }
}

/// How far verdicts agree with cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// How many cases there are.
    pub cases: usize,
    /// How many of them get the verdict that they want.
    pub agree: usize,
    /// How many want Degraded.
    pub degraded: usize,
    /// How many of these are judged Healthy, which is the worst mistake to make.
    pub degraded_as_healthy: usize,
}

impl Agreement {
    /// Counts one more case.
    pub fn count(&mut self, case: &Case, verdict: &Verdict) {
        let degraded = case.want == Some(Health::Degraded);
        self.cases += 1;
        self.agree += usize::from(case.agrees(verdict));
        self.degraded += usize::from(degraded);
        self.degraded_as_healthy += usize::from(degraded && verdict.health == Some(Health::Healthy));
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use crate::assess;
    use strandline_object::Object;

    #[test]
    fn a_case_wants_a_health_or_none_and_may_speak_of_later() {
        let agreement = |cases: &[&str]| {
            let mut agreement = Agreement::default();
            for text in cases {
                let case: Case = text.parse().unwrap();
                let object = case.object.to_string();
                agreement.count(&case, &assess(&Object::parse(&object).unwrap()));
            }
            let Agreement { cases, agree, degraded, degraded_as_healthy } = agreement;
            (cases, agree, degraded, degraded_as_healthy)
        };
        let map = r#"{"want": "none", "object": {"apiVersion": "v1", "kind": "ConfigMap"}}"#;
        let silent = r#"{"apiVersion": "a.example/v1", "kind": "A", "spec": {"a": 1}}"#;
        let phase = r#"{"apiVersion": "a.example/v1", "kind": "A", "status": {"phase": "Ready"}}"#;
        let silent = |more: &str| format!(r#"{{"want": "progressing", {more} "object": {silent}}}"#);
        assert_eq!(agreement(&[map, &silent(""), &silent(r#""later": "none","#)]), (3, 3, 0, 0));
        assert_eq!(agreement(&[&silent(r#""later": "Degraded","#)]), (1, 0, 0, 0));
        let phase =
            |want: &str| format!(r#"{{"case": "a", "extra": 7, "want": "{want}", "object": {phase}}}"#);
        assert_eq!(agreement(&[&phase("Degraded"), &phase("Healthy")]), (2, 1, 1, 1));
        let refused = |text: &str| text.parse::<Case>().err().unwrap_or_default();
        assert!(refused(&phase("Purple")).starts_with("invalid health `Purple`"));
        for text in [r#"{"want": "Healthy"}"#, r#"{"object": {}}"#, r#"{"want": 7, "object": {}}"#, "7"] {
            assert_eq!(
                refused(text),
                "not a case; it needs `want`, a health or none, and `object`",
                "{text}"
            );
        }
    }
}
