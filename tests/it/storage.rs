//! The log under faults of the machine: a small process appends and tells what was acknowledged, until it is killed or its
//! writes fail; what it told has to be there afterwards, whole.
//!
//! `STRANDLINE_CRASH_ROUNDS` sets how often it is killed.

mod displaced;
mod full_disk;
mod process;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use strandline_clock::SystemClock;
use strandline_log::{LogReader, LogWriter, examine};
use strandline_model::{Change, Offset};

use self::process::{Acked, OBJECTS, listen, process, process_that_lets_go};
use crate::bad_input::{SmallDisk, refused};
use crate::server::Result;

/// What stands in the log after `from`: every number in order, every batch whole, and a cursor that agrees with the last.
fn recovered(directory: &Path, from: Acked) -> Result<Acked> {
    let mut reader = LogReader::open(directory)?;
    let mut there = from;
    let mut within = None;
    loop {
        let records = reader.after(Offset::new(there.head), 500)?;
        let Some(last) = records.last() else { break };
        there.head = last.offset.get();
        for record in &records {
            let Change::Applied { body, key, .. } = &record.change else { continue };
            if !key.name.starts_with("lasting-") {
                continue;
            }
            let body: serde_json::Value = serde_json::from_str(body)?;
            let number = |name: &str| body[name].as_u64().unwrap_or_default();
            assert_eq!(number("n"), there.last + 1, "no number is missing and none comes twice");
            (there.last, there.batch) = (number("n"), number("batch"));
            within = (number("n") < number("last")).then_some(number("batch"));
        }
    }
    assert_eq!(within, None, "a batch is there in full or not at all");
    let cursor = reader.cursors("one")?.into_iter().next().and_then(|cursor| cursor.resource_version);
    let told = cursor.map_or(0, |version| version.as_str().parse().unwrap_or(u64::MAX));
    assert_eq!(told, there.last, "the cursor agrees with the last change");
    Ok(there)
}

/// All of the log is as it was written.
fn assert_sound(directory: &Path) -> Result<()> {
    let examination = examine(directory, &mut |_, _| {})?.ok_or("there is no log")?;
    assert_eq!(examination.findings, [], "{directory:?}");
    Ok(())
}

/// Milliseconds by chance, the same at each run.
fn chance(state: &mut u64, below: u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) % below
}

#[test]
fn kill_nine_at_any_moment_loses_nothing_that_was_acknowledged() -> Result<()> {
    let rounds: u32 =
        std::env::var("STRANDLINE_CRASH_ROUNDS").ok().map_or(Ok(40), |rounds| rounds.parse())?;
    let folder = tempfile::tempdir()?;
    let (mut known, mut state) = (Acked::default(), 5);
    for round in 0..rounds {
        let mut child = process(folder.path(), known, 1_000_000, &[])?;
        // The first rounds end within the migrations, or before there is a file at all.
        let wait = if round < 8 { 2 + chance(&mut state, 30) } else { 30 + chance(&mut state, 250) };
        std::thread::sleep(Duration::from_millis(wait));
        child.kill()?;
        let acked = listen(&mut child)?;
        child.wait()?;
        known = match recovered(folder.path(), known) {
            // It was killed before its log was made in full, so nothing can have been acknowledged.
            Err(_) if known == Acked::default() && acked == Acked::default() => continue,
            recovered => recovered?,
        };
        let all = known.batch >= acked.batch && known.last >= acked.last && known.head >= acked.head;
        assert!(all, "round {round}: {acked:?} was acknowledged, {known:?} is there");
    }
    // The last one is left in peace.
    let mut child = process(folder.path(), known, 20, &[])?;
    let acked = listen(&mut child)?;
    assert!(child.wait()?.success() && acked.batch == known.batch + 20, "{acked:?} after {known:?}");
    assert_sound(folder.path())
}

/// The newest state of each lasting object, of a log of which retention has let most go.
fn newest(directory: &Path) -> Result<Acked> {
    let mut reader = LogReader::open(directory)?;
    let (mut numbers, mut there) = (BTreeMap::new(), Acked::default());
    loop {
        let records = reader.after(Offset::new(there.head), 500)?;
        let Some(last) = records.last() else { break };
        there.head = last.offset.get();
        for record in &records {
            let Change::Applied { body, key, .. } = &record.change else { continue };
            if key.name.starts_with("lasting-") {
                let body: serde_json::Value = serde_json::from_str(body)?;
                let number = |name: &str| body[name].as_u64().unwrap_or_default();
                numbers.insert(key.name.clone(), number("n"));
                (there.last, there.batch) = (number("n"), number("batch"));
            }
        }
    }
    let numbers: BTreeSet<u64> = numbers.into_values().collect();
    let wanted = there.last.saturating_sub(OBJECTS - 1).max(1)..=there.last;
    assert_eq!(numbers, wanted.collect(), "each object has its newest state");
    Ok(there)
}

