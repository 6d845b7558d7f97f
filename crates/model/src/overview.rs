//! Which environments people look at, and how they are grouped: written in addresses, on the command line and in the
//! configuration.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use strandline_syntax::{Glob, LabelSelector, is_label_name};

use crate::environment::{EnvironmentState, Tier};
use crate::health::Health;
use crate::ids::AgentId;

/// Which environments a list or an overview holds. Of each part one value has to fit, and all parts have to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct EnvironmentFilter {
    /// Only these tiers; empty for all.
    #[serde(rename = "tier", skip_serializing_if = "Vec::is_empty")]
    pub tiers: Vec<Tier>,
    /// Only these regions; empty for all.
    #[serde(rename = "region", skip_serializing_if = "Vec::is_empty")]
    pub regions: Vec<String>,
    /// Only projects whose paths match one of these, without regard to case; empty for all.
    #[serde(rename = "project", skip_serializing_if = "Vec::is_empty")]
    pub projects: Vec<Glob>,
    /// Only projects below these groups, at any depth and without regard to case; empty for all.
    #[serde(rename = "group", skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupPath>,
    /// Only what looks into one of these clusters; empty for all.
    #[serde(rename = "cluster", skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<String>,
    /// Only what one of these agents serves; empty for all.
    #[serde(rename = "agent", skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<AgentId>,
    /// Only these states; empty for all.
    #[serde(rename = "state", skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<EnvironmentState>,
    /// Only names that match one of these; empty for all.
    #[serde(rename = "name", skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Glob>,
    /// Only those whose name holds this somewhere, without regard to case; empty for all.
    #[serde(skip)]
    pub search: String,
    /// Only these healths, as they show; empty for all.
    #[serde(rename = "health", skip_serializing_if = "Vec::is_empty")]
    pub healths: Vec<Health>,
    /// Only what carries such labels of users' own.
    #[serde(skip_serializing_if = "LabelSelector::is_empty", serialize_with = "written")]
    pub labels: LabelSelector,
}

/// As it is written, which is how people know it.
fn written<T: fmt::Display, S: Serializer>(value: &T, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

impl EnvironmentFilter {
    /// The states of environments that are in use, which lists and overviews hold where no state is asked for.
    pub const IN_USE: [EnvironmentState; 2] = [EnvironmentState::Available, EnvironmentState::Stopping];

    /// The most patterns with wildcards that one filter takes, so that its work stays bounded.
    pub const PATTERNS_MAX: usize = 20;

    /// Why these patterns cannot be combined in one filter; none where they may.
    pub fn conflict(patterns: &[Glob]) -> Option<String> {
        let wild = patterns.iter().filter(|pattern| pattern.is_wild()).count();
        let most = Self::PATTERNS_MAX;
        (wild > most).then(|| format!("{wild} patterns have wildcards; the limit is {most}"))
    }

    /// The same, of what is in use where it asks for no state.
    #[must_use]
    pub fn in_use_by_default(mut self) -> Self {
        if self.states.is_empty() {
            self.states = Self::IN_USE.to_vec();
        }
        self
    }
}

/// The path of a group, or of a project, which means itself; without `/` at its ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct GroupPath(String);

impl GroupPath {
    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// In the form in which paths are compared.
    pub fn folded(&self) -> String {
        self.0.to_lowercase()
    }
}

impl fmt::Display for GroupPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for GroupPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let path = text.trim_matches('/');
        if path.is_empty() || path.split('/').any(str::is_empty) {
            return Err(format!("invalid group path `{text}`; write a path such as shop or shop/payments"));
        }
        Ok(GroupPath(path.to_owned()))
    }
}

/// By what environments are grouped in an overview.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GroupBy {
    /// Tier.
    Tier,
    /// Region.
    Region,
    /// Project.
    Project,
    /// The group or project directly below the group that is asked for or, where none is, the first group of the path.
    Group,
    /// Each cluster that an environment looks into.
    Cluster,
    /// Each agent that serves it.
    Agent,
    /// Health, as it shows.
    Health,
    /// State.
    State,
    /// The value of a label of users' own.
    Label(String),
}

