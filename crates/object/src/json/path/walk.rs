//! The walk along a path.

use jsonpath_rust::parser::model::{
    Comparable, Comparison, Filter, FilterAtom, Literal, Segment, Selector, SingularQuery,
    SingularQuerySegment, Test,
};
use serde_json::Value;

use super::{Budget, selectors};

/// A walk through one object.
pub(super) struct Walk<'v, 'b> {
    root: &'v Value,
    budget: &'b mut Budget,
}

impl<'v, 'b> Walk<'v, 'b> {
    pub(super) fn new(root: &'v Value, budget: &'b mut Budget) -> Self {
        Walk { root, budget }
    }

    /// What segments find from a value; none when the budget does not suffice.
    pub(super) fn segments(&mut self, segments: &[Segment], from: &'v Value) -> Option<Vec<&'v Value>> {
        let mut nodes = vec![from];
        for segment in segments {
            let mut next = Vec::new();
            for node in nodes {
                self.segment(segment, node, &mut next)?;
            }
            nodes = next;
        }
        Some(nodes)
    }

    fn segment(&mut self, segment: &Segment, node: &'v Value, found: &mut Vec<&'v Value>) -> Option<()> {
        let Segment::Descendant(inner) = segment else {
            return selectors(segment).iter().try_for_each(|selector| self.selector(selector, node, found));
        };
        // The node and all below it, parents before their children.
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            self.segment(inner, node, found)?;
            let children = children(node);
            self.budget.spend(children.len())?;
            waiting.extend(children.into_iter().rev());
        }
        Some(())
    }

    fn selector(&mut self, selector: &Selector, node: &'v Value, found: &mut Vec<&'v Value>) -> Option<()> {
        match selector {
            Selector::Name(name) => found.extend(node.get(name)),
            Selector::Index(at) => found.extend(item(node, *at)),
            Selector::Wildcard => {
                let children = children(node);
                self.budget.spend(children.len())?;
                found.extend(children);
            }
            Selector::Slice(start, end, step) => {
                let Value::Array(items) = node else { return Some(()) };
                self.budget.spend(items.len())?;
                found.extend(slice(items.len(), *start, *end, *step).filter_map(|at| items.get(at)));
            }
            Selector::Filter(filter) => {
                for child in children(node) {
                    if self.holds(filter, child)? {
                        found.push(child);
                    }
                }
            }
        }
        self.budget.spend(1)
    }

    fn holds(&mut self, filter: &Filter, node: &'v Value) -> Option<bool> {
        self.budget.spend(1)?;
        match filter {
            Filter::Or(parts) => {
                for part in parts {
                    if self.holds(part, node)? {
                        return Some(true);
                    }
                }
                Some(false)
            }
            Filter::And(parts) => {
                for part in parts {
                    if !self.holds(part, node)? {
                        return Some(false);
                    }
                }
                Some(true)
            }
            Filter::Atom(FilterAtom::Filter { expr, not }) => Some(self.holds(expr, node)? != *not),
            Filter::Atom(FilterAtom::Test { expr, not }) => Some(self.exists(expr, node)? != *not),
            Filter::Atom(FilterAtom::Comparison(comparison)) => Some(self.compares(comparison, node)),
        }
    }

    fn exists(&mut self, test: &Test, node: &'v Value) -> Option<bool> {
        let found = match test {
            Test::RelQuery(segments) => self.segments(segments, node)?,
            Test::AbsQuery(query) => self.segments(&query.segments, self.root)?,
            Test::Function(_) => return Some(false),
        };
        Some(!found.is_empty())
    }

    fn compares(&self, comparison: &Comparison, node: &'v Value) -> bool {
        let (left, right) = comparison.vals();
        let (left, right) = (self.scalar(left, node), self.scalar(right, node));
        match comparison {
            Comparison::Eq(..) => left == right,
            Comparison::Ne(..) => left != right,
            Comparison::Lt(..) => left.is_less(&right),
            Comparison::Gt(..) => right.is_less(&left),
            Comparison::Lte(..) => left == right || left.is_less(&right),
            Comparison::Gte(..) => left == right || right.is_less(&left),
        }
    }

