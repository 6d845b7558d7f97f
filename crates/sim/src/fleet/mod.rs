//! The simulated fleet: four clusters in two regions and an organization that works in them.
//!
//! The simulation is a schedule of actions, each at its own moment. [`Fleet::step`] lets everything happen that is
//! due by the given time and writes the objects that changed to the clusters' API servers, with the times at which
//! things happened. One seed and one start give one history, in steps of any size.

mod autoscaling;
mod catalog;
mod deployments;
mod founding;
mod node_life;
mod options;
mod pod_life;
mod releases;
mod remarks;
mod rollouts;
mod schedule;
mod sites;
mod stateful_sets;
#[cfg(test)]
mod tests;
mod world;

use std::io;

pub use self::options::FleetOptions;
use self::world::World;
use super::api_server::ApiServer;
use super::workloads::catalog::Fate;
use strandline_model::{AgentSpec, ClusterSpec, DeploymentSpec, EnvironmentSpec, ProjectSpec, Timestamp};

/// Four simulated clusters with what runs in them.
#[derive(Debug)]
pub struct Fleet {
    world: World,
}

impl Fleet {
    /// A fleet as it is when its history begins, whose servers do not listen yet.
    pub fn new(options: &FleetOptions) -> Self {
        Fleet { world: founding::found(options) }
    }

    /// A fleet as it is when its history begins, its servers listening.
    pub async fn start(options: &FleetOptions) -> io::Result<Self> {
        let fleet = Fleet::new(options);
        fleet.listen().await?;
        Ok(fleet)
    }

    /// Lets all servers listen.
    pub async fn listen(&self) -> io::Result<()> {
        for server in self.servers() {
            server.start_again().await?;
        }
        Ok(())
    }

    /// Lets everything happen that is due by `now`; a moment that has passed changes nothing.
    pub fn step(&mut self, now: Timestamp) {
        self.world.advance_to(now);
    }

    /// The moment that the fleet has reached.
    pub fn now(&self) -> Timestamp {
        self.world.now
    }

    /// The API servers, in the order of [`Fleet::clusters`].
    pub fn servers(&self) -> &[ApiServer] {
        &self.world.servers
    }

    /// The clusters to declare, each with the address of its API server.
    pub fn clusters(&self) -> Vec<(ClusterSpec, String)> {
        let pairs = self.world.clusters.iter().zip(&self.world.servers);
        let spec =
            |name: &str, region: &str| ClusterSpec { name: name.to_owned(), region: region.to_owned() };
        pairs.map(|(cluster, server)| (spec(cluster.name, cluster.region), server.url())).collect()
    }

    /// The projects to declare.
    pub fn projects(&self) -> Vec<ProjectSpec> {
        catalog::projects()
    }

    /// The agents to declare.
    pub fn agents(&self) -> Vec<AgentSpec> {
        catalog::agents()
    }

    /// The deployments that were made since this was asked last.
    pub fn take_deployments(&mut self) -> Vec<DeploymentSpec> {
        std::mem::take(&mut self.world.new_deployments)
    }

    /// The environments that the story lets fail, each with a moment at which it has failed.
    pub fn incidents(&self) -> Vec<(EnvironmentSpec, Timestamp)> {
        let end = self.world.start.plus(self.world.history);
        let environments = self.environments();
        let of_story = |story: founding::Story| {
            // Long enough for the deadline of the rollout to pass, and before it is taken back.
            let seen = story.at.plus(story.lasts * 3 / 4).min(end);
            let concerns = move |one: &&EnvironmentSpec| {
                let region = story.region.is_empty() || one.region == story.region;
                one.project == story.path && one.tier == story.tier && region
            };
            environments.iter().filter(concerns).cloned().map(move |one| (one, seen)).collect::<Vec<_>>()
        };
        let bad = founding::stories(end, self.world.history, self.world.opens_with_incident)
            .into_iter()
            .filter(|story| story.fate != Fate::Good);
        bad.flat_map(of_story).collect()
    }

    /// The environments to declare now, in the order of their names; review apps come and go.
    pub fn environments(&self) -> Vec<EnvironmentSpec> {
        catalog::environments(&self.world.sites)
    }
}
