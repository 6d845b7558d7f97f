//! Pages of lists as CSV.

use crate::format::visible;
use crate::http::params::AT;
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_protocol::Page;
use strandline_syntax::keywords;

/// The form of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    #[default]
    Json,
    Csv,
}

keywords!(
    Form, "format", Exact,
    Json => "json",
    Csv => "csv",
);

/// A page by RFC 4180, with a header.
pub(super) fn page<T>(
    request: &Request,
    columns: &str,
    page: &Page<T>,
    cells: impl Fn(&T) -> Vec<String>,
) -> Response {
    let row = |item: &T| {
        let cells: Vec<_> = cells(item).iter().map(|text| cell(text)).collect();
        cells.join(",") + "\r\n"
    };
    let text = format!("{columns}\r\n{}", page.items.iter().map(row).collect::<String>());
    let response = respond::tagged(&request.context, "text/csv; charset=utf-8", text.into_bytes());
    respond::with_next(respond::chosen(response), request, &[AT], page.metadata.next.as_deref())
}

/// A cell. What a spreadsheet would take for a formula is text: names and messages are a cluster's.
fn cell(text: &str) -> String {
    let text = visible(text);
    let mark = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    let is_quoted = text.contains([',', '"', '\r', '\n']);
    let text = format!("{mark}{}", text.replace('"', "\"\""));
    if is_quoted { format!("\"{text}\"") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clusters_say_is_no_formula_and_breaks_out_of_no_cell() {
        assert_eq!(cell("=1+1"), "'=1+1");
        assert_eq!(cell("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(cell("-x,y"), "\"'-x,y\"");
    }
}
