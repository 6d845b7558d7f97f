//! The shell blocks of the operators' documents, typed as they stand: each command of ours that needs no more than this machine.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;
use tokio::process::Command;

use crate::checkout::read;
use crate::documents::{commands, lines, pages};
use crate::server::{PROGRAM, Result, Server, names};
use crate::simulated::cluster;

/// Commands that are not typed here, each with where else it is played. One that is in no block any more is a mistake.
const ELSEWHERE: [(&str, &str); 7] = [
    ("strandline demo", "fleet: the demo"),
    ("strandline serve", "every server of these tests"),
    ("strandline diff payments", "documents: the guide shows what the demo answers"),
    ("strandline images '**/api", "documents: of the demo as well"),
    ("strandline get environments --server http://127.0.0.1:7980", "backup: what was restored is served"),
    (
        "strandline doctor --config /etc/strandline/strandline.yaml",
        "package and systemd: the files of the package",
    ),
    ("strandline probe", "package and systemd: the address of the package"),
];

/// What a leaked value is in these documents.
const LEAKED: &str = "token-in-an-annotation-5f4dcc3b";

/// The lines of the blocks of a document, with those that go on in the next one joined.
fn typed(page: &str) -> Vec<String> {
    let text = read(page).replace("\\\n", " ");
    let shell = lines(&text).into_iter().filter(|(language, _)| *language == Some("sh"));
    shell.map(|(_, line)| line.trim().to_owned()).filter(|line| line.starts_with("strandline ")).collect()
}

/// Runs a line in a folder, up to the pipe into a program that is not ours.
async fn run(folder: &Path, url: &str, line: &str) -> Result<(), String> {
    let own = line.split(" | kubectl").next().unwrap_or_default();
    let own = own.replace("http://127.0.0.1:7979", url).replace("/tmp/", "").replace("DIR", "data");
    let mut path = OsString::from(Path::new(PROGRAM).parent().unwrap_or(Path::new("/")));
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", &own]).current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    shell.env("PATH", path).env("STRANDLINE_SERVER", url).env("NO_COLOR", "1");
    let output = shell.output().await.map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Makes what a line takes for granted: the backup that it names, and a data directory that is gone where it restores one.
async fn prepare(folder: &Path, url: &str, line: &str) -> Result<()> {
    let words = commands(line).into_iter().next().unwrap_or_default();
    let value = |option: &str| {
        let at = words.iter().position(|word| word == option)?;
        words.get(at + 1).map(|value| value.trim_start_matches("/tmp/").to_owned())
    };
    if let Some(backup) = value("--from").filter(|backup| !folder.join(backup).exists()) {
        run(folder, url, &format!("strandline backup --data data --to {backup}")).await?;
    }
    // A backup that has the value too is a failure of the command, which other tests play.
    if let Some(backups) = value("--backups") {
        fs::create_dir_all(folder.join(backups))?;
    }
    if let (true, Some(data)) = (line.contains("strandline restore"), value("--data"))
        && !line.contains("--force")
        && folder.join(&data).exists()
    {
        fs::remove_dir_all(folder.join(data))?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_commands_that_operators_are_shown_do_what_they_are_shown_for() -> Result<()> {
    let (live, recorded) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let one = cluster("one").await?;
    one.apply(json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "leak", "namespace": "shop", "annotations": {"example.com/note": LEAKED}}}));
    let config = format!(
        "clusters: [{{name: us-east, url: '{}', namespace_environments: {{project: shop}}}}]\n",
        one.url()
    );
    let resources = "/environments/shop.shop/resources";
    let wanted = |names: &[&str]| names.contains(&"leak") && names.contains(&"one");
    let server = Server::start(recorded.path(), &config).await?;
    server.until(resources, |list| wanted(&names(list))).await?;
    server.stop().await?;
    let server = Server::start(live.path(), &config).await?;
    server.until(resources, |list| wanted(&names(list))).await?;

    let (mut wrong, mut seen, mut elsewhere) = (Vec::new(), 0, vec![false; ELSEWHERE.len()]);
    for page in ["README.md".to_owned()].into_iter().chain(pages("docs/operations")) {
        let folder = tempfile::tempdir()?;
        for data in ["data", "strandline-data"] {
            fs::create_dir(folder.path().join(data))?;
            for file in fs::read_dir(recorded.path().join("data"))?.flatten() {
                if file.file_type()?.is_file() {
                    fs::copy(file.path(), folder.path().join(data).join(file.file_name()))?;
                }
            }
        }
        fs::write(folder.path().join("strandline.yaml"), &config)?;
        fs::write(folder.path().join("leaked.txt"), format!("{LEAKED}\n"))?;
        for line in typed(&page) {
            if let Some(known) = ELSEWHERE.iter().position(|(known, _)| line.starts_with(known)) {
                elsewhere[known] = true;
                continue;
            }
            seen += 1;
            prepare(folder.path(), server.url(), &line).await?;
            if let Err(why) = run(folder.path(), server.url(), &line).await {
                wrong.push(format!("{page}: {line}: {why}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 15, "the commands are where they were: {seen}");
    let stale = ELSEWHERE.iter().zip(elsewhere).filter(|(_, used)| !used).map(|(known, _)| known);
    assert_eq!(stale.collect::<Vec<_>>(), Vec::<&(&str, &str)>::new(), "no document shows them any more");
    server.stop().await
}
