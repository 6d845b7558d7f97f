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

/// How far the WAL of a log is.
struct WalEnd {
    /// By which its frames are told from what is left of earlier ones behind them.
    salts: [u8; 8],
    frames: usize,
    frame_bytes: usize,
}

const WAL_HEADER_BYTES: usize = 32;

/// The end of a log's WAL; none where nothing is in it.
fn wal_end(data: &Path) -> Result<Option<WalEnd>> {
    let wal = std::fs::read(data.join("log.db-wal"))?;
    let Some((header, frames)) = wal.split_at_checked(WAL_HEADER_BYTES) else { return Ok(None) };
    let (page, salts) = (header[8..12].try_into()?, header[16..24].try_into()?);
    let frame_bytes = 24 + u32::from_be_bytes(page) as usize;
    let frames = frames.chunks_exact(frame_bytes).take_while(|frame| frame[8..16] == salts).count();
    Ok(Some(WalEnd { salts, frames, frame_bytes }))
}

/// Cuts what was committed since off the WAL of a log whose process was killed; false where a checkpoint has brought some of
/// it into the database.
fn cut_back_to(data: &Path, before: &WalEnd) -> Result<bool> {
    let index = std::fs::read(data.join("log.db-shm"))?;
    let in_database = index.get(96..100).ok_or("the index of the WAL is too short")?;
    let in_database = u32::from_ne_bytes(in_database.try_into()?) as usize;
    let is_same = wal_end(data)?.is_some_and(|now| now.salts == before.salts && now.frames > before.frames);
    if !is_same || in_database > before.frames {
        return Ok(false);
    }
    let kept = WAL_HEADER_BYTES + before.frames * before.frame_bytes;
    std::fs::File::options().write(true).open(data.join("log.db-wal"))?.set_len(kept as u64)?;
    Ok(true)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_cut_wal_lost_is_told_by_every_answer_until_it_is_accepted() -> Result<()> {
    let (folder, simulated) = (tempfile::tempdir()?, cluster().await?);
    let mut server = Server::start(folder.path(), &config(&simulated)).await?;
    wait_for_pod(&server).await?;
    let data = server.data();
    // What came last stands in the WAL alone, unless it came with a checkpoint; behind it may be places in watches, which are
    // no changes.
    let mut pods = 1;
    loop {
        let mut before = None;
        for _ in 0..2 {
            // A start leaves the WAL empty: the first of them fills it, so that the second comes behind something.
            before = wal_end(&data)?;
            simulated.apply(pod(&format!("web-{pods}"), 1));
            pods += 1;
            server.until(RESOURCES, |list| items(list).count() == pods).await?;
        }
        server.kill().await?;
        if let Some(before) = before
            && cut_back_to(&data, &before)?
        {
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
