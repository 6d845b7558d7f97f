//! What systemd hears of the program that it starts.

use std::os::unix::net::UnixDatagram;
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

use crate::server::{PROGRAM, Result};
use strandline_sim::Port;

/// The next message that has this line; what others say in between is passed over.
fn heard(socket: &UnixDatagram, line: &str) -> Result<String> {
    let mut bytes = [0; 4096];
    loop {
        let length = socket.recv(&mut bytes).map_err(|error| format!("no {line}: {error}"))?;
        let message = String::from_utf8_lossy(&bytes[..length]).into_owned();
        if message.lines().any(|found| found == line) {
            return Ok(message);
        }
    }
}

#[tokio::test]
async fn systemd_hears_when_the_service_is_ready_that_it_runs_and_that_it_stops() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (config, data) = (folder.path().join("config.yaml"), folder.path().join("data"));
    std::fs::write(&config, "")?;
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path)?;
    // A bound on hanging, not on speed.
    socket.set_read_timeout(Some(Duration::from_secs(120)))?;
    let port = Port::free()?;
    let listen = port.address()?.to_string();
    let mut server = Command::new(PROGRAM);
    server.args(["serve", "--listen", &listen]).arg("--config").arg(config).arg("--data").arg(data);
    server.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "100000");
    let mut server = server.stderr(Stdio::null()).kill_on_drop(true).spawn()?;
    let ready = heard(&socket, "READY=1")?;
    assert!(ready.contains(&format!("STATUS=listening on http://{listen}")), "{ready}");
    // Whoever hears that it is ready can ask.
    let probe =
        Command::new(PROGRAM).args(["probe", "--live", "--server", &format!("http://{listen}")]).output();
    assert!(probe.await?.status.success());
    for _ in 0..3 {
        heard(&socket, "WATCHDOG=1")?;
    }
    let id = server.id().ok_or("it runs")?.to_string();
    assert!(Command::new("kill").arg(id).status().await?.success());
    heard(&socket, "STOPPING=1")?;
    assert!(server.wait().await?.success());
    Ok(())
}
