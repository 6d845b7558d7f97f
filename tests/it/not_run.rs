//! What tests say that need what is not everywhere.

use std::io::Write as _;

/// Says that a test was not run, and why; a failure where this variable is `1`, as in CI, so that nobody takes a skipped test for
/// a passed one.
pub(crate) fn not_run(test: &str, why: &str, required: &str) {
    let line = format!("NOT RUN: {test}: {why}");
    let required = std::env::var_os(required).is_some_and(|value| value == "1");
    assert!(!required, "{line}");
    say(&line);
}

/// Says that a test was not run, and why, where it is never required.
pub(crate) fn left_out(test: &str, why: &str) {
    say(&format!("NOT RUN: {test}: {why}"));
}

/// Not by `eprintln!`, which the test runner hides when a test passes. Without a stderr nobody reads it anyway.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
