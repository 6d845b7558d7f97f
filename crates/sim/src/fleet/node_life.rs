//! Nodes: they report, and now and then one is emptied and upgraded.

use super::schedule::{Action, SiteAction, minutes, seconds};
use super::world::{KUBELET, World};
use crate::api_server::Author;
use crate::workloads::nodes::node;

const OPERATIONS: Author = Author::updates("kubectl-drain");

impl World {
    /// A node reports that it lives.
    pub(super) fn heartbeat(&mut self, cluster: usize, index: usize) {
        self.after(minutes(10), Action::Heartbeat(cluster, index));
        let now = self.now;
        let Some(found) = self.clusters.get_mut(cluster).and_then(|c| c.nodes.get_mut(index)) else { return };
        if found.ready {
            found.heartbeat = now;
            self.write_node(cluster, index, KUBELET);
        }
    }

    /// Writes a node as it is.
    pub(super) fn write_node(&self, cluster: usize, index: usize, author: Author) {
        if let Some(found) = self.clusters.get(cluster).and_then(|cluster| cluster.nodes.get(index)) {
            self.write(cluster, node(found), author);
        }
    }

    /// Empties a node: no new Pods, and those on it are evicted one after the other.
    pub(super) fn drain(&mut self, cluster: usize) {
        let next = self.some_minutes(300, 540);
        self.after(next, Action::Drain(cluster));
        let count = self.clusters.get(cluster).map_or(0, |cluster| cluster.nodes.len());
        let index = self.random.index(count);
        let Some(found) = self.clusters.get_mut(cluster).filter(|cluster| cluster.draining.is_none()) else {
            return;
        };
        found.draining = Some(index);
        if let Some(node) = found.nodes.get_mut(index) {
            node.cordoned = true;
        }
        self.write_node(cluster, index, OPERATIONS);
        let on_node = self.sites.values().filter(|site| site.cluster == cluster).flat_map(|site| {
            let here =
                site.pods.values().filter(|pod| pod.seat.as_ref().is_some_and(|seat| seat.node == index));
            here.map(|pod| (site.id, pod.identity.name.clone()))
        });
        let pods: Vec<_> = on_node.collect();
        let mut delay = seconds(5);
        for (site, pod) in pods {
            self.site_after(delay, site, SiteAction::Evict(pod));
            delay += self.some_millis(8_000, 25_000);
        }
        self.after(delay + minutes(1), Action::NodeDown(cluster, index));
    }

    /// The emptied node is upgraded and ceases to answer.
    pub(super) fn node_down(&mut self, cluster: usize, index: usize) {
        self.set_ready(cluster, index, false);
        let delay = self.some_minutes(2, 4);
        self.after(delay, Action::NodeUp(cluster, index));
    }

    /// The upgraded node answers.
    pub(super) fn node_up(&mut self, cluster: usize, index: usize) {
        if let Some(node) = self.clusters.get_mut(cluster).and_then(|cluster| cluster.nodes.get_mut(index)) {
            node.version = "v1.36.1";
        }
        self.set_ready(cluster, index, true);
        self.after(minutes(1), Action::Uncordon(cluster, index));
    }

    /// The upgraded node takes Pods again.
    pub(super) fn uncordon(&mut self, cluster: usize, index: usize) {
        let Some(found) = self.clusters.get_mut(cluster) else { return };
        found.draining = None;
        if let Some(node) = found.nodes.get_mut(index) {
            node.cordoned = false;
        }
        self.write_node(cluster, index, OPERATIONS);
    }

    fn set_ready(&mut self, cluster: usize, index: usize, ready: bool) {
        let now = self.now;
        if let Some(node) = self.clusters.get_mut(cluster).and_then(|cluster| cluster.nodes.get_mut(index)) {
            node.ready = ready;
            node.ready_since = now;
            node.heartbeat = now;
        }
        self.write_node(cluster, index, KUBELET);
    }
}
