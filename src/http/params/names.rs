//! The parameters of all routes: one name for one meaning.

use super::Parameter;

/// The moment.
pub const AT: Parameter = Parameter::one("at");
/// The zone of times that name none.
pub const TZ: Parameter = Parameter::one("tz");
/// Most items in a page.
pub const LIMIT: Parameter = Parameter::one("limit");
/// Token of the next page.
pub const CONTINUE: Parameter = Parameter::one("continue");
/// Only these tiers.
pub const TIER: Parameter = Parameter::many("tier");
/// Only these regions.
pub const REGION: Parameter = Parameter::many("region");
/// Only projects that match.
pub const PROJECT: Parameter = Parameter::many("project");
/// Only projects below these groups; groups that a job's project belongs to.
pub const GROUP: Parameter = Parameter::many("group");
/// Only what these agents serve.
pub const AGENT: Parameter = Parameter::many("agent");
/// Only names that match.
pub const NAME: Parameter = Parameter::many("name");
/// Only what carries such labels; its commas belong to one value.
pub const LABELS: Parameter = Parameter::one("labels");
/// By what environments stand together.
pub const GROUP_BY: Parameter = Parameter::many("group_by");
/// An overview that the configuration names.
pub const VIEW: Parameter = Parameter::one("view");
/// Only these healths.
pub const HEALTH: Parameter = Parameter::many("health");
/// Only these kinds.
pub const KIND: Parameter = Parameter::many("kind");
/// Only what is directly below this one.
pub const OWNER: Parameter = Parameter::one("owner");
/// In which order.
pub const ORDER: Parameter = Parameter::one("order");
/// Where to begin.
pub const UNDER: Parameter = Parameter::one("under");
/// Levels that are shown below the first.
pub const DEPTH: Parameter = Parameter::one("depth");
/// What stands together.
pub const COLLAPSE: Parameter = Parameter::one("collapse");
/// Where a span of time begins.
pub const SINCE: Parameter = Parameter::one("since");
/// Where a span of time ends.
pub const UNTIL: Parameter = Parameter::one("until");
/// Only what these people or managers made.
pub const BY: Parameter = Parameter::many("by");
/// Whether what controllers ask for is listed too.
pub const CONTROLLERS: Parameter = Parameter::one("controllers");
/// Which health's beginning to look for.
pub const HEALTH_ONE: Parameter = Parameter::one("health");
/// How long before it changes are looked at.
pub const WINDOW: Parameter = Parameter::one("window");
/// Whether what changes in a list is streamed, in place of a page of it.
pub const WATCH: Parameter = Parameter::one("watch");
/// After which time a stream ends.
pub const TIMEOUT: Parameter = Parameter::one("timeout");
/// Equal parts of a span of time.
pub const BUCKETS: Parameter = Parameter::one("buckets");
/// Only these lanes of a timeline.
pub const LANE: Parameter = Parameter::many("lane");
/// Whether what is below a resource is shown too.
pub const BELOW: Parameter = Parameter::one("below");
/// The earlier of two moments, or where a span of time begins.
pub const FROM: Parameter = Parameter::one("from");
/// The later of two moments, or where a span of time ends.
pub const TO: Parameter = Parameter::one("to");
/// Which classes of differences are shown besides the spec.
pub const INCLUDE: Parameter = Parameter::many("include");
/// Paths that are of no interest; their commas belong to one value.
pub const IGNORE: Parameter = Parameter::many("ignore");
/// The form of an answer.
pub const FORMAT: Parameter = Parameter::one("format");
/// The environment to compare with.
pub const WITH: Parameter = Parameter::one("with");
/// Parts of names that stand for each other, as `here:there`.
pub const MAP: Parameter = Parameter::many("map");
/// Whether what controllers made is shown one by one.
pub const CHILDREN: Parameter = Parameter::one("children");
/// What is searched for.
pub const Q: Parameter = Parameter::one("q");
/// Only these types, of Events, of changes or of what a search finds.
pub const TYPE: Parameter = Parameter::many("type");
/// Only these reasons.
pub const REASON: Parameter = Parameter::many("reason");
/// Which cluster, where several hold the uid.
pub const CLUSTER: Parameter = Parameter::one("cluster");
/// Only these clusters.
pub const CLUSTERS: Parameter = Parameter::many("cluster");
/// Only these states, of coverage or of environments.
pub const STATE: Parameter = Parameter::many("state");
/// Whether versions carry their object.
pub const BODIES: Parameter = Parameter::one("bodies");
/// Only those to this environment; the environment of a job.
pub const ENVIRONMENT: Parameter = Parameter::one("environment");
/// Only these statuses of deployments.
pub const STATUS: Parameter = Parameter::many("status");
/// The project of a job.
pub const PROJECT_ONE: Parameter = Parameter::one("project");
/// The branch or tag of a job.
pub const REF: Parameter = Parameter::one("ref");
/// Only these branches or tags.
pub const REFS: Parameter = Parameter::many("ref");
/// Whether a job's ref is a tag.
pub const TAG: Parameter = Parameter::one("tag");
/// Whether a job's ref is protected.
pub const PROTECTED: Parameter = Parameter::one("protected");
/// The namespace that a job asks for.
pub const NAMESPACE: Parameter = Parameter::one("namespace");
/// Only these images.
pub const IMAGE: Parameter = Parameter::many("image");
/// Fields of an object; commas belong to one value.
pub const FIELD: Parameter = Parameter::many("field");
/// Whether what is gone is found.
pub const GONE: Parameter = Parameter::one("gone");
/// Variables of a job, each as NAME=value.
pub const VAR: Parameter = Parameter::many("var");
/// Whether a probe lists its checks; its value does not matter.
pub const VERBOSE: Parameter = Parameter::one("verbose");

/// The parameters of a route that chooses environments, and those that it takes besides.
macro_rules! environments_and {
    ($($more:expr),+ $(,)?) => {{
        use $crate::http::params::{AGENT, CLUSTERS, GROUP, LABELS, NAME, PROJECT, REGION, STATE, TIER};
        &[TIER, REGION, PROJECT, GROUP, CLUSTERS, AGENT, STATE, NAME, LABELS, $($more),+]
    }};
}
pub(crate) use environments_and;
