//! Deployments as their controller leads them: rolling updates with surge, deadline and history.

use std::sync::Arc;

use super::schedule::{Action, SiteAction, seconds};
use super::world::{CONTROLLER, Site, World};
use crate::workloads::deployments::{self, Counts, Deployment, Progress, ReplicaSet};
use crate::workloads::network::{Endpoint, endpoint_slice};
use crate::workloads::pods::{Maker, Pod, Stage};

/// How long a rollout may make no progress before it counts as failed.
const DEADLINE_SECONDS: u64 = 600;
/// Old ReplicaSets that are kept to go back to.
const HISTORY: usize = 3;
/// The reason of `Progressing` once a rollout is complete.
const COMPLETE: &str = "NewReplicaSetAvailable";

impl World {
    /// One pass of the controllers of a deployment and its ReplicaSets.
    pub(super) fn reconcile(&mut self, site: &mut Site, index: usize) {
        if site.deleting.is_some() || index >= site.deployments.len() {
            return;
        }
        let before = signature(&site.deployments[index]);
        self.adopt_template(site, index);
        let counts = counts(site, index);
        let sets_before: Vec<_> = site.deployments[index].sets.iter().map(set_signature).collect();
        resize(&mut site.deployments[index], &counts);
        self.fill_sets(site, index);
        let counts = self::counts(site, index);
        self.write_replica_sets(site, index, &counts, &sets_before);
        self.judge(site, index, &counts);
        let deployment = &site.deployments[index];
        if signature(deployment) != before {
            let object = deployments::deployment(&site.location, deployment);
            self.write(site.cluster, object, CONTROLLER.through("status"));
        }
        self.prune(site, index);
        self.write_endpoints(site);
    }

    /// Makes sure that the present template has a ReplicaSet with the newest revision.
    fn adopt_template(&mut self, site: &mut Site, index: usize) {
        let deployment = &mut site.deployments[index];
        deployment.observed_generation = deployment.generation;
        let current = deployment.current();
        let newest = current.and_then(|set| deployment.sets.get(set)).map(|set| set.revision);
        if newest.is_some_and(|revision| revision == deployment.revision) {
            return;
        }
        deployment.revision += 1;
        let revision = deployment.revision;
        let set_name = format!("{}-{}", deployment.identity.name, deployment.template.hash);
        let reason = match current {
            Some(set) => {
                deployment.sets[set].revision = revision;
                "FoundNewReplicaSet"
            }
            None => {
                let template = Arc::clone(&deployment.template);
                let identity = self.identity(set_name.clone());
                let counts = Counts::default();
                deployment.sets.push(ReplicaSet {
                    identity,
                    template,
                    revision,
                    replicas: 0,
                    counts,
                    generation: 0,
                });
                "NewReplicaSetCreated"
            }
        };
        let since = if deployment.progress.reason == "ProgressDeadlineExceeded" {
            self.now
        } else {
            deployment.progress.since
        };
        deployment.progress = Progress { reason, set: set_name, since, updated: self.now };
        self.site_after(seconds(DEADLINE_SECONDS), site.id, SiteAction::Deadline(index, revision));
    }

    /// Creates and deletes Pods until every ReplicaSet has as many as it should.
    fn fill_sets(&mut self, site: &mut Site, index: usize) {
        for set in 0..site.deployments[index].sets.len() {
            let set = &site.deployments[index].sets[set];
            let (wanted, owner, template) =
                (set.replicas as usize, set.identity.clone(), Arc::clone(&set.template));
            let maker = Maker::ReplicaSet(index, template.hash.clone());
            let mut active: Vec<&Pod> = members(site, &maker).filter(|pod| pod.is_active()).collect();
            let present = active.len();
            // Those that do not answer go first, then the youngest.
            active.sort_by_key(|pod| (pod.is_ready(), std::cmp::Reverse(pod.identity.created)));
            let surplus: Vec<String> = active
                .iter()
                .take(present.saturating_sub(wanted))
                .map(|pod| pod.identity.name.clone())
                .collect();
            for name in surplus {
                self.delete_pod_quietly(site, &name);
            }
            for _ in present..wanted {
                let name = format!("{}-{}", owner.name, self.random.suffix(5));
                self.create_pod(site, name, maker.clone(), owner.clone(), Arc::clone(&template));
            }
        }
    }

