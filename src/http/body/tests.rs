//! Bodies, good and bad, and what is said of them.

use std::collections::BTreeMap;

use futures_util::stream;
use http::{HeaderMap, HeaderValue, Method};
use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    name: String,
    #[serde(default)]
    count: u8,
    #[serde(default)]
    targets: Vec<Target>,
    #[serde(default)]
    by: BTreeMap<String, u8>,
    kind: Option<Kind>,
}

#[derive(Debug, PartialEq, Deserialize)]
struct Target {
    namespace: String,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    One,
}

fn context(headers: &[(&'static str, &str)]) -> Context {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, HeaderValue::from_str(value).expect("a header"));
    }
    Context::new(Method::PUT, "/x", map)
}

#[derive(Debug, Deserialize)]
struct Dated {
    #[serde(default, rename = "at")]
    _at: Option<strandline_model::Timestamp>,
    name: String,
}

#[test]
fn what_a_type_finds_wrong_is_told_at_the_value_wherever_it_stands() {
    for (text, field, column) in [
        (r#"{"name": "a", "at": "noon"}"#, "at", 21),
        (r#"{"name": "a", "at": "noon" } "#, "at", 21),
        (r#"{"at": "noon", "name": "a"}"#, "at", 8),
        (r#"{"at": "2026-01-01T00:00:00Z"}"#, "", 30),
    ] {
        let problem = decode::<Dated>(text.as_bytes()).map(|dated| dated.name).expect_err(text);
        let place = problem.place.clone().unwrap_or_default();
        assert_eq!((place.field.as_str(), place.column), (field, Some(column)), "{text}: {}", problem.detail);
    }
}

#[test]
fn what_is_wrong_is_told_with_its_field_line_and_column() {
    for (text, field, line, column, message) in [
        (r#"{"count": 1}"#, "", 1, 12, "the field `name` is missing"),
        (r#"{"name": 1}"#, "name", 1, 10, "expected a string, found the number 1"),
        (
            "{\n  \"name\": \"é\", \"count\": 300\n}",
            "count",
            2,
            25,
            "expected a whole number from 0 to 255, found the number 300",
        ),
        (r#"{"name": "a", "nam": 1}"#, "nam", 1, 15, "unknown field `nam`; did you mean `name`?"),
        (r#"{"name": "a", "name": "b"}"#, "name", 1, 15, "the field `name` is repeated"),
        (
            "{\"name\": \"a\", \"targets\": [{\"namespace\": \"a\"},\n {\"namespace\": null}]}",
            "targets[1].namespace",
            2,
            16,
            "expected a string, found nothing",
        ),
        (
            r#"{"name": "a", "targets": [{"namespace": "a"}, {}]}"#,
            "targets[1]",
            1,
            48,
            "the field `namespace` is missing",
        ),
        (r#"{"name": "a", "targets": [7]}"#, "targets[0]", 1, 27, "expected an object, found the number 7"),
        (
            r#"{"name": "a", "by": {"x": 1, "b.c": "d"}}"#,
            r#"by["b.c"]"#,
            1,
            37,
            "expected a whole number from 0 to 255, found the string \"d\"",
        ),
        (r#"{"name": "a", "kind": "two"}"#, "kind", 1, 23, "unknown word `two`; valid words are one"),
        (r#"{"name": {"a": []}}"#, "name", 1, 10, "expected a string, found an object"),
        (
            r#"{"name": "a", "by": {"x": [1]}}"#,
            "by.x",
            1,
            27,
            "expected a whole number from 0 to 255, found a list",
        ),
        (
            r#"{"name": "a", "targets": [{"namespace": "a"} , 7]}"#,
            "targets[1]",
            1,
            48,
            "expected an object, found the number 7",
        ),
        ("[]", "", 1, 2, "expected an object, found a list"),
        ("7", "", 1, 1, "expected an object, found the number 7"),
        (r#"{"name": "a",}"#, "", 1, 14, "trailing comma"),
        (r#"{"name": "a"} x"#, "", 1, 15, "unexpected text after the end"),
        (r#"{"name": tru"#, "name", 1, 12, "the text ends where a value is expected"),
        ("{\"name\": \"a\nb\"}", "name", 1, 12, "control character"),
        (r#"{"name""#, "name", 1, 7, "the text ends within an object"),
    ] {
        let problem = decode::<Document>(text.as_bytes()).expect_err(text);
        let place = problem.place.clone().unwrap_or_default();
        let told = (problem.code, place.field.as_str(), place.line, place.column);
        assert_eq!(
            told,
            (ProblemCode::InvalidBody, field, Some(line), Some(column)),
            "{text}: {}",
            problem.detail
        );
        assert!(problem.detail.contains(message), "{text}: {}", problem.detail);
        assert!(!problem.detail.contains(" at line "), "told once: {}", problem.detail);
    }
    let good = decode::<Document>(br#"{"name": "a", "targets": [{"namespace": "b", "more": 1}]}"#);
    assert_eq!(
        good.map(|good| good.targets.len()).ok(),
        Some(1),
        "unknown members are for the type to refuse"
    );
}

#[test]
fn what_is_no_document_is_told_as_such() {
    for empty in ["", " \n"] {
        let problem = decode::<Document>(empty.as_bytes()).expect_err("empty");
        assert!(problem.detail.contains("empty") && problem.place.is_none());
    }
    let problem = decode::<Document>(b"{\n\"name\": \"\xff\"}").expect_err("no UTF-8");
    let place = problem.place.unwrap_or_default();
    assert_eq!((place.field.as_str(), place.line, place.column), ("name", Some(2), Some(10)));
    let deep = "[".repeat(100_000);
    assert!(
        decode::<serde_json::Value>(deep.as_bytes()).expect_err("deep").detail.contains("nested too deeply")
    );
}

#[test]
fn answers_do_not_repeat_what_is_long() {
    let long = "x".repeat(100_000);
    for text in [format!(r#"{{"{long}": 1}}"#), format!(r#"{{"name": "a", "count": "{long}"}}"#)] {
        let problem = decode::<Document>(text.as_bytes()).expect_err("wrong");
        assert!(problem.detail.len() < 1000, "{}", problem.detail.len());
    }
}

#[test]
fn a_body_is_what_its_route_takes() {
    for (media_type, expected) in [
        ("application/json", true),
        ("Application/JSON; charset=UTF-8", true),
        ("application/json;charset=\"utf-8\"", true),
        ("application/json; charset=latin1", false),
        ("application/jsonp", false),
        ("text/plain", false),
        ("application/x-www-form-urlencoded", false),
        ("multipart/form-data; boundary=application/json", false),
        ("", false),
    ] {
        assert_eq!(Media::Json.is(media_type), expected, "{media_type}");
        let form = media_type == "application/x-www-form-urlencoded";
        assert_eq!(Media::Form.is(media_type), form, "{media_type}");
    }
}

async fn code_of(headers: &[(&'static str, &str)], parts: Vec<Option<Bytes>>) -> Result<usize, ProblemCode> {
    let body = stream::iter(parts).boxed();
    read(&context(headers), body, (Media::Json, BODY_BYTES_MAX))
        .await
        .map(|bytes| bytes.len())
        .map_err(|problem| problem.code)
}

#[tokio::test]
async fn bodies_have_a_bound_whether_announced_or_not() {
    const JSON: (&str, &str) = ("content-type", "application/json");
    let part = || Some(Bytes::from(vec![b' '; BODY_BYTES_MAX / 4]));
    let one = || Some(Bytes::from_static(b" "));
    assert_eq!(code_of(&[JSON], vec![part(), part(), part(), part()]).await, Ok(BODY_BYTES_MAX));
    assert_eq!(
        code_of(&[JSON], vec![part(), part(), part(), part(), one()]).await,
        Err(ProblemCode::BodyTooLarge)
    );
    let (fits, announced) = (BODY_BYTES_MAX.to_string(), (BODY_BYTES_MAX + 1).to_string());
    assert_eq!(
        code_of(&[JSON, ("content-length", &announced)], vec![]).await,
        Err(ProblemCode::BodyTooLarge)
    );
    assert_eq!(code_of(&[JSON, ("content-length", &fits)], vec![one()]).await, Ok(1));
    assert_eq!(code_of(&[], vec![one()]).await, Err(ProblemCode::UnsupportedMediaType));
    assert_eq!(code_of(&[("content-length", "1")], vec![]).await, Err(ProblemCode::UnsupportedMediaType));
    assert_eq!(code_of(&[], vec![]).await, Ok(0), "what is not there needs no type");
    assert_eq!(code_of(&[("content-length", "0")], vec![]).await, Ok(0));
    let form = ("content-type", "application/x-www-form-urlencoded");
    assert_eq!(code_of(&[form], vec![]).await, Err(ProblemCode::UnsupportedMediaType));
    assert_eq!(code_of(&[JSON], vec![one(), None]).await, Err(ProblemCode::InvalidBody));
}

#[tokio::test]
async fn a_compressed_body_is_refused_with_its_coding() {
    const JSON: (&str, &str) = ("content-type", "application/json");
    let sent = |codings: &[&'static str]| {
        let codings = codings.iter().map(|coding| ("content-encoding", *coding));
        context(&[JSON].into_iter().chain(codings).collect::<Vec<_>>())
    };
    for plain in [&["identity"][..], &["Identity"], &[""]] {
        assert_eq!(coding(&sent(plain)), None, "{plain:?}");
    }
    for codings in [&["gzip"][..], &["br"], &["identity, gzip"], &["identity", "zstd"]] {
        let body = stream::iter(vec![Some(Bytes::from_static(b"\x1f\x8b"))]).boxed();
        let problem = read(&sent(codings), body, (Media::Json, BODY_BYTES_MAX)).await.expect_err("refused");
        assert_eq!(problem.code, ProblemCode::UnsupportedMediaType);
        assert!(problem.detail.contains(&codings.join(", ")), "{}", problem.detail);
    }
}

#[tokio::test(start_paused = true)]
async fn bodies_that_never_come_are_not_waited_for() {
    let headers = context(&[("content-type", "application/json")]);
    let read = read(&headers, stream::pending().boxed(), (Media::Json, BODY_BYTES_MAX)).await;
    assert_eq!(read.map_err(|problem| problem.code), Err(ProblemCode::BodyTimeout));
}

proptest! {
    /// Whatever is sent, the place lies in it and nothing breaks.
    #[test]
    fn places_lie_within_the_text(text in r#"[\[\]{}:,"\\ntruefals0-9a-zé \n]{0,60}"#) {
        if let Err(problem) = decode::<Document>(text.as_bytes()) {
            let place = problem.place.unwrap_or_default();
            let (line, column) = (place.line.unwrap_or(1), place.column.unwrap_or(1));
            let found = text.split('\n').nth(line - 1);
            prop_assert!(found.is_some_and(|found| column <= found.chars().count() + 1), "{line}:{column} in {text:?}");
        }
    }

    /// A value that is wrong is found by the path of where it was put.
    #[test]
    fn fields_are_named_by_their_path(before in 0..4_usize, key in "[a-z]{1,5}") {
        let items: Vec<_> = (0..before).map(|_| r#"{"namespace": "ok, [}"}"#).collect();
        let wrong = format!(r#"{{"{key}x": [1, {{"a": []}}], "namespace": false}}"#);
        let all = items.iter().copied().chain([wrong.as_str()]).collect::<Vec<_>>().join(" , ");
        let text = format!(r#"{{"name": "a", "targets": [{all}]}}"#);
        let problem = decode::<Document>(text.as_bytes()).expect_err("wrong");
        prop_assert_eq!(problem.place.unwrap_or_default().field, format!("targets[{before}].namespace"));
    }
}
