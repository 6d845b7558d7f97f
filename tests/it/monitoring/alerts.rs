//! Each alert in a real Prometheus: the fault is made, exactly the alerts of it fire, and clear once it is over.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use strandline_sim::Port;
use strandline_sim::api_server::{ApiServer, builtin_kinds};

use super::prometheus::{Prometheus, hurried, skip_without_prometheus};
use super::{RULES, TOKEN, config};
use crate::bad_input::{SmallDisk, pod};
use crate::checkout::{read, root};
use crate::server::{PROGRAM, Result, Server, run};

const FAR: &str = "2099-01-01";

/// What lasts minutes in production and seconds here. A disk of 24 MiB is never larger than half a GiB.
const INSTEAD: [(&str, &str); 3] = [
    ("> 900", "> 8"),
    ("strandline_view_checkpoint_offset[5m]", "strandline_view_checkpoint_offset[3s]"),
    ("strandline_data_disk_free_bytes < 536870912", "strandline_data_disk_free_bytes < 4194304"),
];

/// Has the simulated cluster send bookmarks often, so that silence is short.
async fn cluster() -> Result<ApiServer> {
    let server = ApiServer::start("one", builtin_kinds()).await?;
    server.set_bookmark_interval(Duration::from_millis(500));
    server.apply(pod("web-0", 0));
    Ok(server)
}

async fn back_up(server: &Server, to: &Path) -> Result<()> {
    run(&["backup"], &[("--data", &server.data()), ("--to", to)]).await.map(drop)
}

