//! Withdraws deployments that ended long ago, which nobody else withdraws: each job adds one.

use super::deployments;
use strandline_log::{AppendError, Appender, Catalog, CatalogChange, LogError, Standing};
use strandline_model::{
    CatalogFact, CatalogKind, DeploymentSpec, DeploymentStatus, Offset, Source, Timestamp,
};

/// How far it has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retired {
    /// Deployments that are pruned.
    pub withdrawn: u64,
    /// The environment after which to go on; none when all were looked at.
    pub next: Option<String>,
}

/// Withdraws the deployments to some environments, those after `after`, that ended and of which nothing was said after
/// `before`. The last to an environment that ended well stays, and so does the last of those that an agent let: they say
/// what runs there, and where it is.
///
/// # Errors
/// When the log is closed, failed or cannot be read.
pub async fn retire_deployments(
    appender: &Appender,
    before: Offset,
    after: &str,
    environments: usize,
) -> Result<Retired, AppendError> {
    let after = after.to_owned();
    let decision = move |catalog: &mut Catalog<'_, '_>| {
        let places = catalog.places(CatalogKind::Deployment, &after, environments)?;
        let mut changes = Vec::new();
        for place in &places {
            for gone in ended(catalog, place, before)? {
                // Only if it stays as it was found, which rests on looking it up.
                if deployments::find(catalog, &gone.project, gone.id)?.is_some() {
                    changes.push(CatalogChange::Withdraw(CatalogKind::Deployment, gone.name()));
                }
            }
        }
        let next = (places.len() == environments).then(|| places.last().cloned()).flatten();
        let withdrawn = changes.len() as u64;
        Ok((changes, Retired { withdrawn, next }))
    };
    Ok(appender.decide(Source::Api, decision).await?.1)
}

/// A deployment with the offset and the time at which it was declared last.
type Recorded = (DeploymentSpec, Offset, Timestamp);

/// Which of the deployments to an environment are to be withdrawn.
fn ended(
    catalog: &mut Catalog<'_, '_>,
    environment: &str,
    before: Offset,
) -> Result<Vec<DeploymentSpec>, LogError> {
    let mut all = Vec::new();
    for Standing { fact, declared, .. } in catalog.under(CatalogKind::Deployment, environment)? {
        if let CatalogFact::Deployment(deployment) = fact {
            let recorded_at = catalog.observed_at(declared)?;
            all.push((*deployment, declared, recorded_at));
        }
    }
    all.sort_by_key(|(_, declared, _)| *declared);
    let stays = [last(&all, |_| true), last(&all, |deployment| deployment.agent.is_some())];
    let goes = all.iter().filter(|(deployment, declared, _)| {
        deployment.status.is_final() && *declared <= before && !stays.contains(&Some(deployment.name()))
    });
    Ok(goes.map(|(deployment, ..)| deployment.clone()).collect())
}

/// The last that ended well, as the view finds it: of several that ended at one time the one that was reported last.
fn last(all: &[Recorded], of: impl Fn(&DeploymentSpec) -> bool) -> Option<String> {
    let well = all.iter().filter(|(one, ..)| one.status == DeploymentStatus::Success && of(one));
    let ended_at =
        |(one, _, recorded_at): &&Recorded| one.finished_at.unwrap_or(*recorded_at).min(*recorded_at);
    well.max_by_key(ended_at).map(|(one, ..)| one.name())
}