    /// Writes the ReplicaSets that changed.
    fn write_replica_sets(
        &mut self,
        site: &mut Site,
        index: usize,
        counts: &[Counts],
        before: &[(u32, u32, Counts)],
    ) {
        let deployment = &mut site.deployments[index];
        let mut changed = Vec::new();
        for (position, set) in deployment.sets.iter_mut().enumerate() {
            let count = counts.get(position).copied().unwrap_or_default();
            let old = before.get(position);
            let resized = set.generation == 0 || old.is_none_or(|(replicas, _, _)| *replicas != set.replicas);
            if resized {
                set.generation += 1;
            }
            set.counts = count;
            if resized || old != Some(&set_signature(set)) {
                changed.push((position, resized));
            }
        }
        let deployment = &site.deployments[index];
        for (position, resized) in changed {
            let object = deployments::replica_set(&site.location, deployment, &deployment.sets[position]);
            let author = if resized { CONTROLLER } else { CONTROLLER.through("status") };
            self.write(site.cluster, object, author);
        }
    }

    /// Sets the conditions of a deployment.
    fn judge(&mut self, site: &mut Site, index: usize, counts: &[Counts]) {
        let now = self.now;
        let deployment = &mut site.deployments[index];
        let total: u32 = counts.iter().map(|count| count.total).sum();
        let ready: u32 = counts.iter().map(|count| count.ready).sum();
        let current = deployment.current();
        let updated = current.and_then(|set| counts.get(set)).copied().unwrap_or_default();
        let numbers = (total, updated.total, ready);
        let moved = numbers != deployment.reported;
        deployment.reported = numbers;
        let available = ready >= deployment.minimum();
        if available != deployment.available {
            deployment.available = available;
            deployment.available_since = now;
        }
        let wanted = deployment.replicas;
        let complete = total == wanted && updated.total == wanted && updated.ready == wanted;
        let progress = &mut deployment.progress;
        let failed = progress.reason == "ProgressDeadlineExceeded";
        if complete && progress.reason != COMPLETE {
            progress.reason = COMPLETE;
            progress.updated = now;
            if failed {
                progress.since = now;
            }
        } else if moved && !failed && progress.reason != COMPLETE {
            progress.reason = "ReplicaSetUpdated";
            progress.updated = now;
        }
    }

    /// Gives up on a rollout without progress.
    pub(super) fn deadline(&mut self, site: &mut Site, index: usize, revision: u32) {
        let Some(deployment) = site.deployments.get_mut(index) else { return };
        let reason = deployment.progress.reason;
        let settled = reason == COMPLETE || reason == "ProgressDeadlineExceeded";
        if site.deleting.is_some() || deployment.revision != revision || settled {
            return;
        }
        let due = deployment.progress.updated.plus(seconds(DEADLINE_SECONDS));
        if due > self.now {
            return self.schedule.at(due, Action::Site(site.id, SiteAction::Deadline(index, revision)));
        }
        deployment.progress.reason = "ProgressDeadlineExceeded";
        deployment.progress.since = self.now;
        deployment.progress.updated = self.now;
        let object = deployments::deployment(&site.location, deployment);
        self.write(site.cluster, object, CONTROLLER.through("status"));
    }

    /// Deletes ReplicaSets beyond the history.
    fn prune(&mut self, site: &mut Site, index: usize) {
        let deployment = &site.deployments[index];
        let current = deployment.template.hash.clone();
        let mut old: Vec<(u32, String)> = deployment
            .sets
            .iter()
            .filter(|set| set.template.hash != current && set.replicas == 0 && set.counts.total == 0)
            .filter(|set| {
                members(site, &Maker::ReplicaSet(index, set.template.hash.clone())).next().is_none()
            })
            .map(|set| (set.revision, set.identity.name.clone()))
            .collect();
        old.sort_unstable();
        let surplus = old.len().saturating_sub(HISTORY);
        for (_, name) in old.into_iter().take(surplus) {
            site.deployments[index].sets.retain(|set| set.identity.name != name);
            self.erase(site.cluster, "apps", "ReplicaSet", &site.location.namespace, &name);
        }
    }

