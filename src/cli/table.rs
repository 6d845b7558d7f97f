//! Tables as kubectl prints them: headers in capitals, three blanks between columns, no borders.

use std::borrow::Cow;

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
        Cell::Text(if text.is_empty() { NONE.into() } else { visible(text).into_owned() })
    }

    fn content(&self) -> &str {
        match self {
            Cell::Text(text) | Cell::Standing(_, text) => text,
            Cell::Health(Some(health)) => health.as_str(),
            Cell::Health(None) => NONE,
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
    pub(super) headers: Vec<Cow<'static, str>>,
    /// Rows, each as long as the headers.
    pub(super) rows: Vec<Vec<Cell>>,
}

/// What kubectl prints where there is nothing.
const NONE: &str = "<none>";

/// Between two columns.
const GAP: usize = 3;

impl Table {
    pub(super) fn new(
        headers: impl IntoIterator<Item = impl Into<Cow<'static, str>>>,
        rows: Vec<Vec<Cell>>,
    ) -> Self {
        Table { headers: headers.into_iter().map(Into::into).collect(), rows }
    }

    /// The table as text.
    pub(super) fn render(&self, paint: Paint, with_headers: bool) -> String {
        self.render_within(paint, with_headers, &mut Vec::new())
    }

    /// The same below rows that were printed before, with columns that are at least as wide as theirs; `widths` keeps them.
    pub(super) fn render_within(&self, paint: Paint, with_headers: bool, widths: &mut Vec<usize>) -> String {
        let header: Vec<_> =
            self.headers.iter().map(|header| Cell::Text(visible(header).into_owned())).collect();
        let lines: Vec<_> = with_headers.then_some(&header).into_iter().chain(&self.rows).collect();
        let width = |column: usize| {
            let cells = lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.content().width()).max().unwrap_or(0)
        };
        widths.resize(self.headers.len(), 0);
        for (column, least) in widths.iter_mut().enumerate() {
            *least = width(column).max(*least);
        }
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

    /// The table as comma-separated values (RFC 4180); a cell with nothing in it is empty.
    pub(super) fn csv(&self, with_headers: bool) -> String {
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            cells.map(csv_field).collect::<Vec<_>>().join(",") + "\r\n"
        };
        let header = with_headers.then(|| line(&mut self.headers.iter().map(|header| &**header)));
        let rows = self.rows.iter().map(|row| {
            line(
                &mut row
                    .iter()
                    .map(|cell| Some(cell.content()).filter(|text| *text != NONE).unwrap_or_default()),
            )
        });
        header.into_iter().chain(rows).collect()
    }
}

/// A field, quoted where it has to be. What a spreadsheet would take for a formula, which anybody who names a resource could
/// plant, is made text.
fn csv_field(text: &str) -> Cow<'_, str> {
    let text = match text.starts_with(['=', '+', '-', '@', '\t']) {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    };
    match text.contains([',', '"', '\n', '\r']) {
        true => Cow::Owned(format!("\"{}\"", text.replace('"', "\"\""))),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_two_columns_count_twice() {
        let row = |name: &str| vec![Cell::text(name), Cell::text("x")];
        let table = Table::new(["NAME", "BY"], vec![row("日本"), row("e\u{301}t\u{e9}"), row("web-1")]);
        assert_eq!(table.render(Paint(false), false), "日本    x\ne\u{301}t\u{e9}     x\nweb-1   x\n");
    }

    #[test]
    fn values_are_quoted_and_no_formulas() {
        let table = Table::new(
            ["NAME", "HEALTH", "MESSAGE"],
            vec![
                vec![Cell::text("web"), Cell::Health(None), Cell::text("a, \"b\"")],
                vec![Cell::text("=1+1"), Cell::Health(Some(Health::Healthy)), Cell::text("")],
            ],
        );
        assert_eq!(table.csv(true), "NAME,HEALTH,MESSAGE\r\nweb,,\"a, \"\"b\"\"\"\r\n'=1+1,Healthy,\r\n");
        assert!(!table.csv(false).contains("NAME"));
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let table = Table::new(
            ["NAME", "HEALTH", "SINCE"],
            vec![
                vec![Cell::text("web"), Cell::Health(Some(Health::Healthy)), Cell::text("5d3h")],
                vec![Cell::text("\u{1b}[2J"), Cell::Health(None), Cell::text("")],
            ],
        );
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
