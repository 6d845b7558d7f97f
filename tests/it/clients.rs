//! Clients as others generate them from the contract: made by the very commands of `docs/api.md`, each calls every operation of a
//! running server.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::process::Command;

use crate::checkout::{read, root};
use crate::documents::lines;
use crate::kept_log::unpack;
use crate::not_run::not_run;
use crate::server::{Result, Server};

/// A bound on hanging.
const PATIENCE: Duration = Duration::from_secs(600);

/// A token of the kept log's configuration.
const TOKEN: &str = "sl_kept_all";

/// What a document's example asks, and stops.
const ADDRESS: &str = "http://127.0.0.1:7979";
const TO_STOP: &str = "shop.web.review-17";

/// An environment of the kept log that is stopped instead.
const STOPPED: &str = "writers.blog.shared";

/// What generates clients, a server of the kept log whose token may write, and a folder for the client.
struct World {
    tools: PathBuf,
    server: Server,
    work: PathBuf,
}

/// How a document says to make a client, and its example.
struct Recipe {
    commands: Vec<String>,
    example: String,
}

/// Where the generators are installed; else this says that the test was not run.
fn installed(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("STRANDLINE_CLIENTS").map(PathBuf::from).filter(|folder| folder.is_dir());
    if folder.is_some() {
        return folder;
    }
    not_run(
        test,
        "STRANDLINE_CLIENTS names no folder; run tests/clients/fetch",
        "STRANDLINE_REQUIRE_CLIENTS",
    );
    None
}

impl Recipe {
    /// What `docs/api.md` says below a heading; its example is in this language.
    fn read(heading: &str, language: &str) -> Self {
        let page = read("docs/api.md");
        let section =
            page.split("\n## ").find_map(|section| section.split_once(&format!("\n### {heading}\n")));
        let (_, section) = section.expect("the heading is where it was");
        let section = section.split("\n### ").next().unwrap_or_default();
        let of = |language| lines(section).into_iter().filter(move |(block, _)| *block == Some(language));
        Recipe {
            commands: of("sh").map(|(_, line)| line.to_owned()).collect(),
            example: of(language).map(|(_, line)| format!("{line}\n")).collect(),
        }
    }
}

impl World {
    async fn start(tools: PathBuf, folder: &Path) -> Result<Self> {
        let config = unpack(folder)?;
        let (reads, writes) = ("{name: all, everything: true,", "{name: all, everything: true, write: true,");
        assert_eq!(config.matches(reads).count(), 1, "the token is where it was");
        let server = Server::start(folder, &config.replace(reads, writes)).await?;
        let work = folder.join("client");
        std::fs::create_dir(&work)?;
        std::os::unix::fs::symlink(tools.join("node_modules"), work.join("node_modules"))?;
        Ok(World { tools, server, work })
    }

    /// A text with the addresses of this world.
    fn here(&self, text: &str) -> String {
        text.replace(ADDRESS, self.server.url()).replace(TO_STOP, STOPPED)
    }

