//! A value that was let in is erased by the program as its user runs it, and whatever it is killed at.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use strandline_clock::SystemClock;
use strandline_log::{Batch, Begin, LogReader, LogWriter, Observation, Observed, Phase, examine};
use strandline_model::{Change, Kind, Offset, ResourceVersion, Uid, WatchKey};
use strandline_object::digest::{Noise, digest};

use crate::server::{PROGRAM, Result};

const SECRET: &str = "canary-5f4dcc3b5aa765d6";

/// A log of a few objects with many versions, every third of which holds the secret.
async fn recorded(directory: &Path, versions: u64) -> Result<()> {
    fs::create_dir(directory)?;
    let (writer, appender) = LogWriter::open(directory, Arc::new(SystemClock))?;
    let thread = std::thread::spawn(move || writer.run());
    let watch =
        WatchKey { cluster: "one".into(), kind: Kind::new("", "ConfigMap"), namespace: String::new() };
    let epoch = appender.begin(Begin::new(&watch, true)).await?.epoch;
    for version in 1..=versions {
        let name = format!("settings-{}", version % 5);
        let said = if version % 3 == 0 { SECRET } else { "nothing" };
        let text = "the same in every version of these objects, or nearly so; ".repeat(20);
        let body = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"shop"}},"data":{{"n":"{version}","said":"{said}","text":"{text}"}}}}"#
        );
        let seen = Observation {
            namespace: "shop".into(),
            uid: Uid::new(format!("uid-of-{name}")),
            name,
            resource_version: ResourceVersion::new(version.to_string()),
            digest: digest(&body, &Noise::default()),
            body,
            changed_by: None,
        };
        let (observed, cursor) = (vec![Observed::Applied(seen)], Some(ResourceVersion::new("1")));
        let batch = Batch { watch: watch.clone(), epoch, phase: Phase::Watch, observed, cursor };
        appender.append(batch).await?;
    }
    drop(appender);
    Ok(thread.join().map_err(|_| "the writer panicked")??)
}

fn redact(data: &Path, values: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.arg("redact").arg("--data").arg(data).arg("--value-file").arg(values).args(more);
    command.env("NO_COLOR", "1").stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What was printed; the secret must not be part of it.
fn printed(output: &Output) -> String {
    let printed = [output.stdout.clone(), output.stderr.clone()].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    assert!(!printed.contains(SECRET), "{printed}");
    printed
}

/// How many bodies hold the secret, of a log that is sound.
fn holding(data: &Path) -> Result<usize> {
    let findings = examine(data, &mut |_, _| {})?.ok_or("there is no log")?.findings;
    assert_eq!(findings, []);
    let (mut log, mut at, mut holding) = (LogReader::open(data)?, Offset::ZERO, 0);
    loop {
        let records = log.after(at, 500)?;
        let Some(last) = records.last() else { return Ok(holding) };
        at = last.offset;
        holding += records
            .iter()
            .filter(|record| matches!(&record.change, Change::Applied { body, .. } if body.contains(SECRET)))
            .count();
    }
}

#[tokio::test]
async fn an_erasure_that_is_killed_changes_nothing_or_is_brought_to_its_end() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (made, values) = (folder.path().join("made"), folder.path().join("values"));
    fs::write(&values, format!("{SECRET}\n"))?;
    recorded(&made, 900).await?;
    assert_eq!(holding(&made)?, 300);
    for round in 0..12 {
        let data = folder.path().join(format!("data-{round}"));
        fs::create_dir(&data)?;
        for name in ["log.db", "log.head"] {
            fs::copy(made.join(name), data.join(name))?;
        }
        let mut child = redact(&data, &values, &[]).spawn()?;
        std::thread::sleep(Duration::from_millis(20 + 45 * round));
        child.kill()?;
        child.wait()?;
        // As a server that starts does.
        drop(LogWriter::open(&data, Arc::new(SystemClock))?);
        assert!(!data.join("erasing").exists());
        let left = holding(&data)?;
        assert!(left == 300 || left == 0, "{left} after {round}");
        let output = redact(&data, &values, &[]).output()?;
        assert!(output.status.success(), "{}", printed(&output));
        assert_eq!(holding(&data)?, 0);
        fs::remove_dir_all(&data)?;
    }
    Ok(())
}

#[tokio::test]
async fn who_erases_a_value_is_told_where_it_stood_and_where_it_stands_still() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (data, values) = (folder.path().join("data"), folder.path().join("values"));
    fs::write(&values, SECRET)?;
    recorded(&data, 30).await?;
    let backup = folder.path().join("backups/monday");
    fs::create_dir(folder.path().join("backups"))?;
    let made =
        Command::new(PROGRAM).arg("backup").arg("--data").arg(&data).arg("--to").arg(&backup).output()?;
    assert!(made.status.success(), "{}", printed(&made));
    let looked = redact(&data, &values, &["--dry-run", "-o", "json"]).output()?;
    printed(&looked);
    let report: Value = serde_json::from_slice(&looked.stdout)?;
    assert_eq!((&report["changes"], &report["dry_run"]), (&Value::from(10), &Value::from(true)));
    assert_eq!(report["resources"][0]["fields"], serde_json::json!(["data.said"]));
    assert_eq!(holding(&data)?, 10);
    let backups = folder.path().join("backups").display().to_string();
    let erased =
        redact(&data, &values, &["--reason", "a ticket", "--by", "ana", "--backups", &backups]).output()?;
    let told = printed(&erased);
    assert_eq!(erased.status.code(), Some(1), "a backup holds it still: {told}");
    for part in
        ["erased from 10 changes of 5 resources", "data.said", "monday contains a value in 10 changes"]
    {
        assert!(told.contains(part), "{told}");
    }
    assert_eq!((holding(&data)?, holding(&backup)?), (0, 10));
    let cleaned = redact(&backup, &values, &[]).output()?;
    assert!(cleaned.status.success(), "{}", printed(&cleaned));
    let again = redact(&data, &values, &["--backups", &backups]).output()?;
    assert!(again.status.success(), "{}", printed(&again));
    let doctor = Command::new(PROGRAM).args(["doctor", "--full", "--data"]).arg(&data).output()?;
    let told = printed(&doctor);
    assert!(
        told.contains("ana erased values from 10 recorded bodies") && told.contains("a ticket"),
        "{told}"
    );
    let short = folder.path().join("short");
    fs::write(&short, "12345")?;
    let refused = redact(&data, &short, &[]).output()?;
    assert_eq!(refused.status.code(), Some(2), "{}", printed(&refused));
    Ok(())
}