    /// Writes the EndpointSlices whose Pods changed.
    pub(super) fn write_endpoints(&mut self, site: &mut Site) {
        if site.deleting.is_some() {
            return;
        }
        for front in &mut site.fronts {
            let pods = site.pods.values().filter(|pod| pod.template.component.name == front.component.name);
            let endpoints: Vec<Endpoint> = pods.filter_map(endpoint).collect();
            if endpoints == front.reported {
                continue;
            }
            front.reported = endpoints;
            let object = endpoint_slice(
                &site.location,
                front.component,
                &front.slice,
                &front.service,
                &front.reported,
            );
            self.write(site.cluster, object, CONTROLLER);
        }
    }
}

fn endpoint(pod: &Pod) -> Option<Endpoint> {
    let seat = pod.seat.as_ref()?;
    let addressed = matches!(pod.stage, Stage::Starting | Stage::Ready | Stage::Exited | Stage::BackOff);
    addressed.then(|| Endpoint {
        pod: pod.identity.name.clone(),
        uid: pod.identity.uid.clone(),
        address: seat.address.clone(),
        node: seat.node_name.clone(),
        zone: seat.zone.clone(),
        ready: pod.is_ready(),
        terminating: !pod.is_active(),
    })
}

/// The Pods of one maker.
pub(super) fn members<'a>(site: &'a Site, maker: &Maker) -> impl Iterator<Item = &'a Pod> {
    site.pods.values().filter(move |pod| pod.maker == *maker)
}

/// What the controller of each ReplicaSet sees.
fn counts(site: &Site, index: usize) -> Vec<Counts> {
    let sets = site.deployments.get(index).map_or(&[][..], |deployment| &deployment.sets);
    let mut counts = vec![Counts::default(); sets.len()];
    for pod in site.pods.values().filter(|pod| pod.is_active()) {
        let Maker::ReplicaSet(deployment, hash) = &pod.maker else { continue };
        let set = sets.iter().position(|set| *deployment == index && set.template.hash == *hash);
        if let Some(count) = set.and_then(|set| counts.get_mut(set)) {
            count.total += 1;
            count.ready += u32::from(pod.is_ready());
        }
    }
    counts
}

type Signature = (u64, (u32, u32, u32), Progress, bool, u32, String);

fn signature(deployment: &Deployment) -> Signature {
    let Deployment { observed_generation, reported, progress, available, revision, .. } = deployment;
    (
        *observed_generation,
        *reported,
        progress.clone(),
        *available,
        *revision,
        deployment.template.hash.clone(),
    )
}

const fn set_signature(set: &ReplicaSet) -> (u32, u32, Counts) {
    (set.replicas, set.revision, set.counts)
}

/// Decides how large every ReplicaSet should be, by the rules of a rolling update.
fn resize(deployment: &mut Deployment, counts: &[Counts]) {
    let Some(current) = deployment.current() else { return };
    let (wanted, minimum, maximum) =
        (deployment.replicas, deployment.minimum(), deployment.replicas + deployment.surge());
    let old: Vec<usize> = (0..deployment.sets.len()).filter(|&set| set != current).collect();
    if old.iter().all(|&set| deployment.sets[set].replicas == 0) {
        deployment.sets[current].replicas = wanted;
        return;
    }
    let total: u32 = deployment.sets.iter().map(|set| set.replicas).sum();
    let new = &mut deployment.sets[current];
    let missing = wanted.saturating_sub(new.replicas);
    new.replicas = new.replicas.min(wanted) + missing.min(maximum.saturating_sub(total));
    let new_ready = counts.get(current).map_or(0, |count| count.ready);
    let new_unready = new.replicas.saturating_sub(new_ready);
    let total: u32 = deployment.sets.iter().map(|set| set.replicas).sum();
    let mut cleanable = total.saturating_sub(minimum + new_unready);
    for &set in &old {
        let ready = counts.get(set).map_or(0, |count| count.ready);
        let unready = deployment.sets[set].replicas.saturating_sub(ready).min(cleanable);
        deployment.sets[set].replicas -= unready;
        cleanable -= unready;
    }
    let ready: u32 = counts.iter().map(|count| count.ready).sum();
    let mut spare = ready.saturating_sub(minimum);
    for &set in &old {
        let down = deployment.sets[set].replicas.min(spare);
        deployment.sets[set].replicas -= down;
        spare -= down;
    }
}
