//! The state of the whole simulation and the ways in which it writes.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::schedule::{Action, Schedule, SiteAction, SiteId};
use crate::api_server::{ApiServer, Author};
use crate::random::Random;
use crate::workloads::autoscale::Autoscaler;
use crate::workloads::catalog::{Component, Location, PROJECTS};
use crate::workloads::deployments::Deployment;
use crate::workloads::events::Remark;
use crate::workloads::metadata::Identity;
use crate::workloads::network::Endpoint;
use crate::workloads::nodes::Node;
use crate::workloads::pods::Pod;
use crate::workloads::stateful::Stateful;
use strandline_model::{DeploymentSpec, Timestamp};

/// Kubernetes' controllers.
pub(super) const CONTROLLER: Author = Author::updates("kube-controller-manager");
/// Kubernetes' node agent.
pub(super) const KUBELET: Author = Author::updates("kubelet").through("status");
/// GitLab stopping an environment.
pub(super) const CLEANER: Author = Author::updates("gitlab-runner");
/// The operator of databases.
pub(super) const OPERATOR: Author = Author::updates("postgresql-operator");

/// A cluster.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) name: &'static str,
    /// The short name of the region: `us` or `eu`.
    pub(super) region: &'static str,
    pub(super) nodes: Vec<Node>,
    /// The node being drained.
    pub(super) draining: Option<usize>,
}

/// A component's configuration in a site.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) component: &'static Component,
    pub(super) map: Identity,
    pub(super) secret: Identity,
    pub(super) config: u32,
    pub(super) rotation: u32,
}

/// A Service in a site with its EndpointSlice.
#[derive(Debug)]
pub(super) struct Front {
    pub(super) component: &'static Component,
    pub(super) service: Identity,
    pub(super) slice: Identity,
    pub(super) reported: Vec<Endpoint>,
}

/// One environment of a project in one cluster.
#[derive(Debug)]
pub(super) struct Site {
    pub(super) id: SiteId,
    pub(super) cluster: usize,
    pub(super) location: Location,
    pub(super) namespace: Identity,
    pub(super) deployments: Vec<Deployment>,
    pub(super) stateful: Vec<Stateful>,
    pub(super) pods: BTreeMap<String, Pod>,
    pub(super) fronts: Vec<Front>,
    pub(super) scalers: Vec<(usize, Autoscaler)>,
    pub(super) settings: Vec<Settings>,
    pub(super) remarks: BTreeMap<String, Remark>,
    pub(super) deleting: Option<Timestamp>,
    /// From and until when only the story deploys here.
    pub(super) reserved: (Timestamp, Timestamp),
}

/// Everything that is simulated.
#[derive(Debug)]
pub(super) struct World {
    pub(super) now: Timestamp,
    pub(super) start: Timestamp,
    pub(super) history: Duration,
    pub(super) opens_with_incident: bool,
    pub(super) random: Random,
    pub(super) schedule: Schedule,
    pub(super) clusters: Vec<Cluster>,
    pub(super) servers: Vec<ApiServer>,
    pub(super) sites: BTreeMap<SiteId, Box<Site>>,
    pub(super) next_site: SiteId,
    /// Deployments that were not taken yet.
    pub(super) new_deployments: Vec<DeploymentSpec>,
    /// The number of the newest deployment.
    pub(super) last_deployment: u64,
    /// The newest version of each project: minor and patch.
    pub(super) versions: [(u32, u32); PROJECTS.len()],
}

impl World {
    /// Writes an object to the server of a cluster.
    pub(super) fn write(&self, cluster: usize, object: Value, author: Author) {
        if let Some(server) = self.servers.get(cluster) {
            server.set_time(self.now);
            server.apply_as(object, author);
        }
    }

    /// Removes an object from the server of a cluster.
    pub(super) fn erase(&self, cluster: usize, group: &str, kind: &str, namespace: &str, name: &str) {
        if let Some(server) = self.servers.get(cluster) {
            server.set_time(self.now);
            server.delete(group, kind, namespace, name);
        }
    }

    /// Plans an action after a while.
    pub(super) fn after(&mut self, delay: Duration, action: Action) {
        self.schedule.at(self.now.plus(delay), action);
    }

    /// Plans an action within a site after a while.
    pub(super) fn site_after(&mut self, delay: Duration, site: SiteId, action: SiteAction) {
        self.after(delay, Action::Site(site, action));
    }

    /// Some duration between two numbers of milliseconds.
    pub(super) fn some_millis(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_millis(self.random.between(low, high))
    }

    /// Some duration between two numbers of minutes.
    pub(super) fn some_minutes(&mut self, low: u64, high: u64) -> Duration {
        Duration::from_secs(self.random.between(low * 60, high * 60))
    }

    /// The identity of something that comes into being now.
    pub(super) fn identity(&mut self, name: impl Into<String>) -> Identity {
        Identity { name: name.into(), uid: self.random.uuid(), created: self.now }
    }

    /// Lets everything happen that is due by then.
    pub(super) fn advance_to(&mut self, now: Timestamp) {
        while let Some((time, action)) = self.schedule.due(now) {
            self.now = self.now.max(time);
            self.act(action);
        }
        self.now = self.now.max(now);
        for server in &self.servers {
            server.set_time(self.now);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Site(id, action) => {
                // Taken out while it acts, so that it and the rest of the world can both change.
                let Some(mut site) = self.sites.remove(&id) else { return };
                let stays = self.act_in(&mut site, action);
                if stays {
                    self.sites.insert(id, site);
                }
            }
            Action::Release(project) => self.release(project),
            Action::StagingDeploy(project) => self.deploy_staging(project),
            Action::OpenReview(project) => self.open_review(project),
            Action::OpenReviewApp(project, branch, until) => self.open_review_app(project, branch, until),
            Action::Incident(project, tier, region, fate, lasts) => {
                self.incident(project, tier, region, fate, lasts);
            }
            Action::Crash => self.crash_some_pod(),
            Action::TurnOver => self.turn_over(),
            Action::Rotate => self.rotate(),
            Action::Heartbeat(cluster, node) => self.heartbeat(cluster, node),
            Action::Drain(cluster) => self.drain(cluster),
            Action::NodeDown(cluster, node) => self.node_down(cluster, node),
            Action::NodeUp(cluster, node) => self.node_up(cluster, node),
            Action::Uncordon(cluster, node) => self.uncordon(cluster, node),
        }
    }

    /// Returns whether the site still exists.
    fn act_in(&mut self, site: &mut Site, action: SiteAction) -> bool {
        match action {
            SiteAction::Reconcile(deployment) => self.reconcile(site, deployment),
            SiteAction::ReconcileStateful(stateful) => self.reconcile_stateful(site, stateful),
            SiteAction::Advance(pod, plan) => self.advance_pod(site, &pod, plan),
            SiteAction::Evict(pod) => self.delete_pod(site, &pod),
            SiteAction::Deadline(deployment, revision) => self.deadline(site, deployment, revision),
            SiteAction::Deploy(plan) => self.deploy(site, &plan),
            SiteAction::Rollback(plan) => self.roll_back(site, &plan),
            SiteAction::Scale(scaler) => self.scale(site, scaler),
            SiteAction::Close => self.close(site),
            SiteAction::Sweep => self.sweep(site),
            SiteAction::Forget(remark) => self.forget(site, &remark),
            SiteAction::Gone => return self.gone(site),
        }
        true
    }
}
