//! What is kept for how long, how often it is compared, and how much callers may declare.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_saphyr::Spanned;

use super::values::{Duration, DurationOrForever, Path, Size, SizeOrNone, Url};
use crate::catalog::QuotaConfig;
use crate::service::{ConnectionLimits, MetricsConfig};

/// What is kept for how long.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Retention {
    /// Older history is pruned.
    #[schemars(with = "Option<DurationOrForever>", extend("default" = "30d"))]
    pub(in crate::config) age: Option<Spanned<String>>,
    /// Limit of the whole data directory.
    #[schemars(with = "Option<SizeOrNone>", extend("default" = "10GiB"))]
    pub(in crate::config) size: Option<Spanned<String>>,
    /// Younger history stays, whatever its size.
    #[schemars(with = "Option<Duration>", extend("default" = "1h"))]
    pub(in crate::config) at_least: Option<Spanned<String>>,
    /// How often retention runs; the first run is at start.
    #[schemars(with = "Option<Duration>", extend("default" = "1h"))]
    pub(in crate::config) every: Option<Spanned<String>>,
    /// A shorter age for each kind: `Event: 3d`, `Pod: 14d`, `"*.metrics.k8s.io": 1d`.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Duration>")]
    pub(in crate::config) kinds: BTreeMap<String, Spanned<String>>,
}

/// How the record is compared with the clusters.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Consistency {
    /// How often the record of each kind is compared with its cluster; at least `10m`. Default: once a day.
    #[schemars(with = "Option<Duration>")]
    pub(in crate::config) every: Option<Spanned<String>>,
}

/// What callers of the API may declare, and how often.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Quotas {
    /// Environments of a project.
    #[schemars(extend("default" = QuotaConfig::default().environments))]
    pub(in crate::config) environments: Option<u64>,
    /// Agents of a project.
    #[schemars(extend("default" = QuotaConfig::default().agents))]
    pub(in crate::config) agents: Option<u64>,
    /// Deployments that are kept of an environment; retention prunes old ones.
    #[schemars(extend("default" = QuotaConfig::default().deployments))]
    pub(in crate::config) deployments: Option<u64>,
    /// Write requests of one token.
    #[schemars(extend("default" = QuotaConfig::default().writes_per_minute))]
    pub(in crate::config) writes_per_minute: Option<u64>,
    /// What the declarations of a project add to the log.
    #[schemars(with = "Option<Size>", extend("default" = "64MiB"))]
    pub(in crate::config) bytes_per_day: Option<Spanned<String>>,
}

/// What clients may have open at a time.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Limits {
    /// Connections, one address half of them; `16` to `100000`. Each takes one of the files that the process may have open, of which
    /// 1,088 are for others. Default: `1024`, or fewer where the system allows few.
    #[schemars(with = "Option<u64>")]
    pub(in crate::config) connections: Option<Spanned<u64>>,
    /// Streams of all callers; fewer than `connections`.
    #[schemars(with = "Option<u64>", extend("default" = ConnectionLimits::default().streams))]
    pub(in crate::config) streams: Option<Spanned<u64>>,
    /// Streams of one caller.
    #[schemars(with = "Option<u64>", extend("default" = ConnectionLimits::default().streams_each))]
    pub(in crate::config) streams_each: Option<Spanned<u64>>,
}

/// What `/metrics` shows.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Metrics {
    /// The most environments in `strandline_environment_health`, production first; at most 20000. `0` for none.
    #[schemars(with = "Option<u64>", extend("default" = MetricsConfig::default().environments_max))]
    pub(in crate::config) environments_max: Option<Spanned<u64>>,
}

/// Traces by OTLP.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::config) struct Traces {
    /// Where spans are posted as JSON, such as `http://127.0.0.1:4318/v1/traces`.
    #[schemars(with = "Url")]
    pub(in crate::config) endpoint: Spanned<String>,
    /// Which part of the traces is sent, from 0 to 1.
    #[schemars(with = "Option<f64>", extend("default" = 1))]
    pub(in crate::config) sample: Option<Spanned<f64>>,
    /// Headers of each request, such as `authorization`, each with a file that has its value.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Path>")]
    pub(in crate::config) header_files: BTreeMap<String, Spanned<String>>,
}
