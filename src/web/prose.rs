//! Words of ours, in which back-ticks set code apart and help pages are named.

use std::fmt;

use askama::filters::{Escaper, Html, HtmlSafe};

use crate::format::visible;

/// Where help begins in addresses.
const HELP: &str = "/help/";

/// A text that a page shows with what stands between back-ticks as code, and addresses of help pages as links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Prose(String);

impl Prose {
    pub(super) fn new(text: &str) -> Self {
        Prose(visible(text).into_owned())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Prose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_str();
        while let Some((words, (code, after))) =
            rest.split_once('`').and_then(|(words, open)| Some((words, open.split_once('`')?)))
        {
            linked(f, words)?;
            f.write_str("<code>")?;
            Html.write_escaped_str(&mut *f, code)?;
            f.write_str("</code>")?;
            rest = after;
        }
        linked(f, rest)
    }
}

fn linked(f: &mut fmt::Formatter<'_>, words: &str) -> fmt::Result {
    let mut rest = words;
    while let Some(start) = rest.find(HELP) {
        let (before, address) = rest.split_at(start);
        let is_end = |c: char| !c.is_ascii_alphanumeric() && !"/-#".contains(c);
        let (address, after) = address.split_at(address.find(is_end).unwrap_or(address.len()));
        Html.write_escaped_str(&mut *f, before)?;
        // Of letters, digits and what was named above alone, so that nothing is to be escaped.
        write!(f, "<a href=\"{address}\">{address}</a>")?;
        rest = after;
    }
    Html.write_escaped_str(f, rest)
}

// All that is not a tag of ours was escaped.
impl HtmlSafe for Prose {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_back_ticks_is_code_and_all_is_escaped() {
        let cases = [
            ("no environment `a<b`", "no environment <code>a&#60;b</code>"),
            ("`at` and `from`", "<code>at</code> and <code>from</code>"),
            ("a lone ` stays", "a lone ` stays"),
            ("<i>", "&#60;i&#62;"),
            (
                "<b> See /help/a#b-c. <i>",
                "&#60;b&#62; See <a href=\"/help/a#b-c\">/help/a#b-c</a>. &#60;i&#62;",
            ),
            ("/help/\"><i>", "<a href=\"/help/\">/help/</a>&#34;&#62;&#60;i&#62;"),
            ("", ""),
        ];
        for (text, shown) in cases {
            assert_eq!(Prose::new(text).to_string(), shown);
        }
    }
}
