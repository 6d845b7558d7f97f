//! Sites coming into being and going away.

use std::sync::Arc;

use super::Fate;
use super::releases::with_hash;
use super::schedule::{SiteAction, SiteId, seconds};
use super::world::{CONTROLLER, Front, Settings, Site, World};
use crate::workloads::catalog::{Component, Location, Shape, Template};
use crate::workloads::deployments::{self, Deployment, Progress};
use crate::workloads::metadata::environment_labels;
use crate::workloads::stateful::Stateful;
use crate::workloads::{config, network, stateful};
use strandline_model::Tier;

impl World {
    /// Creates a namespace and all that a project deploys into it.
    pub(super) fn open(&mut self, cluster: usize, location: Location, version: &str) -> SiteId {
        let id = self.next_site;
        self.next_site += 1;
        let namespace = self.identity(location.namespace.clone());
        let mut site = Box::new(Site {
            id,
            cluster,
            namespace,
            deployments: Vec::new(),
            stateful: Vec::new(),
            pods: std::collections::BTreeMap::new(),
            fronts: Vec::new(),
            scalers: Vec::new(),
            settings: Vec::new(),
            remarks: std::collections::BTreeMap::new(),
            deleting: None,
            reserved: Default::default(),
            location,
        });
        let labels = environment_labels(&site.location);
        self.write(cluster, config::namespace(&site.namespace, labels, None), site.location.project.deployer);
        let certificate = self.identity("kube-root-ca.crt");
        self.write(cluster, config::root_certificate(&site.location.namespace, &certificate), CONTROLLER);
        let registry = self.identity("gitlab-registry");
        let object = config::registry_secret(&site.location, &registry);
        self.write(cluster, object, site.location.project.deployer);
        for component in site.location.project.components {
            self.open_component(&mut site, component, version);
        }
        self.deployed(&site, version, Fate::Good);
        self.sites.insert(id, site);
        id
    }

    fn open_component(&mut self, site: &mut Site, component: &'static Component, version: &str) {
        let (cluster, author) = (site.cluster, site.location.project.deployer);
        let name = component.name;
        let account = self.identity(name);
        self.write(cluster, config::service_account(&site.location, component, &account), author);
        let map = self.identity(format!("{name}-config"));
        let secret = self.identity(format!("{name}-credentials"));
        self.write(cluster, config::config_map(&site.location, component, &map, 1, Fate::Good), author);
        self.write(cluster, config::secret(&site.location, component, &secret, 1), author);
        site.settings.push(Settings { component, map, secret, config: 1, rotation: 1 });
        if component.shape != Shape::Worker {
            self.open_front(site, component);
        }
        let version = match component.shape {
            Shape::Server | Shape::Worker => version,
            Shape::Stateful if component.port == 6379 => "8.2.1-alpine",
            Shape::Stateful => "3.1.0",
            Shape::Database => "17.6",
        };
        let template =
            Template { component, version: version.into(), config: 1, fate: Fate::Good, hash: String::new() };
        let template = Arc::new(with_hash(template));
        if component.is_deployment() {
            self.open_deployment(site, template);
        } else {
            self.open_stateful(site, template);
        }
    }

    fn open_front(&mut self, site: &mut Site, component: &'static Component) {
        let (cluster, author) = (site.cluster, site.location.project.deployer);
        let service = self.identity(component.name);
        let address = format!("172.20.{}.{}", self.random.between(0, 255), self.random.between(1, 254));
        self.write(cluster, network::service(&site.location, component, &service, &address), author);
        let slice_name = format!("{}-{}", component.name, self.random.suffix(5));
        let slice = self.identity(slice_name);
        let object = network::endpoint_slice(&site.location, component, &slice, &service, &[]);
        self.write(cluster, object, CONTROLLER);
        site.fronts.push(Front { component, service, slice, reported: Vec::new() });
        if component.ingress {
            let ingress = self.identity(component.name);
            self.write(cluster, network::ingress(&site.location, component, &ingress), author);
        }
    }

