use serde_json::{Map, json};

use super::*;

fn whole(before: &Value, after: &Value) -> Comparison {
    differences(before, after, &Lens::whole())
}

#[test]
fn a_long_annotation_is_told_around_what_differs() {
    let note = "x".repeat(1_500_000);
    let state = |end: &str| json!({"metadata": {"annotations": {"note": format!("{note}{end}")}}});
    let found = whole(&state("1"), &state("2"));
    assert_eq!(told(&found), ["~ metadata metadata.annotations.note"]);
    assert!(found.differences[0].excerpt);
    assert!(serde_json::to_string(&found).is_ok_and(|text| text.len() < 2000));
    assert!(lines(&found, &NameMap::default()).iter().map(|line| line.text.len()).sum::<usize>() < 2000);
}

#[test]
fn thousands_of_labels_are_counted_where_they_are_too_many() {
    let labels = |value: &str| -> Map<String, Value> {
        (0..64_000).map(|n| (format!("l{n}"), value.into())).collect()
    };
    let state = |value: &str| json!({"metadata": {"labels": labels(value)}});
    let found = whole(&state("1"), &state("2"));
    assert_eq!((found.differences.len(), found.left_out), (Comparison::MAX, 64_000 - Comparison::MAX as u64));
    let came = whole(&json!({"metadata": {}}), &state("1"));
    assert_eq!(told(&came), ["+ metadata metadata.labels"]);
    assert!(came.differences[0].excerpt);
}

#[test]
fn many_long_values_are_told_up_to_a_budget() {
    let data = |value: &str| -> Map<String, Value> {
        (0..500).map(|n| (format!("k{n}"), value.repeat(10_000).into())).collect()
    };
    let found = whole(&json!({"data": data("a")}), &json!({"data": data("b")}));
    assert!(found.left_out > 400 && found.differences.len() as u64 + found.left_out == 500);
    assert!(serde_json::to_string(&found).is_ok_and(|text| text.len() < 2 << 20));
}

#[test]
fn what_lies_deep_is_compared_as_a_whole() {
    let deep = |end: &str, depth: usize| (0..depth).fold(json!(end), |value, _| json!({"a": value}));
    let found = whole(&deep("1", 200), &deep("2", 200));
    assert_eq!(found.differences.len(), 1);
    assert_eq!(found.differences[0].pointer.matches('/').count(), DEPTH_MAX);
    let operations = patch(&deployment(), Some(&deep("1", 200)), Some(&deep("2", 200)), &Lens::whole());
    assert_eq!(operations.len(), 1);
    let lists = |end: &str| (0..200).fold(json!(end), |value, _| json!([value]));
    assert_eq!(whole(&lists("1"), &lists("2")).differences.len(), 1);
    let came = whole(&json!({}), &json!({"spec": lists("1")}));
    assert_eq!(told(&came), ["+ spec spec"]);
}

#[test]
fn long_lists_in_any_order_end() {
    let list = |from: u32, to: u32| -> Vec<Value> { (from..to).map(|n| json!({"w": n})).collect() };
    let found = whole(&json!({"x": list(0, 20_000)}), &json!({"x": list(10_000, 30_000)}));
    assert_eq!(found.differences.len() as u64 + found.left_out, 20_000);
    let mut reversed = list(0, 20_000);
    reversed.reverse();
    let (before, after) = (json!({"x": list(0, 20_000)}), json!({"x": reversed}));
    let found = whole(&before, &after);
    assert_eq!(found.differences.len() as u64 + found.left_out, 19_999, "all but one have moved");
    let operations = patch(&deployment(), Some(&before), Some(&after), &Lens::whole());
    assert!(matches!(operations.as_slice(), [Operation::Replace { path, .. }] if path == "/x"));
}

#[test]
fn whatever_stands_where_an_object_should_is_compared() {
    let odd = [
        json!(null),
        json!("text"),
        json!([1, 2]),
        json!({"metadata": 1, "status": "x", "spec": [null]}),
        json!({"": {"": ""}}),
    ];
    for one in &odd {
        for other in &odd {
            let found = whole(one, other);
            assert_eq!(found.is_empty(), one == other, "{one} {other}");
            let _ = lines(&found, &NameMap::default());
        }
    }
}

#[test]
fn what_is_not_kept_is_counted() {
    let mut found = whole(&json!({"a": "x", "b": "x", "c": "x"}), &json!({"a": "y", "b": "y", "c": "y"}));
    found.keep(2, 1000);
    assert_eq!((told(&found), found.left_out), (vec!["~ spec a".to_owned(), "~ spec b".to_owned()], 1));
    found.keep(9, 11);
    assert_eq!((told(&found).len(), found.left_out), (1, 2));
}
