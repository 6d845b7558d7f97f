//! Differences as rows: one below the other, or side by side, with what differs in them marked.

use std::str::FromStr;

use crate::format::{printed, visible};
use crate::http::params::Parameter;
use strandline_object_diff::{Line, Mark, Span, letters, whole};

/// How differences are laid out.
pub(in crate::web) const LAYOUT: Parameter = Parameter::one("layout");

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Layout {
    #[default]
    Unified,
    Split,
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "unified" => Ok(Layout::Unified),
            "split" => Ok(Layout::Split),
            other => Err(format!("unknown layout `{other}`; use unified or split")),
        }
    }
}

/// A line of differences; its sign stands in it, so that the colour says nothing more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::web) struct Row {
    pub(in crate::web) mark: Mark,
    /// The sign, with the room behind it; empty side by side, where the column says it.
    pub(in crate::web) sign: String,
    pub(in crate::web) spans: Vec<Span>,
}

/// A line of both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::web) enum Pair {
    /// What concerns both.
    Both(Row),
    Sides(Option<Row>, Option<Row>),
}

/// The lines as rows; lines that were removed are held against those that came in their stead.
pub(super) fn rows(lines: &[Line]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::with_capacity(lines.len());
    let mut rest = lines;
    while let Some(first) = rest.first() {
        if !matches!(first.mark, Mark::Removed | Mark::Added) {
            rows.push(row(first, None));
            rest = &rest[1..];
            continue;
        }
        let run = |lines: &[Line], mark| lines.iter().take_while(|line| line.mark == mark).count();
        let (removed, after) = rest.split_at(run(rest, Mark::Removed));
        let (added, after) = after.split_at(run(after, Mark::Added));
        let marked: Vec<_> = removed
            .iter()
            .zip(added)
            .map(|(one, other)| letters(&visible(&one.text), &visible(&other.text)))
            .collect();
        rows.extend(
            removed.iter().enumerate().map(|(at, line)| row(line, marked.get(at).map(|both| &both.0))),
        );
        rows.extend(added.iter().enumerate().map(|(at, line)| row(line, marked.get(at).map(|both| &both.1))));
        rest = after;
    }
    rows
}

fn row(line: &Line, spans: Option<&Vec<Span>>) -> Row {
    let is_value = matches!(line.mark, Mark::Removed | Mark::Added | Mark::Same);
    let spans = match spans {
        Some(spans) => spans.clone(),
        None if is_value => vec![whole(&visible(&line.text))],
        None => vec![Span { text: printed(line), changed: false }],
    };
    let sign = if is_value { format!("{}   ", line.mark.sign()) } else { String::new() };
    Row { mark: line.mark, sign, spans }
}

/// The rows side by side.
pub(super) fn pairs(rows: Vec<Row>) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut rest = rows.into_iter().map(|row| Row { sign: String::new(), ..row }).peekable();
    while let Some(first) = rest.next() {
        match first.mark {
            Mark::Same => pairs.push(Pair::Sides(Some(first.clone()), Some(first))),
            Mark::Removed | Mark::Added => {
                let mut run = |mark, rows: &mut Vec<Row>| {
                    while let Some(row) = rest.next_if(|row| row.mark == mark) {
                        rows.push(row);
                    }
                };
                let (mut removed, mut added) = (Vec::new(), Vec::new());
                if first.mark == Mark::Removed {
                    removed.push(first);
                    run(Mark::Removed, &mut removed);
                } else {
                    added.push(first);
                }
                run(Mark::Added, &mut added);
                let (mut removed, mut added) = (removed.into_iter(), added.into_iter());
                loop {
                    match (removed.next(), added.next()) {
                        (None, None) => break,
                        (one, other) => pairs.push(Pair::Sides(one, other)),
                    }
                }
            }
            _ => pairs.push(Pair::Both(first)),
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lines: &[(Mark, &str)]) -> Vec<Line> {
        lines.iter().map(|(mark, text)| Line::new(*mark, *text)).collect()
    }

    #[test]
    fn what_was_removed_is_beside_what_came_in_its_stead() {
        let found = rows(&lines(&[
            (Mark::Place, "data.a"),
            (Mark::Same, "x"),
            (Mark::Removed, "level: info"),
            (Mark::Removed, "gone"),
            (Mark::Added, "level: debug"),
            (Mark::Note, "1 noise"),
            (Mark::Added, "new"),
        ]));
        assert_eq!((found[2].sign.as_str(), found[2].spans.len()), ("-   ", 2));
        let text = |row: &Option<Row>| -> String {
            row.iter().flat_map(|row| row.spans.iter().map(|span| span.text.as_str())).collect()
        };
        let told = |pair: &Pair| match pair {
            Pair::Both(row) => (row.spans[0].text.clone(), String::new()),
            Pair::Sides(one, other) => (text(one), text(other)),
        };
        let told: Vec<_> = pairs(found).iter().map(told).collect();
        let expected = [
            ("  data.a", ""),
            ("x", "x"),
            ("level: info", "level: debug"),
            ("gone", ""),
            ("  (1 noise)", ""),
            ("", "new"),
        ];
        assert_eq!(told, expected.map(|(one, other)| (one.to_owned(), other.to_owned())));
    }
}
