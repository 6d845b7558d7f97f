//! Mistakes in files of relations, with the exact words they are answered with.

use super::*;

/// The mistakes of a file, and the first hint.
fn check(yaml: &str, expected: &[&str], hint: Option<&str>) {
    let error = Relations::parse(yaml).unwrap_err();
    let lines: Vec<String> = error.mistakes.iter().map(ToString::to_string).collect();
    assert_eq!(lines, expected, "{yaml}");
    let given = error.mistakes.iter().find_map(|mistake| mistake.hint.as_deref());
    assert_eq!(given, hint, "{yaml}");
}

/// The same for one relation with these keys; places are those within the keys, in line 7.
fn check_keys(keys: &str, expected: &[&str], hint: Option<&str>) {
    let head =
        "relations:\n- name: it\n  edge: owns\n  direction: to_target\n  object: {kind: A}\n  # here\n  ";
    check(&format!("{head}{keys}\n"), expected, hint);
}

#[test]
fn keys_that_are_wrong_or_missing_are_named() {
    check("relation: []", &["1:1: unknown key"], Some("did you mean `relations`?"));
    check_keys("paht: $.a", &["7:3: unknown key"], Some("did you mean `path`?"));
    let error = Relations::parse("relations: [{edge: owns}]").unwrap_err().to_string();
    assert!(error.contains("the key `name` is missing"), "{error}");
    for broken in ["relations: 7", "7", "{", "relations: [7]", "relations: [{name: [a]}]"] {
        assert_eq!(Relations::parse(broken).unwrap_err().mistakes.len(), 1, "{broken}");
    }
    check_keys(
        "label: a\n  target: {kind: B, namespace: istio-system}",
        &["8:32: unknown word"],
        Some("valid words are own, none, fixed, path, label, annotation"),
    );
    check_keys(
        "label: a\n  target: {kind: B, namespace: {fixd: a}}",
        &["8:33: unknown word"],
        Some("did you mean `fixed`?"),
    );
}

#[test]
fn there_is_one_way_to_the_target() {
    check_keys(
        "target: {kind: B}",
        &["2:9: the relation `it` has no source of the link"],
        Some("add one of `path`, `label`, `annotation`, `selector` and `reference`"),
    );
    check_keys(
        "label: a\n  path: $.b\n  target: {kind: B}",
        &["2:9: the relation `it` has more than one source of the link"],
        Some("keep one of `path`, `label`, `annotation`, `selector` and `reference`"),
    );
    check_keys(
        "label: a",
        &["2:9: the relation `it` has no target kind"],
        Some("add `target: {group: …, kind: …}`"),
    );
    check_keys(
        "label: ''\n  target: {kind: B}",
        &["7:10: the name of the label or annotation is empty"],
        None,
    );
}

#[test]
fn every_mistake_is_told_with_its_place() {
    check(
        "relations:
- {name: a, edge: own, direction: up, object: {kind: a}, label: x, target: {kind: B}}
- {name: a, edge: owns, direction: to_target, object: {kind: A, group: '*x'}, label: x, target: {kind: b, group: x/v1}}
- {name: ' ', edge: owns, direction: to_target, object: {kind: A, group: '*.'}, path: 'spec.a', target: {kind: B, cluster_scoped: [b]}}
- {name: b, edge: owns, direction: to_target, object: {kind: A}, label: x, target: {kind: B, namespace: {fixed: A b}}}
- {name: c, edge: owns, direction: to_target, object: {kind: A}, label: x, target: {kind: B, namespace: {path: '$['}}}",
        &[
            "2:19: invalid relation kind `own`; use one of owns, selects, routes, mounts, scales, references",
            "2:35: invalid direction `up`; use one of to_target, from_target",
            "2:54: invalid kind `a`",
            "3:10: duplicate relation `a`, first in line 2",
            "3:72: invalid group pattern `*x`",
            "3:104: invalid kind `b`",
            "3:114: invalid group `x/v1`",
            "4:10: the relation's `name` is empty",
            "4:74: invalid group pattern `*.`",
            "4:87: `spec.a` is not a JSON path",
            "4:132: invalid kind `b`",
            "5:113: invalid namespace `A b`",
            "6:112: `$[` is not a JSON path",
        ],
        Some("an edge goes from cause to dependent: to_target where the object is the cause"),
    );
}

#[test]
fn paths_and_patterns_are_checked() {
    let target = "\n  target: {kind: B}";
    let path_hint = Some("write it as in RFC 9535, such as $.spec.secretName or $.spec.routes[*].name");
    check_keys(
        &format!("path: $.a[?match(@.b, 'c')]{target}"),
        &["7:9: `$.a[?match(@.b, 'c')]` calls a function, which is not supported"],
        path_hint,
    );
    let pattern = |pattern: &str, message: &str, hint: &str| {
        let keys = format!("label: a\n  pattern: '{pattern}'{target}");
        check_keys(&keys, &[&format!("8:12: {message}")], Some(hint));
    };
    let such = r"such as (?<name>[^.]+)\.(?<namespace>[^.]+)";
    pattern("(?<name>", "invalid or too large regular expression `(?<name>`", such);
    pattern("(?<name>a))|(b", "invalid or too large regular expression `(?<name>a))|(b`", such);
    pattern(
        r"(?<name>\w{1000}{1000})",
        r"invalid or too large regular expression `(?<name>\w{1000}{1000})`",
        such,
    );
    pattern(
        "(?<name>a)(?<namespcae>b)",
        "unknown group name `namespcae` for a target",
        "did you mean `namespace`?",
    );
    pattern("(a)", "the pattern has no group `name`", "add a group (?<name>…) around the name");
    check_keys(
        &format!("selector: $.a\n  pattern: (?<name>a){target}"),
        &["8:12: `pattern` needs a source with text"],
        Some("use it with `path`, `label` or `annotation`"),
    );
}

#[test]
fn a_file_is_bounded() {
    let error = Relations::parse(&"#".repeat(MAX_BYTES + 1)).unwrap_err();
    assert_eq!(error.to_string(), format!("0:0: the file is longer than {MAX_BYTES} bytes"));
    let mut yaml = "relations:\n".to_owned();
    for n in 0..=MAX_RELATIONS {
        writeln!(yaml, "- {{name: r{n}, edge: owns, direction: to_target, object: {{kind: A}}, label: a, target: {{kind: B}}}}").unwrap();
    }
    check(&yaml, &["1002:10: more than 1000 relations"], None);
    let bomb = "a: &a [x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b]\nd: [*c, *c, *c, *c, *c, *c, *c, *c]\n";
    assert_eq!(Relations::parse(bomb).unwrap_err().mistakes.len(), 1);
}
