//! Files that others write, and files that others may not read, with the program as its user runs it.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use tokio::process::Command;

use crate::bad_input::{cluster, config, wait_for_pod};
use crate::server::{Result, Server, run};

/// Everything below a directory that another user may read or write, with its mode.
fn open_to_others(directory: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut look = |path: &Path| -> Result<()> {
        let mode = fs::symlink_metadata(path)?.mode() & 0o777;
        if mode & 0o077 != 0 {
            found.push(format!("{mode:o} {}", path.display()));
        }
        Ok(())
    };
    look(directory)?;
    for entry in fs::read_dir(directory)? {
        look(&entry?.path())?;
    }
    Ok(found)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_program_writes_only_its_owner_reads() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    // As an earlier version left it.
    let data = folder.path().join("data");
    fs::create_dir(&data)?;
    fs::write(data.join("log.head"), "")?;
    fs::set_permissions(&data, fs::Permissions::from_mode(0o755))?;
    fs::set_permissions(data.join("log.head"), fs::Permissions::from_mode(0o644))?;
    fs::remove_file(data.join("log.head"))?;
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    wait_for_pod(&server).await?;
    assert_eq!(open_to_others(&data)?, Vec::<String>::new());
    assert!(server.output().contains("removed the access of other users"), "{}", server.output());
    let (backup, export) = (folder.path().join("backup"), folder.path().join("log.zst"));
    run(&["backup"], &[("--data", &data), ("--to", &backup)]).await?;
    run(&["export"], &[("--data", &data), ("-o", &export)]).await?;
    assert_eq!(open_to_others(&backup)?, Vec::<String>::new());
    assert_eq!(fs::metadata(&export)?.mode() & 0o777, 0o600);
    server.stop().await?;
    let restored = folder.path().join("restored");
    run(&["restore"], &[("--from", &backup), ("--data", &restored)]).await?;
    assert_eq!(open_to_others(&restored)?, Vec::<String>::new());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_was_planted_is_not_followed() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    wait_for_pod(&server).await?;
    server.stop().await?;
    let (data, precious) = (folder.path().join("data"), folder.path().join("precious"));
    fs::create_dir(&precious)?;
    fs::write(precious.join("key"), "precious")?;
    // A backup and an export that begin at a name which another user took.
    symlink(&precious, folder.path().join("backup.partial"))?;
    symlink(precious.join("key"), folder.path().join("log.zst.partial"))?;
    let refused = run(&["backup"], &[("--data", &data), ("--to", &folder.path().join("backup"))]).await;
    let refused = refused.expect_err("it would work in another's directory").to_string();
    assert!(
        refused.contains("backup.partial") && refused.contains("not a directory of this user"),
        "{refused}"
    );
    let export = folder.path().join("log.zst");
    run(&["export"], &[("--data", &data), ("-o", &export)]).await?;
    assert!(fs::symlink_metadata(&export)?.is_file());
    // And in a data directory that was open to all before.
    for name in ["lock", "redaction.key.new", "log.head", "log.db", "view.db"] {
        let data = folder.path().join(format!("planted-{name}"));
        fs::create_dir(&data)?;
        symlink(precious.join("made"), data.join(name))?;
        let log = export.display().to_string();
        // Some are refused, others take the place of the link.
        let _ = run(&["import", &log], &[("--data", &data)]).await;
        let _ = run(&["rebuild"], &[("--data", &data)]).await;
    }
    assert_eq!(fs::read_to_string(precious.join("key"))?, "precious");
    assert_eq!(fs::read_dir(&precious)?.count(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fifo_in_a_checkout_stops_neither_other_agents_nor_the_end() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let agents = folder.path().join("checkout/.gitlab/agents");
    for name in ["one", "two"] {
        fs::create_dir_all(agents.join(name))?;
    }
    let file = agents.join("one/config.yaml");
    fs::write(&file, "ci_access: {projects: [{id: shop/web}]}\n")?;
    let made = Command::new("mkfifo").arg(agents.join("two/config.yaml")).status().await?;
    assert!(made.success());
    let config = "clusters: [{name: one, url: 'http://127.0.0.1:9'}]\n\
                  agents: [{project: ops/agents, path: checkout}]\n";
    let server = Server::start(folder.path(), config).await?;
    let told =
        |answer: &serde_json::Value| answer["problem"].as_str().is_some_and(|it| it.contains("a FIFO"));
    server.until("/agents/ops%2Fagents%3Atwo?", told).await?;
    let one = server.ask("/agents/ops%2Fagents%3Aone").await?;
    assert_eq!(one["cluster"], "", "its name is that of a cluster, and leads nowhere");
    fs::write(&file, "")?;
    server.until("/agents/ops%2Fagents%3Aone?", |agent| agent["configuration"] == "").await?;
    server.stop().await
}