impl GroupBy {
    /// The most of them in one overview.
    pub const MAX: usize = 2;

    /// The words, but for those of labels.
    pub const WORDS: [(&'static str, GroupBy); 8] = [
        ("tier", GroupBy::Tier),
        ("region", GroupBy::Region),
        ("project", GroupBy::Project),
        ("group", GroupBy::Group),
        ("cluster", GroupBy::Cluster),
        ("agent", GroupBy::Agent),
        ("health", GroupBy::Health),
        ("state", GroupBy::State),
    ];

    /// The prefix of the name of a label.
    const LABEL: &'static str = "label:";

    /// Why these may not be asked for together; none where they may.
    pub fn conflict(list: &[GroupBy]) -> Option<String> {
        match list {
            [one, other] if one == other => Some(format!("`{one}` is repeated")),
            list if list.len() > Self::MAX => {
                Some(format!("{} given; the limit is {}", list.len(), Self::MAX))
            }
            _ => None,
        }
    }
}

impl fmt::Display for GroupBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let GroupBy::Label(name) = self {
            return write!(f, "{}{name}", Self::LABEL);
        }
        let word = Self::WORDS.iter().find(|(_, by)| by == self).map_or("", |(word, _)| word);
        f.pad(word)
    }
}

impl FromStr for GroupBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(name) = text.strip_prefix(Self::LABEL) {
            return match is_label_name(name) {
                true => Ok(GroupBy::Label(name.to_owned())),
                false => Err(format!("invalid label name `{name}`")),
            };
        }
        let known = Self::WORDS.into_iter().find(|(word, _)| *word == text);
        known.map(|(_, by)| by).ok_or_else(|| {
            let words = Self::WORDS.map(|(word, _)| word).join(", ");
            format!("cannot group by `{text}`; use one of {words}, label:NAME")
        })
    }
}

impl Serialize for GroupBy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for GroupBy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

/// An overview that the configuration gives a name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SavedView {
    /// Its name in addresses.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it holds.
    pub filter: EnvironmentFilter,
    /// How that is grouped; empty for the default.
    pub group_by: Vec<GroupBy>,
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn what_is_grouped_by_is_written_as_it_is_read() {
        for text in
            ["tier", "region", "project", "group", "cluster", "agent", "health", "state", "label:a.b/c"]
        {
            assert_eq!(text.parse::<GroupBy>().unwrap().to_string(), text);
        }
        for (text, message) in [
            (
                "Region",
                "cannot group by `Region`; use one of tier, region, project, group, cluster, agent, health, state, label:NAME",
            ),
            ("label:", "invalid label name ``"),
            ("label:a b", "invalid label name `a b`"),
        ] {
            assert_eq!(text.parse::<GroupBy>().unwrap_err(), message);
        }
        let list = |words: &[&str]| words.iter().map(|word| word.parse().unwrap()).collect::<Vec<GroupBy>>();
        assert_eq!(GroupBy::conflict(&list(&["tier", "region"])), None);
        assert_eq!(GroupBy::conflict(&list(&["tier", "tier"])).as_deref(), Some("`tier` is repeated"));
        let three = GroupBy::conflict(&list(&["tier", "region", "state"]));
        assert_eq!(three.as_deref(), Some("3 given; the limit is 2"));
    }

    #[test]
    fn a_group_is_a_path() {
        assert_eq!("/shop/a/".parse::<GroupPath>().unwrap().as_str(), "shop/a");
        for text in ["", "/", "a//b"] {
            assert!(text.parse::<GroupPath>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_filter_is_shown_as_it_is_asked_for() {
        let filter = EnvironmentFilter {
            tiers: vec![Tier::Production],
            names: vec!["review/**".parse().unwrap()],
            labels: "team in (a,b),!x".parse().unwrap(),
            ..EnvironmentFilter::default()
        };
        let shown = serde_json::to_string(&filter).unwrap();
        assert_eq!(shown, r#"{"tier":["production"],"name":["review/**"],"labels":"team in (a,b),!x"}"#);
        assert_eq!(filter.in_use_by_default().states, EnvironmentFilter::IN_USE);
    }
}
