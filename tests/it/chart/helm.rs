//! Helm as its users run it, built by tests/packaging/build.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::Command;

use crate::checkout::root;
use crate::not_run::not_run;
use crate::server::Result;

const VARIABLE: &str = "STRANDLINE_PACKAGING";

/// The folder of programs, or why there is none.
fn tools() -> Result<PathBuf, String> {
    let folder = env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let folder = folder.map(PathBuf::from).ok_or_else(|| format!("{VARIABLE} is not set"))?;
    match folder.join("helm").is_file() {
        true => Ok(folder),
        false => Err(format!("{VARIABLE} has no helm in {}", folder.display())),
    }
}

/// Says that a test needs Helm where there is none, and that it must then return; a failure where it is required.
pub(super) fn skip_without_helm(test: &str) -> bool {
    let Err(why) = tools() else { return false };
    not_run(test, &format!("{why}; run tests/packaging/build"), "STRANDLINE_REQUIRE_PACKAGING");
    true
}

/// Helm with a home of its own.
pub(super) struct Helm {
    tools: PathBuf,
    home: TempDir,
    kubeconfig: Option<PathBuf>,
}

impl Helm {
    pub(super) fn new() -> Result<Self> {
        Ok(Helm { tools: tools()?, home: tempfile::tempdir()?, kubeconfig: None })
    }

    /// The same against a cluster.
    pub(super) fn at(kubeconfig: PathBuf) -> Result<Self> {
        Ok(Helm { kubeconfig: Some(kubeconfig), ..Helm::new()? })
    }

    /// A definition that the chart's custom kinds need.
    pub(super) fn definition(&self, name: &str) -> Result<String> {
        Ok(std::fs::read_to_string(self.tools.join(name))?)
    }

    /// Another program that is built with it.
    pub(super) fn tool(&self, name: &str) -> PathBuf {
        self.tools.join(name)
    }

    pub(super) fn chart(&self) -> String {
        root().join("deploy/chart/strandline").display().to_string()
    }

    /// What helm prints; its errors are errors here.
    pub(super) async fn run(&self, arguments: &[&str]) -> Result<String> {
        self.output(&self.tools.join("helm"), arguments).await
    }

    /// What deploy/render prints.
    pub(super) async fn render(&self) -> Result<String> {
        self.output(&root().join("deploy/render"), &[]).await
    }

    /// What the chart makes of values, for a release in the namespace `strandline`.
    pub(super) async fn template(&self, release: &str, values: &[&str]) -> Result<String> {
        let chart = self.chart();
        let mut arguments = vec!["template", release, &chart, "--namespace", "strandline"];
        arguments.extend(values.iter().flat_map(|value| ["--set", value]));
        self.run(&arguments).await
    }

    async fn output(&self, program: &Path, arguments: &[&str]) -> Result<String> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).kill_on_drop(true).env("HELM", self.tools.join("helm"));
        for variable in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
            command.env(variable, self.home.path());
        }
        match &self.kubeconfig {
            Some(path) => command.env("KUBECONFIG", path),
            None => command.env("KUBECONFIG", "/nonexistent"),
        };
        let output = command.output().await?;
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout)?);
        }
        let why = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        Err(format!("{} {}: {}: {}", program.display(), arguments.join(" "), output.status, why.trim())
            .into())
    }
}
