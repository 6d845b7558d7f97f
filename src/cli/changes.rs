//! What changed across environments.

use super::answers::{parameters, print_list};
use super::args::ChangesArgs;
use super::error::CliError;
use super::overview::declared;
use super::query::Add;
use super::table::Cell;
use super::views::Listed;
use crate::format::{age, clock_time, entry_name, entry_subject, grouped};
use strandline_model::Timestamp;
use strandline_protocol::FeedEntry;

/// Lists changes.
pub(super) async fn list(args: &ChangesArgs) -> Result<(), CliError> {
    let controllers = args.controllers.then_some("true");
    let query = declared(parameters(&args.list.server), &args.declared)
        .add("since", args.since.as_slice())
        .add("until", args.until.as_slice())
        .add("type", &args.r#type)
        .add("by", &args.by)
        .add("controllers", controllers.as_slice());
    print_list::<FeedEntry>("changes", "/api/v1/changes", query, &args.list).await
}

impl Listed for FeedEntry {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) = (
        &["AGE", "TYPE", "ENVIRONMENT", "CLUSTERS", "SUBJECT", "BY", "CHANGE", "FOLLOW-UPS"],
        &["TIME", "OFFSET"],
    );

    fn cells(&self, now: Timestamp) -> Vec<Cell> {
        let environments: Vec<_> = self.environments.iter().map(|one| one.id.as_str()).collect();
        let entry = &self.entry;
        [
            age(entry.observed_at, now),
            self.kind.to_string(),
            environments.join(","),
            self.clusters.join(","),
            entry_subject(entry),
            self.by.clone(),
            self.summary.clone(),
            grouped(self.follow_ups),
            clock_time(entry.observed_at),
            entry.offset.to_string(),
        ]
        .map(Cell::text)
        .into()
    }

    fn name(&self) -> String {
        let of_environment = || self.environments.first().map(|one| format!("environment/{}", one.id));
        entry_name(&self.entry).or_else(of_environment).unwrap_or_else(|| entry_subject(&self.entry))
    }
}