#[test]
fn kill_nine_while_retention_lets_go_loses_nothing_that_is_to_be_kept() -> Result<()> {
    let rounds: u32 =
        std::env::var("STRANDLINE_CRASH_ROUNDS").ok().map_or(Ok(25), |rounds| rounds.parse())?;
    let folder = tempfile::tempdir()?;
    let (mut known, mut state) = (Acked::default(), 11);
    // The first is left in peace, so that there is something to be let go from the first kill on.
    let mut child = process_that_lets_go(folder.path(), known, 400)?;
    listen(&mut child)?;
    assert!(child.wait()?.success());
    for round in 0..rounds {
        known = newest(folder.path())?;
        let mut child = process_that_lets_go(folder.path(), known, 1_000_000)?;
        std::thread::sleep(Duration::from_millis(30 + chance(&mut state, 250)));
        child.kill()?;
        let acked = listen(&mut child)?;
        child.wait()?;
        let there = newest(folder.path())?;
        let all = there.batch >= acked.batch && there.last >= acked.last && there.head >= acked.head;
        assert!(
            all && there.head >= known.head,
            "round {round}: {acked:?} was acknowledged, {there:?} is there"
        );
        assert_sound(folder.path())?;
    }
    let reader = LogReader::open(folder.path())?;
    assert!(
        reader.swept()? > Offset::new(300) && reader.compacted()?.offset > Offset::ZERO,
        "something went"
    );
    Ok(())
}

/// How a process ended, what it had said was acknowledged, and what else it said.
type Ended = (ExitStatus, Acked, String);

/// Lets system calls of the process fail; none where strace cannot do that here.
fn failing(
    test: &str,
    directory: &Path,
    faults: &[&str],
    (after, batches): (Acked, u64),
) -> Result<Option<Ended>> {
    let can = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("NOT RUN: {test}: strace cannot follow a process here");
        return Ok(None);
    }
    let mut through = vec!["strace", "-f", "-qq", "-o", "/dev/null"];
    faults.iter().for_each(|fault| through.extend(["-e", *fault]));
    let mut child = process(directory, after, batches, &through)?;
    let acked = listen(&mut child)?;
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().ok_or("no stderr")?, &mut said)?;
    Ok(Some((child.wait()?, acked, said)))
}

#[test]
fn writes_without_room_wait_and_lose_nothing() -> Result<()> {
    for at in ["1..6", "20..40", "101..300+7"] {
        let folder = tempfile::tempdir()?;
        let fault = format!("inject=pwrite64:error=ENOSPC:when={at}");
        let test = "writes_without_room_wait_and_lose_nothing";
        let faults = ["trace=pwrite64", fault.as_str()];
        // A log that already exists: a first start without room is refused, and may be.
        let mut first = process(folder.path(), Acked::default(), 5, &[])?;
        let before = listen(&mut first)?;
        assert!(first.wait()?.success());
        let Some((status, acked, said)) = failing(test, folder.path(), &faults, (before, 60))? else {
            return Ok(());
        };
        // Opening may meet the full disk first, and says so; nothing else ends the process.
        assert!(status.success() || acked == Acked::default(), "{at}: {status} {said}");
        let there = recovered(folder.path(), Acked::default())?;
        let wanted = if status.success() { before.batch + 60 } else { before.batch };
        assert_eq!((there.batch, there.last >= acked.last), (wanted, true), "{at}: {said}");
        assert_sound(folder.path())?;
    }
    Ok(())
}