    fn open_deployment(&mut self, site: &mut Site, template: Arc<Template>) {
        let component = template.component;
        let deployment = Deployment {
            identity: self.identity(component.name),
            replicas: replicas(site.location.tier, component),
            revision: 0,
            generation: 1,
            observed_generation: 0,
            sets: Vec::new(),
            progress: Progress { reason: "", set: String::new(), since: self.now, updated: self.now },
            available: false,
            available_since: self.now,
            reported: (0, 0, 0),
            template,
        };
        let object = deployments::deployment(&site.location, &deployment);
        self.write(site.cluster, object, site.location.project.deployer);
        site.deployments.push(deployment);
        let index = site.deployments.len() - 1;
        if component.autoscaled && site.location.tier == Tier::Production {
            self.open_scaler(site, index);
        }
        let delay = self.some_millis(100, 300);
        self.site_after(delay, site.id, SiteAction::Reconcile(index));
    }

    fn open_stateful(&mut self, site: &mut Site, template: Arc<Template>) {
        let component = template.component;
        let workload = Stateful {
            identity: self.identity(component.name),
            replicas: replicas(site.location.tier, component),
            settled_hash: template.hash.clone(),
            generation: 1,
            observed_generation: 0,
            reported: (0, 0, 0),
            primary: 0,
            ready_since: self.now,
            template,
        };
        let claims: Vec<String> =
            (0..workload.replicas).map(|ordinal| format!("data-{}", workload.pod_name(ordinal))).collect();
        site.stateful.push(workload);
        let index = site.stateful.len() - 1;
        self.write_stateful(site, index, site.location.project.deployer);
        for name in claims {
            let identity = self.identity(name);
            let object = stateful::claim(&site.location, &site.stateful[index], &identity);
            self.write(site.cluster, object, CONTROLLER);
        }
        let delay = self.some_millis(100, 300);
        self.site_after(delay, site.id, SiteAction::ReconcileStateful(index));
    }

    /// Begins to delete a site's namespace.
    pub(super) fn close(&mut self, site: &mut Site) {
        if site.deleting.is_some() {
            return;
        }
        site.deleting = Some(self.now);
        let labels = environment_labels(&site.location);
        let object = config::namespace(&site.namespace, labels, site.deleting);
        self.write(site.cluster, object, super::world::CLEANER);
        self.site_after(seconds(1), site.id, SiteAction::Sweep);
    }

    /// Deletes the objects of a terminating namespace; Pods take their time, and claims wait for them.
    pub(super) fn sweep(&mut self, site: &mut Site) {
        self.erase_namespaced(site, |kind| kind != "Pod" && kind != "PersistentVolumeClaim");
        let pods: Vec<String> = site.pods.keys().cloned().collect();
        for name in &pods {
            self.delete_pod_quietly(site, name);
        }
        if pods.is_empty() {
            self.site_after(seconds(1), site.id, SiteAction::Gone);
        }
    }

    /// Removes an empty namespace; returns whether the site still exists.
    pub(super) fn gone(&mut self, site: &mut Site) -> bool {
        if site.deleting.is_none() || !site.pods.is_empty() {
            return true;
        }
        self.erase_namespaced(site, |_| true);
        self.erase(site.cluster, "", "Namespace", "", &site.namespace.name);
        false
    }

    fn erase_namespaced(&self, site: &Site, wanted: impl Fn(&str) -> bool) {
        let Some(server) = self.servers.get(site.cluster) else { return };
        for kind in server.kinds().into_iter().filter(|kind| kind.namespaced && wanted(&kind.kind.kind)) {
            let (group, kind) = (&kind.kind.group, &kind.kind.kind);
            for name in server.names(group, kind, &site.location.namespace) {
                self.erase(site.cluster, group, kind, &site.location.namespace, &name);
            }
        }
    }
}

/// How many replicas a component has in a tier.
fn replicas(tier: Tier, component: &Component) -> u32 {
    match tier {
        Tier::Production => component.replicas,
        Tier::Staging => component.replicas.min(2),
        _ => 1,
    }
}
