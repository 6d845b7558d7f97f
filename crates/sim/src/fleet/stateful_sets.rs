//! StatefulSets and databases as their controllers lead them: one Pod at a time.

use std::sync::Arc;

use super::world::{CONTROLLER, OPERATOR, Site, World};
use crate::api_server::Author;
use crate::workloads::catalog::{Shape, Template};
use crate::workloads::pods::{Maker, Pod};
use crate::workloads::stateful;

impl World {
    /// One pass of the controller of a stateful workload.
    pub(super) fn reconcile_stateful(&mut self, site: &mut Site, index: usize) {
        if site.deleting.is_some() || index >= site.stateful.len() {
            return;
        }
        self.fill_stateful(site, index);
        self.replace_outdated(site, index);
        self.write_stateful_status(site, index);
        self.write_endpoints(site);
    }

    /// Creates the first Pod that is missing, once all before it answer.
    fn fill_stateful(&mut self, site: &mut Site, index: usize) {
        let workload = &site.stateful[index];
        let missing = (0..workload.replicas).find(|&ordinal| {
            let pod = site.pods.get(&workload.pod_name(ordinal));
            pod.is_none_or(|pod| !pod.is_ready())
        });
        let Some(ordinal) = missing else { return };
        let name = workload.pod_name(ordinal);
        if site.pods.contains_key(&name) {
            return;
        }
        let (owner, template) = (workload.identity.clone(), Arc::clone(&workload.template));
        self.create_pod(site, name, Maker::Stateful(index, ordinal), owner, template);
    }

    /// Deletes the last Pod of an old template while all Pods answer.
    fn replace_outdated(&mut self, site: &mut Site, index: usize) {
        let workload = &site.stateful[index];
        let names: Vec<String> = (0..workload.replicas).map(|ordinal| workload.pod_name(ordinal)).collect();
        let pods: Vec<&Pod> = names.iter().filter_map(|name| site.pods.get(name)).collect();
        let whole = pods.len() == names.len() && pods.iter().all(|pod| pod.is_ready() && pod.is_active());
        let outdated = pods.iter().rev().find(|pod| pod.template.hash != workload.template.hash);
        match outdated.map(|pod| pod.identity.name.clone()) {
            Some(name) if whole => self.delete_pod_quietly(site, &name),
            None if whole => site.stateful[index].settled_hash = site.stateful[index].template.hash.clone(),
            _ => {}
        }
    }

    /// Writes the status when it changed.
    fn write_stateful_status(&mut self, site: &mut Site, index: usize) {
        let now = self.now;
        let workload = &mut site.stateful[index];
        let mut numbers = (0, 0, 0);
        for ordinal in 0..workload.replicas {
            let Some(pod) = site.pods.get(&workload.pod_name(ordinal)).filter(|pod| pod.is_active()) else {
                continue;
            };
            numbers.0 += 1;
            numbers.1 += u32::from(pod.template.hash == workload.template.hash);
            numbers.2 += u32::from(pod.is_ready());
        }
        let settled = workload.settled_hash.clone();
        let before = (workload.reported, workload.observed_generation, workload.primary);
        if (numbers.2 == workload.replicas) != (workload.reported.2 == workload.replicas) {
            workload.ready_since = now;
        }
        workload.reported = numbers;
        workload.observed_generation = workload.generation;
        let answers = |ordinal: u32| {
            let pod = site.pods.get(&workload.pod_name(ordinal));
            pod.is_some_and(|pod| pod.is_ready() && pod.is_active())
        };
        if !answers(workload.primary)
            && let Some(next) = (0..workload.replicas).find(|&ordinal| answers(ordinal))
        {
            workload.primary = next;
        }
        let unchanged = before == (workload.reported, workload.observed_generation, workload.primary)
            && settled == workload.template.hash;
        if !unchanged {
            let author = self.stateful_author(site, index).through("status");
            self.write_stateful(site, index, author);
        }
    }

    /// Writes a stateful workload as it is.
    pub(super) fn write_stateful(&self, site: &Site, index: usize, author: Author) {
        let Some(workload) = site.stateful.get(index) else { return };
        let object = match workload.template.component.shape {
            Shape::Database => stateful::database(&site.location, workload),
            _ => stateful::stateful_set(&site.location, workload),
        };
        self.write(site.cluster, object, author);
    }

    fn stateful_author(&self, site: &Site, index: usize) -> Author {
        let shape = site.stateful.get(index).map(|workload| workload.template.component.shape);
        if shape == Some(Shape::Database) { OPERATOR } else { CONTROLLER }
    }

    /// Gives a stateful workload a new template; its controller then replaces Pod after Pod.
    pub(super) fn turn_over_stateful(&mut self, site: &mut Site, index: usize) {
        let Some(workload) = site.stateful.get_mut(index).filter(|_| site.deleting.is_none()) else { return };
        let old = &workload.template;
        let template = Template { config: old.config + 1, ..Template::clone(old) };
        workload.template = Arc::new(super::releases::with_hash(template));
        // A database's Pods follow its configuration, which is not part of its specification.
        if workload.template.component.shape != Shape::Database {
            workload.generation += 1;
        }
        self.write_stateful(site, index, site.location.project.deployer);
        self.reconcile_stateful(site, index);
    }
}
