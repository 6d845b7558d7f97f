//! A damaged log: the program reads it, adds nothing to it, says so everywhere, and goes on where someone tells it how.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use crate::bad_input::{RESOURCES, cluster, config, pod, refused, wait_for_pod};
use crate::server::{PROGRAM, Result, Server, get, items};

/// Runs `doctor` on a data directory; its exit code and what it printed.
async fn doctor(data: &Path, more: &[&str]) -> Result<(i32, String)> {
    let mut run = Command::new(PROGRAM);
    run.arg("doctor").arg("--data").arg(data).args(more).stdin(Stdio::null()).kill_on_drop(true);
    let output = run.output().await?;
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Ok((output.status.code().unwrap_or(-1), text))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_log_is_read_and_not_written_until_it_is_salvaged() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    wait_for_pod(&server).await?;
    let before = server.ask(RESOURCES).await?["items"].clone();
    let data = server.data();
    server.stop().await?;
    let (code, told) = doctor(&data, &["--full"]).await?;
    assert!(code == 0 && told.contains("log in full: all "), "{code} {told}");
    let (code, told) = doctor(&data.join("mistyped"), &["--full"]).await?;
    assert!(code == 1 && told.contains("mistyped has no log to read"), "{code} {told}");

    let log = rusqlite::Connection::open(data.join("log.db"))?;
    log.execute_batch("UPDATE change SET body_hash = zeroblob(16) WHERE \"offset\" = 2")?;
    drop(log);
    let damaged = std::fs::read(data.join("log.db"))?;
    let server = Server::start_unready(folder.path(), &config(&simulated)).await?;
    let (status, ready) = get(&format!("{}/readyz", server.url())).await?;
    assert!(status == 503 && ready.contains("damaged at offset 2") && ready.contains("--salvage"), "{ready}");
    let answer = server.ask(RESOURCES).await?;
    assert_eq!((&answer["items"], &answer["metadata"]["not_recording"]), (&before, &true.into()));
    let (_, page) = get(&format!("{}/", server.url())).await?;
    assert!(page.contains("Recording stopped"), "{page}");
    let told = server.cli(&["tree", "shop.web.production"]).await?;
    assert!(told.contains("web-0"), "{told}");

    let (code, told) = doctor(&data, &["--full"]).await?;
    assert!(code == 1 && told.contains("problem  log in full: change, offset 2"), "{code} {told}");
    let elsewhere = tempfile::tempdir()?;
    let target = elsewhere.path().join("data");
    let (code, told) = doctor(&data, &["--salvage", &target.display().to_string()]).await?;
    assert!(code == 0 && told.contains("its log ends at offset"), "{code} {told}");
    server.stop().await?;
    assert!(std::fs::read(data.join("log.db"))? == damaged, "the damaged log was left as it was");

    let server = Server::start(elsewhere.path(), &config(&simulated)).await?;
    wait_for_pod(&server).await?;
    server.until("/clusters", |clusters| clusters["items"][0]["watched"] == true).await?;
    let answer = server.ask(RESOURCES).await?;
    assert!(answer["metadata"]["not_recording"].is_null(), "{answer}");
    server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_lost_its_end_goes_on_once_the_loss_is_accepted() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    wait_for_pod(&server).await?;
    let data = server.data();
    server.stop().await?;
    // As it stands where the WAL with the newest changes was deleted.
    std::fs::write(data.join("log.head"), format!("{:020} {}\n", 900, "ab".repeat(16)))?;

    let server = Server::start_unready(folder.path(), &config(&simulated)).await?;
    let (_, ready) = get(&format!("{}/readyz", server.url())).await?;
    assert!(ready.contains("offset 900 was acknowledged") && ready.contains("--accept-loss"), "{ready}");
    assert_eq!(items(&server.ask(RESOURCES).await?).count(), 1);
    let (code, told) = doctor(&data, &["--accept-loss"]).await?;
    assert!(code == 1 && told.contains("in use by process"), "{code} {told}");
    server.stop().await?;

    let (code, told) = doctor(&data, &["--full"]).await?;
    assert!(code == 1 && told.contains("to 900"), "{code} {told}");
    let (code, told) = doctor(&data, &["--accept-loss"]).await?;
    assert!(code == 0 && told.contains("to 900 are lost"), "{code} {told}");
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    server.until("/clusters", |clusters| clusters["items"][0]["watched"] == true).await?;
    wait_for_pod(&server).await?;
    server.stop().await?;
    let (code, told) = doctor(&data, &["--full"]).await?;
    assert!(code == 0, "{code} {told}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_whose_file_was_cut_is_refused_and_what_is_left_of_it_salvaged() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    // So much that what is cut off is what was recorded, and not where the tables begin.
    let pods = 400;
    for n in 1..pods {
        simulated.apply(pod(&format!("web-{n}"), n));
    }
    server.until(RESOURCES, |list| list["metadata"]["continue"].is_string()).await?;
    server.until("/overview", |answer| answer["totals"]["resources"]["healthy"] == pods).await?;
    let data = server.data();
    server.stop().await?;
    let path = data.join("log.db");
    let written = std::fs::metadata(&path)?.len();
    let found = written - 3 * 4096 - 77;
    std::fs::File::options().write(true).open(&path)?.set_len(found)?;
    let cut = std::fs::read(&path)?;

    let (code, told) = refused(folder.path(), &config(&simulated), "127.0.0.1:0").await?;
    let what = format!("log.db is damaged: it is truncated: it has {found} bytes, {written} were written");
    assert!(
        code == 1 && told.contains(&what) && told.contains("hint: ") && told.contains("--salvage"),
        "{told}"
    );
    let (code, told) = doctor(&data, &[]).await?;
    assert!(code == 1 && told.contains(&what) && told.contains("backup"), "{code} {told}");
    let (code, told) = doctor(&data, &["--full"]).await?;
    assert!(code == 1 && told.contains("problem  log in full: log.db: "), "{told}");
    // What can be read is told from what cannot.
    assert!(told.contains("change, offsets ") && told.contains("a page of the log cannot be read"), "{told}");
    let (code, told) = doctor(&data, &["--accept-loss"]).await?;
    assert!(code == 1 && told.contains(&what), "{code} {told}");
    let elsewhere = tempfile::tempdir()?;
    let target = elsewhere.path().join("data");
    let (code, told) = doctor(&data, &["--salvage", &target.display().to_string()]).await?;
    assert!(code == 0 && told.contains("its log ends at offset"), "{code} {told}");
    assert!(std::fs::read(&path)? == cut, "the damaged log was left as it was");

    // All kinds are listed anew, and until then nothing is told as complete.
    let server = Server::start(elsewhere.path(), &config(&simulated)).await?;
    server.until("/overview", |answer| answer["totals"]["resources"]["healthy"] == pods).await?;
    server.until("/clusters", |clusters| clusters["items"][0]["watched"] == true).await?;
    server.stop().await?;
    let (code, told) = doctor(&target, &["--full"]).await?;
    assert!(code == 0, "{code} {told}");
    Ok(())
}

/// Cuts the end of the last commit off the WAL of a log whose process was killed; false where a checkpoint has brought all
/// of it into the database. What lies behind the frames of the present WAL is left of earlier ones.
fn cut_last_commit(data: &Path) -> Result<bool> {
    let number = |bytes: &[u8], at: usize| -> Result<[u8; 4]> {
        Ok(bytes.get(at..at + 4).ok_or("the file is too short")?.try_into()?)
    };
    let path = data.join("log.db-wal");
    let (wal, index) = (std::fs::read(&path)?, std::fs::read(data.join("log.db-shm"))?);
    // A checkpoint at rest leaves nothing in it.
    if wal.is_empty() {
        return Ok(false);
    }
    let (header, frame) = (32, 24 + u32::from_be_bytes(number(&wal, 8)?) as usize);
    let salts = wal.get(16..24).ok_or("the WAL is empty")?;
    let frames = wal[header..].chunks_exact(frame).take_while(|frame| frame[8..16] == *salts).count();
    let in_database = u32::from_ne_bytes(number(&index, 96)?) as usize;
    if frames <= in_database {
        return Ok(false);
    }
    let kept = header + (frames - 1) * frame;
    std::fs::File::options().write(true).open(&path)?.set_len(kept as u64)?;
    Ok(true)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_cut_wal_lost_is_told_by_every_answer_until_it_is_accepted() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let mut server = Server::start(folder.path(), &config(&simulated)).await?;
    wait_for_pod(&server).await?;
    let data = server.data();
    // What came last stands in the WAL alone, unless it came with a checkpoint.
    let mut pods = 1;
    loop {
        simulated.apply(pod(&format!("web-{pods}"), 1));
        pods += 1;
        server.until(RESOURCES, |list| items(list).count() == pods).await?;
        server.kill().await?;
        if cut_last_commit(&data)? {
            break;
        }
        server.start_again().await?;
    }

    let server = Server::start_unready(folder.path(), &config(&simulated)).await?;
    let (status, ready) = get(&format!("{}/readyz", server.url())).await?;
    assert!(
        status == 503 && ready.contains("was acknowledged") && ready.contains("--accept-loss"),
        "{ready}"
    );
    for path in ["/clusters", "/environments", RESOURCES, "/coverage", "/overview"] {
        let answer = server.ask(path).await?;
        assert_eq!(answer["metadata"]["not_recording"], true, "{path}: {}", answer["metadata"]);
    }
    let now = server.ask(RESOURCES).await?;
    assert_eq!(items(&now).count(), pods, "the view holds more than the log");
    server.stop().await?;

    let (code, told) = doctor(&data, &["--accept-loss"]).await?;
    assert!(code == 0 && told.contains(" are lost"), "{code} {told}");
    let server = Server::start(folder.path(), &config(&simulated)).await?;
    server.until(RESOURCES, |list| items(list).count() == pods).await?;
    server.until("/clusters", |clusters| clusters["items"][0]["watched"] == true).await?;
    assert!(server.ask(RESOURCES).await?["metadata"]["not_recording"].is_null());
    server.stop().await?;
    let (code, told) = doctor(&data, &["--full"]).await?;
    assert!(code == 0, "{code} {told}");
    Ok(())
}
