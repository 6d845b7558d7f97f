//! How the world begins: an organization that has been at work for ten days.

use std::time::Duration;

use super::catalog::{GROUNDS, lasting_locations};
use super::options::FleetOptions;
use super::schedule::{Action, Plan, Schedule, SiteAction, hours, minutes, seconds};
use super::world::{CONTROLLER, Cluster, KUBELET, World};
use crate::api_server::{ApiServer, ServedKind, builtin_kinds};
use crate::random::Random;
use crate::workloads::catalog::{Fate, PROJECTS};
use crate::workloads::config;
use crate::workloads::nodes::Node;
use crate::workloads::stateful::database_definition;
use strandline_model::{Tier, Timestamp};

/// Nodes of each cluster.
const NODES: usize = 8;

/// Builds the world as it is when the history begins.
pub(super) fn found(options: &FleetOptions) -> World {
    let database = ServedKind::custom("postgresql.example.dev", "v1", "Cluster", "clusters");
    let servers = GROUNDS.iter().map(|ground| {
        let mut kinds = builtin_kinds();
        kinds.push(database.clone());
        ApiServer::new(ground.name, kinds)
    });
    let mut world = World {
        now: options.start.minus(hours(240)),
        start: options.start,
        history: options.history,
        opens_with_incident: options.opens_with_incident,
        random: Random::new(options.seed),
        schedule: Schedule::default(),
        clusters: Vec::new(),
        servers: servers.collect(),
        sites: std::collections::BTreeMap::new(),
        next_site: 1,
        new_deployments: Vec::new(),
        // As GitLab's own are: higher than those of any fleet before.
        last_deployment: options.start.as_micros().div_euclid(1_000_000).unsigned_abs(),
        versions: [(0, 0); PROJECTS.len()],
    };
    for cluster in 0..GROUNDS.len() {
        world.found_cluster(cluster);
    }
    for version in &mut world.versions {
        *version = (u32::try_from(world.random.between(3, 40)).unwrap_or(3), 0);
    }
    world.found_sites();
    world.plan_days();
    world.plan_story();
    world.advance_to(options.start);
    world
}

impl World {
    fn found_cluster(&mut self, cluster: usize) {
        let Some(ground) = GROUNDS.get(cluster) else { return };
        let mut nodes = Vec::new();
        for index in 0..NODES {
            let address = format!("10.{}.128.{}", cluster, 10 + index);
            let host = format!("ip-{}.{}.compute.internal", address.replace('.', "-"), ground.cloud_region);
            nodes.push(Node {
                identity: self.identity(host),
                region: ground.cloud_region.to_owned(),
                zone: format!("{}{}", ground.cloud_region, ["a", "b", "c"][index % 3]),
                address,
                ready: true,
                ready_since: self.now,
                cordoned: false,
                heartbeat: self.now,
                seats: 0,
                version: "v1.36.0",
            });
        }
        self.clusters.push(Cluster { name: ground.name, region: ground.region, nodes, draining: None });
        for index in 0..NODES {
            self.write_node(cluster, index, KUBELET);
        }
        for name in ["default", "kube-system"] {
            let identity = self.identity(name);
            self.write(cluster, config::namespace(&identity, serde_json::json!({}), None), CONTROLLER);
        }
        let definition = self.identity("clusters.postgresql.example.dev");
        self.write(cluster, database_definition(&definition), super::world::OPERATOR);
    }

    /// Opens every lasting site, and lets two versions come before the one that runs when the history begins.
    fn found_sites(&mut self) {
        for (cluster, location) in lasting_locations() {
            let project = PROJECTS.iter().position(|project| project.id == location.project.id).unwrap_or(0);
            let minor = self.versions.get(project).map_or(0, |(minor, _)| *minor);
            let id = self.open(cluster, location, &format!("2.{minor}.0"));
            for (age, step) in [(hours(200), 1), (hours(30), 2)] {
                let version = format!("2.{}.0", minor + step);
                let plan = Plan { version, fate: Fate::Good, configures: step == 2, insists: false };
                let spread = self.some_minutes(0, 600);
                let at = self.start.minus(age).plus(spread);
                self.schedule.at(at, Action::Site(id, SiteAction::Deploy(plan)));
            }
        }
        for (minor, _) in &mut self.versions {
            *minor += 2;
        }
    }

