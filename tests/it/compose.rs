//! The compose file: what it starts, and how it looks whether that is well, played by the program itself.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::process::Command;

use crate::checkout::read;
use crate::server::{PROGRAM, Result};
use strandline_sim::Port;

const FOLDER: &str = "deploy/compose";

/// A token's entry; the hash is of no token.
const TOKEN: &str = "  tokens: [{name: admins, hash: 'sha256:fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9', everything: true}]";

fn service() -> Result<Value> {
    let file: Value = serde_saphyr::from_str(&read(&format!("{FOLDER}/compose.yaml")))?;
    Ok(file["services"]["strandline"].clone())
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

#[test]
fn the_container_has_no_rights_that_it_does_not_need() -> Result<()> {
    let service = service()?;
    assert_eq!(service["user"], "65532:65532");
    assert_eq!(service["read_only"], true);
    assert_eq!(texts(&service["cap_drop"]), ["ALL"]);
    assert_eq!(texts(&service["security_opt"]), ["no-new-privileges:true"]);
    assert_eq!(texts(&service["ports"]), ["127.0.0.1:7979:7979"]);
    assert!(texts(&service["volumes"]).contains(&"./config:/etc/strandline:ro"), "{service:#}");
    let image = service["image"].as_str().unwrap_or_default();
    assert!(image.ends_with(concat!(":", env!("CARGO_PKG_VERSION"), "}")), "{image}");
    Ok(())
}

/// Runs what the container would, with its places in a folder.
fn in_container(folder: &Path, listen: &str, arguments: &[&str]) -> Command {
    let placed = |text: &&str| {
        text.replace("/etc/strandline", &folder.join("config").display().to_string())
            .replace("/data", &folder.join("data").display().to_string())
            .replace("0.0.0.0:7979", listen)
    };
    let mut command = Command::new(PROGRAM);
    command.args(arguments.iter().map(placed)).stdin(Stdio::null()).kill_on_drop(true);
    command
}

#[tokio::test]
async fn what_the_compose_file_starts_is_healthy_by_its_own_check() -> Result<()> {
    let (folder, service) = (tempfile::tempdir()?, service()?);
    let kubeconfigs = folder.path().join("config/kubeconfigs");
    fs::create_dir_all(&kubeconfigs)?;
    fs::create_dir(folder.path().join("data"))?;
    fs::write(kubeconfigs.join(".gitkeep"), "")?;
    let config = read(&format!("{FOLDER}/config/strandline.yaml"));
    let write = |text: &str| fs::write(folder.path().join("config/strandline.yaml"), text);
    let kept = Port::free_at(Ipv4Addr::UNSPECIFIED.into())?;
    let listen = kept.address()?.to_string();
    let arguments = texts(&service["command"]);

    // As it is delivered it has no token, and says so.
    write(&config)?;
    let refused = in_container(folder.path(), &listen, &arguments).output().await?;
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && message.contains("strandline token"), "{message}");

    // With one, and with the names that its last line proposes, it runs.
    write(&config.replace("  tokens: []", TOKEN).replace("# hosts: [", "hosts: ["))?;
    let mut server = in_container(folder.path(), &listen, &arguments).stderr(Stdio::null()).spawn()?;
    let check = texts(&service["healthcheck"]["test"]);
    let ["CMD", "/strandline", check @ ..] = check.as_slice() else {
        return Err(format!("{:#}", service["healthcheck"]).into());
    };
    let (port, begun) = (listen.replace("0.0.0.0", "127.0.0.1"), Instant::now());
    loop {
        let mut probe = in_container(folder.path(), &listen, check);
        let probe = probe.env("STRANDLINE_SERVER", format!("http://{port}")).output().await?;
        if probe.status.success() {
            break;
        }
        // A bound on hanging, not on speed.
        assert!(begun.elapsed() < Duration::from_secs(120), "{}", String::from_utf8_lossy(&probe.stderr));
        assert!(server.try_wait()?.is_none(), "it ended");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    server.kill().await?;
    Ok(())
}
