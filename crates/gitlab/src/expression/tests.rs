//! The language held against tables: what GitLab's own tests say, its rules, and hostile texts.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use proptest::prelude::*;

use super::super::Variables;
use super::{Effort, Expression, ExpressionError, MAX_COMPILED_BYTES, MAX_DEPTH, Value};

fn variables() -> Variables {
    let pairs = [
        ("PRESENT", "my variable"),
        ("PATH_", "a/path/variable/value"),
        ("FULL", "/a/full/path/variable/value"),
        ("EMPTY", ""),
        ("BLANK", "  "),
        ("TEST", "abcde"),
        ("PATTERN", "/^ab.*/"),
        ("OTHER", "/^at.*/"),
        ("FLAGGED", "/^AB/i"),
        ("SLASHES", "/a\\/path/"),
        ("BROKEN", "/(a/"),
        ("BRANCH", "main"),
        ("CI_DEFAULT_BRANCH", "main"),
        ("LINES", "one\ntwo"),
        ("WORD", "é-1"),
        ("SELF", "$BRANCH"),
    ];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn parse(text: &str) -> Result<Expression, ExpressionError> {
    Expression::parse(text, &mut { MAX_COMPILED_BYTES })
}

fn gives(text: &str) -> String {
    let variables = variables();
    match parse(text) {
        Err(error) => format!("{}@{}", error.code, error.column),
        Ok(expression) => match expression.evaluate(&variables, &mut Effort::default()) {
            Err(error) => error.code.to_owned(),
            Ok(Value::Null) => "null".to_owned(),
            Ok(Value::Bool(value)) => value.to_string(),
            Ok(Value::Text(text)) => format!("'{text}'"),
        },
    }
}

fn table(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(gives(text), *expected, "{text}");
    }
}

#[test]
fn comparisons_give_yes_or_no() {
    table(&[
        ("$PRESENT == \"my variable\"", "true"),
        ("'my variable' == $PRESENT", "true"),
        ("$PRESENT==\"my variable\"", "true"),
        ("$PRESENT != 'my variable'", "false"),
        ("$PRESENT == null", "false"),
        ("$EMPTY == null", "false"),
        ("$EMPTY == ''", "true"),
        ("$UNSET == null", "true"),
        ("null != $UNSET", "false"),
        ("$UNSET == ''", "false"),
        ("$UNSET == $OTHER_UNSET", "true"),
        ("$BRANCH == CI_DEFAULT_BRANCH", "true"),
        ("$BRANCH != CI_DEFAULT_BRANCH && 'x'", "false"),
        ("$PRESENT == NOT_SET", "false"),
        ("'true' == true", "false"),
        ("$SELF == 'main'", "false"),
        ("$SELF == '$BRANCH'", "true"),
        ("'a\\' == 'a\\'", "true"),
        ("\"it's\" == \"it's\"", "true"),
        ("('1' == '1') == true", "true"),
        ("'1' == '1' == true", "true"),
    ]);
}

#[test]
fn regular_expressions_match_anywhere() {
    table(&[
        ("$PRESENT =~ /var.*e$/", "true"),
        ("$PRESENT =~ /^var.*/", "false"),
        ("$PRESENT !~ /^var.*/", "true"),
        ("$PRESENT =~ /VAR.*/", "false"),
        ("$PRESENT =~ /VAR.*/i", "true"),
        ("$PRESENT =~ /VAR.*/iU", "true"),
        ("$EMPTY =~ /var.*/", "false"),
        ("$UNSET =~ /var.*/", "false"),
        ("$UNSET !~ /var.*/", "true"),
        ("$UNSET =~ /^$/", "true"),
        ("$PATH_ =~ /path\\/variable/", "true"),
        ("$FULL =~ /^\\/a\\/full\\/path\\/variable\\/value$/", "true"),
        ("$LINES =~ /^two/", "false"),
        ("$LINES =~ /^two/m", "true"),
        ("$LINES =~ /one.two/", "false"),
        ("$LINES =~ /one.two/s", "true"),
        ("$TEST =~ /a/", "true"),
        ("'v1.2' =~ /^v\\d+\\.\\d+$/", "true"),
        ("'ÄB' =~ /äb/i", "true"),
        ("$TEST =~ /^ab/ && $PRESENT =~ /my/ || null", "true"),
    ]);
}

