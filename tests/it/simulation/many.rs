//! Hundreds of clusters at once, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use strandline_clock::SystemClock;
use strandline_log::{LogReader, LogWriter};
use strandline_model::{Change, CoverageState, Offset};
use strandline_redact::Rules;
use strandline_sim::api_server::{ApiServer, builtin_kinds};
use strandline_watch::{ClusterConnection, ClusterSettings, Watcher, supervise};
use tokio_util::sync::CancellationToken;

use super::world::folder;
use crate::server::Result;

const CLUSTERS: usize = 200;

/// Every cluster is asked too much at first, and every tenth stays away for good.
#[test]
fn hundreds_of_clusters_start_together_without_a_storm() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    let folder = folder()?;
    let (kinds, servers) = runtime.block_on(follow(folder.path()))?;
    let mut log = LogReader::open(folder.path())?;
    let mut watched = 0;
    let mut from = Offset::ZERO;
    loop {
        let records = log.after(from, 1000)?;
        let Some(last) = records.last() else { break };
        from = last.offset;
        let is_watched = |change: &Change| matches!(change, Change::Coverage(mark) if mark.state == CoverageState::Watched && !mark.watch.kind.kind.is_empty());
        watched += records.iter().filter(|record| is_watched(&record.change)).count();
    }
    let away = CLUSTERS.div_ceil(10);
    assert_eq!(watched, (CLUSTERS - away) * kinds, "every kind of every cluster that answers");
    for (index, server) in servers.iter().enumerate().filter(|(index, _)| index % 10 > 0) {
        let requests = server.requests();
        // One for each kind that was too many at first, then a list and a watch each, with some patience between.
        let most = 12 * kinds as u64;
        let asked = requests.refused + requests.lists + requests.watches;
        assert!(asked <= most, "cluster {index} was asked {asked} times: {requests:?}");
    }
    Ok(())
}

/// Follows all of them for some minutes; the number of kinds that each has to be watched for.
async fn follow(folder: &std::path::Path) -> Result<(usize, Vec<ApiServer>)> {
    let (writer, appender) = LogWriter::open(folder, Arc::new(SystemClock))?;
    let writer = tokio::spawn(writer.run_here());
    let cancel = CancellationToken::new();
    let servers: Vec<ApiServer> =
        (0..CLUSTERS).map(|index| ApiServer::new(&format!("c{index:03}"), builtin_kinds())).collect();
    let mut following = Vec::new();
    for (index, server) in servers.iter().enumerate() {
        for kind in builtin_kinds() {
            server.faults().refuse(Some(kind.kind), 429);
        }
        server.set_away(index % 10 == 0);
        let rules = Arc::new(Rules::new([7; 32]));
        let settings = ClusterSettings { seed: index as u64, ..ClusterSettings::new(server.name(), rules) };
        let connection = ClusterConnection::through(server.in_process(), "http://simulated");
        let ways = vec![Watcher { connection, namespaces: Vec::new() }];
        let (sink, clock) = (appender.clone(), Arc::new(SystemClock));
        following.push(tokio::spawn(supervise(settings, ways, sink, clock, cancel.clone())));
    }
    tokio::time::sleep(Duration::from_secs(20)).await;
    servers.iter().for_each(|server| server.faults().clear());
    tokio::time::sleep(Duration::from_secs(120)).await;
    cancel.cancel();
    for cluster in following {
        cluster.await?;
    }
    drop(appender);
    writer.await??;
    let settings = ClusterSettings::new("", Arc::new(Rules::new([7; 32])));
    let followed = builtin_kinds().into_iter().filter(|served| settings.selection.follows(&served.kind));
    Ok((followed.count(), servers))
}
