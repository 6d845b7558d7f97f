//! What a card beside the cause says of an environment: its version, who deployed it, where it runs, what it holds.

use super::super::deployments;
use super::super::places::{Place, places};
use super::super::shell::{Badge, Shell, Time, counts, within};
use crate::format::{short_commit, visible};
use crate::http::params::REGION;
use strandline_model::{DeploymentStatus, Timestamp, label_pairs};
use strandline_protocol::{Deployment, Environment};

/// The newest deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Deployed {
    /// Branch or tag, or the commit where there is neither.
    pub(super) version: String,
    pub(super) commit: String,
    /// The one before it that ended well, where it is another; empty for none.
    pub(super) before: String,
    pub(super) by: String,
    pub(super) href: String,
    pub(super) when: Time,
    /// Its status, where it did not end well.
    pub(super) status: Option<&'static str>,
}

/// The card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) deployed: Option<Deployed>,
    pub(super) tier: &'static str,
    pub(super) region: String,
    pub(super) region_href: String,
    pub(super) places: Vec<Place>,
    pub(super) counts: Vec<(Badge, u64)>,
    pub(super) labels: String,
    pub(super) recorded: String,
}

impl Facts {
    pub(super) fn new(
        shell: &Shell,
        environment: &Environment,
        newest: &[Deployment],
        now: Timestamp,
    ) -> Self {
        let shown = |text: &str| visible(text).into_owned();
        Facts {
            deployed: deployed(shell, newest, now),
            tier: environment.tier.as_str(),
            region: shown(&environment.region),
            region_href: within(shell, REGION, &environment.region),
            places: places(&environment.targets),
            counts: counts(environment.health.counts),
            labels: shown(&label_pairs(&environment.labels).join(", ")),
            recorded: shell.moment.as_ref().map(|moment| moment.recorded.clone()).unwrap_or_default(),
        }
    }
}

fn deployed(shell: &Shell, newest: &[Deployment], now: Timestamp) -> Option<Deployed> {
    let (first, earlier) = newest.split_first()?;
    let shown = |text: &str| visible(text).into_owned();
    let commit = |of: &Deployment| shown(&short_commit(&of.spec.sha));
    let version = |of: &Deployment| match of.spec.reference.as_str() {
        "" => commit(of),
        reference => shown(reference),
    };
    let well = |of: &&Deployment| of.spec.status == DeploymentStatus::Success;
    let before = earlier.iter().find(well).map(version).filter(|before| *before != version(first));
    let spec = &first.spec;
    Some(Deployed {
        version: version(first),
        commit: if spec.reference.is_empty() { String::new() } else { commit(first) },
        before: before.unwrap_or_default(),
        by: shown(&spec.user),
        href: deployments::href(shell, spec),
        when: Time::new(spec.finished_at.unwrap_or(first.observed_at), now),
        status: (spec.status != DeploymentStatus::Success).then(|| spec.status.as_str()),
    })
}
