//! `strandline relist`: has a server compare its record with what clusters hold, now.

use std::time::Duration;

use serde_json::Value;

use super::args::RelistArgs;
use super::client::Client;
use super::error::CliError;
use super::query::{Add, Parameters, with_query};
use super::runtime::runtime;
use strandline_model::Timestamp;

/// How often the server is asked whether it is done.
const LOOK: Duration = Duration::from_millis(250);

/// For how long what is left to be compared may not be watched.
const PATIENCE: Duration = Duration::from_secs(5);

const WHAT: &str = "comparing the log with the clusters";
const PATH: &str = "/api/v1/relist";

/// Runs the command.
pub(super) fn run(args: &RelistArgs) -> Result<(), CliError> {
    runtime()?.block_on(compare(args))
}

async fn compare(args: &RelistArgs) -> Result<(), CliError> {
    let client = Client::of(&args.server)?;
    let query = Parameters::new().add("cluster", &args.cluster).add("kind", &args.kind);
    let before = client.get(WHAT, PATH, &query).await?;
    let asked = client.post(WHAT, &with_query(PATH, &query)).await?;
    let watches = asked["watches"].as_array().map_or(0, Vec::len);
    if watches == 0 {
        return Err(CliError::new(WHAT, "no watched kind matches")
            .hint("list the watched clusters and kinds with `strandline coverage`"));
    }
    let since = asked["now"].as_str().unwrap_or_default().to_owned();
    let (mut now, mut unwatched) = (asked, Duration::ZERO);
    // What is not watched cannot be compared, and says so itself; but the list that compares may find a gap, and close it.
    while pending(&now, &since).next().is_some() {
        let waits_for_a_watch = !pending(&now, &since).any(is_watched);
        unwatched = if waits_for_a_watch { unwatched + LOOK } else { Duration::ZERO };
        if unwatched > PATIENCE {
            break;
        }
        tokio::time::sleep(LOOK).await;
        now = client.get(WHAT, PATH, &query).await?;
    }
    let of = |report: &Value| report["differences"].as_u64().unwrap_or_default();
    let found = of(&now).saturating_sub(of(&before));
    let left = pending(&now, &since).count();
    let compared = items(&now).count().saturating_sub(left);
    let mut text = format!("{compared} kinds compared: {found} differences found");
    if found > 0 {
        text.push_str(" and recorded with gaps `missed` or `rolled_back` (see `strandline coverage`)");
    }
    if left > 0 {
        text.push_str(&format!("; {left} not compared, because they are not watched"));
    }
    text.push('\n');
    super::output::write(&text)
}

fn items(report: &Value) -> impl Iterator<Item = &Value> {
    report["watches"].as_array().into_iter().flatten()
}

fn is_watched(watch: &Value) -> bool {
    watch["state"] == "watched"
}

/// Kinds that were not compared since.
fn pending<'a>(report: &'a Value, since: &'a str) -> impl Iterator<Item = &'a Value> {
    let at = |text: &str| text.parse::<Timestamp>().ok();
    let done = move |watch: &Value| watch["verified_at"].as_str().and_then(at) >= at(since);
    items(report).filter(move |watch| !done(watch))
}
