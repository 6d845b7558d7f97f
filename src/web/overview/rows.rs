//! One environment as a line of a table.

use crate::format::{deployment_time, lasted, revision, visible};
use crate::web::deployments;
use crate::web::shell::{Badge, Shell, Time};
use crate::web::timeline::difference;
use std::time::Duration;
use strandline_model::{DeploymentStatus, Health, Timestamp};
use strandline_protocol::{
    Deployment, EnvironmentChange, EnvironmentSummary, EnvironmentVersion, Overview, StripPart,
};
use strandline_syntax::percent_encode;

/// The length of a strip.
const UNITS: u64 = 1000;

/// A line of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Row {
    pub(in super::super) name: String,
    pub(in super::super) project: String,
    /// Its tier, where the page shows several.
    pub(in super::super) tier: Option<String>,
    pub(in super::super) href: String,
    pub(in super::super) badge: Badge,
    pub(in super::super) last_known: Option<Badge>,
    pub(in super::super) since: Time,
    pub(in super::super) version: Option<Version>,
    pub(in super::super) deployed: Option<Deployed>,
    pub(in super::super) changed: Option<Changed>,
    pub(in super::super) strip: Strip,
    pub(in super::super) clusters: String,
    pub(in super::super) is_urgent: bool,
}

/// What it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Version {
    pub(in super::super) tags: String,
    pub(in super::super) repository: String,
}

/// The newest deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Deployed {
    /// What went other than well, such as `failed`; empty where it went well.
    pub(in super::super) status: &'static str,
    pub(in super::super) class: &'static str,
    pub(in super::super) who: String,
    pub(in super::super) what: String,
    pub(in super::super) number: u64,
    pub(in super::super) href: String,
    pub(in super::super) when: Time,
}

/// The newest change by neither a controller nor a GitOps tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Changed {
    pub(in super::super) subject: String,
    pub(in super::super) by: String,
    /// Where it is told in full.
    pub(in super::super) href: String,
    pub(in super::super) when: Time,
}

/// A day of health.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Strip {
    /// Class, start and length.
    pub(in super::super) parts: Vec<(&'static str, u64, u64)>,
    /// Where the newest deployment is.
    pub(in super::super) mark: Option<u64>,
    pub(in super::super) words: String,
}

impl Strip {
    pub(in super::super) const UNITS: u64 = UNITS;
}

/// The line of an environment.
pub(in super::super) fn row(
    shell: &Shell,
    shows_tier: bool,
    one: &EnvironmentSummary,
    overview: &Overview,
    now: Timestamp,
) -> Row {
    let shown = |text: &str| visible(text).into_owned();
    let span = overview.trend.as_ref().map(|trend| (trend.since, trend.until));
    Row {
        name: shown(&one.name),
        project: shown(&one.project),
        tier: shows_tier.then(|| one.tier.to_string()),
        href: href(shell, one),
        badge: Badge::new(one.health),
        last_known: one.last_known.map(|health| Badge::new(Some(health))),
        since: Time::new(one.since, now),
        version: one.version.as_ref().map(version),
        deployed: one.last_deployment.as_ref().map(|deployment| deployed(shell, deployment, now)),
        changed: one.last_change.as_ref().map(|change| changed(change, now)),
        strip: span.map(|span| strip(one, span)).unwrap_or_default(),
        clusters: shown(&one.clusters.join(", ")),
        is_urgent: one.health.is_some_and(Health::needs_attention),
    }
}

pub(super) fn href(shell: &Shell, one: &EnvironmentSummary) -> String {
    format!("/environments/{}{}", percent_encode(one.id.as_str()), shell.keep)
}

pub(super) fn version(version: &EnvironmentVersion) -> Version {
    // The digest of an image without a tag tells by its beginning.
    let tag = |tag: &String| match tag.split_once(':') {
        Some((_, digest)) => digest.chars().take(12).collect(),
        None => tag.clone(),
    };
    let tags = version.tags.iter().map(tag).collect::<Vec<_>>().join(", ");
    Version { tags: visible(&tags).into_owned(), repository: visible(&version.repository).into_owned() }
}

pub(super) fn deployed(shell: &Shell, deployment: &Deployment, now: Timestamp) -> Deployed {
    let spec = &deployment.spec;
    let (status, class) = match spec.status {
        DeploymentStatus::Success => ("", "none"),
        DeploymentStatus::Failed => (spec.status.as_str(), "degraded"),
        DeploymentStatus::Running => (spec.status.as_str(), "progressing"),
        _ => (spec.status.as_str(), "suspended"),
    };
    Deployed {
        status,
        class,
        who: visible(&spec.user).into_owned(),
        what: visible(&revision(spec)).into_owned(),
        number: spec.id.0,
        href: deployments::href(shell, spec),
        when: Time::new(deployment_time(deployment), now),
    }
}

fn changed(change: &EnvironmentChange, now: Timestamp) -> Changed {
    let EnvironmentChange { id, key, by, offset, observed_at, .. } = change;
    Changed {
        subject: visible(&key.kind_and_name()).into_owned(),
        by: visible(by).into_owned(),
        href: difference(id, key, *offset),
        when: Time::new(*observed_at, now),
    }
}

/// Health over a span as a bar, and in words the time that it had each.
fn strip(one: &EnvironmentSummary, (since, until): (Timestamp, Timestamp)) -> Strip {
    let length = until.since(since).as_micros().max(1);
    let place = |time: Timestamp| {
        let units = time.max(since).min(until).since(since).as_micros() * u128::from(UNITS) / length;
        u64::try_from(units).unwrap_or(UNITS)
    };
    let mut times: Vec<(Option<Health>, Duration)> = Vec::new();
    let mut parts = Vec::new();
    for (number, StripPart { from, health }) in one.strip.iter().enumerate() {
        let end = one.strip.get(number + 1).map_or(until, |next| next.from);
        let (start, stop) = (place(*from), place(end));
        let lasted = end.min(until).since((*from).max(since).min(end));
        match times.iter_mut().find(|(other, _)| other == health) {
            Some((_, time)) => *time += lasted,
            None => times.push((*health, lasted)),
        }
        // What lasted for less than a unit is still seen.
        if end > since {
            parts.push((Badge::new(*health).class, start.min(UNITS - 1), (stop - start).max(2)));
        }
    }
    times.retain(|(_, time)| !time.is_zero());
    times.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
    let words = times.iter().map(|(health, time)| format!("{} {}", Badge::new(*health).word, lasted(*time)));
    let deployed = one.last_deployment.as_ref().map(deployment_time);
    Strip {
        parts,
        mark: deployed.filter(|time| *time >= since && *time <= until).map(place),
        words: words.collect::<Vec<_>>().join(", "),
    }
}
