//! What Kubernetes' Events said, across environments or of one environment or resource.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::address::below;
use super::answers::{arranged, parameters, print_list, print_page};
use super::args::EventsArgs;
use super::client::Client;
use super::error::CliError;
use super::overview::declared;
use super::query::{Add, Parameters};
use super::table::Cell;
use super::views::Listed;
use crate::format::{age, resource_name};
use strandline_model::Timestamp;
use strandline_protocol::{FeedEvent, FoldedEvent};
use strandline_syntax::percent_encode;

/// Lists Events.
pub(super) async fn list(args: &EventsArgs) -> Result<(), CliError> {
    let query = parameters(&args.list.server).add("type", &args.r#type).add("reason", &args.reason);
    if let Some(subject) = &args.resource {
        let (path, cluster) = below(subject, &args.place(), &args.list.server, "events").await?;
        let query = query.add("cluster", cluster.as_slice());
        return print_list::<FoldedEvent>("events", &path, query, &args.list).await;
    }
    let of_all_times = args.since.is_none() && args.until.is_none();
    if let Some(id) = args.environment.as_ref().filter(|_| of_all_times) {
        let path = format!("/api/v1/environments/{}/events", percent_encode(id.as_str()));
        return print::<FoldedEvent>(&path, query, args).await;
    }
    let query = declared(query, &args.declared)
        .add("environment", args.environment.as_slice())
        .add("since", args.since.as_slice())
        .add("until", args.until.as_slice());
    print::<FeedEvent>("/api/v1/events", query, args).await
}

/// Prints what is said of resources in the namespace asked for, or in all.
async fn print<T: Listed + DeserializeOwned>(
    path: &str,
    query: Parameters,
    args: &EventsArgs,
) -> Result<(), CliError> {
    let list = &args.list;
    let Some(namespace) = &args.namespace else { return print_list::<T>("events", path, query, list).await };
    let within = |items: &mut Vec<Value>| items.retain(|item| item["namespace"] == **namespace);
    let client = Client::reading(&list.server)?;
    let value = arranged(&client, "reading events", path, query, list, within).await?;
    print_page::<T>("events", value, list).await
}

impl Listed for FoldedEvent {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) = (
        &["LAST SEEN", "TYPE", "REASON", "OBJECT", "COUNT", "MESSAGE"],
        &["FIRST SEEN", "COMPONENT", "CLUSTER", "NAMESPACE", "UID"],
    );

    fn cells(&self, now: Timestamp) -> Vec<Cell> {
        vec![
            Cell::text(age(self.last_at, now)),
            Cell::text(&self.r#type),
            Cell::text(&self.reason),
            Cell::text(format!("{}/{}", self.key.kind.kind.to_lowercase(), self.key.name)),
            Cell::text(self.count.to_string()),
            Cell::text(&self.note),
            Cell::text(age(self.first_at, now)),
            Cell::text(&self.component),
            Cell::text(&self.key.cluster),
            Cell::text(&self.key.namespace),
            Cell::text(self.uid.as_str()),
        ]
    }

    fn name(&self) -> String {
        // Events are no resources here; commands take what they are about.
        resource_name(&self.key)
    }
}

impl Listed for FeedEvent {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) = (
        &["LAST SEEN", "TYPE", "REASON", "ENVIRONMENT", "OBJECT", "COUNT", "MESSAGE"],
        &["FIRST SEEN", "COMPONENT", "CLUSTER", "NAMESPACE", "UID", "OFFSET"],
    );

    fn cells(&self, now: Timestamp) -> Vec<Cell> {
        let environments: Vec<_> = self.environments.iter().map(|one| one.id.as_str()).collect();
        let mut cells = self.event.cells(now);
        cells.insert(3, Cell::text(environments.join(",")));
        cells.push(Cell::text(self.offset.to_string()));
        cells
    }

    fn name(&self) -> String {
        self.event.name()
    }
}