fn told(fault: &str, fired: Duration, cleared: Duration) {
    eprintln!(
        "{fault}: fired after {:.1} s, cleared after {:.1} s",
        fired.as_secs_f64(),
        cleared.as_secs_f64()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_fault_fires_its_alerts_and_no_other_and_they_clear() -> Result<()> {
    if skip_without_prometheus("each_fault_fires_its_alerts_and_no_other_and_they_clear") {
        return Ok(());
    }
    let (folder, monitoring, simulated) = (tempfile::tempdir()?, tempfile::tempdir()?, cluster().await?);
    let place = folder.path();
    let mut server = Server::start(place, &config(&simulated, FAR)).await?;
    let rules = hurried(&read(RULES), &INSTEAD);
    let prometheus = Prometheus::start(monitoring.path(), server.url(), TOKEN, &rules).await?;

    // Nobody has made a backup yet.
    let fired = prometheus.until_firing(&["StrandlineBackupOld"]).await?;
    back_up(&server, &monitoring.path().join("backup")).await?;
    told("no backup", fired, prometheus.until_firing(&[]).await?);

    simulated.stop().await;
    let fired = prometheus.until_firing(&["StrandlineClusterSilent", "StrandlineGapOpen"]).await?;
    simulated.start_again().await?;
    told("a cluster is away", fired, prometheus.until_firing(&[]).await?);

    std::fs::write(place.join("config.yaml"), "clusters: [{nane: one}]\n")?;
    let fired = prometheus.until_firing(&["StrandlineConfigurationRejected"]).await?;
    std::fs::write(place.join("config.yaml"), config(&simulated, FAR))?;
    told("a wrong configuration", fired, prometheus.until_firing(&[]).await?);

    std::fs::write(place.join("config.yaml"), config(&simulated, &in_days(9)))?;
    let fired = prometheus.until_firing(&["StrandlineTokenExpires"]).await?;
    std::fs::write(place.join("config.yaml"), config(&simulated, FAR))?;
    told("a token that expires", fired, prometheus.until_firing(&[]).await?);

    // The data directory is taken away under the server. Retention cannot run then either.
    std::fs::rename(server.data(), place.join("elsewhere"))?;
    let lost = ["StrandlineLogDamaged", "StrandlineRecordingStopped", "StrandlineRetentionNotRunning"];
    let fired = prometheus.until_firing(&lost).await?;
    server.kill().await?;
    let killed = prometheus.until_firing(&["StrandlineAbsent"]).await?;
    let _ = std::fs::remove_dir_all(server.data());
    std::fs::rename(place.join("elsewhere"), server.data())?;
    server.start_again().await?;
    let cleared = prometheus.until_firing(&[]).await?;
    told("a data directory that was removed", fired, cleared);
    told("a server that is gone", killed, cleared);
    Ok(())
}

/// The day so many days from now.
fn in_days(days: u64) -> String {
    use strandline_clock::{Clock as _, SystemClock};
    let then = SystemClock.now().plus(Duration::from_secs(days * 24 * 3600)).to_string();
    then.split('T').next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_view_that_does_not_move_and_a_disk_that_is_nearly_full_fire_and_clear() -> Result<()> {
    let test = "a_view_that_does_not_move_and_a_disk_that_is_nearly_full_fire_and_clear";
    if skip_without_prometheus(test) {
        return Ok(());
    }
    let (folder, monitoring, simulated) = (tempfile::tempdir()?, tempfile::tempdir()?, cluster().await?);
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        eprintln!("NOT RUN: {test}: a tmpfs cannot be mounted here");
        return Ok(());
    };
    let server = Server::start(folder.path(), &config(&simulated, FAR)).await?;
    let rules = hurried(&read(RULES), &INSTEAD);
    let prometheus = Prometheus::start(monitoring.path(), server.url(), TOKEN, &rules).await?;
    back_up(&server, &monitoring.path().join("backup")).await?;
    prometheus.until_firing(&[]).await?;

    let filler = folder.path().join("filler");
    let free = prometheus.query("strandline_data_disk_free_bytes").await?;
    let free: usize = free[0]["value"][1].as_str().unwrap_or_default().parse()?;
    std::fs::write(&filler, vec![7; free - 3 * 1024 * 1024])?;
    let fired = prometheus.until_firing(&["StrandlineDiskFull"]).await?;
    std::fs::remove_file(&filler)?;
    told("a disk that is nearly full", fired, prometheus.until_firing(&[]).await?);

    // Somebody else's lock keeps the projector from writing, while the log goes on.
    let view = rusqlite::Connection::open(server.data().join("view.db"))?;
    view.execute_batch("BEGIN IMMEDIATE")?;
    simulated.apply(pod("web-1", 1));
    let fired = prometheus.until_firing(&["StrandlineViewLag"]).await?;
    view.execute_batch("ROLLBACK")?;
    told("a view that does not move", fired, prometheus.until_firing(&[]).await?);
    server.stop().await?;
    drop(disk);
    Ok(())
}

/// Puts a certificate and its key where the configuration names them.
fn install_certificate(folder: &Path, name: &str) -> Result<()> {
    for ending in ["pem", "key"] {
        std::fs::copy(
            root().join(format!("tests/it/https/{name}.{ending}")),
            folder.join(format!("tls.{ending}")),
        )?;
    }
    Ok(())
}

/// `expired.pem` was good for a day in November 2026, and `server.pem` is until 2126.
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_expires_fires_and_clears_once_it_is_renewed() -> Result<()> {
    if skip_without_prometheus("a_certificate_that_expires_fires_and_clears_once_it_is_renewed") {
        return Ok(());
    }
    let (folder, monitoring, simulated) = (tempfile::tempdir()?, tempfile::tempdir()?, cluster().await?);
    install_certificate(folder.path(), "expired")?;
    let text = format!("{}tls: {{certificate: tls.pem, key: tls.key}}\n", config(&simulated, FAR));
    std::fs::write(folder.path().join("config.yaml"), text)?;
    let port = Port::free()?;
    let listen = port.address()?;
    let (data, output) =
        (folder.path().join("data"), std::fs::File::create(monitoring.path().join("server.log"))?);
    let _server = tokio::process::Command::new(PROGRAM)
        .args(["serve", "--listen", &listen.to_string(), "--config"])
        .arg(folder.path().join("config.yaml"))
        .arg("--data")
        .arg(&data)
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .kill_on_drop(true)
        .spawn()?;
    let (server, rules) = (format!("https://{listen}"), hurried(&read(RULES), &INSTEAD));
    let prometheus = Prometheus::start(monitoring.path(), &server, TOKEN, &rules).await?;
    run(&["backup"], &[("--data", &data), ("--to", &monitoring.path().join("backup"))]).await?;
    let fired = prometheus.until_firing(&["StrandlineCertificateExpires"]).await?;
    install_certificate(folder.path(), "server")?;
    told("a certificate that expires", fired, prometheus.until_firing(&[]).await?);
    Ok(())
}
