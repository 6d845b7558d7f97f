//! Text for users is plain technical English: what is printed, answered and documented.

use super::{is_test, read, shipped, without_tests};
use crate::documents::documents;

/// Idioms that field documentation does not use, with what to write instead. A log line does not tell and nothing is heard:
/// name what was read, recorded, kept or pruned.
const IDIOMS: [(&str, &str); 22] = [
    ("told", "reported, recorded, named"),
    ("tell", "report, show, name"),
    ("tells", "reports, shows, names"),
    ("hear", "receive"),
    ("hears", "receives"),
    ("heard", "received"),
    ("stands", "is, is in, applies"),
    ("stood", "was"),
    ("is held", "is kept, is tested"),
    ("are held", "are kept, are tested"),
    ("let go", "pruned, released"),
    ("lets go", "prunes, releases"),
    ("goes before", "overrides, takes precedence over"),
    ("go before", "override, take precedence over"),
    ("as far as you may see", "that you have access to"),
    ("called so", "match"),
    ("moment", "time"),
    ("moments", "times"),
    ("speak of", "describe, concern"),
    ("speaks of", "describes, concerns"),
    ("farewell", "retire"),
    ("believes", "accepts"),
];

/// Where an idiom is something else: the line has this text.
const EXCEPTIONS: [(&str, &str); 2] = [
    // The name of a schema, which clients generate types from.
    ("api/openapi.yaml", "Moment"),
    // Names inside a statement, which nobody but SQLite reads.
    ("crates/query/src/events.rs", "told AS"),
];

/// The literals of Rust code, each with the line on which it begins.
fn literals(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut at, mut line) = (Vec::new(), 0, 1);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let end_of = |open: usize, close: &str| {
            rest[open..].find(close).map_or(rest.len(), |end| open + end + close.len())
        };
        let hashes = rest.strip_prefix('r').map(|raw| raw.len() - raw.trim_start_matches('#').len());
        let raw = hashes.filter(|hashes| rest[1 + hashes..].starts_with('"'));
        let raw = raw.filter(|_| !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'));
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            end_of(2, "*/")
        } else if let Some(hashes) = raw {
            let close = format!("\"{}", "#".repeat(hashes));
            let end = end_of(2 + hashes, &close);
            found.push((line, &rest[2 + hashes..end.saturating_sub(close.len()).max(2 + hashes)]));
            end
        } else if let Some(inner) = rest.strip_prefix('"') {
            let mut escaped = false;
            let closes = |c: char| {
                let closes = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                closes
            };
            let end = inner.find(closes).map_or(rest.len(), |end| end + 2);
            found.push((line, &rest[1..end - 1]));
            end
        } else if rest.starts_with("'\\") {
            end_of(3, "'")
        } else if rest.starts_with("'\"'") {
            3
        } else {
            rest.chars().next().map_or(1, char::len_utf8)
        };
        line += rest[..length].matches('\n').count();
        at += length;
    }
    found
}

/// The text without what stands in braces or in back-ticks: names, not words.
fn words_of(text: &str) -> String {
    let mut words = String::new();
    let (mut depth, mut code) = (0_usize, false);
    for c in text.chars() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '`' => code = !code,
            c if depth == 0 && !code => words.push(c),
            _ => {}
        }
    }
    words.to_lowercase()
}

/// The idioms in a text, as whole words.
fn idioms(text: &str) -> Vec<&'static str> {
    let words = words_of(text);
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let whole = |idiom: &str| {
        words
            .match_indices(idiom)
            .any(|(at, _)| !words[..at].ends_with(part) && !words[at + idiom.len()..].starts_with(part))
    };
    IDIOMS.iter().filter(|(idiom, _)| whole(idiom)).map(|(idiom, _)| *idiom).collect()
}

/// Adds what is wrong with one text of a file.
fn judge(file: &str, line: usize, text: &str, wrong: &mut Vec<String>) {
    if EXCEPTIONS.iter().any(|(known, word)| file == *known && text.contains(word)) {
        return;
    }
    for idiom in idioms(text) {
        let instead = IDIOMS.iter().find(|(known, _)| *known == idiom).map_or("", |(_, instead)| *instead);
        wrong.push(format!("{file}:{line}: `{idiom}`; write: {instead}"));
    }
}

#[test]
fn text_for_users_is_in_the_terms_of_the_field() {
    let mut wrong = Vec::new();
    let mut literal_count = 0;
    for (file, text) in shipped().iter().filter(|(file, _)| !is_test(file) && !is_for_tests(file)) {
        let text = without_tests(text);
        let lines: Vec<&str> = text.lines().collect();
        for (line, literal) in literals(text) {
            // What fails an assertion, and why a lint is quiet, is for those who read the code.
            let internal = ["assert", "panic!", ".expect(", "unreachable!", "reason = \""];
            if internal.iter().any(|word| lines[line - 1].contains(word)) {
                continue;
            }
            literal_count += 1;
            judge(file, line, literal, &mut wrong);
        }
        // The doc comments of arguments are the help.
        for (number, line) in lines.iter().enumerate().filter(|_| file.starts_with("src/cli/args")) {
            if let Some(help) = line.trim_start().strip_prefix("/// ") {
                judge(file, number + 1, help, &mut wrong);
            }
        }
    }
    let decisions = |path: &std::path::PathBuf| path.components().any(|part| part.as_os_str() == "decisions");
    let pages = documents().into_iter().filter(|path| !decisions(path));
    let names = pages.filter_map(|path| Some(path.strip_prefix(super::root()).ok()?.display().to_string()));
    let names = names.filter(|name| name.starts_with("docs/") || name == "README.md");
    for file in names.chain(["api/openapi.yaml".to_owned()]) {
        for (number, line) in read(&file).lines().enumerate() {
            judge(&file, number + 1, line, &mut wrong);
        }
    }
    assert!(literal_count > 3000, "the literals are where they were: {literal_count}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Parts that only tests use.
fn is_for_tests(file: &str) -> bool {
    file.starts_with("crates/testkit") || file.contains("/testing") || file == "src/cli/incidents.rs"
}

#[test]
fn literals_are_found_and_comments_are_not() {
    let text =
        "let a = \"one \\\" two\"; // \"no\"\nlet b = r#\"three \" four\"#; let c = '\"'; let d = \"five\";";
    let found: Vec<_> = literals(text);
    assert_eq!(found, [(1, "one \\\" two"), (2, "three \" four"), (2, "five")]);
    assert_eq!(idioms("It was told at that moment, {told}, `moment`"), ["told", "moment"]);
    assert_eq!(idioms("momentum, last_heard, storytold"), [""; 0]);
}
