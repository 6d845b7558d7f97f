//! `strandline forget`: ends what only a person can know to be gone.

use serde_json::{Value, json};

use super::args::ForgetArgs;
use super::client::Client;
use super::error::CliError;
use super::output::write;
use super::runtime::runtime;
use crate::format::visible;
use strandline_syntax::percent_encode;

const WHAT: &str = "forgetting";

/// Runs the command.
pub(super) fn run(args: &ForgetArgs) -> Result<(), CliError> {
    let client = Client::of(&args.server)?;
    let body = json!({
        "kind": args.kind, "namespace": args.namespace, "name": args.name, "uid": args.uid,
        "dry_run": args.dry_run, "force": args.force,
    });
    let path = format!("/api/v1/clusters/{}/forget", percent_encode(&args.cluster));
    let report = runtime()?.block_on(client.post_json(WHAT, &path, &body))?;
    write(&summary(&report))
}

fn summary(report: &Value) -> String {
    let text = |value: &Value, name: &str| visible(value[name].as_str().unwrap_or_default()).into_owned();
    let number = |name: &str| report[name].as_u64().unwrap_or_default();
    let mut lines = String::new();
    let resources = report["resources"].as_array().map(Vec::as_slice).unwrap_or_default();
    for resource in resources {
        let (namespace, name) = (text(resource, "namespace"), text(resource, "name"));
        let place = if namespace.is_empty() { name } else { format!("{namespace}/{name}") };
        let (uid, seen) = (text(resource, "uid"), text(resource, "last_seen"));
        lines.push_str(&format!("{place}  {uid}  last seen {seen}\n"));
    }
    let (ended, gaps) = (number("ended"), number("gaps_ended"));
    let would = if report["dry_run"] == true { "would be marked as deleted" } else { "marked as deleted" };
    lines.push_str(&format!("{ended} resources and {gaps} gaps of {} {would}\n", text(report, "kind")));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_is_listed_and_counted() {
        let resource =
            json!({"namespace": "shop", "name": "orders", "uid": "u", "last_seen": "2026-11-20T09:00:00Z"});
        let report = |dry_run: bool| {
            json!({"group": "example.dev", "kind": "Database", "dry_run": dry_run, "ended": 1, "gaps_ended": 1,
                "resources": [resource.clone()], "offset": 7})
        };
        let expected = "shop/orders  u  last seen 2026-11-20T09:00:00Z\n1 resources and 1 gaps of Database marked as deleted\n";
        assert_eq!(summary(&report(false)), expected);
        assert!(summary(&report(true)).ends_with("would be marked as deleted\n"));
    }
}
