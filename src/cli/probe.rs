//! `strandline probe`: asks a server whether it is alive or ready, for images without a shell.

use std::time::Duration;

use super::args::ProbeArgs;
use super::client::Client;
use super::error::CliError;
use super::output::write;
use super::runtime::runtime;

const WHAT: &str = "probing the server";

/// Runs the command.
pub(super) fn run(args: &ProbeArgs) -> Result<(), CliError> {
    runtime()?.block_on(probe(args))
}

async fn probe(args: &ProbeArgs) -> Result<(), CliError> {
    let client = Client::of(&args.server)?.unrenewed();
    let path = if args.live { "/livez" } else { "/readyz?verbose" };
    let limit = Duration::from_secs(args.timeout);
    let answer = tokio::time::timeout(limit, client.status(WHAT, path)).await;
    let (status, body) =
        answer.map_err(|_| CliError::new(WHAT, format!("no answer within {} s", args.timeout)))??;
    let text = String::from_utf8_lossy(&body);
    if status.is_success() {
        return write(&format!("{}\n", text.trim_end()));
    }
    Err(CliError::new(WHAT, format!("status {}\n{}", status.as_u16(), text.trim_end())))
}
