//! Patterns for kinds, as people write them.

use std::fmt;
use std::str::FromStr;

use crate::key::Kind;
use strandline_syntax::is_subdomain;

/// A pattern for kinds: `Secret`, `Lease.coordination.k8s.io`, or `*.metrics.k8s.io` for a whole group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindPattern {
    kind: String,
    group: String,
}

impl KindPattern {
    /// Whether the pattern means this kind.
    pub fn matches(&self, kind: &Kind) -> bool {
        (self.kind == "*" || self.kind == kind.kind) && self.group == kind.group
    }

    /// Whether it means a whole group.
    pub fn is_group(&self) -> bool {
        self.kind == "*"
    }
}

impl FromStr for KindPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (kind, group) = text.split_once('.').map_or((text, None), |(kind, group)| (kind, Some(group)));
        let named = kind.starts_with(|c: char| c.is_ascii_uppercase())
            && kind.bytes().all(|b| b.is_ascii_alphanumeric());
        if (named || kind == "*") && group.is_none_or(is_subdomain) {
            Ok(KindPattern { kind: kind.to_owned(), group: group.unwrap_or_default().to_owned() })
        } else {
            Err(format!("invalid kind `{text}`; write Kind, Kind.group or *.group"))
        }
    }
}

impl fmt::Display for KindPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if self.group.is_empty() { Ok(()) } else { write!(f, ".{}", self.group) }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_a_kind_or_a_group() {
        let cases = [
            ("Secret", "", "Secret", true),
            ("Secret", "example.org", "Secret", false),
            ("Lease.coordination.k8s.io", "coordination.k8s.io", "Lease", true),
            ("Lease.coordination.k8s.io", "", "Lease", false),
            ("*.metrics.k8s.io", "metrics.k8s.io", "PodMetrics", true),
            ("*.metrics.k8s.io", "custom.metrics.k8s.io", "PodMetrics", false),
            ("*", "", "Pod", true),
            ("*", "apps", "Deployment", false),
        ];
        for (text, group, kind, expected) in cases {
            let pattern: KindPattern = text.parse().unwrap();
            assert_eq!(pattern.matches(&Kind::new(group, kind)), expected, "{text} {kind}.{group}");
            assert_eq!(pattern.to_string(), text);
        }
    }

    #[test]
    fn what_means_no_kind_is_refused() {
        for text in
            ["", "pods", "metrics.k8s.io", "Pod.", "*.", "*Pod", "Pod.Group", "Pod*", "Pod.a..b", "Pod.-a"]
        {
            let refused = text.parse::<KindPattern>().unwrap_err();
            assert!(refused.contains(&format!("`{text}`")), "{refused}");
        }
    }
}
