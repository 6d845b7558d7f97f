//! Differences as the document has them.

use super::*;
use crate::format::tests::{environment_changes, resource_changes};
use strandline_object_diff::{Between, Class, Lens, compare, patch};
use strandline_protocol::ChangeType;

#[test]
fn differences_have_the_documented_shape() {
    let answer = |value| Answer { value, metadata: full_snapshot() };
    let mut diff = resource_changes();
    holds("ResourceDiffAnswer", &answer(diff.clone()));
    let before = json!({"metadata": {"uid": "1", "labels": {"a": "1"}}, "spec": {"initContainers": [{"name": "a"}, {"name": "b"}], "x": null}});
    let after = json!({"metadata": {"uid": "2"}, "spec": {"initContainers": [{"name": "b"}, {"name": "a"}], "x": "y".repeat(99_999)}, "status": {}});
    let (kind, sides) = (Kind::new("apps", "Deployment"), (Some(&before), Some(&after)));
    diff.comparison = compare(&kind, sides.0, sides.1, &Lens::whole());
    diff.comparison.left_out = 7;
    holds("ResourceDiffAnswer", &answer(diff.clone()));
    let few = Lens::new(Between::Versions, &[]).ignoring("spec.x".parse());
    diff.comparison = compare(&kind, sides.0, sides.1, &few);
    (diff.from.time, diff.to.version) = (None, None);
    holds("ResourceDiffAnswer", &answer(diff));
    let operations = patch(&kind, sides.0, sides.1, &Lens::whole());
    assert_eq!(operations.len(), 5, "each kind is among them: {operations:?}");
    holds("JsonPatch", &operations);
    let mut whole = environment_changes();
    holds("EnvironmentDiff", &whole);
    (whole.names, whole.from.health) = (vec!["a:b".into()], None);
    whole.metadata = page(Vec::<()>::new()).metadata;
    holds("EnvironmentDiff", &whole);
}

#[test]
fn words_of_differences_are_the_same_everywhere() {
    let schemas = &document()["components"]["schemas"];
    let types = [
        ChangeType::Added,
        ChangeType::Removed,
        ChangeType::Replaced,
        ChangeType::Changed,
        ChangeType::Health,
        ChangeType::Joined,
        ChangeType::Left,
        ChangeType::Children,
        ChangeType::OnlyHere,
        ChangeType::OnlyThere,
        ChangeType::Different,
    ];
    assert_eq!(schemas["ResourceChange"]["properties"]["type"]["enum"], json!(types));
    assert_eq!(json!(types), json!(types.map(ChangeType::as_str)), "read as it is written");
    assert_eq!(schemas["DifferenceClass"]["enum"], json!(Class::ALL));
    assert_eq!(json!(Class::ALL), json!(Class::ALL.map(Class::as_str)), "read as it is written");
}