#[test]
fn the_right_side_of_a_match_may_be_a_value() {
    table(&[
        ("$TEST =~ $PATTERN", "true"),
        ("$TEST !~ $PATTERN", "false"),
        ("$TEST =~ $OTHER", "false"),
        ("$TEST =~ $FLAGGED", "true"),
        ("$PATH_ =~ $SLASHES", "true"),
        ("$TEST =~ PATTERN", "true"),
        ("$TEST =~ ($UNSET || $PATTERN)", "true"),
        ("$TEST =~ '/^ab/'", "true"),
        // What is no regular expression is asked whether it contains the left side.
        ("$TEST =~ 'abcde'", "true"),
        ("$TEST =~ $TEST", "true"),
        ("'bc' =~ $TEST", "true"),
        ("$TEST =~ 'bc'", "false"),
        ("$UNSET =~ 'x'", "true"),
        // Null matches nothing.
        ("$TEST =~ $UNSET", "false"),
        ("$TEST !~ $UNSET", "true"),
        ("$TEST =~ null", "false"),
        // What looks like one and is none is reported.
        ("$TEST =~ $BROKEN", "bad_regex"),
        ("$TEST !~ $BROKEN", "bad_regex"),
        ("$UNSET && $TEST =~ $BROKEN", "null"),
    ]);
}

#[test]
fn re2_is_heeded_where_it_reads_texts_differently() {
    table(&[
        ("'é' =~ /^\\w$/", "false"),
        ("'٣' =~ /\\d/", "false"),
        ("'٣' =~ /^[\\D]$/", "true"),
        ("'a-b' =~ /^[\\w-]+$/", "true"),
        ("'[' =~ /^[[]$/", "true"),
        ("']' =~ /^[]]$/", "true"),
        ("'x&&y' =~ /^[x&&y]+$/", "true"),
        ("'b' =~ /^[[:alpha:]]$/", "true"),
        ("'a.b' =~ /^\\Qa.b\\E$/", "true"),
        ("'axb' =~ /^\\Qa.b\\E$/", "false"),
        ("'<a>' =~ /^\\<a\\>$/", "true"),
        ("$WORD =~ /\\b1\\b/", "true"),
        ("'aéb' =~ /a\\B/", "false"),
        ("'ж' =~ /^\\p{Cyrillic}$/", "true"),
        ("'ж' =~ /^\\pL$/", "true"),
        ("'aa' =~ /(a)\\1/", "bad_regex@9"),
        ("'aa' =~ /a(?=a)/", "bad_regex@9"),
    ]);
}

#[test]
fn and_binds_stronger_than_or_and_both_give_a_side() {
    table(&[
        ("$PRESENT && 'string'", "'string'"),
        ("$PRESENT && $EMPTY", "''"),
        ("$EMPTY && $PRESENT", "'my variable'"),
        ("$EMPTY || $PRESENT", "''"),
        ("$PRESENT && null", "null"),
        ("null && $PRESENT", "null"),
        ("$UNSET || $PRESENT", "'my variable'"),
        ("$UNSET || null", "null"),
        ("'a' == 'b' || 'c'", "'c'"),
        ("'x' || null && null", "'x'"),
        ("('x' || null) && null", "null"),
        ("null && 'a' || 'b'", "'b'"),
        ("null && ('a' || 'b')", "null"),
        ("$PRESENT && null || $EMPTY == ''", "true"),
        ("('string' == ('test' && 'string'))", "true"),
        ("('string' == ('string' || (('1' == '1') && ('2' == '3'))))", "true"),
        ("!$UNSET", "true"),
        ("!$EMPTY", "true"),
        ("!!$PRESENT", "true"),
        ("!$PRESENT == false", "true"),
        ("!($PRESENT == 'x')", "true"),
    ]);
}

#[test]
fn the_whole_is_true_when_it_gives_something() {
    for (text, expected) in [
        ("$PRESENT", true),
        ("$EMPTY", false),
        ("$BLANK", false),
        ("$UNSET", false),
        ("null", false),
        ("$EMPTY || $PRESENT", false),
        ("$EMPTY && $PRESENT", true),
        ("'x'", true),
        ("\n  $PRESENT\n", true),
    ] {
        let expression = parse(text).unwrap();
        assert_eq!(expression.is_true(&variables(), &mut Effort::default()), Ok(expected), "{text}");
    }
}

