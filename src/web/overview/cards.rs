//! What needs attention: a card for each environment, with why and what changed just before.

use std::time::Duration;

use super::rows::{Deployed, Version, deployed, href, version};
use super::selection::Selection;
use crate::format::{count_of, visible, word};
use crate::http::params::{AT, FROM};
use crate::http::request::Request;
use crate::web::shell::{Badge, Shell, Time};
use crate::web::timeline::{Before, Cause as Change, before_causes};
use crate::web::tree::resource_href;
use strandline_model::{Health, Timestamp};
use strandline_protocol::{EnvironmentCause, EnvironmentSummary, Onset, Snapshot};
use strandline_syntax::percent_encode;

/// Letters of a message.
const LETTERS: usize = 180;

/// Changes that a card names: the likeliest cause, and the deployment that brought it.
const CHANGES: usize = 2;

/// An environment that needs attention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Card {
    pub(super) badge: Badge,
    pub(super) project: String,
    pub(super) name: String,
    pub(super) tier: Option<String>,
    pub(super) href: String,
    pub(super) since: Time,
    pub(super) cause: Option<Cause>,
    /// What is known where there is no cause to show.
    pub(super) instead: String,
    pub(super) changes: Vec<Change>,
    pub(super) version: Option<Version>,
    pub(super) deployed: Option<Deployed>,
    /// Links to the sections of its page.
    pub(super) links: Vec<(&'static str, String)>,
}

/// What makes it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub(super) reason: String,
    /// Such as `12 of 36 Pods`.
    pub(super) how_many: String,
    pub(super) name: String,
    pub(super) href: String,
    pub(super) message: String,
}

/// Whether what changed before is worth looking for: a gap has no change that caused it.
pub(super) fn has_onset(one: &EnvironmentSummary) -> bool {
    matches!(one.health, Some(Health::Degraded | Health::Missing)) && one.cause.is_some()
}

/// The cards of environments, each with its onset where that is known.
pub(super) fn cards(
    request: &Request,
    selection: &Selection,
    shell: &Shell,
    snapshot: &Snapshot,
    environments: &[(EnvironmentSummary, Option<Onset>)],
    now: Timestamp,
) -> Vec<Card> {
    let card = |(one, onset): &(EnvironmentSummary, Option<Onset>)| {
        let path = format!("/environments/{}", percent_encode(one.id.as_str()));
        let before = match onset {
            Some(onset) => before_causes(onset),
            None => one.since.minus(Duration::from_secs(1)).to_the_second(),
        };
        let before = before.to_string();
        let own = href(shell, one);
        let changes = onset.as_ref().map(|onset| Before::new(shell, request, onset, now, String::new()));
        let pinned = snapshot.offset.to_string();
        let mut links = vec![("Why", format!("{own}#why"))];
        if onset.is_some() {
            links.push(("What changed", format!("{own}#before")));
        }
        links.extend([
            ("Compare with before", shell.href(&format!("{path}/diff"), &[(FROM, &before)])),
            ("Timeline", format!("{own}#overtime")),
            ("Link to this state", format!("{path}?{}={pinned}", AT.name)),
        ]);
        Card {
            badge: Badge::new(one.health),
            project: visible(&one.project).into_owned(),
            name: visible(&one.name).into_owned(),
            tier: selection.several_tiers().then(|| one.tier.to_string()),
            since: Time::new(one.since, now),
            cause: one.cause.as_ref().map(|found| cause(shell, found)),
            instead: instead(one),
            changes: changes.map(|before| likeliest(before.causes)).unwrap_or_default(),
            version: one.version.as_ref().map(version),
            deployed: one.last_deployment.as_ref().map(|deployment| deployed(shell, deployment, now)),
            links,
            href: own,
        }
    };
    environments.iter().map(card).collect()
}

fn cause(shell: &Shell, found: &EnvironmentCause) -> Cause {
    let reason = if found.reason.is_empty() { word(found.health) } else { &found.reason };
    let all = count_of(usize::try_from(found.of).unwrap_or(usize::MAX), &found.key.kind);
    let how_many =
        if found.of == 1 { found.key.kind.kind.clone() } else { format!("{} of {all}", found.alike) };
    let mut message: String = found.message.chars().take(LETTERS).collect();
    if message.len() < found.message.len() {
        message.push('…');
    }
    Cause {
        reason: visible(reason).into_owned(),
        how_many: visible(&how_many).into_owned(),
        name: visible(&found.key.name).into_owned(),
        href: resource_href(shell, &found.id, &found.key.cluster),
        message: visible(&message).into_owned(),
    }
}

fn instead(one: &EnvironmentSummary) -> String {
    match (one.health, one.last_known) {
        (Some(Health::Unknown), Some(known)) => {
            format!("Part of it is not recorded; the last known health is {known}.")
        }
        (Some(Health::Unknown), None) => "Part of it is not recorded.".to_owned(),
        _ => String::new(),
    }
}

/// The likeliest change that is no deployment, then the likeliest deployment.
fn likeliest(causes: Vec<Change>) -> Vec<Change> {
    let (deployments, others): (Vec<_>, Vec<_>) =
        causes.into_iter().partition(|change| change.rank == "deployment");
    others.into_iter().take(1).chain(deployments.into_iter().take(1)).take(CHANGES).collect()
}