    fn scalar<'s>(&self, side: &'s Comparable, node: &'v Value) -> Scalar<'s>
    where
        'v: 's,
    {
        let (from, segments) = match side {
            Comparable::Literal(literal) => return Scalar::of_literal(literal),
            Comparable::SingularQuery(SingularQuery::Current(segments)) => (node, segments),
            Comparable::SingularQuery(SingularQuery::Root(segments)) => (self.root, segments),
            Comparable::Function(_) => return Scalar::Nothing,
        };
        let step = |node: &'v Value, segment: &SingularQuerySegment| match segment {
            SingularQuerySegment::Name(name) => node.get(name),
            SingularQuerySegment::Index(at) => item(node, *at),
        };
        segments.iter().try_fold(from, step).map_or(Scalar::Nothing, Scalar::of_value)
    }
}

/// What filters compare; objects and lists are equal to nothing, which is where this departs from the RFC.
#[derive(Debug)]
enum Scalar<'a> {
    Nothing,
    Null,
    Bool(bool),
    Number(f64),
    Text(&'a str),
    Container,
}

impl PartialEq for Scalar<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Scalar::Nothing, Scalar::Nothing) | (Scalar::Null, Scalar::Null) => true,
            (Scalar::Bool(one), Scalar::Bool(two)) => one == two,
            (Scalar::Number(one), Scalar::Number(two)) => one == two,
            (Scalar::Text(one), Scalar::Text(two)) => one == two,
            _ => false,
        }
    }
}

impl<'a> Scalar<'a> {
    fn of_value(value: &'a Value) -> Self {
        match value {
            Value::Null => Scalar::Null,
            Value::Bool(value) => Scalar::Bool(*value),
            Value::Number(number) => number.as_f64().map_or(Scalar::Container, Scalar::Number),
            Value::String(text) => Scalar::Text(text),
            Value::Array(_) | Value::Object(_) => Scalar::Container,
        }
    }

    fn of_literal(literal: &'a Literal) -> Self {
        match literal {
            Literal::Null => Scalar::Null,
            Literal::Bool(value) => Scalar::Bool(*value),
            Literal::Int(number) => Scalar::Number(*number as f64),
            Literal::Float(number) => Scalar::Number(*number),
            Literal::String(text) => Scalar::Text(text),
        }
    }

    fn is_less(&self, than: &Self) -> bool {
        match (self, than) {
            (Scalar::Number(one), Scalar::Number(two)) => one < two,
            (Scalar::Text(one), Scalar::Text(two)) => one < two,
            _ => false,
        }
    }
}

/// The values directly below one: items in their order, members by their names, whatever order they stand in.
fn children(node: &Value) -> Vec<&Value> {
    match node {
        Value::Array(items) => items.iter().collect(),
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            members.into_iter().map(|(_, value)| value).collect()
        }
        _ => Vec::new(),
    }
}

/// An item of a list; from its end where the place is negative.
fn item(node: &Value, at: i64) -> Option<&Value> {
    let Value::Array(items) = node else { return None };
    let from_end = || items.len().checked_sub(usize::try_from(at.unsigned_abs()).ok()?);
    items.get(if at < 0 { from_end()? } else { usize::try_from(at).ok()? })
}

/// The places that a slice of a list of some length means.
fn slice(
    length: usize,
    start: Option<i64>,
    end: Option<i64>,
    step: Option<i64>,
) -> impl Iterator<Item = usize> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let step = step.unwrap_or(1);
    let forward = step > 0;
    let (low, high) = if forward { (0, length) } else { (-1, length - 1) };
    let place = |at: i64| (if at < 0 { at.saturating_add(length) } else { at }).clamp(low, high);
    let (first, last) = if forward { (0, length) } else { (length - 1, -1) };
    let (start, end) = (start.map_or(first, place), end.map_or(last, place));
    let mut next = (step != 0).then_some(start);
    std::iter::from_fn(move || {
        let at = next.filter(|at| if forward { *at < end } else { *at > end })?;
        next = at.checked_add(step);
        usize::try_from(at).ok()
    })
}
