//! What happens to an installation that is used for long: ends, kills, cuts, outages, silence, stores set back.

use std::sync::atomic::Ordering;
use std::time::Duration;

use strandline_clock::Clock as _;
use strandline_model::Kind;
use strandline_sim::api_server::Fault;
use tokio::time::sleep;

use super::{SetBack, World, pod, widget};
use crate::server::Result;

impl World {
    /// What a real installation meets sooner or later.
    pub(super) async fn hardship(&mut self, server: usize) -> Result<()> {
        match self.random.below(8) {
            6 => {
                self.fill_the_disk(server).await;
                Ok(())
            }
            7 => {
                self.jump(server).await;
                Ok(())
            }
            0 => self.be_off().await,
            1 if self.scenario.set_back != SetBack::Never => self.set_back(server).await,
            1 | 2 => {
                // Somewhere on the way every stream is cut at once.
                let times = 1 + self.random.below(60) as u32;
                self.servers[server].faults().next(Fault::CutAfterEvent, times);
                self.live(server, 40, 500).await;
                Ok(())
            }
            3 => {
                self.servers[server].set_away(true);
                self.live(server, 5, 20_000).await;
                self.servers[server].set_away(false);
                Ok(())
            }
            _ => {
                self.servers[server].faults().next(Fault::SilentWatch, 1);
                self.live(server, 10, 40_000).await;
                Ok(())
            }
        }
    }

    /// So many things happen in a cluster, each after at most so many milliseconds.
    async fn live(&mut self, server: usize, most: u64, wait: u64) {
        for _ in 0..=self.random.below(most) {
            sleep(Duration::from_millis(self.random.below(wait))).await;
            match self.random.below(8) {
                0 => self.delete(server, &pod()),
                1 => self.apply(server, &widget()),
                2 => self.apply(server, &Kind::new("", "ConfigMap")),
                _ => self.apply(server, &pod()),
            }
        }
    }

    /// Our process ends, well or by a kill, for seconds, minutes or hours, while the clusters live on and may forget
    /// what lies back.
    async fn be_off(&mut self) -> Result<()> {
        match self.random.below(2) {
            0 => self.stop().await?,
            _ => self.kill().await,
        }
        let wait = self.random.pick(&[2_000, 10_000, 60_000, 600_000, 7_200_000]);
        for server in 0..self.servers.len() {
            self.live(server, 8, wait).await;
            if self.random.below(4) == 0 {
                self.shrink(server);
            }
        }
        self.start()
    }

    /// A store is lost and set back to a copy that is some time old, while we watch or are down, and goes on past where it
    /// was, or does not, before we see it.
    async fn set_back(&mut self, server: usize) -> Result<()> {
        let name = self.servers[server].name();
        let traced = self.scenario.set_back == SetBack::Traced;
        if traced {
            self.calm(server).await;
        }
        let copy = (self.servers[server].copy_store(), self.truth.copy(&name));
        self.live(server, 12, 3_000).await;
        if traced {
            self.rounds += 1;
            let (kind, name) = (Kind::new("", "ConfigMap"), format!("trace-{}", self.rounds));
            let (now, place) = (self.clock.now(), ("shop", name.as_str()));
            self.truth.apply(&self.servers[server], now, &kind, place, self.rounds);
            sleep(Duration::from_secs(10)).await;
        }
        let down = self.random.below(2) == 0;
        if down {
            self.stop().await?;
        }
        self.servers[server].set_away(true);
        self.servers[server].restore_store(&copy.0);
        self.truth.restore(&name, self.clock.now(), &copy.1);
        // Nobody keeps a connection through this, nor is it done in a moment.
        sleep(Duration::from_millis(5_000 + self.random.below(20_000))).await;
        let overtaken = self.random.pick(&[0, 4, 40]);
        if overtaken > 0 {
            self.live(server, overtaken, 200).await;
        }
        self.servers[server].set_away(false);
        if down {
            self.start()?;
        }
        if traced {
            self.calm(server).await;
            if let Some(often) = self.often {
                self.servers[server].faults().storm(self.rounds, often);
            }
        }
        Ok(())
    }

    /// Nothing goes wrong for so long that a silent watch is given up, and all kinds are compared twice.
    async fn calm(&mut self, server: usize) {
        self.servers[server].faults().clear();
        self.servers[server].set_away(false);
        sleep(Duration::from_secs(600)).await;
    }

    /// There is no room on the disk for a while.
    async fn fill_the_disk(&mut self, server: usize) {
        self.room.store(false, Ordering::Relaxed);
        self.live(server, 10, 20_000).await;
        self.room.store(true, Ordering::Relaxed);
    }

    /// Our machine's clock is set wrong, and right again after a while.
    async fn jump(&mut self, server: usize) {
        const HOUR: i64 = 3_600_000_000;
        let by = self.random.pick(&[3_000_000, 90_000_000, HOUR, 24 * HOUR, 366 * 24 * HOUR]);
        let by = if self.random.below(2) == 0 { by } else { -by };
        self.machine.wrong_by.store(by, Ordering::Relaxed);
        self.live(server, 10, 30_000).await;
        self.machine.wrong_by.store(0, Ordering::Relaxed);
    }

    /// Ends our side wherever it is.
    async fn kill(&mut self) {
        let Some(process) = self.process.take() else { return };
        for supervisor in &process.supervisors {
            supervisor.abort();
        }
        process.writer.abort();
        // Whatever they were about to say, nobody listens.
        for supervisor in process.supervisors {
            let _ = supervisor.await;
        }
        let _ = process.writer.await;
    }
}
