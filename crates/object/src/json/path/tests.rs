//! What paths find, what they cost, and which are refused.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

use jsonpath_rust::JsonPath;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn find(path: &str, root: &Value, budget: usize) -> Option<Vec<Value>> {
    let path = Path::parse(path).unwrap();
    path.find(root, &mut Budget(budget)).map(|found| found.into_iter().cloned().collect())
}

fn shelf() -> Value {
    json!({"a": [
        {"kind": "X", "name": "one", "n": 1, "tags": ["p", "q"]},
        {"kind": "Y", "name": "two", "n": 2.5, "tags": []},
        {"kind": "X", "name": "three", "ok": true, "none": null},
    ], "b": {"kind": "X", "c": {"kind": "Z", "name": "four"}}, "want": "Y"})
}

#[test]
fn a_path_finds_what_the_crate_finds() {
    for path in [
        "$",
        "$.a[*].name",
        "$.a[0].name",
        "$.a[-1].name",
        "$.a[-4].name",
        "$.a[7]",
        "$.a[0,2].name",
        "$.a[::2].name",
        "$.a[::-1].name",
        "$.a[1:].name",
        "$.a[-2:3].name",
        "$.a[5:1:-1].name",
        "$.a[0:3:0].name",
        "$['b']['c'].name",
        "$.b.c['kind','name']",
        "$..name",
        "$..tags[*]",
        "$.a[?@.kind == 'X'].name",
        "$.a[?@.kind != 'X'].name",
        "$.a[?@.kind == $.want].name",
        "$.a[?@.n > 1].name",
        "$.a[?@.n >= 1 && @.n < 2].name",
        "$.a[?@.ok || @.n == 2.5].name",
        "$.a[?!@.n].name",
        "$.a[?!(@.n || @.ok)].name",
        "$.a[?@.tags[?@ == 'q']].name",
        "$.a[?@.none == null].name",
        "$.a[?@.missing == @.absent].name",
        "$.a[?@.name < 'p'].name",
        "$.a[?@.ok == true].name",
        "$[?@.kind].c.name",
        "$.a.name",
        "$.missing[*]",
    ] {
        let root = shelf();
        let theirs: Vec<Value> = root.query(path).unwrap().into_iter().cloned().collect();
        assert_eq!(find(path, &root, 10_000).unwrap(), theirs, "{path}");
    }
}

#[test]
fn a_path_that_would_look_too_far_finds_nothing() {
    let root = json!({"a": vec![json!([1, 2, 3]); 1000]});
    assert_eq!(find("$.a[*][*]", &root, 10_000).unwrap().len(), 3000);
    for path in ["$.a[*][*]", "$..*", "$..*..*..*", "$.a[?@[?@ == 3]]", "$.a[::1]"] {
        assert_eq!(find(path, &root, 900), None, "{path}");
    }
    let deep = (0..60).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(find("$..*..*..*..*..*", &deep, 100_000), None);
}

#[test]
fn the_fields_are_all_that_it_looks_into() {
    let cases: [(&str, Option<&[&str]>); 7] = [
        ("$.spec.a", Some(&["spec"])),
        ("$['spec','status'].a", Some(&["spec", "status"])),
        ("$.spec[?@.a == $.metadata.name].b", Some(&["metadata", "spec"])),
        ("$.spec[?@.a[?$.data.b]]", Some(&["data", "spec"])),
        ("$.*.a", None),
        ("$..a", None),
        ("$.spec[?$..b]", None),
    ];
    for (path, expected) in cases {
        let parsed = Path::parse(path).unwrap();
        let fields: Option<Vec<&str>> = parsed.fields().map(|fields| fields.into_iter().collect());
        assert_eq!(fields.as_deref(), expected, "{path}");
    }
}

#[test]
fn what_is_no_path_or_costs_too_much_is_refused() {
    for path in ["", "spec.a", "$.", "$.a[", "$.a[?@.b ==]", "$.a b", "$ .a"] {
        assert_eq!(Path::parse(path), Err("is not a JSON path"), "{path}");
    }
    for path in [
        "$.a[?match(@.b, 'c')]",
        "$.a[?length(@.b) > 1]",
        "$.a[?@.b[?count(@.*) == 1]]",
        "$.a[?!(search(@.b, 'c'))]",
    ] {
        assert_eq!(Path::parse(path), Err("calls a function, which is not supported"), "{path}");
    }
    let deep = format!("$[?{}@.a{}]", "(".repeat(20), ")".repeat(20));
    for path in [&*deep, &"$.a".repeat(400), &"$[0]".repeat(60)] {
        assert!(Path::parse(path).unwrap_err().starts_with("is too long or too deep"), "{path}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in r"\$[\.\[\]\*\?@'a-c0-9:,=!&|\(\) -]{0,30}") {
        if let Ok(path) = Path::parse(&text) {
            let _ = path.fields();
            let _ = path.find(&shelf(), &mut Budget(1000));
        }
    }
}
