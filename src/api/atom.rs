//! Feeds by RFC 4287.

use crate::format::visible;
use strandline_model::Timestamp;

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

/// The feed of some entries, the newest first, as of a time.
pub(super) fn text((title, name): (&str, &str), entries: &[Entry], as_of: Option<Timestamp>) -> String {
    let updated = entries.first().map(|entry| entry.updated).or(as_of).unwrap_or_default();
    let mut out = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n\
         <id>urn:strandline:{name}</id>\n<title>{title}</title>\n<author><name>Strandline</name></author>\n\
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

    #[test]
    fn what_clusters_say_breaks_out_of_no_format() {
        assert_eq!(escaped("</title><script a=\"&\">"), "&lt;/title&gt;&lt;script a=&quot;&amp;&quot;&gt;");
        assert!(!escaped("a\u{1}b\u{ffff}").contains(['\u{1}', '\u{ffff}']));
    }
}
