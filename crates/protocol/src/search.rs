//! What a search over everything finds.

use serde::{Deserialize, Serialize};

use super::{Deployment, Environment, FoundResource, UnknownWord};
use strandline_syntax::keywords;

/// A group of what a search finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchType {
    /// Environments, by project and name.
    Environments,
    /// Projects, by path.
    Projects,
    /// Clusters, by name.
    Clusters,
    /// Resources, by name; those that are gone too.
    Resources,
    /// Images, by repository, tag or digest.
    Images,
    /// Deployments, by commit, user, branch or tag, or number.
    Deployments,
}

keywords!(
    SearchType, "type", Exact,
    Environments => "environments",
    Projects => "projects",
    Clusters => "clusters",
    Resources => "resources",
    Images => "images",
    Deployments => "deployments",
);

/// How near a name is to what was searched for, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchMatch {
    /// It is the word, or its last part is.
    Exact,
    /// It begins with the word.
    Prefix,
    /// One of its parts begins with the word.
    Word,
    /// It holds the word.
    Substring,
}

keywords!(
    SearchMatch, "match", Exact,
    Exact => "exact",
    Prefix => "prefix",
    Word => "word",
    Substring => "substring",
);

/// What a search found, by groups; a group that was not asked for is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchResults {
    /// What was searched for.
    pub query: String,
    /// Environments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environments: Option<Hits<Environment>>,
    /// Projects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub projects: Option<Hits<FoundProject>>,
    /// Clusters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clusters: Option<Hits<FoundCluster>>,
    /// Resources.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<Hits<FoundResource>>,
    /// Images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub images: Option<Hits<FoundImage>>,
    /// Deployments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployments: Option<Hits<Deployment>>,
    /// Where nothing was found at all: the words that nothing has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<UnknownWord>,
}

impl SearchResults {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        fn none<T>(hits: Option<&Hits<T>>) -> bool {
            hits.is_none_or(|hits| hits.items.is_empty())
        }
        none(self.environments.as_ref())
            && none(self.projects.as_ref())
            && none(self.clusters.as_ref())
            && none(self.resources.as_ref())
            && none(self.images.as_ref())
            && none(self.deployments.as_ref())
    }
}

/// The best of one group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hits<T> {
    /// The best first.
    pub items: Vec<Hit<T>>,
    /// Whether there is more than these.
    pub more: bool,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit<T> {
    /// How near it is.
    #[serde(rename = "match")]
    pub nearness: SearchMatch,
    /// What was found.
    pub item: T,
}

/// A project that a search found, be it that only its environments are declared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundProject {
    /// Its full path.
    pub id: String,
}

/// A cluster that a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundCluster {
    /// Its name.
    pub id: String,
    /// Its region; empty where it is not known.
    pub region: String,
}

/// An image that a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundImage {
    /// Its name with its tag or, where it has none, its digest.
    pub id: String,
    /// As people write it: without the registry and library that go without saying.
    pub short: String,
    /// Whether anything runs it, or would by its template.
    pub in_use: bool,
}
