//! The rules by which objects are judged, linked and counted: the program's own, and what users add to them.

use std::time::Duration;

use strandline_health::Patience;
use strandline_health_lua::Scripts;
use strandline_model::{Kind, KindPattern};
use strandline_relations::Relations;
use strandline_syntax::LabelSelector;

/// Raise this when the program's own rules judge, link or count in another way than before.
pub const RULES_VERSION: u32 = 9;

/// Whether the health of a kind is its environment's though something owns it. Owners reflect what they own, save for the
/// volumes of Pods and StatefulSets: one that is lost shows in none of their states until a Pod is made anew.
pub fn counts_by_itself(kind: &Kind) -> bool {
    *kind == Kind::new("", "PersistentVolumeClaim")
}

/// What users add to the program's rules.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    /// Scripts that judge health.
    pub scripts: Scripts,
    /// Links of their own.
    pub relations: Relations,
    /// Resources whose health does not count for their environments.
    pub exceptions: Vec<Exception>,
    /// For how long a Progressing resource does not make its environment Progressing.
    pub progressing_grace: Duration,
    /// For how long what may still come right is given time.
    pub patience: Patience,
}

/// Sets that judge alike are equal.
impl PartialEq for RuleSet {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for RuleSet {}

/// Resources whose health does not count: those of a kind, those with certain labels, or those with both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// Of this kind; of all where there is none.
    pub kind: Option<KindPattern>,
    /// With labels like these.
    pub labels: LabelSelector,
}

impl RuleSet {
    /// Tells this set of rules from every other: the version of the program's rules and, where users added to
    /// them, a digest of what they added, such as `4+0c5f0d2a9b1e`.
    pub fn name(&self) -> String {
        let files = self.scripts.is_empty() && self.relations.is_empty();
        let times = self.progressing_grace.is_zero() && self.patience == Patience::default();
        if files && self.exceptions.is_empty() && times {
            return RULES_VERSION.to_string();
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.scripts.digest());
        hasher.update(&self.relations.digest());
        let Patience { unschedulable, unreported } = self.patience;
        for time in [Some(self.progressing_grace), unschedulable, Some(unreported)] {
            hasher.update(&time.map_or(u128::MAX, |time| time.as_micros()).to_le_bytes());
        }
        for Exception { kind, labels } in &self.exceptions {
            let kind = kind.as_ref().map(ToString::to_string).unwrap_or_default();
            hasher.update(format!("{kind}\0{labels}\0").as_bytes());
        }
        let digest = hasher.finalize().to_hex();
        format!("{RULES_VERSION}+{}", digest.get(..12).unwrap_or_default())
    }

    /// Whether the health of a resource with these labels counts for its environments.
    pub fn counts<'a>(&self, kind: &Kind, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        let of_kind = |exception: &Exception| exception.kind.as_ref().is_none_or(|of| of.matches(kind));
        !self.exceptions.iter().any(|exception| of_kind(exception) && exception.labels.matches(&label))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that cannot read its own fixture has failed")]
mod tests {
    use super::*;

    fn exception(kind: &str, labels: &str) -> Exception {
        let kind = (!kind.is_empty()).then(|| kind.parse().unwrap());
        Exception { kind, labels: labels.parse().unwrap() }
    }

    #[test]
    fn an_exception_asks_for_kind_and_labels() {
        let rules = RuleSet {
            exceptions: vec![
                exception("Job.batch", ""),
                exception("", "canary"),
                exception("Pod", "tier=debug"),
            ],
            ..RuleSet::default()
        };
        let counts = |group: &str, kind: &str, label: &str| {
            let (name, value) = label.split_once('=').unwrap_or(("", ""));
            rules.counts(&Kind::new(group, kind), |of| (of == name).then_some(value))
        };
        assert!(!counts("batch", "Job", ""));
        assert!(counts("", "Job", ""));
        assert!(!counts("apps", "Deployment", "canary=yes"));
        assert!(!counts("", "Pod", "tier=debug"));
        assert!(counts("", "Pod", "tier=web"));
        assert!(counts("apps", "Deployment", "tier=debug"));
    }

    #[test]
    fn every_set_has_its_own_name() {
        let plain = RuleSet::default();
        let patient = RuleSet { progressing_grace: Duration::from_secs(60), ..RuleSet::default() };
        let excepting = |labels| RuleSet { exceptions: vec![exception("Pod", labels)], ..RuleSet::default() };
        let waiting = |patience| RuleSet { patience, ..RuleSet::default() }.name();
        let usual = Patience::default();
        let names = [
            plain.name(),
            patient.name(),
            excepting("").name(),
            excepting("a=b").name(),
            waiting(Patience { unschedulable: None, ..usual }),
            waiting(Patience { unreported: Duration::ZERO, ..usual }),
        ];
        assert_eq!(names[0], RULES_VERSION.to_string());
        let distinct: std::collections::BTreeSet<_> = names.iter().collect();
        assert_eq!(distinct.len(), names.len(), "{names:?}");
        assert_eq!(excepting("a=b").name(), names[3]);
    }
}
