//! The past of a real cluster: what kubectl says at a hundred moments, and what is answered about them later, by time.
//!
//! At each moment the answer is what kubectl saw, or names a gap, or is no older than the delay that it states.

mod kinds;
mod witness;

use std::time::Duration;

use self::witness::Witness;
use crate::control_plane::harness::{ControlPlane, skip_without_control_plane};
use crate::not_run::left_out;
use crate::server::{Result, Server};

/// Some take minutes and are played by `just past`; elsewhere they say that they did not run.
fn is_left_out(test: &str) -> bool {
    if std::env::var_os("STRANDLINE_PAST").is_none() {
        left_out(test, "run `just past`");
        return true;
    }
    skip_without_control_plane(test)
}

/// A cluster, the program that records it, and somebody who writes down what it holds.
struct Scene {
    plane: ControlPlane,
    server: Server,
    witness: Witness,
    _folder: tempfile::TempDir,
}

impl Scene {
    async fn start() -> Result<Self> {
        let plane = ControlPlane::start().await?;
        plane.kubectl(&["create", "namespace", "past"]).await?;
        let folder = tempfile::tempdir()?;
        let config =
            format!("clusters:\n  - name: real\n    kubeconfig: {}\n", plane.kubeconfig_path().display());
        let server = Server::start(folder.path(), &config).await?;
        server.until("/coverage?kind=ConfigMap", |answer| witness::is_watched(answer, "ConfigMap")).await?;
        Ok(Scene { plane, server, witness: Witness::default(), _folder: folder })
    }

    /// So many changes, each followed by a look of the witness.
    async fn live(&mut self, moments: usize) -> Result<()> {
        for _ in 0..moments {
            self.witness.change(&self.plane).await?;
            self.witness.look(&self.plane).await?;
        }
        Ok(())
    }

    /// The same, so slowly that no answer may still be that of the moment before the first.
    async fn live_slowly(&mut self, moments: usize) -> Result<()> {
        for _ in 0..moments {
            self.live(1).await?;
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        Ok(())
    }

    /// Waits until all is recorded that the cluster holds, then holds every moment against the witness.
    async fn compare(mut self) -> Result<()> {
        self.witness.look(&self.plane).await?;
        self.witness.until_recorded(&self.server).await?;
        let outcome = self.witness.compare(&self.server).await;
        outcome.map_err(|error| format!("{error}\n{}", self.server.output()))?;
        self.server.stop().await?;
        self.plane.stop().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_moments_are_answered_later_as_kubectl_saw_them() -> Result<()> {
    if is_left_out("a hundred moments") {
        return Ok(());
    }
    let mut scene = Scene::start().await?;
    scene.live(30).await?;
    // Killed and started again while things go on.
    scene.server.kill().await?;
    scene.live_slowly(10).await?;
    scene.server.start_again().await?;
    scene.live(20).await?;
    // Killed, and the cluster forgets what lies back before the next start.
    scene.server.kill().await?;
    scene.live_slowly(10).await?;
    scene.plane.compact_store().await?;
    scene.server.start_again().await?;
    scene.live(10).await?;
    // Stopped for a while as a whole, as when a machine is suspended.
    scene.server.signal("STOP").await?;
    scene.live_slowly(10).await?;
    scene.server.signal("CONT").await?;
    scene.live(10).await?;
    scene.compare().await
}

/// In which order a store is set back to an older copy, and whether it has gone on past where we stood before we notice.
async fn restored(down: bool, overtaken: bool) -> Result<()> {
    // The hardest of them is always played.
    let left_out = if down && overtaken { skip_without_control_plane } else { is_left_out };
    if left_out("a restored store") {
        return Ok(());
    }
    let mut scene = Scene::start().await?;
    scene.live_slowly(5).await?;
    scene.plane.copy_store("copy").await?;
    scene.live_slowly(5).await?;
    scene.witness.until_recorded(&scene.server).await?;
    match down {
        true => scene.server.kill().await?,
        // What it would see while the store comes back is not to help it.
        false => scene.server.signal("STOP").await?,
    }
    scene.plane.restore_store("copy").await?;
    scene.witness.look(&scene.plane).await?;
    if overtaken {
        scene.witness.overtake(&scene.plane).await?;
    }
    match down {
        true => scene.server.start_again().await?,
        false => scene.server.signal("CONT").await?,
    }
    scene.live(2).await?;
    scene.compare().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_set_back_while_we_watch_is_noticed() -> Result<()> {
    restored(false, false).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_set_back_while_we_watch_and_overtaken_is_noticed() -> Result<()> {
    restored(false, true).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_set_back_while_we_are_down_is_noticed() -> Result<()> {
    restored(true, false).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_set_back_while_we_are_down_and_overtaken_is_noticed() -> Result<()> {
    restored(true, true).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_that_changes_cannot_be_converted_and_goes_is_told_as_it_was() -> Result<()> {
    if skip_without_control_plane("kinds that change and go") {
        return Ok(());
    }
    kinds::change_and_go(ControlPlane::start().await?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn rights_that_are_taken_away_are_a_gap_that_every_moment_of_it_names() -> Result<()> {
    if skip_without_control_plane("rights that are taken away") {
        return Ok(());
    }
    kinds::lose_rights(ControlPlane::start().await?).await
}
