//! Pods from creation to removal, as scheduler and kubelet lead them.

use std::sync::Arc;

use super::Fate;
use super::schedule::{SiteAction, seconds};
use super::world::{CONTROLLER, KUBELET, OPERATOR, Site, World};
use crate::api_server::Author;
use crate::workloads::catalog::{Shape, Template};
use crate::workloads::metadata::Identity;
use crate::workloads::pods::{self, Exit, Maker, Pod, Seat, Stage, back_off_seconds};

const SCHEDULER: Author = Author::updates("kube-scheduler").through("status");

impl World {
    /// Creates a Pod; the scheduler sees it a moment later.
    pub(super) fn create_pod(
        &mut self,
        site: &mut Site,
        name: String,
        maker: Maker,
        owner: Identity,
        template: Arc<Template>,
    ) {
        let pod = Pod {
            identity: self.identity(name.clone()),
            maker,
            owner,
            template,
            seat: None,
            stage: Stage::Pending,
            since: self.now,
            started: self.now,
            ready_changed: self.now,
            scheduled: self.now,
            restarts: 0,
            last_exit: None,
            deleting: None,
            plan: 0,
        };
        let by_operator = pod.template.component.shape == Shape::Database;
        let author = if by_operator { OPERATOR } else { CONTROLLER };
        self.write(site.cluster, pods::pod(&site.location, &pod), author);
        site.pods.insert(name.clone(), pod);
        let delay = self.some_millis(50, 400);
        self.plan_pod(site, &name, delay);
    }

    /// Begins to delete a Pod and lets its controller follow.
    pub(super) fn delete_pod(&mut self, site: &mut Site, name: &str) {
        let Some(maker) = site.pods.get(name).map(|pod| pod.maker.clone()) else { return };
        self.delete_pod_quietly(site, name);
        self.pod_changed(site, &maker);
    }

    /// Begins to delete a Pod: its program gets time to end.
    pub(super) fn delete_pod_quietly(&mut self, site: &mut Site, name: &str) {
        let Some(pod) = site.pods.get_mut(name).filter(|pod| pod.is_active()) else { return };
        pod.deleting = Some(self.now);
        self.write(site.cluster, pods::pod(&site.location, pod), CONTROLLER);
        let delay = self.some_millis(2_000, 9_000);
        self.plan_pod(site, name, delay);
    }

    /// Plans the next step of a Pod's life; an earlier plan is void.
    fn plan_pod(&mut self, site: &mut Site, name: &str, delay: std::time::Duration) {
        let Some(pod) = site.pods.get_mut(name) else { return };
        pod.plan += 1;
        let plan = pod.plan;
        self.site_after(delay, site.id, SiteAction::Advance(name.to_owned(), plan));
    }

    /// The next step of a Pod's life.
    pub(super) fn advance_pod(&mut self, site: &mut Site, name: &str, plan: u32) {
        let Some(pod) = site.pods.get(name).filter(|pod| pod.plan == plan) else { return };
        if pod.deleting.is_some() {
            return self.end_pod(site, name);
        }
        let (stage, fate) = (pod.stage, pod.template.fate);
        match (stage, fate) {
            (Stage::Pending, _) => self.seat(site, name),
            (Stage::Scheduled, _) => self.enter(site, name, Stage::Creating),
            (Stage::Creating | Stage::PullFailed(true), Fate::BadImage) => {
                self.enter(site, name, Stage::PullFailed(false));
            }
            (Stage::PullFailed(_), Fate::BadImage) => self.enter(site, name, Stage::PullFailed(true)),
            (Stage::Creating | Stage::ConfigFailed, Fate::Misconfigured) => {
                self.enter(site, name, Stage::ConfigFailed);
            }
            (Stage::Creating | Stage::PullFailed(_) | Stage::ConfigFailed, _) => {
                self.enter(site, name, Stage::Starting);
            }
            (Stage::Starting, Fate::Crashes) => self.crash(site, name, 1, "Error"),
            (Stage::Starting, _) => self.enter(site, name, Stage::Ready),
            (Stage::Exited, _) => self.after_exit(site, name),
            (Stage::BackOff, _) => self.restart(site, name),
            (Stage::Ready | Stage::Stopped, _) => {}
        }
    }

    /// Puts a Pod on some node that takes Pods, or lets it wait.
    fn seat(&mut self, site: &mut Site, name: &str) {
        let Some(seat) = self.free_seat(site.cluster) else {
            let delay = self.some_millis(5_000, 20_000);
            return self.plan_pod(site, name, delay);
        };
        if let Some(pod) = site.pods.get_mut(name) {
            pod.seat = Some(seat);
            pod.scheduled = self.now;
        }
        self.enter(site, name, Stage::Scheduled);
    }

