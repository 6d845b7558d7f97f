//! Autoscalers that follow the time of day.

use super::schedule::{SiteAction, minutes};
use super::world::{CONTROLLER, Site, World};
use crate::workloads::autoscale::{Autoscaler, autoscaler};
use crate::workloads::deployments;
use strandline_model::Timestamp;

impl World {
    /// Creates the autoscaler of a deployment.
    pub(super) fn open_scaler(&mut self, site: &mut Site, index: usize) {
        let Some(deployment) = site.deployments.get(index) else { return };
        let component = deployment.template.component;
        let scaler = Autoscaler {
            identity: self.identity(component.name),
            minimum: component.replicas,
            maximum: component.replicas * 2,
            current: component.replicas,
            desired: component.replicas,
            utilization: 50,
            scaled_at: self.now,
        };
        let object = autoscaler(&site.location, component, &scaler);
        self.write(site.cluster, object, site.location.project.deployer);
        site.scalers.push((index, scaler));
    }

    /// Measures, and scales when the load asks for it.
    pub(super) fn scale(&mut self, site: &mut Site, index: usize) {
        self.site_after(minutes(5), site.id, SiteAction::Scale(index));
        let jitter = self.random.between(0, 8);
        let Some((deployment_index, scaler)) = site.scalers.get_mut(index) else { return };
        let Some(deployment) = site.deployments.get_mut(*deployment_index) else { return };
        let load = load(self.now, &site.location.region);
        let range = u64::from(scaler.maximum - scaler.minimum);
        let desired = scaler.minimum + u32::try_from((range * load + 50) / 100).unwrap_or(0);
        scaler.current = deployment.replicas;
        scaler.desired = desired;
        scaler.utilization = 55 + jitter;
        let scaled = desired != deployment.replicas;
        if scaled {
            scaler.utilization = if desired > deployment.replicas { 78 + jitter } else { 34 + jitter };
            scaler.scaled_at = self.now;
            deployment.replicas = desired;
            deployment.generation += 1;
            let object = deployments::deployment(&site.location, deployment);
            self.write(site.cluster, object, CONTROLLER.through("scale"));
        }
        let object = autoscaler(&site.location, deployment.template.component, scaler);
        self.write(site.cluster, object, CONTROLLER.through("status"));
        if scaled {
            let reconcile = SiteAction::Reconcile(*deployment_index);
            let delay = self.some_millis(80, 250);
            self.site_after(delay, site.id, reconcile);
        }
    }
}

/// How busy a region is, in percent: least at night, most in its evening.
fn load(now: Timestamp, region: &str) -> u64 {
    let minute = now.as_micros().div_euclid(60_000_000).rem_euclid(1440);
    let peak = if region == "us" { 23 * 60 } else { 16 * 60 };
    let away = (minute - peak).rem_euclid(1440);
    let away = away.min(1440 - away);
    u64::try_from(100 - away * 100 / 720).unwrap_or(0)
}
