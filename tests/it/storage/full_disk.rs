//! A start on a disk that is full.

use std::io::Write;
use std::path::Path;

use super::displaced::until_unready;
use crate::bad_input::{RESOURCES, SmallDisk, cluster, config, pod, wait_for_pod};
use crate::server::{Result, Server, items};

/// Fills a disk to the last byte.
fn fill(disk: &Path) -> Result<std::path::PathBuf> {
    let filler = disk.join("filler");
    let mut file = std::fs::File::create(&filler)?;
    while file.write_all(&[7; 4096]).is_ok() {}
    Ok(filler)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_on_a_full_disk_answers_waits_and_records_once_there_is_room() -> Result<()> {
    let test = "a_start_on_a_full_disk_answers_waits_and_records_once_there_is_room";
    // After a stop the log is one file at rest; after a kill its WAL is still there.
    for killed in [false, true] {
        let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
        let data = folder.path().join("data");
        std::fs::create_dir(&data)?;
        let Some(disk) = SmallDisk::mount(&data) else {
            eprintln!("NOT RUN: {test}: a tmpfs cannot be mounted here");
            return Ok(());
        };
        let mut server = Server::start(folder.path(), &config(&simulated)).await?;
        wait_for_pod(&server).await?;
        if killed {
            server.kill().await?;
        } else {
            server.stop().await?;
        }
        let filler = fill(&data)?;
        let server = Server::start_unready(folder.path(), &config(&simulated)).await?;
        let list = server.ask(RESOURCES).await?;
        assert_eq!(items(&list).count(), 1, "{list}");
        until_unready(&server, "free disk space").await?;
        simulated.apply(pod("web-0", 1));
        std::fs::remove_file(&filler)?;
        let uid = list["items"][0]["id"].as_str().unwrap_or_default();
        let changed =
            |detail: &serde_json::Value| detail["object"]["metadata"]["annotations"]["round"] == "1";
        server.until(&format!("/resources/{uid}"), changed).await?;
        let output = server.output();
        assert!(!output.contains("salvage") && !output.contains("backup"), "{output}");
        // A little room may come and run out again; each time is said once.
        let full = output.matches("no space left on the disk to write the log").count();
        let over = output.matches("again; writing the log resumes").count();
        assert!(full <= over + 1, "{output}");
        server.stop().await?;
        drop(disk);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_first_start_on_a_full_disk_waits_for_room() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let data = folder.path().join("data");
    std::fs::create_dir(&data)?;
    let Some(disk) = SmallDisk::mount(&data) else {
        eprintln!("NOT RUN: a_first_start_on_a_full_disk_waits_for_room: a tmpfs cannot be mounted here");
        return Ok(());
    };
    let filler = fill(&data)?;
    let server = Server::start_blocked(folder.path(), &config(&simulated)).await?;
    let body = until_unready(&server, "free disk space").await?;
    assert!(body.contains("being built"), "{body}");
    std::fs::remove_file(&filler)?;
    wait_for_pod(&server).await?;
    server.stop().await?;
    drop(disk);
    Ok(())
}
