//! `strandline rebuild`: builds the view anew, in this process or in a running server.

use std::time::Duration;

use serde_json::Value;

use super::args::{AddressArgs, RebuildArgs};
use super::client::Client;
use super::error::CliError;
use super::progress::Progress;
use super::runtime::runtime;
use super::serve::{failure, load, log_to_stderr};
use crate::service;

/// How often a server is asked how far it is.
const LOOK: Duration = Duration::from_millis(250);

const WHAT: &str = "rebuilding the view";

/// Runs the command.
pub(super) fn run(args: &RebuildArgs) -> Result<(), CliError> {
    match &args.server {
        Some(server) => runtime()?.block_on(in_server(server, args)),
        None => here(args),
    }
}

fn here(args: &RebuildArgs) -> Result<(), CliError> {
    log_to_stderr("warn");
    let config = args.config.as_deref().map(load).transpose()?;
    let configured = config.as_ref().map(|config| config.data.clone());
    let data = args.data.clone().or(configured);
    let data = data.ok_or_else(|| CliError::new(WHAT, "--data or --config is required"))?;
    let (rules, caches) = config.map(|config| (config.rules, config.cache_size)).unwrap_or_default();
    let name = rules.name();
    let mut progress = None;
    let built = service::rebuild(&data, rules, caches, |checkpoint, head| {
        progress.get_or_insert_with(|| Progress::new(checkpoint.get())).update(checkpoint.get(), head.get());
    });
    if let Some(progress) = progress {
        progress.end();
    }
    print_result(built.map_err(failure(WHAT))?.get(), &name)
}

/// Has a server build, and follows it to its end.
async fn in_server(server: &str, args: &RebuildArgs) -> Result<(), CliError> {
    let client = Client::of(&AddressArgs {
        server: Some(server.to_owned()),
        token: args.token.clone(),
        token_file: args.token_file.clone(),
        ca_file: args.ca_file.clone(),
        context: None,
    })?;
    let mut report = client.post(WHAT, "/api/v1/rebuild").await?;
    let mut progress = Progress::new(number(&report, "resumed_at"));
    while report["state"] == "building" {
        progress.update(number(&report, "checkpoint"), number(&report, "head"));
        tokio::time::sleep(LOOK).await;
        report = client.get(WHAT, "/api/v1/rebuild", &[]).await?;
    }
    progress.end();
    let text = |name: &str| report[name].as_str().unwrap_or_default().to_owned();
    match text("state").as_str() {
        "done" => print_result(number(&report, "checkpoint"), &text("rules")),
        "none" => Err(CliError::new(WHAT, "the server was restarted during the rebuild")
            .hint("run the command again to resume the rebuild")),
        _ => Err(CliError::new(WHAT, text("error")).hint("the previous view stays in use")),
    }
}

fn number(report: &Value, name: &str) -> u64 {
    report[name].as_u64().unwrap_or_default()
}

fn print_result(offset: u64, rules: &str) -> Result<(), CliError> {
    super::output::write(&format!("the view is rebuilt up to offset {offset} with rules {rules}\n"))
}
