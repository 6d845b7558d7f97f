//! Feeds by RFC 4287.

use crate::format::visible;
use crate::http::params::{CONTINUE, FORMAT, LIMIT};
use crate::http::request::Request;
use strandline_model::Timestamp;
use strandline_syntax::percent_encode;

/// An entry of a feed, as plain text.
pub(super) struct Entry {
    /// What it is, in no other entry of any feed, such as `change:9.3.1`.
    pub(super) id: String,
    pub(super) title: String,
    pub(super) updated: Timestamp,
    /// Who did it; empty where that is not known.
    pub(super) author: String,
    pub(super) category: String,
    /// A path of this server.
    pub(super) link: String,
    pub(super) summary: String,
}

/// What a feed is of, and where.
pub(super) struct Source {
    pub(super) title: &'static str,
    /// What it is, in no other feed, such as `changes:group=shop`.
    pub(super) id: String,
    /// The path of this server that it was got from.
    pub(super) link: String,
}

impl Source {
    /// The feed of this title and name that a request asks for. Its id is of what chooses its entries, so that a reader of
    /// several takes none for another.
    pub(super) fn of((title, name): (&'static str, &str), request: &Request) -> Self {
        let chooses = |name: &str| ![FORMAT, LIMIT, CONTINUE].iter().any(|other| other.name == name);
        let chosen = request.query.pairs().filter(|(name, _)| chooses(name));
        let mut chosen: Vec<_> =
            chosen.map(|(name, value)| format!("{name}={}", percent_encode(value))).collect();
        chosen.sort_unstable();
        let joint = if chosen.is_empty() { "" } else { ":" };
        let id = format!("{name}{joint}{}", chosen.join("&"));
        Source { title, id, link: format!("{}{}", request.context.path, request.query.with(&[])) }
    }
}

/// The feed of some entries, the newest first, as of a time.
pub(super) fn text(of: &Source, entries: &[Entry], as_of: Option<Timestamp>) -> String {
    let (title, id, link) = (of.title, escaped(&of.id), escaped(&of.link));
    let updated = entries.first().map(|entry| entry.updated).or(as_of).unwrap_or_default();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <id>urn:strandline:{id}</id>\n<title>{title}</title>\n\
         <link rel=\"self\" type=\"application/atom+xml\" href=\"{link}\"/>\n<author><name>Strandline</name></author>\n\
         <updated>{updated}</updated>\n"
    );
    for entry in entries {
        let author = if entry.author.is_empty() { "unknown" } else { &entry.author };
        out.push_str(&format!(
            "<entry>\n<id>urn:strandline:{}</id>\n<title>{}</title>\n<updated>{}</updated>\n\
             <author><name>{}</name></author>\n<category term=\"{}\"/>\n<link href=\"{}\"/>\n\
             <summary>{}</summary>\n</entry>\n",
            escaped(&entry.id),
            escaped(&entry.title),
            entry.updated,
            escaped(author),
            escaped(&entry.category),
            escaped(&entry.link),
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
    use crate::http::context::Context;
    use crate::http::params::{GROUP, Query, TYPE};

    #[test]
    fn a_feed_is_of_what_chooses_its_entries() {
        let of = |raw: &str| {
            let context = Context::new(http::Method::GET, "/api/v1/changes", http::HeaderMap::new());
            let query = Query::parse(raw, &[GROUP, TYPE, FORMAT, LIMIT, CONTINUE]).unwrap_or_default();
            Source::of(("Changes", "changes"), &Request::new(context, vec![], query))
        };
        assert_eq!(of("format=atom&limit=5&continue=x").id, "changes");
        assert_eq!(of("type=spec&group=a%26b&format=atom").id, "changes:group=a%26b&type=spec");
        assert_eq!(of("group=a%26b&type=spec&format=atom").id, of("type=spec&group=a%26b&format=atom").id);
        let text = text(&of("group=a&type=spec&format=atom"), &[], None);
        for part in [
            "<id>urn:strandline:changes:group=a&amp;type=spec</id>",
            "<link rel=\"self\" type=\"application/atom+xml\" href=\"/api/v1/changes?group=a&amp;type=spec&amp;format=atom\"/>",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn what_clusters_say_breaks_out_of_no_format() {
        assert_eq!(escaped("</title><script a=\"&\">"), "&lt;/title&gt;&lt;script a=&quot;&amp;&quot;&gt;");
        assert!(!escaped("a\u{1}b\u{ffff}").contains(['\u{1}', '\u{ffff}']));
    }
}