    fn free_seat(&mut self, cluster: usize) -> Option<Seat> {
        let first = self.random.bits();
        let cluster_state = self.clusters.get_mut(cluster)?;
        let count = cluster_state.nodes.len();
        let start = usize::try_from(first % (count.max(1) as u64)).unwrap_or(0);
        let order = (0..count).map(|step| (start + step) % count);
        let mut open = order
            .filter(|&node| cluster_state.nodes.get(node).is_some_and(|node| node.ready && !node.cordoned));
        let index = open.next()?;
        let node = cluster_state.nodes.get_mut(index)?;
        node.seats += 1;
        Some(Seat {
            node: index,
            node_name: node.identity.name.clone(),
            node_address: node.address.clone(),
            zone: node.zone.clone(),
            address: format!("10.{}.{index}.{}", 64 + cluster, 2 + node.seats % 250),
        })
    }

    /// Puts a Pod into a stage, writes it, and plans what follows.
    fn enter(&mut self, site: &mut Site, name: &str, stage: Stage) {
        let Some(pod) = site.pods.get_mut(name) else { return };
        let was_ready = pod.is_ready();
        pod.stage = stage;
        pod.since = self.now;
        if stage == Stage::Starting {
            pod.started = self.now;
        }
        if was_ready != pod.is_ready() {
            pod.ready_changed = self.now;
        }
        let author = if stage == Stage::Scheduled { SCHEDULER } else { KUBELET };
        self.write(site.cluster, pods::pod(&site.location, pod), author);
        let (maker, restarts) = (pod.maker.clone(), pod.restarts);
        let seen = matches!(stage, Stage::Starting | Stage::Ready | Stage::Exited | Stage::BackOff);
        self.remark_on_stage(site, name, stage);
        let delay = match stage {
            Stage::Pending | Stage::Scheduled => Some(self.some_millis(300, 1_500)),
            Stage::Creating => Some(self.some_millis(1_500, 12_000)),
            Stage::PullFailed(false) => Some(self.some_millis(8_000, 15_000)),
            Stage::PullFailed(true) | Stage::ConfigFailed => Some(self.some_millis(60_000, 300_000)),
            Stage::Starting => Some(self.some_millis(4_000, 18_000)),
            Stage::Exited => Some(self.some_millis(900, 2_000)),
            Stage::BackOff => Some(seconds(back_off_seconds(restarts))),
            Stage::Ready | Stage::Stopped => None,
        };
        if let Some(delay) = delay {
            self.plan_pod(site, name, delay);
        }
        if seen {
            self.pod_changed(site, &maker);
        }
    }

    /// Lets a Pod's program end by itself.
    pub(super) fn crash(&mut self, site: &mut Site, name: &str, code: i64, reason: &'static str) {
        let Some(pod) = site.pods.get_mut(name).filter(|pod| pod.is_active()) else { return };
        pod.last_exit = Some(Exit { code, reason, started: pod.started, finished: self.now });
        self.enter(site, name, Stage::Exited);
    }

    /// The first restart comes at once, later ones after a pause.
    fn after_exit(&mut self, site: &mut Site, name: &str) {
        let restarts = site.pods.get(name).map_or(0, |pod| pod.restarts);
        let crashes = site.pods.get(name).is_some_and(|pod| pod.template.fate == Fate::Crashes);
        if restarts > 0 && crashes {
            self.enter(site, name, Stage::BackOff);
        } else {
            self.restart(site, name);
        }
    }

    fn restart(&mut self, site: &mut Site, name: &str) {
        if let Some(pod) = site.pods.get_mut(name) {
            pod.restarts += 1;
        }
        self.enter(site, name, Stage::Starting);
    }

    /// The end of a deleted Pod: first its program, then the object.
    fn end_pod(&mut self, site: &mut Site, name: &str) {
        let Some(pod) = site.pods.get_mut(name) else { return };
        if matches!(pod.stage, Stage::Starting | Stage::Ready) {
            if pod.is_ready() {
                pod.ready_changed = self.now;
            }
            pod.stage = Stage::Stopped;
            pod.since = self.now;
            self.write(site.cluster, pods::pod(&site.location, pod), KUBELET);
            let maker = pod.maker.clone();
            let delay = self.some_millis(100, 900);
            self.plan_pod(site, name, delay);
            return self.pod_changed(site, &maker);
        }
        let maker = pod.maker.clone();
        site.pods.remove(name);
        self.erase(site.cluster, "", "Pod", &site.location.namespace, name);
        self.pod_changed(site, &maker);
    }

    /// Lets a Pod's controller and Service follow.
    fn pod_changed(&mut self, site: &mut Site, maker: &Maker) {
        match maker {
            Maker::ReplicaSet(deployment, _) => self.reconcile(site, *deployment),
            Maker::Stateful(stateful, _) => self.reconcile_stateful(site, *stateful),
        }
        if site.deleting.is_some() && site.pods.is_empty() {
            self.site_after(seconds(1), site.id, SiteAction::Gone);
        }
    }
}
