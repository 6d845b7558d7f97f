//! Deployments: versions are released, go from staging to production, sometimes fail, and are taken back.

use std::sync::Arc;
use std::time::Duration;

use super::catalog;
use super::schedule::{Action, Plan, SiteAction, SiteId, hours, minutes};
use super::world::{Settings, Site, World};
use crate::random::{Random, mix};
use crate::workloads::catalog::{Fate, PROJECTS, Template};
use crate::workloads::{config, deployments};
use strandline_model::{Tier, Timestamp};

/// Branches that have or get review apps.
const BRANCHES: [&str; 8] = [
    "fix-login",
    "new-checkout",
    "dark-mode",
    "update-deps",
    "search-filters",
    "faster-images",
    "retry-payments",
    "i18n",
];

impl World {
    /// A version is published: it is deployed to staging at once and, when all goes well, to production.
    pub(super) fn release(&mut self, project: usize) {
        let next = self.some_minutes(110, 260);
        self.after(next, Action::Release(project));
        if !self.at_work() && !self.random.per_mille(300) {
            return;
        }
        let fate = self.staging_fate();
        let version = self.next_version(project, true);
        let plan = Plan { version, fate, configures: self.random.per_mille(250), insists: false };
        self.plan_deploys(project, Tier::Testing, "", minutes(1), &plan);
        self.plan_deploys(project, Tier::Staging, "", minutes(3), &plan);
        if fate != Fate::Good {
            return self.plan_rollback(project, Tier::Staging, 20, 60);
        }
        if self.random.per_mille(600) {
            let bad = self.random.per_mille(30);
            let fate = if bad { Fate::Crashes } else { Fate::Good };
            let plan = Plan { fate, ..plan };
            let (first, second) = (self.some_minutes(25, 50), self.some_minutes(80, 140));
            let (first_region, second_region) =
                if self.random.per_mille(700) { ("eu", "us") } else { ("us", "eu") };
            self.plan_deploys(project, Tier::Production, first_region, first, &plan);
            if bad {
                self.plan_rollback_in(project, Tier::Production, first_region, first + minutes(14));
            } else {
                self.plan_deploys(project, Tier::Production, second_region, second, &plan);
            }
        }
    }

    /// Staging also gets what is not released yet.
    pub(super) fn deploy_staging(&mut self, project: usize) {
        let next = self.some_minutes(50, 150);
        self.after(next, Action::StagingDeploy(project));
        if !self.at_work() && !self.random.per_mille(150) {
            return;
        }
        let fate = self.staging_fate();
        let version = self.next_version(project, false);
        let plan = Plan { version, fate, configures: self.random.per_mille(150), insists: false };
        self.plan_deploys(project, Tier::Staging, "", Duration::ZERO, &plan);
        if fate != Fate::Good {
            self.plan_rollback(project, Tier::Staging, 15, 50);
        }
    }

    fn staging_fate(&mut self) -> Fate {
        match self.random.between(0, 99) {
            0..=5 => Fate::BadImage,
            6..=13 => Fate::Crashes,
            _ => Fate::Good,
        }
    }

    /// Whether people are at work.
    fn at_work(&self) -> bool {
        let hour = self.now.as_micros().div_euclid(3_600_000_000).rem_euclid(24);
        (6..20).contains(&hour)
    }

    /// The name of a project's next version.
    pub(super) fn next_version(&mut self, project: usize, release: bool) -> String {
        let Some((minor, patch)) = self.versions.get_mut(project) else { return String::new() };
        if release {
            *minor += 1;
            *patch = 0;
        } else {
            *patch += 1;
        }
        let (minor, patch) = (*minor, *patch);
        if release {
            format!("2.{minor}.0")
        } else {
            format!("2.{minor}.{patch}-{}", &self.random.uuid()[..8])
        }
    }

    /// The sites of a project in a tier, and in a region unless that is empty.
    pub(super) fn sites_of(&self, project: usize, tier: Tier, region: &str) -> Vec<SiteId> {
        let Some(project) = PROJECTS.get(project) else { return Vec::new() };
        let sites = self.sites.values().filter(|site| {
            let location = &site.location;
            location.project.id == project.id
                && location.tier == tier
                && (region.is_empty() || location.region == region)
                && site.deleting.is_none()
        });
        sites.map(|site| site.id).collect()
    }

