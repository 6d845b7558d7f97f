//! The types of values, as the schema names them. Each is text that `check` parses.

#![expect(dead_code, reason = "only their schemas are used")]

use schemars::JsonSchema;

/// An IP address and a port: `127.0.0.1:7979`, `[::1]:7979`
#[derive(JsonSchema)]
#[schemars(rename = "address")]
pub(super) struct Address(String);

/// The path of a project and the name of an agent: `ops/clusters:production`
#[derive(JsonSchema)]
#[schemars(rename = "agent")]
pub(super) struct Agent(String);

/// A day, which begins at midnight in UTC: `2026-11-20`
#[derive(JsonSchema)]
#[schemars(rename = "date")]
pub(super) struct Date(String);

/// `90s`, `5m`, `1h30m`, `7d`, `2w`
#[derive(JsonSchema)]
#[schemars(rename = "duration")]
pub(super) struct Duration(String);

/// A resource kind: `Pod`, `Deployment.apps`, or `*.metrics.k8s.io` for all kinds of a group
#[derive(JsonSchema)]
#[schemars(rename = "kind")]
pub(super) struct Kind(String);

/// As for `kubectl get -l`: `team=payments,criticality in (high,critical),!legacy`
#[derive(JsonSchema)]
#[schemars(rename = "label-selector")]
pub(super) struct LabelSelector(String);

/// Letters, digits, `-`, `_` and `.`
#[derive(JsonSchema)]
#[schemars(rename = "name")]
pub(super) struct Name(String);

/// A file or folder: relative to the folder of the configuration file, from `~/`, or absolute
#[derive(JsonSchema)]
#[schemars(rename = "path")]
pub(super) struct Path(String);

/// `*` and `?` stand for any text and one character within a path segment, `**` for any text, `[a-z]` for one character of a
/// set
#[derive(JsonSchema)]
#[schemars(rename = "pattern")]
pub(super) struct Pattern(String);

/// The full path of a project or group in GitLab: `shop/web`
#[derive(JsonSchema)]
#[schemars(rename = "project-path")]
pub(super) struct ProjectPath(String);

/// `500MiB`, `10GiB`, `20GB`
#[derive(JsonSchema)]
#[schemars(rename = "size")]
pub(super) struct Size(String);

/// RFC 3339: `2026-11-20T14:05:00Z`
#[derive(JsonSchema)]
#[schemars(rename = "time")]
pub(super) struct Time(String);

/// `http://…` or `https://…`, without credentials
#[derive(JsonSchema)]
#[schemars(rename = "URL")]
pub(super) struct Url(String);

/// `http://…` or `https://…`, with values in braces after the host: `https://logs.example.com/?q={name}`. Values are
/// percent-encoded; a link of which a value is not known is left out
#[derive(JsonSchema)]
#[schemars(rename = "URL-template")]
pub(super) struct UrlTemplate(String);

#[derive(JsonSchema)]
#[schemars(inline, untagged)]
pub(super) enum TimeOrDate {
    Time(Time),
    Date(Date),
}

#[derive(JsonSchema)]
#[schemars(inline, untagged)]
pub(super) enum DurationOrForever {
    Duration(Duration),
    Word(Forever),
}

#[derive(JsonSchema)]
#[schemars(inline, rename_all = "lowercase")]
pub(super) enum Forever {
    Forever,
}

#[derive(JsonSchema)]
#[schemars(inline, untagged)]
pub(super) enum DurationOrNever {
    Duration(Duration),
    Word(Never),
}

#[derive(JsonSchema)]
#[schemars(inline, rename_all = "lowercase")]
pub(super) enum Never {
    Never,
}

#[derive(JsonSchema)]
#[schemars(inline, untagged)]
pub(super) enum SizeOrNone {
    Size(Size),
    Word(Unlimited),
}

#[derive(JsonSchema)]
#[schemars(inline)]
pub(super) enum Unlimited {
    #[schemars(rename = "none")]
    None,
}

#[derive(JsonSchema)]
#[schemars(inline)]
pub(super) enum Algorithm {
    #[schemars(rename = "RS256")]
    Rs256,
    #[schemars(rename = "RS384")]
    Rs384,
    #[schemars(rename = "RS512")]
    Rs512,
    #[schemars(rename = "PS256")]
    Ps256,
    #[schemars(rename = "ES256")]
    Es256,
    #[schemars(rename = "ES384")]
    Es384,
    #[schemars(rename = "EdDSA")]
    EdDsa,
}

#[derive(JsonSchema)]
#[schemars(inline, rename_all = "lowercase")]
pub(super) enum Role {
    Owner,
    Maintainer,
    Developer,
}

#[derive(JsonSchema)]
#[schemars(inline, rename_all = "lowercase")]
pub(super) enum LocalAccess {
    Read,
    Write,
}

#[derive(JsonSchema)]
#[schemars(inline, rename_all = "lowercase")]
pub(super) enum Tier {
    Production,
    Staging,
    Testing,
    Development,
    Other,
}

#[derive(JsonSchema)]
#[schemars(inline, rename_all = "lowercase")]
pub(super) enum State {
    Available,
    Stopping,
    Stopped,
}
