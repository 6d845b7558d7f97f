//! How long the texts are that a query asks by: what is looked for is copied, compared and repeated in answers.

use juniper::parser::parse_document_source;
use juniper::{DefaultScalarValue, Definition, InputValue, Selection, Variables};

use super::schema::Schema;

/// The most bytes that one of them may have; ids and names stay far below.
pub(super) const BYTES_MAX: usize = 1024;

/// The bytes of the longest text among the arguments of a valid query and its variables.
pub(super) fn longest(query: &str, variables: &Variables, schema: &Schema) -> usize {
    // Whether it can be read has been settled before.
    let Ok(document) = parse_document_source::<DefaultScalarValue>(query, &schema.schema) else { return 0 };
    let written = document.iter().map(|definition| match definition {
        Definition::Operation(operation) => {
            let defined = operation.item.variables_definition.iter().flat_map(|defined| defined.item.iter());
            let given =
                defined.filter_map(|(_, defined)| Some(of_value(&defined.default_value.as_ref()?.item)));
            of_all(&operation.item.selection_set).max(given.max().unwrap_or(0))
        }
        Definition::Fragment(fragment) => of_all(&fragment.item.selection_set),
    });
    written.chain(variables.values().map(of_value)).max().unwrap_or(0)
}

fn of_all(selections: &[Selection<'_>]) -> usize {
    selections.iter().map(of_one).max().unwrap_or(0)
}

fn of_one(selection: &Selection<'_>) -> usize {
    match selection {
        Selection::Field(field) => {
            let arguments = field.item.arguments.iter().flat_map(|arguments| arguments.item.iter());
            let own = arguments.map(|(_, value)| of_value(&value.item)).max();
            own.unwrap_or(0).max(of_all(field.item.selection_set.as_deref().unwrap_or_default()))
        }
        Selection::FragmentSpread(_) => 0,
        Selection::InlineFragment(inline) => of_all(&inline.item.selection_set),
    }
}

fn of_value(value: &InputValue) -> usize {
    match value {
        InputValue::Scalar(DefaultScalarValue::String(text)) => text.len(),
        InputValue::Enum(text) => text.len(),
        InputValue::List(items) => items.iter().map(|item| of_value(&item.item)).max().unwrap_or(0),
        InputValue::Object(members) => {
            members.iter().map(|(_, value)| of_value(&value.item)).max().unwrap_or(0)
        }
        InputValue::Scalar(_) | InputValue::Null | InputValue::Variable(_) => 0,
    }
}