    /// Runs a line of shell in the client's folder; what it printed.
    async fn run(&self, line: &str) -> Result<String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = [self.tools.join("python/bin")].into_iter().chain(std::env::split_paths(&path));
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(&self.work)
            .env("PATH", std::env::join_paths(path)?)
            .env("PYTHONPATH", &self.work)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("npm_config_offline", "true")
            .env("STRANDLINE_URL", self.server.url())
            .env("STRANDLINE_TOKEN", TOKEN)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output();
        let output = tokio::time::timeout(PATIENCE, output).await??;
        let (said, failed) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if !output.status.success() || said.contains("WARNING") {
            return Err(format!("{line}: {}\n{said}\n{failed}", output.status).into());
        }
        Ok(said.into_owned())
    }

    /// Follows a recipe, the last command of which runs the example.
    async fn follow(&self, recipe: &Recipe, example: &str, pinned: &str) -> Result<()> {
        std::fs::write(self.work.join(example), self.here(&recipe.example))?;
        let mut said = String::new();
        for command in &recipe.commands {
            let installs =
                command.strip_prefix("pip install ").or_else(|| command.strip_prefix("npm install "));
            if let Some(packages) = installs {
                // It is what `fetch` installed.
                let versions = packages.split(' ').filter_map(|one| one.rsplit_once(['=', '@']));
                for (name, version) in versions.filter(|(name, _)| !name.is_empty()) {
                    let name = name.trim_end_matches('=');
                    let ways = [format!("{name}=={version} "), format!("\"{name}\": \"{version}\"")];
                    assert!(
                        ways.iter().any(|way| pinned.contains(way)),
                        "{command}: another {name} is tested"
                    );
                }
                continue;
            }
            // The script names the folder in which it was installed, before that was moved.
            let command = command.replacen("openapi-python-client ", "python3 -m openapi_python_client ", 1);
            said = self.run(&self.here(&command)).await?;
        }
        let lines: Vec<_> = said.lines().collect();
        assert!(lines.iter().any(|line| line.starts_with("writers.blog.production ")), "{said}");
        assert_eq!(lines.last(), Some(&format!("{STOPPED} stopped").as_str()), "{said}");
        // What was written is read once the view includes it.
        let (path, begun) = (format!("/environments/{STOPPED}"), Instant::now());
        loop {
            let (_, answer) = self.server.send("GET", &path, TOKEN, &Value::Null).await?;
            if answer["state"] == "stopped" {
                return Ok(());
            }
            assert!(begun.elapsed() < PATIENCE, "{answer}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Every operation of the contract: its name, and its method and path.
fn operations() -> Result<Vec<(String, String)>> {
    let contract: Value = serde_saphyr::from_str(&read("api/openapi.yaml"))?;
    let paths = contract["paths"].as_object().into_iter().flatten();
    let of_path = |(path, item): (&String, &Value)| -> Vec<_> {
        let methods = item.as_object().into_iter().flatten();
        let named = |(method, operation): (&String, &Value)| {
            Some((operation["operationId"].as_str()?.to_owned(), format!("{} {path}", method.to_uppercase())))
        };
        methods.filter_map(named).collect()
    };
    Ok(paths.flat_map(of_path).collect())
}

/// `listEnvironments` as Python writes it.
fn in_snake_case(name: &str) -> String {
    let letter =
        |c: char| if c.is_ascii_uppercase() { format!("_{}", c.to_ascii_lowercase()) } else { c.into() };
    name.chars().map(letter).collect()
}

/// Fails unless exactly these were called; `said` ends with them as JSON.
fn all_were_called(said: &str, expected: BTreeSet<String>) -> Result<()> {
    let called: BTreeSet<String> = serde_json::from_str(said.lines().last().unwrap_or_default())?;
    let forgotten: Vec<_> = expected.difference(&called).collect();
    assert!(forgotten.is_empty(), "call them in tests/clients: {forgotten:?}");
    assert_eq!(called, expected);
    assert!(called.len() > 60, "the operations are where they were");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generated_python_client_calls_every_operation() -> Result<()> {
    let Some(tools) = installed("a_generated_python_client_calls_every_operation") else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let world = World::start(tools, folder.path()).await?;
    let recipe = Recipe::read("Python", "python");
    world.follow(&recipe, "example.py", &read("tests/clients/requirements.txt")).await?;
    let program = root().join("tests/clients/operations.py");
    let said = world.run(&format!("python3 '{}'", program.display())).await?;
    all_were_called(&said, operations()?.iter().map(|(name, _)| in_snake_case(name)).collect())?;
    world.server.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_generated_typescript_client_calls_every_operation() -> Result<()> {
    let Some(tools) = installed("a_generated_typescript_client_calls_every_operation") else { return Ok(()) };
    let folder = tempfile::tempdir()?;
    let world = World::start(tools, folder.path()).await?;
    let recipe = Recipe::read("TypeScript", "ts");
    world.follow(&recipe, "example.mts", &read("tests/clients/package.json")).await?;
    std::fs::write(world.work.join("operations.mts"), read("tests/clients/operations.mts"))?;
    let check = recipe.commands.iter().find(|command| command.starts_with("npx tsc ")).ok_or("no tsc")?;
    world.run(&check.replace("example.mts", "operations.mts")).await?;
    let said = world.run("node operations.mjs").await?;
    all_were_called(&said, operations()?.into_iter().map(|(_, path)| path).collect())?;
    // What was answered is judged by the compiler too: types are gone when a program runs.
    world.run(&check.replace("example.mts", "--noEmit answers.mts")).await?;
    world.server.stop().await
}
