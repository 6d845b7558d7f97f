//! What a query costs at most, before anything of it is carried out.
//!
//! A query of a few lines may ask for lists within lists within lists, or for the fields of the types of the fields of
//! the types of the schema. Its cost is how many values it could tell if every list were full; what has to be read from
//! the storage counts more.

use std::collections::HashMap;

use juniper::parser::parse_document_source;
use juniper::{DefaultScalarValue, Definition, InputValue, Operation, Selection, Variables};

use super::objects::PAGE;
use super::schema::Schema;

/// The most that a query may cost: what tools ask to learn the schema costs half of it.
pub(super) const MAX: u64 = 400_000;

/// What a question to the storage costs, in values, so that one query asks a few hundred at most: they wait for the same
/// readers as those of other callers.
const QUESTION: u64 = 1_000;

/// Fields that ask the storage.
const ASKING: [&str; 5] = ["project", "environment", "environments", "lastDeployment", "deployments"];

/// Lists that hold up to as much as `first` says.
const PAGED: [&str; 2] = ["environments", "deployments"];

/// What of a page holds its items, and what asks how many there are of all pages.
const ITEMS: [&str; 2] = ["nodes", "edges"];
const COUNT: &str = "count";

/// Lists of introspection, with the most that one of them holds in our schema.
pub(super) const INTROSPECTED: [(&str, u64); 9] = [
    ("types", 34),
    ("fields", 12),
    ("args", 6),
    ("inputFields", 1),
    ("enumValues", 20),
    ("directives", 6),
    ("locations", 20),
    ("interfaces", 1),
    ("possibleTypes", 1),
];

/// The cost of a valid query with these variables: the sum over its operations. Nothing here can nest deeper, or be more,
/// than the schema's limits allow.
pub(super) fn of(query: &str, variables: &Variables, schema: &Schema) -> u64 {
    // Whether it can be read has been settled before.
    let Ok(document) = parse_document_source::<DefaultScalarValue>(query, &schema.schema) else {
        return MAX + 1;
    };
    let mut fragments = HashMap::new();
    let mut operations = Vec::new();
    for definition in &document {
        match definition {
            Definition::Operation(operation) => operations.push(&operation.item),
            Definition::Fragment(fragment) => {
                fragments.insert(fragment.item.name.item, &fragment.item.selection_set);
            }
        }
    }
    let cost = |operation: &Operation<'_, _>| {
        let declared = operation.variables_definition.iter().flat_map(|all| &all.item.items);
        let defaults = declared.filter_map(|(name, of)| Some((name.item, &of.default_value.as_ref()?.item)));
        let asked = Asked { fragments: &fragments, variables, defaults: defaults.collect() };
        all(&operation.selection_set, &asked)
    };
    operations.into_iter().map(cost).fold(0, u64::saturating_add)
}

/// What an operation refers to.
struct Asked<'a> {
    fragments: &'a HashMap<&'a str, &'a Vec<Selection<'a>>>,
    variables: &'a Variables,
    /// What variables are that the request does not set.
    defaults: HashMap<&'a str, &'a InputValue>,
}

fn all(selections: &[Selection<'_>], asked: &Asked<'_>) -> u64 {
    selections.iter().map(|selection| one(selection, asked)).fold(0, u64::saturating_add)
}

fn one(selection: &Selection<'_>, asked: &Asked<'_>) -> u64 {
    match selection {
        Selection::Field(field) => {
            let (name, below) =
                (field.item.name.item, field.item.selection_set.as_deref().unwrap_or_default());
            let first = field.item.arguments.as_ref().and_then(|arguments| arguments.item.get("first"));
            let most = most(name, first.map(|first| &first.item), asked);
            let asks = name == COUNT
                || !below.is_empty() && (ASKING.contains(&name) || name == "agent" && may_hold_id(below));
            let own = if asks { QUESTION } else { 1 };
            let below = match PAGED.contains(&name) {
                true => of_page(below, asked, most),
                false => all(below, asked).saturating_add(1).saturating_mul(most),
            };
            below.saturating_add(own)
        }
        Selection::FragmentSpread(spread) => {
            asked.fragments.get(spread.item.name.item).map_or(0, |selections| all(selections, asked))
        }
        Selection::InlineFragment(inline) => all(&inline.item.selection_set, asked),
    }
}

/// What stands in a page: its items as often as there may be, and the rest once.
fn of_page(selections: &[Selection<'_>], asked: &Asked<'_>, most: u64) -> u64 {
    let one = |selection: &Selection<'_>| match selection {
        Selection::Field(field) if ITEMS.contains(&field.item.name.item) => {
            one(selection, asked).saturating_add(1).saturating_mul(most)
        }
        Selection::Field(_) => one(selection, asked),
        Selection::FragmentSpread(spread) => asked
            .fragments
            .get(spread.item.name.item)
            .map_or(0, |selections| of_page(selections, asked, most)),
        Selection::InlineFragment(inline) => of_page(&inline.item.selection_set, asked, most),
    };
    selections.iter().map(one).fold(0, u64::saturating_add)
}

/// Whether an agent's id may be among these, which alone has to be looked up: what fragments hold is not looked into.
fn may_hold_id(selections: &[Selection<'_>]) -> bool {
    selections.iter().any(|selection| match selection {
        Selection::Field(field) => field.item.name.item == "id",
        Selection::FragmentSpread(_) | Selection::InlineFragment(_) => true,
    })
}

/// The most that a field holds, with what its `first` says.
fn most(name: &str, first: Option<&InputValue>, asked: &Asked<'_>) -> u64 {
    if PAGED.contains(&name) {
        let first = match first {
            Some(InputValue::Variable(name)) => {
                asked.variables.get(name).or_else(|| asked.defaults.get(name.as_str()).copied())
            }
            first => first,
        };
        let said = match first {
            Some(InputValue::Scalar(DefaultScalarValue::Int(first))) => *first,
            // Nothing said is a whole page; what is no number is refused later.
            _ => PAGE,
        };
        return u64::try_from(said.clamp(1, PAGE)).unwrap_or(1);
    }
    INTROSPECTED.iter().find(|(list, _)| *list == name).map_or(1, |(_, most)| *most)
}
