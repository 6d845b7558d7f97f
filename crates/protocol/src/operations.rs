//! Answers about the service itself: rebuilds of the view, comparisons with clusters, probes, what is marked as deleted.

use serde::Serialize;

use strandline_model::{CoverageState, Offset, Timestamp, Uid};

/// The state of a rebuild of the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RebuildState {
    /// None was begun since the service started.
    #[default]
    None,
    /// It is going on.
    Building,
    /// The new view answers.
    Done,
    /// It was given up; the view that was there answers on.
    Failed,
}

/// The last rebuild.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RebuildReport {
    /// How it stands.
    pub state: RebuildState,
    /// Newest offset of the log.
    pub head: Offset,
    /// The last offset that the new view holds.
    pub checkpoint: Offset,
    /// Where it went on with a build that was broken off; zero where it began anew.
    pub resumed_at: Offset,
    /// Whether questions are answered meanwhile.
    pub serving: bool,
    /// Name of the set of rules that judge.
    pub rules: String,
    /// When it began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<Timestamp>,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// What made it fail; empty otherwise.
    pub error: String,
}

/// How the record of one watch stands to what the cluster holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerifiedWatch {
    /// Cluster.
    pub cluster: String,
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// The only namespace that is followed; empty for all.
    pub namespace: String,
    /// Whether it is watched now; none before its first list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<CoverageState>,
    /// When the record was last known to agree with the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_at: Option<Timestamp>,
}

/// How the watches that are meant stand.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RelistReport {
    /// Our clock.
    pub now: Timestamp,
    /// Differences that no event had reported, found since the service was started, of the clusters concerned.
    pub differences: u64,
    /// The watches.
    pub watches: Vec<VerifiedWatch>,
}

/// One thing that readiness depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// A short name, such as `log`.
    pub name: String,
    /// Whether it is in order.
    pub ok: bool,
    /// A sentence for people; may be empty.
    pub detail: String,
}

/// What a probe says in JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProbeReport {
    /// Whether all checks are in order.
    pub ok: bool,
    /// The checks.
    pub checks: Vec<Check>,
    /// What is shown beside them and does not count.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Check>,
}

/// What was marked as deleted, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForgetReport {
    /// API group of the kind.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Whether nothing was changed.
    pub dry_run: bool,
    /// How many resources.
    pub ended: usize,
    /// How many gaps were closed.
    pub gaps_ended: usize,
    /// The first of the resources.
    pub resources: Vec<ForgottenResource>,
    /// Newest offset of the log.
    pub offset: Offset,
}

/// A resource that was marked as deleted, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForgottenResource {
    /// Namespace; empty for what is in none.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Uid.
    pub uid: Uid,
    /// When it was last observed.
    pub last_seen: Timestamp,
}
