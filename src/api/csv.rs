//! Lists as CSV.

use crate::format::visible;

/// Lines by RFC 4180, with a header.
pub(super) fn text(columns: &str, lines: impl Iterator<Item = Vec<String>>) -> String {
    let line =
        |cells: Vec<String>| cells.iter().map(|text| cell(text)).collect::<Vec<_>>().join(",") + "\r\n";
    format!("{columns}\r\n{}", lines.map(line).collect::<String>())
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
