//! Kubernetes' Events about what goes wrong; each is deleted an hour after it was last repeated.

use super::schedule::{SiteAction, hours};
use super::world::{Site, World};
use crate::api_server::Author;
use crate::workloads::events::{Remark, event};
use crate::workloads::pods::{Stage, lacks_key};

const KUBELET_REMARKS: Author = Author::updates("kubelet");

impl World {
    /// Remarks on a stage that people want to know about.
    pub(super) fn remark_on_stage(&mut self, site: &mut Site, pod: &str, stage: Stage) {
        let Some(found) = site.pods.get(pod) else { return };
        let name = found.template.component.name;
        let (reason, message) = match stage {
            Stage::PullFailed(false) => {
                let image = found.template.image(&site.location);
                ("Failed", format!("Failed to pull image \"{image}\": not found"))
            }
            Stage::PullFailed(true) => {
                let image = found.template.image(&site.location);
                ("BackOff", format!("Back-off pulling image \"{image}\""))
            }
            Stage::ConfigFailed => ("Failed", format!("Error: {}", lacks_key(&site.location, name))),
            Stage::BackOff => {
                ("BackOff", format!("Back-off restarting failed container {name} in pod {pod}"))
            }
            _ => return,
        };
        let about = found.identity.clone();
        let key = format!("{pod}.{reason}");
        match site.remarks.get_mut(&key) {
            Some(remark) => {
                remark.count += 1;
                remark.last = self.now;
            }
            None => {
                let name = format!("{pod}.{:016x}", self.random.bits());
                let remark = Remark {
                    identity: self.identity(name),
                    namespace: site.location.namespace.clone(),
                    kind: "Pod",
                    api_version: "v1",
                    about,
                    warning: true,
                    reason,
                    message,
                    component: "kubelet",
                    count: 1,
                    last: self.now,
                };
                site.remarks.insert(key.clone(), remark);
            }
        }
        if let Some(remark) = site.remarks.get(&key) {
            self.write(site.cluster, event(remark), KUBELET_REMARKS);
        }
        self.site_after(hours(1), site.id, SiteAction::Forget(key));
    }

    /// Removes a remark that was not repeated for an hour.
    pub(super) fn forget(&mut self, site: &mut Site, key: &str) {
        let Some(remark) = site.remarks.get(key).filter(|remark| remark.last.plus(hours(1)) <= self.now)
        else {
            return;
        };
        self.erase(site.cluster, "", "Event", &site.location.namespace, &remark.identity.name);
        site.remarks.remove(key);
    }
}