#[test]
fn mistakes_have_a_column() {
    table(&[
        ("", "bad_expression@1"),
        ("   ", "bad_expression@1"),
        ("$A = 1", "bad_expression@4"),
        ("$A == ", "bad_expression@6"),
        ("== $A", "bad_expression@1"),
        ("$A == \"x", "bad_expression@7"),
        ("$A == 'é' 'x'", "bad_expression@11"),
        ("$A $B", "bad_expression@4"),
        ("($A", "bad_expression@4"),
        ("$A)", "bad_expression@3"),
        ("()", "bad_expression@2"),
        ("$A && || $B", "bad_expression@7"),
        ("$", "bad_expression@1"),
        ("${A}", "bad_expression@1"),
        ("$[[ inputs.a ]]", "bad_expression@1"),
        ("$A & $B", "bad_expression@4"),
        ("CI_COMMIT_TAG", "bad_expression@1"),
        ("production == $A", "bad_expression@1"),
        ("$A =~ /x", "bad_expression@7"),
        ("$A =~ //", "bad_expression@7"),
        ("$A =~ /(x/", "bad_regex@7"),
        ("$A =~ '/(x/'", "bad_regex@7"),
        ("$A =~ /x/gi", "bad_regex@10"),
        ("$A == /x/", "bad_expression@7"),
        ("/x/ =~ $A", "bad_expression@1"),
        ("$A; $B", "bad_expression@3"),
        ("$A == 1", "bad_expression@7"),
    ]);
    let error = parse("$A =~ /(x/").unwrap_err();
    assert_eq!(error.to_string(), "not a regular expression: a `(` is not closed (column 7)");
}

#[test]
fn what_is_odd_is_remarked() {
    let remarks = |text: &str| {
        let expression = parse(text).unwrap();
        expression.remarks().iter().map(|remark| remark.column).collect::<Vec<_>>()
    };
    assert!(remarks("$A == CI_DEFAULT_BRANCH").is_empty());
    assert_eq!(remarks("$A == production"), [7]);
    assert_eq!(remarks("$A =~ 'x' || $B !~ '/x/'"), [7]);
    let expression = parse("$B == A || $B").unwrap();
    assert_eq!(expression.variables(), ["A", "B"]);
}

