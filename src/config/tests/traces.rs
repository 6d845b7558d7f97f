//! Where traces are sent.

use super::*;

fn traces(endpoint: &str, headers: &str) -> String {
    format!("{CLUSTER}traces:\n  endpoint: {endpoint}\n  header_files: {{{headers}}}\n")
}

#[test]
fn headers_have_the_text_of_their_files_and_are_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("authorization");
    std::fs::write(&path, "Bearer CANARY\n").unwrap();
    let text = traces("https://otlp.example.com/v1/traces", &format!("authorization: {}", path.display()));
    let traces = read(&text).unwrap().traces.unwrap();
    let told: Vec<_> = traces.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
    assert_eq!(told, [("authorization", &b"Bearer CANARY"[..])]);
    assert!(!format!("{traces:?}").contains("CANARY"));
}

#[test]
fn a_header_that_cannot_be_sent_or_kept_secret_is_a_mistake() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    std::fs::write(&one, "CANARY").unwrap();
    std::fs::write(&two, "CANARY\nCANARY").unwrap();
    let (one, two, none) = (one.display(), two.display(), folder.path().join("none").display().to_string());
    let https = "https://otlp.example.com/v1/traces";
    for (endpoint, headers, expected) in [
        ("http://otlp.example.com/v1/traces", format!("authorization: {one}"), "would be sent unencrypted"),
        (https, format!("content-length: {one}"), "`content-length` is no header that can be set"),
        (https, format!("\"a b\": {one}"), "`a b` is no header that can be set"),
        (https, format!("authorization: {two}"), "cannot be the value of a header"),
        (https, format!("authorization: {none}"), "cannot read"),
    ] {
        let error = read(&traces(endpoint, &headers)).unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("CANARY"), "{error}");
    }
    assert!(read(&traces("http://127.0.0.1:4318/v1/traces", &format!("authorization: {one}"))).is_ok());
}
