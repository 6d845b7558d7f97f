//! `/api/v1/changes`: what changed across environments, as JSON, CSV or an Atom feed.

use super::atom;
use super::export::{self, Exported};
use crate::app::{AppState, changes};
use crate::format::entry_subject;
use crate::http::auth;
use crate::http::params::FORMAT;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_protocol::FeedEntry;
use strandline_query::ListChanges;
use strandline_syntax::percent_encode;

/// Changes across environments, the newest first.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page, filter) = (read.at(), read.page(), changes::filter(&mut read));
    let form = read.word(FORMAT).unwrap_or_default();
    read.finish()?;
    let scope = auth::scope(&request)?;
    let found = state.queries.ask(&scope, at, ListChanges::new(&filter, &page)).await?;
    export::page(&request, form, &found)
}

impl Exported for FeedEntry {
    const FEED: (&'static str, &'static str) = ("Changes", "changes");
    const COLUMNS: &'static str = "time,offset,type,by,subject,summary,environments,clusters,follow_ups";

    fn cells(&self) -> Vec<String> {
        let environments: Vec<_> = self.environments.iter().map(|one| one.id.as_str()).collect();
        vec![
            self.entry.observed_at.to_string(),
            self.entry.offset.to_string(),
            self.kind.to_string(),
            self.by.clone(),
            entry_subject(&self.entry),
            self.summary.clone(),
            environments.join(" "),
            self.clusters.join(" "),
            self.follow_ups.to_string(),
        ]
    }

    /// It leads to its first environment, as it was after the change.
    fn entry(&self) -> atom::Entry {
        let names: Vec<_> = self.environments.iter().map(|one| one.id.as_str()).collect();
        let first = names.first().copied().unwrap_or_default();
        atom::Entry {
            id: format!("change:{}", self.entry.id),
            title: format!("{} ({}): {}", entry_subject(&self.entry), names.join(", "), self.summary),
            updated: self.entry.observed_at,
            author: self.by.clone(),
            category: self.kind.to_string(),
            link: format!("/environments/{}?at={}", percent_encode(first), self.entry.offset),
            summary: self.summary.clone(),
        }
    }
}
