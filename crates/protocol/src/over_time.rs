//! What is told of images and of fields over time.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::VersionChange;
use strandline_model::{ChangedBy, EnvironmentId, Offset, ResourceKey, Tier, Timestamp, Uid};

/// An image in an environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ImageUse {
    /// Stands for the image in the environment; the same at every moment.
    pub id: String,
    /// Repository with tag, or with the digest where there is no tag.
    pub image: String,
    /// The same without what goes without saying, such as `nginx:1.27`.
    pub short: String,
    /// Registry and path, such as `docker.io/library/nginx`.
    pub repository: String,
    /// Tag; empty where a digest alone is named.
    pub tag: String,
    /// The digests that are asked for or that run, as far as they are known.
    pub digests: Vec<String>,
    /// The environment.
    pub environment: EnvironmentId,
    /// Its project's path.
    pub project: String,
    /// Its name in the project.
    pub name: String,
    /// Its tier.
    pub tier: Tier,
    /// Its region; empty when not known.
    pub region: String,
    /// Pods that ran it in the span that was asked for.
    pub pods: u64,
    /// What has it run: what stands above those Pods, and what holds templates with it; at most 20.
    pub workloads: Vec<Workload>,
    /// How many there are.
    pub workloads_total: u64,
    /// When it was there, the newest first, those that touch the span that was asked for; at most 20.
    pub intervals: Vec<ImageInterval>,
    /// How many there are.
    pub intervals_total: u64,
}

/// What has an image run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// Its uid.
    pub id: Uid,
    /// Its address.
    #[serde(flatten)]
    pub key: ResourceKey,
}

/// A time in which an image was in an environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageInterval {
    /// When it came.
    pub from: Timestamp,
    /// The change with which it came.
    pub from_offset: Offset,
    /// When it went; none while it was there at the moment.
    pub until: Option<Timestamp>,
    /// The change with which it went.
    pub until_offset: Option<Offset>,
}

/// A value that a field of a resource took, and from when to when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldValue {
    /// Stands for the change and the field.
    pub id: String,
    /// The field as it was asked for.
    pub field: String,
    /// What stands there: one value, or as many as the path finds; none where the field is not there.
    pub values: Vec<Value>,
    /// Applied, or deleted with the resource.
    #[serde(rename = "type")]
    pub change: VersionChange,
    /// When the change was observed that made it so, or with which the record begins.
    pub from: Timestamp,
    /// When it took another value; none while it holds.
    pub until: Option<Timestamp>,
    /// The change that made it so.
    pub offset: Offset,
    /// Who made it so.
    pub changed_by: Option<ChangedBy>,
}
