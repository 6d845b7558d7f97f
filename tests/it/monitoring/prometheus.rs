//! A real Prometheus that scrapes a server each second and evaluates alerts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use strandline_sim::Port;
use strandline_syntax::percent_encode;
use tokio::process::{Child, Command};

use crate::not_run::not_run;
use crate::server::{Result, get};

/// How long anything may take to come about; a bound on hanging, not on speed.
const PATIENCE: Duration = Duration::from_secs(180);

/// Says that a test needs Prometheus where there is none, and that it must then return; a failure where it is required.
pub(super) fn skip_without_prometheus(test: &str) -> bool {
    let runs = |program: &str| {
        let mut command = std::process::Command::new(program);
        let run = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        run.is_ok_and(|status| status.success())
    };
    let Some(missing) = ["prometheus", "promtool"].into_iter().find(|program| !runs(program)) else {
        return false;
    };
    not_run(
        test,
        &format!("there is no {missing}; install Debian's prometheus"),
        "STRANDLINE_REQUIRE_PROMETHEUS",
    );
    true
}

pub(super) struct Prometheus {
    _child: Child,
    url: String,
    output: std::path::PathBuf,
    _port: Port,
}

impl Prometheus {
    /// Scrapes the server at this URL by a token, whatever its certificate, and evaluates these rules.
    pub(super) async fn start(folder: &Path, server: &str, token: &str, rules: &str) -> Result<Self> {
        let (scheme, target) = server.split_once("://").ok_or("a URL")?;
        let port = Port::free()?;
        let listen = port.address()?;
        let url = format!("http://{listen}");
        std::fs::write(folder.join("rules.yaml"), rules)?;
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [rules.yaml]\nscrape_configs:\n  \
             - job_name: strandline\n    scheme: {scheme}\n    tls_config: {{insecure_skip_verify: true}}\n    authorization: {{credentials: '{token}'}}\n    static_configs: [{{targets: ['{target}']}}]\n"
        );
        std::fs::write(folder.join("prometheus.yaml"), config)?;
        let output = folder.join("prometheus.log");
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", folder.join("prometheus.yaml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("prometheus").display()))
            .arg(format!("--web.listen-address={listen}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&output)?)
            .kill_on_drop(true)
            .spawn()?;
        let prometheus = Prometheus { _child: child, _port: port, url, output };
        prometheus.until("up", |up| up.iter().any(|series| series["value"][1] == "1")).await?;
        Ok(prometheus)
    }

    async fn get(&self, path: &str) -> Result<Value> {
        let (status, body) = get(&format!("{}/api/v1/{path}", self.url)).await?;
        match status {
            200 => Ok(serde_json::from_str(&body)?),
            _ => Err(format!("{path}: {status} {body}").into()),
        }
    }

    /// The series that an expression has now.
    pub(super) async fn query(&self, expression: &str) -> Result<Vec<Value>> {
        let answer = self.get(&format!("query?query={}", percent_encode(expression))).await?;
        Ok(answer["data"]["result"].as_array().cloned().unwrap_or_default())
    }

    /// Asks until the series of an expression are as wanted.
    pub(super) async fn until(
        &self,
        expression: &str,
        wanted: impl Fn(&[Value]) -> bool,
    ) -> Result<Vec<Value>> {
        let started = Instant::now();
        loop {
            let answer = self.query(expression).await;
            match answer {
                Ok(series) if wanted(&series) => return Ok(series),
                answer if started.elapsed() > PATIENCE => {
                    let log = std::fs::read_to_string(&self.output).unwrap_or_default();
                    return Err(format!("{expression} never came to be as wanted: {answer:?}\n{log}").into());
                }
                _ => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }

    /// The names of the alerts that fire now.
    pub(super) async fn firing(&self) -> Result<BTreeSet<String>> {
        let answer = self.get("alerts").await?;
        let alerts = answer["data"]["alerts"].as_array().cloned().unwrap_or_default();
        let firing = alerts.iter().filter(|alert| alert["state"] == "firing");
        Ok(firing.filter_map(|alert| Some(alert["labels"]["alertname"].as_str()?.to_owned())).collect())
    }

    /// Waits until exactly these alerts fire; returns how long that took.
    pub(super) async fn until_firing(&self, expected: &[&str]) -> Result<Duration> {
        let expected: BTreeSet<String> = expected.iter().map(|name| (*name).to_owned()).collect();
        let started = Instant::now();
        loop {
            let firing = self.firing().await;
            match firing {
                Ok(firing) if firing == expected => return Ok(started.elapsed()),
                firing if started.elapsed() > PATIENCE => {
                    return Err(format!("{firing:?} fire instead of {expected:?}").into());
                }
                _ => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }
}

/// The rules of the project for a test: an alert fires at once, and what lasts minutes lasts seconds.
pub(super) fn hurried(rules: &str, instead: &[(&str, &str)]) -> String {
    let at_once = rules.lines().filter(|line| !line.trim_start().starts_with("for: "));
    let mut text: String = at_once.map(|line| format!("{line}\n")).collect();
    for (written, hurried) in instead {
        assert!(text.contains(written), "the rules have no `{written}`");
        text = text.replace(written, hurried);
    }
    text
}

/// Each alert of the rules with its annotations.
pub(super) fn alerts(rules: &str) -> Result<BTreeMap<String, Value>> {
    let rules: Value = serde_saphyr::from_str(rules)?;
    let groups = rules["groups"].as_array().cloned().unwrap_or_default();
    let rules = groups.iter().flat_map(|group| group["rules"].as_array().cloned().unwrap_or_default());
    Ok(rules.filter_map(|rule| Some((rule["alert"].as_str()?.to_owned(), rule.clone()))).collect())
}