    /// Plans a deployment to the sites of a tier, one cluster after the other.
    pub(super) fn plan_deploys(
        &mut self,
        project: usize,
        tier: Tier,
        region: &str,
        delay: Duration,
        plan: &Plan,
    ) {
        let mut delay = delay;
        for site in self.sites_of(project, tier, region) {
            self.site_after(delay, site, SiteAction::Deploy(plan.clone()));
            delay += self.some_minutes(1, 4);
        }
    }

    /// A version of a project is deployed as the story needs it, and is taken back after a while if it is bad.
    pub(super) fn incident(&mut self, project: usize, tier: Tier, region: &str, fate: Fate, lasts: Duration) {
        // Settings are changed between releases.
        let version = self.next_version(project, fate != Fate::Misconfigured);
        let plan = Plan { version, fate, configures: false, insists: true };
        for (site, lag) in self.sites_of(project, tier, region).into_iter().zip([0, 2, 4, 6]) {
            self.site_after(minutes(lag), site, SiteAction::Deploy(plan.clone()));
            if fate != Fate::Good {
                self.site_after(lasts + minutes(lag), site, SiteAction::Rollback(plan.clone()));
            }
        }
    }

    fn plan_rollback(&mut self, project: usize, tier: Tier, low: u64, high: u64) {
        let delay = self.some_minutes(low, high);
        self.plan_rollback_in(project, tier, "", delay);
    }

    fn plan_rollback_in(&mut self, project: usize, tier: Tier, region: &str, delay: Duration) {
        for site in self.sites_of(project, tier, region) {
            let plan = Plan { version: String::new(), fate: Fate::Good, configures: false, insists: false };
            self.site_after(delay, site, SiteAction::Rollback(plan));
        }
    }

    /// Gives every deployment of a site a version.
    pub(super) fn deploy(&mut self, site: &mut Site, plan: &Plan) {
        if !self.may_deploy(site, plan) {
            return;
        }
        for index in 0..site.deployments.len() {
            let current = Arc::clone(&site.deployments[index].template);
            let component = current.component;
            let settings_only = plan.fate == Fate::Misconfigured;
            let renews = plan.configures || settings_only;
            let config = self.configure(site, component.name, plan.fate, |config| config + u32::from(renews));
            let version =
                if settings_only { Arc::clone(&current.version) } else { plan.version.as_str().into() };
            let template = Template { component, version, config, fate: plan.fate, hash: String::new() };
            self.set_template(site, index, Arc::new(with_hash(template)));
        }
        self.deployed(site, &plan.version, plan.fate);
    }

    /// Lets every deployment of a site return to its newest good version.
    pub(super) fn roll_back(&mut self, site: &mut Site, plan: &Plan) {
        if !self.may_deploy(site, plan) {
            return;
        }
        let mut taken_back = None;
        for index in 0..site.deployments.len() {
            let deployment = &site.deployments[index];
            if deployment.template.fate == Fate::Good {
                continue;
            }
            let good = deployment.sets.iter().filter(|set| set.template.fate == Fate::Good);
            if let Some(set) = good.max_by_key(|set| set.revision) {
                let template = Arc::clone(&set.template);
                taken_back = Some(template.version.clone());
                if site.deployments[index].template.fate == Fate::Misconfigured {
                    self.configure(site, template.component.name, Fate::Good, |_| template.config);
                }
                self.set_template(site, index, template);
            }
        }
        if let Some(version) = taken_back {
            self.deployed(site, &version, Fate::Good);
        }
    }

    fn may_deploy(&self, site: &Site, plan: &Plan) -> bool {
        let (from, until) = site.reserved;
        site.deleting.is_none() && (plan.insists || !(from..until).contains(&self.now))
    }

    fn set_template(&mut self, site: &mut Site, index: usize, template: Arc<Template>) {
        let deployment = &mut site.deployments[index];
        if deployment.template.hash == template.hash {
            return;
        }
        deployment.template = template;
        deployment.generation += 1;
        let object = deployments::deployment(&site.location, deployment);
        self.write(site.cluster, object, site.location.project.deployer);
        let delay = self.some_millis(80, 250);
        self.site_after(delay, site.id, SiteAction::Reconcile(index));
    }