#[test]
fn what_a_failing_disk_did_not_take_ends_the_process_and_is_not_acknowledged() -> Result<()> {
    let test = "what_a_failing_disk_did_not_take_ends_the_process_and_is_not_acknowledged";
    for fault in ["fsync:error=EIO:when=20", "fsync:error=EIO:when=31+", "pwrite64:error=EIO:when=80..90"] {
        let folder = tempfile::tempdir()?;
        let call = fault.split(':').next().unwrap_or_default();
        // A log that already exists, so that the fault meets appends and not the making of it.
        let mut first = process(folder.path(), Acked::default(), 5, &[])?;
        let before = listen(&mut first)?;
        assert!(first.wait()?.success());
        let (trace, inject) = (format!("trace={call}"), format!("inject={fault}"));
        let Some((status, acked, said)) = failing(test, folder.path(), &[&trace, &inject], (before, 200))?
        else {
            return Ok(());
        };
        assert_eq!(status.code(), Some(3), "{fault}: {status} {said}");
        assert!(said.contains("the writer ended: ") && said.contains("I/O"), "{fault}: {said}");
        assert!(acked.batch > before.batch && acked.batch < before.batch + 200, "{fault}: {acked:?}");
        let there = recovered(folder.path(), Acked::default())?;
        assert!(
            there.batch >= acked.batch && there.batch <= acked.batch + 1,
            "{fault}: {acked:?}, {there:?}"
        );
        // The next process verifies what it finds and goes on.
        let mut child = process(folder.path(), there, 10, &[])?;
        let after = listen(&mut child)?;
        assert!(child.wait()?.success() && after.batch == there.batch + 10, "{fault}: {after:?}");
        assert_sound(folder.path())?;
    }
    Ok(())
}

#[test]
fn two_first_starts_at_once_make_one_log() -> Result<()> {
    use strandline_sqlite::DirectoryLock;
    let folder = tempfile::tempdir()?;
    let data = folder.path().join("data");
    let started = std::sync::Barrier::new(8);
    let opened: Vec<bool> = std::thread::scope(|scope| {
        let start = || {
            started.wait();
            let Ok(lock) = DirectoryLock::acquire(&data) else { return false };
            let opened = LogWriter::open(&data, Arc::new(SystemClock)).is_ok();
            // Held until all have tried.
            std::thread::sleep(Duration::from_millis(500));
            drop(lock);
            opened
        };
        let all: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
        all.into_iter().map(|thread| thread.join().unwrap_or(false)).collect()
    });
    assert_eq!(opened.iter().filter(|opened| **opened).count(), 1, "one opens it, the others are refused");
    assert_sound(&data)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_cannot_be_written_is_refused_at_once_with_what_to_do() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config = "clusters: []\n";
    let Some(disk) = SmallDisk::mount(folder.path()) else {
        eprintln!(
            "NOT RUN: a_directory_that_cannot_be_written_is_refused_at_once_with_what_to_do: no tmpfs can be mounted"
        );
        return Ok(());
    };
    std::fs::write(folder.path().join("config.yaml"), config)?;
    assert!(disk.seal());
    let outside = tempfile::tempdir()?;
    std::os::unix::fs::symlink(folder.path(), outside.path().join("data"))?;
    let (code, told) = refused(outside.path(), config, "127.0.0.1:0").await?;
    assert!(code == 1 && told.contains("Read-only file system"), "{code} {told}");
    assert!(told.contains("let the user that runs Strandline write it"), "{told}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_disk_ends_the_server_and_says_so() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let config =
        |region: &str| format!("clusters: [{{name: one, url: 'http://127.0.0.1:1', region: {region}}}]\n");
    let server = crate::server::Server::start(folder.path(), &config("eu")).await?;
    server.stop().await?;
    std::fs::write(folder.path().join("config.yaml"), config("us"))?;
    let can = Command::new("strace").args(["-o", "/dev/null", "true"]).stderr(Stdio::null()).status();
    if !can.is_ok_and(|status| status.success()) {
        eprintln!("NOT RUN: a_failing_disk_ends_the_server_and_says_so: strace cannot follow a process here");
        return Ok(());
    }
    let fault = ["-e", "trace=fdatasync,fsync", "-e", "inject=fdatasync,fsync:error=EIO:when=1+"];
    let run = tokio::process::Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null"])
        .args(fault)
        .args([crate::server::PROGRAM, "serve", "--listen", "127.0.0.1:0", "--config"])
        .arg(folder.path().join("config.yaml"))
        .arg("--data")
        .arg(folder.path().join("data"))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(Duration::from_secs(60), run).await??;
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && told.contains("I/O error"), "{} {told}", output.status);
    // Without the fault all is well.
    let server = crate::server::Server::start(folder.path(), &config("us")).await?;
    server.stop().await
}
