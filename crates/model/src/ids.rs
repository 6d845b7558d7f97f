//! Identifiers and positions, each a type of its own so that one cannot be used for another.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use strandline_syntax::{is_dns_label, is_project_path};

/// A change's position in the log: global, gap-free, never reused; zero means nothing yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Offset(u64);

impl Offset {
    /// Before the first change.
    pub const ZERO: Offset = Offset(0);

    /// The offset with this number.
    pub const fn new(value: u64) -> Self {
        Offset(value)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The position after this one.
    pub const fn next(self) -> Self {
        Offset(self.0 + 1)
    }

    /// As SQLite stores it; an offset beyond 2⁶³ cannot arise, since SQLite assigns none.
    pub const fn as_i64(self) -> i64 {
        self.0 as i64
    }

    /// From a column that was written by [`Offset::as_i64`]; a negative value reads as zero.
    pub const fn from_i64(value: i64) -> Self {
        Offset(if value < 0 { 0 } else { value as u64 })
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One incarnation of one resource, as the log numbers them; the view uses the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResourceId(pub i64);

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps the text.
            pub fn new(value: impl Into<String>) -> Self {
                Self(value.into())
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether there is no text.
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

text_id! {
    /// Kubernetes' own identity of an object; a recreated object has another one.
    Uid
}

text_id! {
    /// The name by which people and addresses refer to an environment, such as `shop.web.production`.
    EnvironmentId
}

impl EnvironmentId {
    /// The name that a project's environment gets unless it is given another: slashes become dots, and what
    /// cannot be in an address becomes a dash.
    pub fn of(project: &str, name: &str) -> Self {
        let mut id = Self::prefix(project);
        for c in name.chars() {
            match c {
                // A second dot after that of the prefix would be another project's.
                '/' | '.' if id.ends_with('.') => id.push('-'),
                '/' => id.push('.'),
                _ => id.push(plain(c)),
            }
        }
        EnvironmentId(id)
    }

    /// How the names of a project's own environments begin. A dot of its path is written twice, so that those of
    /// `shop/web` never look like those of `shop/web.api`.
    pub fn prefix(project: &str) -> String {
        let mut prefix = String::with_capacity(project.len() + 1);
        for c in project.chars() {
            match c {
                '/' => prefix.push('.'),
                '.' => prefix.push_str(".."),
                _ => prefix.push(plain(c)),
            }
        }
        prefix.push('.');
        prefix
    }

    /// Whether the name begins as those of a project's own environments do.
    pub fn is_of(&self, project: &str) -> bool {
        let rest = self.0.strip_prefix(&Self::prefix(project));
        rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('.'))
    }

    /// Whether the text can be in an address as it is. Whoever reads an address takes `.` and `..` for a way in it.
    pub fn is_plain(&self) -> bool {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        (1..=255).contains(&self.0.len()) && self.0.bytes().all(plain) && self.0.bytes().any(|b| b != b'.')
    }
}

/// A letter as it is in an address.
fn plain(c: char) -> char {
    if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' }
}

/// An agent, as `environment:kubernetes:agent` names it: `path/to/config/project:agent-name`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentId {
    project: String,
    name: String,
}

impl AgentId {
    /// The agent of a project.
    pub fn new(project: impl Into<String>, name: impl Into<String>) -> Self {
        AgentId { project: project.into(), name: name.into() }
    }

    /// Full path of the project that owns it.
    pub fn project(&self) -> &str {
        &self.project
    }

    /// Its name in the project.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.project, self.name))
    }
}

impl FromStr for AgentId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some((project, name)) if is_project_path(project) && is_dns_label(name) => {
                Ok(AgentId::new(project, name))
            }
            _ => Err(format!("invalid agent `{text}`; write path/to/project:agent-name")),
        }
    }
}

impl Serialize for AgentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for AgentId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

text_id! {
    /// The cluster's own token for a state: kept and handed back to watch.
    ResourceVersion
}

impl ResourceVersion {
    /// Orders two tokens of one kind where that is defined.
    ///
    /// Kubernetes defines the order for decimal numbers without leading zeros and of any length
    /// (KEP-5504, general since 1.35). Any other token can only be equal or not, so this is `None`.
    pub fn compare(&self, other: &ResourceVersion) -> Option<Ordering> {
        fn number(text: &str) -> Option<&str> {
            let plain =
                !text.is_empty() && !text.starts_with('0') && text.bytes().all(|b| b.is_ascii_digit());
            plain.then_some(text)
        }
        if self == other {
            return Some(Ordering::Equal);
        }
        let (left, right) = (number(&self.0)?, number(&other.0)?);
        Some(left.len().cmp(&right.len()).then_with(|| left.cmp(right)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_project_are_never_those_of_another() {
        let of = |project: &str, name: &str| EnvironmentId::of(project, name).to_string();
        assert_eq!(of("shop/web", "production/us-region"), "shop.web.production.us-region");
        assert_eq!(of("shop/web.api", "production"), "shop.web..api.production");
        let projects = ["shop/web", "shop/web.api", "shop/web-api", "shop/we", "shop/web.", "shop/web_api"];
        let names = ["production", ".api.production", "/api.production", "api.production", "..", "a b", "é"];
        for own in projects {
            for id in names.map(|name| EnvironmentId::of(own, name)) {
                let owners: Vec<_> = projects.into_iter().filter(|project| id.is_of(project)).collect();
                assert_eq!(owners, [own], "{id}");
            }
        }
        for id in ["shop.web.", "shop.web", "shop.webx.a", "payments.api.x", "shop.web..api.x"] {
            assert!(!EnvironmentId::new(id).is_of("shop/web"), "{id}");
        }
    }

    #[test]
    fn an_id_can_be_in_an_address() {
        for (id, plain) in [
            ("a", true),
            ("..a", true),
            ("a/b", false),
            ("", false),
            (".", false),
            ("..", false),
            ("...", false),
        ] {
            assert_eq!(EnvironmentId::new(id).is_plain(), plain, "{id}");
        }
    }

    #[test]
    fn resource_versions_compare_as_numbers_of_any_length() {
        let compare = |a: &str, b: &str| ResourceVersion::new(a).compare(&ResourceVersion::new(b));
        assert_eq!(compare("9", "10"), Some(Ordering::Less));
        assert_eq!(compare("123456789012345678901234567890", "9"), Some(Ordering::Greater));
        assert_eq!(compare("7", "7"), Some(Ordering::Equal));
        assert_eq!(compare("abc", "abc"), Some(Ordering::Equal));
        assert_eq!(compare("abc", "abd"), None);
        assert_eq!(compare("0", "1"), None);
        assert_eq!(compare("007", "8"), None);
        assert_eq!(compare("", "8"), None);
    }
}
