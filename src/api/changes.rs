//! `/api/v1/changes`: what changed across environments, as JSON, CSV or an Atom feed.

use super::csv;
use crate::app::{AppState, changes};
use crate::format::{entry_subject, visible};
use crate::http::auth;
use crate::http::params::{AT, FORMAT};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_protocol::{FeedEntry, Page};
use strandline_query::ListChanges;
use strandline_syntax::{keywords, percent_encode};

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Csv,
    Atom,
}

keywords!(
    Form, "format", Exact,
    Json => "json",
    Csv => "csv",
    Atom => "atom",
);

/// Changes across environments, the newest first.
pub(super) async fn list(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, page, filter) = (read.at(), read.page(), changes::filter(&mut read));
    let form = read.word(FORMAT).unwrap_or(Form::Json);
    read.finish()?;
    let scope = auth::scope(&request)?;
    let found = state.queries.ask(&scope, at, ListChanges::new(&filter, &page)).await?;
    match form {
        Form::Json => respond::page(&request, &found),
        Form::Csv => Ok(csv::page(&request, COLUMNS, &found, cells)),
        Form::Atom => {
            let media = "application/atom+xml; charset=utf-8";
            let text = atom(&found).into_bytes();
            let response = respond::chosen(respond::tagged(&request.context, media, text));
            Ok(respond::with_next(response, &request, &[AT], found.metadata.next.as_deref()))
        }
    }
}

const COLUMNS: &str = "time,offset,type,by,subject,summary,environments,clusters,follow_ups";

fn cells(entry: &FeedEntry) -> Vec<String> {
    let environments: Vec<_> = entry.environments.iter().map(|one| one.id.as_str()).collect();
    vec![
        entry.entry.observed_at.to_string(),
        entry.entry.offset.to_string(),
        entry.kind.to_string(),
        entry.by.clone(),
        entry_subject(&entry.entry),
        entry.summary.clone(),
        environments.join(" "),
        entry.clusters.join(" "),
        entry.follow_ups.to_string(),
    ]
}

/// RFC 4287. An entry leads to its first environment, as it was after the change.
fn atom(page: &Page<FeedEntry>) -> String {
    let updated = page.items.first().map(|entry| entry.entry.observed_at).or(page.metadata.snapshot.time);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
    out.push_str("<feed xmlns=\"http://www.w3.org/2005/Atom\">\n<id>urn:strandline:changes</id>\n");
    out.push_str("<title>Changes</title>\n<author><name>Strandline</name></author>\n");
    out.push_str(&format!("<updated>{}</updated>\n", updated.unwrap_or_default()));
    for entry in &page.items {
        let names: Vec<_> = entry.environments.iter().map(|one| one.id.as_str()).collect();
        let title = format!("{} ({}): {}", entry_subject(&entry.entry), names.join(", "), entry.summary);
        let by = if entry.by.is_empty() { "unknown" } else { &entry.by };
        let first = names.first().copied().unwrap_or_default();
        let link = format!("/environments/{}?at={}", percent_encode(first), entry.entry.offset);
        out.push_str(&format!(
            "<entry>\n<id>urn:strandline:change:{}</id>\n<title>{}</title>\n<updated>{}</updated>\n\
            <author><name>{}</name></author>\n<category term=\"{}\"/>\n<link href=\"{}\"/>\n\
            <summary>{}</summary>\n</entry>\n",
            escaped(&entry.entry.id),
            escaped(&title),
            entry.entry.observed_at,
            escaped(by),
            entry.kind,
            escaped(&link),
            escaped(&entry.summary),
        ));
    }
    out.push_str("</feed>\n");
    out
}

/// Text in XML 1.0, which has no place for most control characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in visible(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clusters_say_breaks_out_of_no_format() {
        assert_eq!(escaped("</title><script a=\"&\">"), "&lt;/title&gt;&lt;script a=&quot;&amp;&quot;&gt;");
        assert!(!escaped("a\u{1}b\u{ffff}").contains(['\u{1}', '\u{ffff}']));
    }
}
