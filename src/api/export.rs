//! Lists across environments in other forms than JSON: as CSV for spreadsheets, as Atom feeds for readers of these.

use super::atom::{self, Source};
use super::csv;
use crate::http::params::AT;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_protocol::{JsonAnswer, Page};
use strandline_syntax::keywords;

/// The form of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    #[default]
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

/// An item of such a list.
pub(super) trait Exported {
    /// What a feed of them is called, and in its id.
    const FEED: (&'static str, &'static str);
    /// The header of CSV.
    const COLUMNS: &'static str;

    /// The cells of its line.
    fn cells(&self) -> Vec<String>;

    /// The same in a feed.
    fn entry(&self) -> atom::Entry;
}

/// A page in the form that was asked for.
pub(super) fn page<T: Exported>(request: &Request, form: Form, found: &Page<T>) -> Result<Response, Problem>
where
    Page<T>: JsonAnswer,
{
    let (media, text) = match form {
        Form::Json => return respond::page(request, found),
        Form::Csv => ("text/csv; charset=utf-8", csv::text(T::COLUMNS, found.items.iter().map(T::cells))),
        Form::Atom => {
            let entries: Vec<_> = found.items.iter().map(T::entry).collect();
            (
                "application/atom+xml; charset=utf-8",
                atom::text(&Source::of(T::FEED, request), &entries, found.metadata.snapshot.time),
            )
        }
    };
    let response = respond::chosen(respond::tagged(&request.context, media, text.into_bytes()));
    Ok(respond::with_next(response, request, &[AT], found.metadata.next.as_deref()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::summaries::deployment;
    use crate::format::tests::{NOON, environment};
    use strandline_model::Health;

    #[test]
    fn a_deployment_is_an_entry_of_a_feed() {
        let mut one = deployment(&environment("shop/web", "eu", Some(Health::Healthy)));
        one.spec.user = "<chiyo>".into();
        let (title, name) = strandline_protocol::Deployment::FEED;
        let of = Source { title, id: name.to_owned(), link: "/api/v1/deployments?format=atom".to_owned() };
        let text = atom::text(&of, &[one.entry()], Some(NOON));
        assert_eq!(
            text,
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
             <id>urn:strandline:deployments</id>\n<title>Deployments</title>\n\
             <link rel=\"self\" type=\"application/atom+xml\" href=\"/api/v1/deployments?format=atom\"/>\n<author><name>Strandline</name></author>\n\
             <updated>2026-11-20T11:46:00Z</updated>\n<entry>\n<id>urn:strandline:deployment:shop%2Fweb:7</id>\n\
             <title>Deployment 7 of v2.40.0 e0df993b to shop.web.production: failed</title>\n\
             <updated>2026-11-20T11:46:00Z</updated>\n<author><name>&lt;chiyo&gt;</name></author>\n\
             <category term=\"failed\"/>\n<link href=\"/deployments/7?project=shop%2Fweb\"/>\n\
             <summary>failed</summary>\n</entry>\n</feed>\n"
        );
        let nothing = atom::text(&of, &[], Some(NOON));
        assert!(nothing.contains("<updated>2026-11-20T12:00:00Z</updated>"), "a feed has a time: {nothing}");
    }
}