    /// Plans what happens again and again from the beginning of the history on.
    fn plan_days(&mut self) {
        let start = self.start;
        for (index, project) in PROJECTS.iter().enumerate() {
            let (release, staging) = (self.some_minutes(5, 240), self.some_minutes(2, 120));
            self.schedule.at(start.plus(release), Action::Release(index));
            self.schedule.at(start.plus(staging), Action::StagingDeploy(index));
            if project.reviewed {
                let review = self.some_minutes(10, 120);
                self.schedule.at(start.plus(review), Action::OpenReview(index));
            }
        }
        for cluster in 0..GROUNDS.len() {
            let drain = self.some_minutes(40, 400);
            self.schedule.at(start.plus(drain), Action::Drain(cluster));
            for node in 0..NODES {
                let offset = self.some_millis(0, 600_000);
                self.schedule.at(start.plus(offset), Action::Heartbeat(cluster, node));
            }
        }
        let scalers: Vec<_> = self.sites.values().map(|site| (site.id, site.scalers.len())).collect();
        for (site, count) in scalers {
            for index in 0..count {
                // An hour early, so that the history does not begin with everything being scaled at once.
                let offset = self.some_millis(0, 300_000);
                self.schedule
                    .at(start.minus(hours(1)).plus(offset), Action::Site(site, SiteAction::Scale(index)));
            }
        }
        for (action, low, high) in
            [(Action::Crash, 1, 8), (Action::TurnOver, 20, 60), (Action::Rotate, 10, 50)]
        {
            let offset = self.some_minutes(low, high);
            self.schedule.at(start.plus(offset), action);
        }
    }

    /// Plans what every demo shows, whatever the seed: an incident, one still open at the end, and work in progress.
    fn plan_story(&mut self) {
        let start = self.start;
        let end = start.plus(self.history);
        for Story { at, path, tier, region, fate, lasts } in
            stories(end, self.history, self.opens_with_incident)
        {
            let project = PROJECTS.iter().position(|project| project.path == path).unwrap_or(0);
            self.schedule.at(at, Action::Incident(project, tier, region, fate, lasts));
            for id in self.sites_of(project, tier, region) {
                if let Some(site) = self.sites.get_mut(&id) {
                    site.reserved = (at.minus(hours(3)).max(start), at.plus(lasts + hours(1)));
                }
            }
        }
        self.plan_first_reviews(end);
    }

    fn plan_first_reviews(&mut self, end: Timestamp) {
        for (path, branch, until) in [
            ("shop/web", "fix-login", end.plus(hours(8))),
            ("shop/cart", "new-checkout", end.plus(hours(5))),
            ("media/images", "faster-images", self.start.plus(hours(3))),
        ] {
            let project = PROJECTS.iter().position(|project| project.path == path).unwrap_or(0);
            let opened = self.start.minus(hours(2));
            self.schedule.at(opened, Action::OpenReviewApp(project, branch, until));
        }
    }
}

/// A deployment that every demo has.
pub(super) struct Story {
    pub(super) at: Timestamp,
    /// The project, and of its environments those of a tier, and of a region unless that is empty.
    pub(super) path: &'static str,
    pub(super) tier: Tier,
    pub(super) region: &'static str,
    pub(super) fate: Fate,
    /// How long it is until it is taken back, if it is bad.
    pub(super) lasts: Duration,
}

/// A release that crashes, an image that is not there at the end, work in progress, and, if wanted, a setting that is lost so
/// soon that whoever follows from the beginning has not long to wait; a history of three hours has room for all of them.
pub(super) fn stories(end: Timestamp, history: Duration, opens_with_incident: bool) -> Vec<Story> {
    let story = |before_end, path, tier, region, fate, lasts| Story {
        at: end.minus(before_end),
        path,
        tier,
        region,
        fate,
        lasts,
    };
    // Whoever follows from the beginning looks at it now and then, so that an incident has to last.
    let least = if opens_with_incident { minutes(40) } else { Duration::ZERO };
    let (open, lasts) = ((history / 48).max(least / 2), (history / 36).max(least));
    let crash = (history / 8).max(least * 3 / 2);
    let mut stories = vec![
        story(crash, "payments/api", Tier::Production, "us", Fate::Crashes, lasts),
        story(open, "search/indexer", Tier::Staging, "", Fate::BadImage, open + minutes(90)),
        story(seconds(15), "media/images", Tier::Production, "eu", Fate::Good, minutes(0)),
    ];
    if opens_with_incident {
        let opens = history.saturating_sub((history / 96).max(minutes(15)));
        stories.push(story(opens, "shop/cart", Tier::Production, "eu", Fate::Misconfigured, lasts));
    }
    stories
}
