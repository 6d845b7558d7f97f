//! Environments by two groupings at once: a cell for each pair of keys, coloured by what needs attention most in it.

use std::collections::BTreeMap;

use super::sections::{Part, bar, key_name, narrowed, optional};
use super::selection::Selection;
use super::tiles::states;
use crate::http::request::Request;
use crate::web::shell::Badge;
use strandline_model::{Health, attention};
use strandline_protocol::{Overview, OverviewGroup};

/// The most rows and columns, so that a page stays small.
const ROWS_MAX: usize = 12;
const COLUMNS_MAX: usize = 8;

/// A map of two groupings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Map {
    /// Such as `group × region`.
    pub(super) title: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<(String, Vec<Option<Cell>>)>,
    /// Rows and columns that are left out.
    pub(super) further: (usize, usize),
}

/// The environments of a row and a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) badge: Badge,
    /// How many have that health.
    pub(super) count: u64,
    pub(super) total: u64,
    pub(super) href: Option<String>,
    pub(super) bar: Vec<Part>,
}

/// The map of an overview by two groupings; none where it would be but one row or one cell.
pub(super) fn map(request: &Request, selection: &Selection, overview: &Overview) -> Option<Map> {
    let [down, across] = overview.group_by.as_slice() else { return None };
    let mut cells: BTreeMap<(&str, &str), &OverviewGroup> = BTreeMap::new();
    let (mut rows, mut columns): (BTreeMap<&str, u8>, BTreeMap<&str, u64>) = Default::default();
    for group in &overview.groups {
        let [row, column] = group.keys.as_slice() else { continue };
        cells.insert((row, column), group);
        let urgency = rows.entry(row).or_insert(u8::MAX);
        *urgency = (*urgency).min(attention(group.counts.health));
        *columns.entry(column).or_default() += group.counts.total;
    }
    if rows.len() < 2 || rows.len() * columns.len() < 4 {
        return None;
    }
    let further = (rows.len().saturating_sub(ROWS_MAX), columns.len().saturating_sub(COLUMNS_MAX));
    // Rows that need attention are never left out before others, and are shown by name.
    let mut rows: Vec<(&str, u8)> = rows.into_iter().collect();
    rows.sort_by_key(|(name, urgency)| (*urgency, *name));
    rows.truncate(ROWS_MAX);
    rows.sort_unstable();
    let mut columns: Vec<(&str, u64)> = columns.into_iter().collect();
    columns.sort_by_key(|(name, total)| (std::cmp::Reverse(*total), *name));
    columns.truncate(COLUMNS_MAX);
    columns.sort_unstable();
    let cell = |row: &str, column: &str| {
        let group = cells.get(&(row, column))?;
        let counts = &group.counts;
        let (health, count) = states(counts.environments).next().unwrap_or((None, counts.denied));
        let narrowed = narrowed(selection, &overview.group_by, &group.keys);
        let parts = bar(counts);
        Some(Cell {
            badge: Badge::new(health),
            count,
            total: counts.total,
            href: narrowed.map(|narrowed| format!("/{}", request.query.with(&optional(&narrowed)))),
            bar: if health.is_some_and(Health::needs_attention) && parts.len() > 1 {
                parts
            } else {
                Vec::new()
            },
        })
    };
    let line =
        |row: &str| (key_name(down, row), columns.iter().map(|(column, _)| cell(row, column)).collect());
    Some(Map {
        title: format!("{down} × {across}"),
        rows: rows.iter().map(|(row, _)| line(row)).collect(),
        columns: columns.iter().map(|(column, _)| key_name(across, column)).collect(),
        further,
    })
}
