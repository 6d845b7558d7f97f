//! A log of every format that was ever written stays readable: `tests/old-logs` keeps a small one of each, which a program of that
//! format recorded. Whoever raises the format (a file in `schema/log`) keeps one of the new format here, in the same change.

mod record;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use strandline_testkit::golden;

use crate::checkout::root;
use crate::server::{Result, Server, items, run};

const KEPT: &str = "tests/old-logs";

/// Formats before the first that is kept there. A log of 12 is the one of `tests/kept-log`; the others were never released.
const BEFORE: u32 = 12;

/// Records what the log of a new format is to be: `STRANDLINE_RECORD_LOG=1 cargo test --test it old_logs`.
const RECORD: &str = "STRANDLINE_RECORD_LOG";

/// The format that this program writes.
fn current() -> Result<u32> {
    let number = |name: &str| name.strip_prefix('V')?.split("__").next()?.parse::<u32>().ok();
    let names = fs::read_dir(root().join("schema/log"))?.flatten();
    let numbers = names.filter_map(|entry| number(&entry.file_name().to_string_lossy()));
    Ok(numbers.max().ok_or("no schema")?)
}

/// Those that are kept.
fn formats() -> Result<BTreeSet<u32>> {
    let folders = fs::read_dir(root().join(KEPT))?.flatten();
    Ok(folders.filter_map(|entry| entry.file_name().to_string_lossy().parse().ok()).collect())
}

/// Puts the log of a format into a folder as its data directory.
fn unpack(format: u32, folder: &Path) -> Result<PathBuf> {
    let (kept, data) = (root().join(KEPT).join(format.to_string()), folder.join("data"));
    fs::create_dir(&data)?;
    fs::write(data.join("log.db"), zstd::decode_all(&fs::read(kept.join("log.db.zst"))?[..])?)?;
    for name in ["log.head", "redaction.key"] {
        fs::copy(kept.join(name), data.join(name))?;
    }
    Ok(data)
}

/// All changes up to an offset, as they are exported. The first line names the program, and the last covers it.
async fn changes(data: &Path, until: u64) -> Result<String> {
    let to = data.with_file_name("log.ndjson.zst");
    run(&["export", "--until", &until.to_string()], &[("--data", data), ("--output", &to)]).await?;
    let text = String::from_utf8(zstd::decode_all(&fs::read(&to)?[..])?)?;
    fs::remove_file(&to)?;
    let lines: Vec<&str> = text.lines().collect();
    let [_, changes @ .., _] = lines.as_slice() else { return Err("no changes".into()) };
    Ok(changes.iter().map(|line| format!("{line}\n")).collect())
}

/// What was there at an offset: environments with their health and resources, gaps, and deployments.
async fn answers(server: &Server, offset: u64) -> Result<String> {
    let mut text = format!("offset {offset}\n");
    let mut line = |what: &str, item: &Value, members: &[&str]| {
        // Of health only which it is: what goes with it is that of the view's rules.
        let value =
            |member: &&str| if *member == "health" { &item["health"]["state"] } else { &item[*member] };
        let members = members.iter().map(value).filter(|value| !value.is_null());
        let values: Vec<String> = members.map(Value::to_string).collect();
        text.push_str(&format!("  {what} {}\n", values.join(" ")));
    };
    let environments = server.ask(&format!("/environments?at={offset}")).await?;
    for environment in items(&environments) {
        line("environment", environment, &["id", "health", "tier", "state"]);
        let id = environment["id"].as_str().unwrap_or_default();
        let resources = server.ask(&format!("/environments/{id}/resources?at={offset}")).await?;
        for resource in items(&resources) {
            line("  resource", resource, &["kind", "namespace", "name", "uid", "health"]);
        }
        let deployments = server.ask(&format!("/environments/{id}/deployments?at={offset}")).await?;
        for deployment in items(&deployments) {
            line("  deployment", deployment, &["id", "status", "sha"]);
        }
    }
    for gap in items(&server.ask(&format!("/coverage?state=gap&at={offset}")).await?) {
        line("gap", gap, &["cluster", "kind", "namespace", "reason"]);
    }
    Ok(text)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_of_every_format_is_opened_with_all_that_was_in_it() -> Result<()> {
    if std::env::var_os(RECORD).is_some() {
        record::record(&root().join(KEPT).join(current()?.to_string())).await?;
    }
    for format in formats()? {
        let folder = tempfile::tempdir()?;
        let data = unpack(format, folder.path())?;
        let kept = format!("{KEPT}/{format}");
        let head: u64 = fs::read_to_string(root().join(&kept).join("offset"))?.trim().parse()?;
        // It is migrated, read, and written to: what the configuration declares is new to it.
        let config = "clusters: [{name: one, url: 'http://127.0.0.1:1'}]\n\
                      environments: [{project: shop/new, name: production, cluster: one, namespace: new}]\n";
        let server = Server::start(folder.path(), config).await?;
        let mut text = String::new();
        for offset in [head / 3, 2 * head / 3, head] {
            text.push_str(&answers(&server, offset).await?);
        }
        server
            .until("/environments", |list| items(list).any(|one| one["id"] == "shop.new.production"))
            .await?;
        server.stop().await?;
        golden(&format!("{kept}/answers.txt"), &text);
        golden(&format!("{kept}/changes.ndjson"), &changes(&data, head).await?);
        let report = run(&["doctor", "--full"], &[("--data", &data)]).await?;
        assert!(!report.contains("problem"), "format {format}: {report}");
    }
    Ok(())
}

#[test]
fn the_format_that_is_written_is_kept() -> Result<()> {
    let (current, kept) = (current()?, formats()?);
    let missing: Vec<u32> = (BEFORE + 1..=current).filter(|format| !kept.contains(format)).collect();
    assert!(
        missing.is_empty(),
        "the format of the log is {current}, and {KEPT} has none of {missing:?}: run {RECORD}=1 cargo test --test it old_logs, \
         and commit the folder with the new schema; a folder that is there is never recorded again"
    );
    Ok(())
}

#[tokio::test]
async fn a_newer_log_is_refused_with_what_to_do_and_stays_as_it_is() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let newest = formats()?.last().copied().ok_or("no format is kept")?;
    let data = unpack(newest, folder.path())?;
    let log = rusqlite::Connection::open(data.join("log.db"))?;
    log.execute(
        "INSERT INTO refinery_schema_history SELECT version + 1, 'next', applied_on, checksum FROM refinery_schema_history \
         WHERE version = ?1",
        [newest],
    )?;
    drop(log);
    let before = fs::read(data.join("log.db"))?;
    let config = folder.path().join("config.yaml");
    fs::write(&config, "listen: 127.0.0.1:0\n")?;
    let to = folder.path().join("to");
    let paths: [&[(&str, &Path)]; 3] = [
        &[("--config", &config), ("--data", &data)],
        &[("--data", &data), ("--to", &to)],
        &[("--data", &data)],
    ];
    for (command, paths) in ["serve", "backup", "export"].into_iter().zip(paths) {
        let refused = run(&[command], paths).await.err().map(|error| error.to_string()).unwrap_or_default();
        let found = format!("has schema {}; this program supports {newest}", newest + 1);
        assert!(refused.contains(&found), "{command}: {refused}");
        assert!(refused.contains("run the version that wrote it"), "{command}: {refused}");
    }
    assert_eq!(fs::read(data.join("log.db"))?, before);
    Ok(())
}