    /// Writes a component's configuration if its number is another by `number`, and returns that.
    fn configure(
        &self,
        site: &mut Site,
        component: &str,
        fate: Fate,
        number: impl FnOnce(u32) -> u32,
    ) -> u32 {
        let Some(settings) = site.settings.iter_mut().find(|settings| settings.component.name == component)
        else {
            return 1;
        };
        let before = settings.config;
        settings.config = number(before);
        if settings.config != before {
            let Settings { component, map, config, .. } = settings;
            let object = config::config_map(&site.location, component, map, *config, fate);
            self.write(site.cluster, object, site.location.project.deployer);
        }
        settings.config
    }

    /// Replaces the credentials of some site.
    pub(super) fn rotate(&mut self) {
        let next = self.some_minutes(40, 90);
        self.after(next, Action::Rotate);
        let Some(id) = self.some_site() else { return };
        let Some(site) = self.sites.get_mut(&id).filter(|site| site.deleting.is_none()) else { return };
        let Some(settings) = site.settings.first_mut() else { return };
        settings.rotation += 1;
        let object = config::secret(&site.location, settings.component, &settings.secret, settings.rotation);
        let (cluster, author) = (site.cluster, site.location.project.deployer);
        self.write(cluster, object, author);
    }

    /// Turns over some stateful workload.
    pub(super) fn turn_over(&mut self) {
        let next = self.some_minutes(60, 150);
        self.after(next, Action::TurnOver);
        let candidates: Vec<SiteId> =
            self.sites.values().filter(|site| !site.stateful.is_empty()).map(|site| site.id).collect();
        let index = self.random.index(candidates.len());
        let Some(mut site) = candidates.get(index).and_then(|id| self.sites.remove(id)) else { return };
        self.turn_over_stateful(&mut site, 0);
        self.sites.insert(site.id, site);
    }

    /// Lets the program of some Pod end.
    pub(super) fn crash_some_pod(&mut self) {
        let next = self.some_minutes(3, 12);
        self.after(next, Action::Crash);
        let Some(mut site) = self.some_site().and_then(|id| self.sites.remove(&id)) else { return };
        let ready: Vec<String> =
            site.pods.values().filter(|pod| pod.is_ready()).map(|pod| pod.identity.name.clone()).collect();
        let (code, reason) = if self.random.per_mille(500) { (137, "OOMKilled") } else { (1, "Error") };
        let index = self.random.index(ready.len());
        if let Some(name) = ready.get(index) {
            self.crash(&mut site, name, code, reason);
        }
        self.sites.insert(site.id, site);
    }

    fn some_site(&mut self) -> Option<SiteId> {
        let index = self.random.index(self.sites.len());
        self.sites.keys().nth(index).copied()
    }

    /// A merge request gets a review app, for some hours.
    pub(super) fn open_review(&mut self, project: usize) {
        let next = self.some_minutes(70, 200);
        self.after(next, Action::OpenReview(project));
        let branch = BRANCHES[self.random.index(BRANCHES.len())];
        let lifetime = self.some_minutes(90, 480);
        if self.at_work() || self.random.per_mille(200) {
            self.open_review_app(project, branch, self.now.plus(lifetime));
        }
    }

    /// Opens the review app of a branch, unless it is there, until then.
    pub(super) fn open_review_app(&mut self, project: usize, branch: &str, until: Timestamp) {
        let Some(found) = PROJECTS.get(project) else { return };
        let (cluster, location) = catalog::review(found, branch);
        let taken = self.sites.values().any(|site| site.location.namespace == location.namespace);
        if taken {
            return;
        }
        let version = self.next_version(project, false);
        let id = self.open(cluster, location, &version);
        self.schedule.at(until, Action::Site(id, SiteAction::Close));
        let lifetime = until.since(self.now);
        let mut at = hours(1);
        while at < lifetime {
            let version = self.next_version(project, false);
            let plan = Plan { version, fate: self.staging_fate(), configures: false, insists: false };
            self.site_after(at, id, SiteAction::Deploy(plan));
            at += self.some_minutes(40, 120);
        }
    }
}

/// The template with its hash.
pub(super) fn with_hash(mut template: Template) -> Template {
    let name = template.component.name.bytes().chain(template.version.bytes());
    let sum = name.fold(u64::from(template.config), |sum, byte| mix(sum ^ u64::from(byte)));
    template.hash = Random::new(sum).suffix(10);
    template
}