#[test]
fn hostile_texts_are_refused_or_answered() {
    assert_eq!(gives(&format!("{}$A{}", "(".repeat(10_000), ")".repeat(10_000))), "too_long@1");
    assert_eq!(gives(&"(".repeat(8_000)), "too_long@1001");
    assert_eq!(gives(&"(".repeat(900)), "too_long@51");
    assert_eq!(gives(&"!".repeat(900)), "too_long@51");
    assert_eq!(gives(&"$A ||".repeat(200_000)), "too_long@1");
    assert_eq!(gives(&format!("{}$A", "$A||".repeat(999))), "too_long@2001");
    let deep = format!("{}$PRESENT{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH));
    assert_eq!(gives(&deep), "'my variable'");
    assert_eq!(gives("$A =~ /((a{1000}){1000}){1000}/"), "bad_regex@7");
    assert_eq!(gives(&format!("$A =~ /{}/", "(".repeat(5000))), "bad_regex@7");
    let mut known = variables();
    known.insert("LONG".into(), format!("{}!", "a".repeat(60_000)));
    known.insert("HUGE".into(), "a".repeat(70_000));
    known.insert("EVIL".into(), "/^(a+)+$/".into());
    let is_true = |text: &str| parse(text).unwrap().is_true(&known, &mut Effort::default());
    assert_eq!(is_true("$LONG =~ /^(a+)+$/"), Ok(false));
    assert_eq!(is_true("$LONG =~ $EVIL"), Ok(false));
    assert_eq!(is_true("$HUGE =~ /a/").map_err(|error| error.code), Err("value_too_long"));
}

#[test]
fn what_is_matched_adds_up() {
    let known: Variables = [("A".to_owned(), "a".repeat(30))].into();
    let expression = parse("$A =~ /b/ || $A =~ /a/").unwrap();
    let mut effort = Effort::of(2 * (30 + 16) + 1);
    assert_eq!(expression.is_true(&known, &mut effort), Ok(true));
    assert_eq!(expression.is_true(&known, &mut effort).map_err(|error| error.code), Err("value_too_long"));
}

#[test]
fn a_large_program_counts_for_more() {
    let known: Variables = [("A".to_owned(), "a".repeat(1000))].into();
    let mut room = MAX_COMPILED_BYTES;
    let expression = Expression::parse("$A =~ /x([a-z]{60}){40}y/", &mut room).unwrap();
    assert!(MAX_COMPILED_BYTES - room > 20 * 4096, "{room}");
    let asked = |left| expression.is_true(&known, &mut Effort::of(left)).map_err(|error| error.code);
    assert_eq!((asked(20 * 1016), asked(1024 * 1024)), (Err("value_too_long"), Ok(false)));
}

#[test]
fn what_values_hold_is_compiled_once_and_within_bounds() {
    let large = |n: usize| format!("/{n}([a-z]{{40}}){{40}}/");
    let asks = |n: usize| {
        let names = (0..n).map(|n| format!("$A =~ $P{n}")).collect::<Vec<_>>();
        parse(&names.join(" || ")).unwrap()
    };
    let value = |of: fn(usize) -> usize| {
        let given = (0..40).map(|n| (format!("P{n}"), large(of(n))));
        given.chain([("A".to_owned(), "a".to_owned())]).collect::<Variables>()
    };
    assert_eq!(asks(40).is_true(&value(|_| 1), &mut Effort::default()), Ok(false));
    let error = asks(40).is_true(&value(|n| n), &mut Effort::default()).unwrap_err();
    assert!(error.code == "value_too_long" && error.message.contains("in total"), "{error:?}");
}

#[test]
fn what_is_compiled_takes_from_the_room_that_there_is_even_where_it_fails() {
    let mut room = MAX_COMPILED_BYTES;
    Expression::parse("$A =~ /a/", &mut room).unwrap();
    let small = MAX_COMPILED_BYTES - room;
    assert!((1..8192).contains(&small), "{small}");
    // Each of these is too large by itself, and costs as much until that is found.
    let codes: Vec<_> = (0..20)
        .map(|_| Expression::parse("$A =~ /((a{1000}){1000}){1000}/", &mut room).unwrap_err().code)
        .collect();
    assert_eq!((codes[0], codes[19], room), ("bad_regex", "too_large", 0), "{codes:?}");
    // A table of a class is not free, though little is compiled of it.
    let classes = format!("$A =~ /[{}]/", "\\pL".repeat(2000));
    let mut room = MAX_COMPILED_BYTES;
    let codes: Vec<_> = (0..3).map(|_| Expression::parse(&classes, &mut room).map(|_| ())).collect();
    assert!(codes[0].is_ok() && codes[2].is_err() && room == 0, "{codes:?}");
}

proptest! {
    #[test]
    fn any_text_is_answered_the_same_twice(text in "\\PC{0,60}") {
        prop_assert_eq!(gives(&text), gives(&text));
    }

    #[test]
    fn what_almost_is_one_never_panics(parts in prop::collection::vec(
        prop::sample::select(vec!["$A", "$PRESENT", "'x'", "null", "/a+/i", "\"/\"", "==", "=~", "!~", "!", "&&", "||", "(", ")", " ", "B", "é", "\\", "[", "/", "$BROKEN"]), 0..14,
    )) {
        let text = parts.concat();
        if let Err(error) = parse(&text) {
            prop_assert!(error.column >= 1 && error.column <= text.chars().count() + 1, "{}", error);
        }
        gives(&text);
    }

    #[test]
    fn any_regular_expression_is_taken_or_refused(body in "[ab\\[\\]\\\\(){}|*+?^$.&~wWdDsSbBQEpL0-9-]{1,20}", text in "\\PC{0,20}") {
        let known: Variables = [("P".to_owned(), format!("/{body}/")), ("T".to_owned(), text)].into();
        let _ = parse("$T =~ $P").unwrap().is_true(&known, &mut Effort::default());
    }
}
