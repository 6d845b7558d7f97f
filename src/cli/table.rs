//! Tables as kubectl prints them: headers in capitals, three blanks between columns, no borders.

use unicode_width::UnicodeWidthStr;

use super::output::Paint;
use crate::format::visible;
use strandline_model::Health;

/// What is in a cell of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// Text.
    Text(String),
    /// A health.
    Health(Option<Health>),
    /// Text in the colour of a health.
    Standing(Option<Health>, String),
}

impl Cell {
    /// Text, with kubectl's word where there is none.
    pub(super) fn text(text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        Cell::Text(if text.is_empty() { "<none>".into() } else { visible(text).into_owned() })
    }

    fn content(&self) -> &str {
        match self {
            Cell::Text(text) | Cell::Standing(_, text) => text,
            Cell::Health(Some(health)) => health.as_str(),
            Cell::Health(None) => "<none>",
        }
    }

    fn painted(&self, paint: Paint) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Health(health) | Cell::Standing(health, _) => paint.health(*health, self.content()),
        }
    }
}

/// A table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    /// Headers.
    pub(super) headers: Vec<&'static str>,
    /// Rows, each as long as the headers.
    pub(super) rows: Vec<Vec<Cell>>,
}

/// Between two columns.
const GAP: usize = 3;

impl Table {
    /// The table as text.
    pub(super) fn render(&self, paint: Paint, with_headers: bool) -> String {
        let header: Vec<_> = self.headers.iter().map(|header| Cell::Text((*header).into())).collect();
        let lines: Vec<_> = with_headers.then_some(&header).into_iter().chain(&self.rows).collect();
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.content().width()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.headers.len()).map(width).collect();
        let mut out = String::new();
        for line in lines {
            for (column, cell) in line.iter().enumerate() {
                out.push_str(&cell.painted(paint));
                if column + 1 < line.len() {
                    let fill = widths[column] - cell.content().width() + GAP;
                    out.extend(std::iter::repeat_n(' ', fill));
                }
            }
            out.push('\n');
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_two_columns_count_twice() {
        let row = |name: &str| vec![Cell::text(name), Cell::text("x")];
        let table = Table {
            headers: vec!["NAME", "BY"],
            rows: vec![row("日本"), row("e\u{301}t\u{e9}"), row("web-1")],
        };
        assert_eq!(table.render(Paint(false), false), "日本    x\ne\u{301}t\u{e9}     x\nweb-1   x\n");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let table = Table {
            headers: vec!["NAME", "HEALTH", "SINCE"],
            rows: vec![
                vec![Cell::text("web"), Cell::Health(Some(Health::Healthy)), Cell::text("5d3h")],
                vec![Cell::text("\u{1b}[2J"), Cell::Health(None), Cell::text("")],
            ],
        };
        assert_eq!(
            table.render(Paint(false), true),
            "NAME        HEALTH    SINCE\n\
             web         Healthy   5d3h\n\
             \\u{1b}[2J   <none>    <none>\n"
        );
        assert_eq!(
            table.render(Paint(true), false).lines().next(),
            Some("web         \u{1b}[32mHealthy\u{1b}[0m   5d3h")
        );
    }
}
