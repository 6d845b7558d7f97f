//! Words of ours, in which back-ticks set code apart.

use std::fmt;

use askama::filters::{Escaper, Html, HtmlSafe};

use crate::present::visible;

/// A text that a page shows with what stands between back-ticks as code.
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
            Html.write_escaped_str(&mut *f, words)?;
            f.write_str("<code>")?;
            Html.write_escaped_str(&mut *f, code)?;
            f.write_str("</code>")?;
            rest = after;
        }
        Html.write_escaped_str(f, rest)
    }
}

// All that is not a tag of ours was escaped.
impl HtmlSafe for Prose {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_between_back_ticks_is_code_and_all_is_escaped() {
        let cases = [
            ("there is no environment `a<b`", "there is no environment <code>a&#60;b</code>"),
            ("`at` and `from`", "<code>at</code> and <code>from</code>"),
            ("a lone ` stays", "a lone ` stays"),
            ("<i>", "&#60;i&#62;"),
            ("", ""),
        ];
        for (text, shown) in cases {
            assert_eq!(Prose::new(text).to_string(), shown);
        }
    }
}
