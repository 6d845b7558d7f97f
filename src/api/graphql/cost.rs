//! What a query costs at most, before anything of it is carried out.
//!
//! A query of a few lines may ask for lists within lists within lists, or for the fields of the types of the fields of
//! the types of the schema. Its cost is how many values it could tell if every list were full; what has to be read from
//! the storage counts more.

use std::collections::HashMap;

use juniper::parser::parse_document_source;
use juniper::{DefaultScalarValue, Definition, InputValue, Selection};

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

/// The cost of a valid query: the sum over its operations. Nothing here can nest deeper, or be more, than the schema's
/// limits allow.
pub(super) fn of(query: &str, schema: &Schema) -> u64 {
    // Whether it can be read has been settled before.
    let Ok(document) = parse_document_source::<DefaultScalarValue>(query, &schema.schema) else {
        return MAX + 1;
    };
    let mut fragments = HashMap::new();
    let mut operations = Vec::new();
    for definition in &document {
        match definition {
            Definition::Operation(operation) => operations.push(&operation.item.selection_set),
            Definition::Fragment(fragment) => {
                fragments.insert(fragment.item.name.item, &fragment.item.selection_set);
            }
        }
    }
    operations.into_iter().map(|selections| all(selections, &fragments)).fold(0, u64::saturating_add)
}

type Fragments<'a> = HashMap<&'a str, &'a Vec<Selection<'a>>>;

fn all(selections: &[Selection<'_>], fragments: &Fragments<'_>) -> u64 {
    selections.iter().map(|selection| one(selection, fragments)).fold(0, u64::saturating_add)
}

fn one(selection: &Selection<'_>, fragments: &Fragments<'_>) -> u64 {
    match selection {
        Selection::Field(field) => {
            let (name, below) =
                (field.item.name.item, field.item.selection_set.as_deref().unwrap_or_default());
            let first = field.item.arguments.as_ref().and_then(|arguments| arguments.item.get("first"));
            let most = most(name, first.map(|first| &first.item));
            let asks = name == COUNT
                || !below.is_empty() && (ASKING.contains(&name) || name == "agent" && may_hold_id(below));
            let own = if asks { QUESTION } else { 1 };
            let below = match PAGED.contains(&name) {
                true => of_page(below, fragments, most),
                false => all(below, fragments).saturating_add(1).saturating_mul(most),
            };
            below.saturating_add(own)
        }
        Selection::FragmentSpread(spread) => {
            fragments.get(spread.item.name.item).map_or(0, |selections| all(selections, fragments))
        }
        Selection::InlineFragment(inline) => all(&inline.item.selection_set, fragments),
    }
}

/// What stands in a page: its items as often as there may be, and the rest once.
fn of_page(selections: &[Selection<'_>], fragments: &Fragments<'_>, most: u64) -> u64 {
    let one = |selection: &Selection<'_>| match selection {
        Selection::Field(field) if ITEMS.contains(&field.item.name.item) => {
            one(selection, fragments).saturating_add(1).saturating_mul(most)
        }
        Selection::Field(_) => one(selection, fragments),
        Selection::FragmentSpread(spread) => {
            fragments.get(spread.item.name.item).map_or(0, |selections| of_page(selections, fragments, most))
        }
        Selection::InlineFragment(inline) => of_page(&inline.item.selection_set, fragments, most),
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
fn most(name: &str, first: Option<&InputValue>) -> u64 {
    if PAGED.contains(&name) {
        let said = match first {
            Some(InputValue::Scalar(DefaultScalarValue::Int(first))) => *first,
            // A variable could be anything, and nothing said is a whole page.
            _ => PAGE,
        };
        return u64::try_from(said.clamp(1, PAGE)).unwrap_or(1);
    }
    INTROSPECTED.iter().find(|(list, _)| *list == name).map_or(1, |(_, most)| *most)
}
