//! JSON paths (RFC 9535) with a bound on what looking costs.
//!
//! The crate reads the path; the walk is ours, because a path such as `$..*..*` may visit the same value again and
//! again, and an object may be made for that. Functions in filters are refused: they would compile a regular
//! expression for each value.

mod walk;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use jsonpath_rust::parser::model::{
    Comparable, Filter, FilterAtom, JpQuery, Segment, Selector, SingularQuery, SingularQuerySegment, Test,
};
use jsonpath_rust::parser::parse_json_path;
use serde_json::Value;

use walk::Walk;

/// The longest path that is read, in bytes, and the most brackets that it may open.
const MAX_LENGTH: usize = 1000;
const MAX_BRACKETS: usize = 50;

/// The deepest that filters and parentheses may nest: reading takes time exponential in it.
const MAX_NESTING: usize = 5;

/// A path that was found to be sound.
#[derive(Clone, Debug, PartialEq)]
pub struct Path(JpQuery);

/// How many values may still be looked at.
#[derive(Debug)]
pub struct Budget(pub usize);

impl Budget {
    /// Takes some of it; none when there is not enough left, and then never again.
    fn spend(&mut self, values: usize) -> Option<()> {
        let left = self.0.checked_sub(values);
        self.0 = left.unwrap_or(0);
        left.map(|_| ())
    }
}

impl Path {
    /// Reads a path.
    ///
    /// # Errors
    /// With what is wrong, to be read after the path itself.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.len() > MAX_LENGTH
            || text.matches(['[', '(']).count() > MAX_BRACKETS
            || nesting(text) > MAX_NESTING
        {
            return Err("is too long or too deep");
        }
        // The crate takes `$.a b` for the name of a field.
        let query =
            parse_json_path(text).ok().filter(|_| !has_loose_blanks(text)).ok_or("is not a JSON path")?;
        if query.segments.iter().any(segment_calls) {
            return Err("calls a function, which is not supported");
        }
        Ok(Path(query))
    }

    /// The object's own fields that the path looks into; none where it looks into all of them.
    pub fn fields(&self) -> Option<BTreeSet<&str>> {
        let mut fields = BTreeSet::new();
        first_fields(&self.0.segments, &mut fields)?;
        filters_fields(&self.0.segments, &mut fields)?;
        Some(fields)
    }

    /// What the path finds, in the order of lists and of names; none when the budget does not suffice.
    pub fn find<'v>(&self, root: &'v Value, budget: &mut Budget) -> Option<Vec<&'v Value>> {
        Walk::new(root, budget).segments(&self.0.segments, root)
    }
}

/// How deep brackets and parentheses nest; those inside of strings count as well.
fn nesting(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for c in text.chars() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// Whether blanks stand outside of brackets.
fn has_loose_blanks(text: &str) -> bool {
    let mut depth = 0_usize;
    text.chars().any(|c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && c.is_whitespace()
    })
}

/// Adds what a query from the root looks into; none where that is everything.
fn first_fields<'p>(segments: &'p [Segment], fields: &mut BTreeSet<&'p str>) -> Option<()> {
    let selectors = match segments.first()? {
        Segment::Selector(selector) => std::slice::from_ref(selector),
        Segment::Selectors(selectors) => selectors,
        Segment::Descendant(_) => return None,
    };
    for selector in selectors {
        let Selector::Name(name) = selector else { return None };
        fields.insert(name);
    }
    Some(())
}

/// Adds what filters look into from the root.
fn filters_fields<'p>(segments: &'p [Segment], fields: &mut BTreeSet<&'p str>) -> Option<()> {
    for segment in segments {
        for selector in selectors(segment) {
            if let Selector::Filter(filter) = selector {
                filter_fields(filter, fields)?;
            }
        }
    }
    Some(())
}

fn filter_fields<'p>(filter: &'p Filter, fields: &mut BTreeSet<&'p str>) -> Option<()> {
    match filter {
        Filter::Or(parts) | Filter::And(parts) => {
            parts.iter().try_for_each(|part| filter_fields(part, fields))
        }
        Filter::Atom(FilterAtom::Filter { expr, .. }) => filter_fields(expr, fields),
        Filter::Atom(FilterAtom::Test { expr, .. }) => match &**expr {
            Test::RelQuery(segments) => filters_fields(segments, fields),
            Test::AbsQuery(query) => {
                first_fields(&query.segments, fields)?;
                filters_fields(&query.segments, fields)
            }
            Test::Function(_) => None,
        },
        Filter::Atom(FilterAtom::Comparison(comparison)) => {
            let (left, right) = comparison.vals();
            [left, right].into_iter().try_for_each(|side| match side {
                Comparable::SingularQuery(SingularQuery::Root(segments)) => match segments.first()? {
                    SingularQuerySegment::Name(name) => {
                        fields.insert(name);
                        Some(())
                    }
                    SingularQuerySegment::Index(_) => Some(()),
                },
                _ => Some(()),
            })
        }
    }
}

fn selectors(segment: &Segment) -> &[Selector] {
    match segment {
        Segment::Descendant(segment) => selectors(segment),
        Segment::Selector(selector) => std::slice::from_ref(selector),
        Segment::Selectors(selectors) => selectors,
    }
}

fn segment_calls(segment: &Segment) -> bool {
    selectors(segment)
        .iter()
        .any(|selector| matches!(selector, Selector::Filter(filter) if filter_calls(filter)))
}

fn filter_calls(filter: &Filter) -> bool {
    match filter {
        Filter::Or(parts) | Filter::And(parts) => parts.iter().any(filter_calls),
        Filter::Atom(FilterAtom::Filter { expr, .. }) => filter_calls(expr),
        Filter::Atom(FilterAtom::Test { expr, .. }) => match &**expr {
            Test::RelQuery(segments) => segments.iter().any(segment_calls),
            Test::AbsQuery(query) => query.segments.iter().any(segment_calls),
            Test::Function(_) => true,
        },
        Filter::Atom(FilterAtom::Comparison(comparison)) => {
            let (left, right) = comparison.vals();
            [left, right].into_iter().any(|side| matches!(side, Comparable::Function(_)))
        }
    }
}
