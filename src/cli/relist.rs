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
    let mut now = asked;
    // What is not watched cannot be compared, and says so itself.
    while pending(&now, &since).next().is_some() {
        tokio::time::sleep(LOOK).await;
        now = client.get(WHAT, PATH, &query).await?;
    }
    let of = |report: &Value| report["differences"].as_u64().unwrap_or_default();
    let found = of(&now).saturating_sub(of(&before));
    let compared = items(&now).filter(|watch| is_watched(watch)).count();
    let left = items(&now).count().saturating_sub(compared);
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

/// Watched kinds that were not compared since.
fn pending<'a>(report: &'a Value, since: &'a str) -> impl Iterator<Item = &'a Value> {
    let at = |text: &str| text.parse::<Timestamp>().ok();
    let done = move |watch: &Value| watch["verified_at"].as_str().and_then(at) >= at(since);
    items(report).filter(|watch| is_watched(watch)).filter(move |watch| !done(watch))
}
