//! What graphs say.

use serde::{Deserialize, Serialize};

use super::{Environment, Resource};
use strandline_model::{Health, HealthCounts, Kind, Uid};
use strandline_syntax::keywords;

/// What of a graph stands together instead of one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Collapse {
    /// Nothing, as far as there is room.
    None,
    /// Siblings of one kind beyond the first fifty.
    #[default]
    Siblings,
    /// Whatever has an owner.
    Owner,
    /// All of a kind.
    Kind,
}

keywords!(
    Collapse, "collapse", Exact,
    None => "none",
    Siblings => "siblings",
    Owner => "owner",
    Kind => "kind",
);

/// An environment's resources and the edges between them, or as much of it as was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Graph {
    /// The environment.
    pub environment: Environment,
    /// Resources that are shown one by one, ordered by kind, namespace and name; at most [`Graph::LIMIT`]. Where there
    /// is not room for all, those are shown that need attention most.
    pub nodes: Vec<GraphNode>,
    /// Resources that are counted together.
    pub groups: Vec<Group>,
    /// Edges between nodes and groups.
    pub edges: Vec<Edge>,
    /// What resources that are shown name and is not there, of kinds that were watched; at most [`Graph::MISSING`], and
    /// only for who may see everything.
    ///
    /// No part of the API's answer: the drawn graph alone shows it.
    #[serde(skip)]
    pub missing: Vec<MissingReference>,
    /// Whether there are resources that are not shown one by one.
    pub truncated: bool,
}

impl Graph {
    /// The most resources one graph shows.
    pub const LIMIT: usize = 5000;
    /// The most it shows when nothing is said.
    pub const DEFAULT: usize = 500;
    /// The most missing references it names.
    pub const MISSING: usize = 200;
}

/// A resource that names another one, which is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingReference {
    /// Uid of the resource that names it.
    pub id: Uid,
    /// The cluster of both.
    pub cluster: String,
    /// What is named.
    #[serde(flatten)]
    pub end: MissingEnd,
}

/// A resource in a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GraphNode {
    /// What lists say of it.
    #[serde(flatten)]
    pub resource: Resource,
    /// Uid of the node, in the same cluster, below which it stands; none at the top. It may have more owners: the edges
    /// tell them all.
    pub parent: Option<Uid>,
    /// What it owns, and what that owns, and so on, shown or not; none where it owns nothing.
    pub below: Option<Below>,
}

/// What is below a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Below {
    /// Resources directly below.
    pub children: u64,
    /// All resources below.
    pub total: u64,
    /// The health among them that needs attention most.
    pub health: Option<Health>,
    /// Their kinds, at most ten, those first that need attention most.
    pub kinds: Vec<KindBelow>,
}

/// How many of a kind are below a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindBelow {
    /// The kind.
    #[serde(flatten)]
    pub kind: Kind,
    /// How many there are.
    pub total: u64,
    /// The health among them that needs attention most.
    pub health: Option<Health>,
}

/// Resources of one kind that stand together in a graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Its name as an end of edges.
    pub id: String,
    /// Their cluster.
    pub cluster: String,
    /// Their kind.
    #[serde(flatten)]
    pub kind: Kind,
    /// Uid of the node below which they stand; none at the top.
    pub parent: Option<Uid>,
    /// The health among them and all below them that needs attention most.
    pub health: Option<Health>,
    /// They themselves, by their own health.
    pub counts: HealthCounts,
}

/// A link from cause to dependent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Edge {
    /// Uid of the cause, or the id of its group.
    pub from: String,
    /// Uid of the dependent, or the id of its group.
    pub to: String,
    /// What the link is, such as `owns`.
    pub kind: String,
    /// How many links it stands for: one, unless an end is a group.
    pub count: u64,
}

/// A link of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceEdge {
    /// What the link is, such as `mounts`.
    pub edge: String,
    /// What the far end is in it.
    pub far: FarEnd,
    /// The far end's kind, as the link has it.
    #[serde(flatten)]
    pub kind: Kind,
    /// Its namespace; empty for what is cluster-scoped.
    pub namespace: String,
    /// Its name; empty where the link is to all of the kind.
    pub name: String,
    /// Its uid, where it is there.
    pub id: Option<Uid>,
    /// Its health, where it has one.
    pub health: Option<Health>,
    /// Whether it is there; none where that cannot be told, its kind not being watched.
    pub exists: Option<bool>,
}

/// What the far end of a link is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FarEnd {
    /// The cause: the resource depends on it.
    Cause,
    /// The dependent: it depends on the resource.
    Dependent,
}

/// Why an environment is in the state it is in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Why {
    /// The environment. Where part of it is not watched, which makes it Unknown, the paths tell of what was last known;
    /// what was not watched stands under `coverage`.
    pub environment: Environment,
    /// Resources that have the environment's health and count for it, which are those without an owner and claims on volumes;
    /// none where it is Healthy or Suspended.
    pub roots: u64,
    /// From each of these to what is wrong, as many as were asked for, those first that need attention most.
    pub paths: Vec<WhyPath>,
}

impl Why {
    /// The most paths that are told.
    pub const LIMIT: usize = 100;
    /// The most that are told when nothing is said.
    pub const DEFAULT: usize = 10;
}

/// The way from a resource without an owner down to what is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhyPath {
    /// The resources on the way, each owned by the one before; the last tells most.
    pub steps: Vec<Resource>,
    /// Steps left out in the middle of a path that is too long to be read.
    pub skipped: u64,
    /// What the last of them names and is not there, of kinds that were watched; told to who may see everything.
    pub missing: Vec<MissingEnd>,
}

/// Something that a resource names and that is not there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingEnd {
    /// What the link would be, such as `mounts`.
    pub edge: String,
    /// Its kind.
    #[serde(flatten)]
    pub kind: Kind,
    /// Its namespace; empty for what is cluster-scoped.
    pub namespace: String,
    /// Its name.
    pub name: String,
}
