//! The rules of the house, read from the sources.

mod words;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::checkout::{files, read, root};

/// Every Rust file below a folder, with its text.
fn sources(folder: &str) -> Vec<(String, String)> {
    let is_source = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "rs");
    let name = |path: &Path| path.strip_prefix(root()).expect("below the root").display().to_string();
    let found = files(&root().join(folder)).into_iter().filter(is_source).map(|path| name(&path));
    found.map(|name| (name.clone(), read(&name))).collect()
}

/// What is shipped: the server, and the crates below it.
fn shipped() -> Vec<(String, String)> {
    [sources("src"), sources("crates")].concat()
}

/// The crate, or else the module at the top level of `src`, to which a file belongs.
fn room(file: &str) -> &str {
    let inside = file.trim_start_matches("src/").trim_start_matches("crates/");
    inside.split('/').next().unwrap_or(inside).trim_end_matches(".rs")
}

fn is_test(file: &str) -> bool {
    file.contains("/tests/") || file.ends_with("/tests.rs")
}

/// The text of a file without its tests, which may reach further than the code they test.
fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text)
        .split("#[cfg(test)]\n#[expect(clippy::unwrap_used")
        .next()
        .unwrap_or(text)
}

/// The modules in the order in which `lib.rs` declares them.
fn order() -> Vec<String> {
    let lib = read("src/lib.rs");
    lib.lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .map(str::to_owned)
        .collect()
}

/// Our own modules that a text names with `crate::`.
fn imports(text: &str) -> Vec<&str> {
    let names = text
        .match_indices("crate::")
        .filter(|(at, _)| !text[..*at].ends_with(|c: char| c.is_alphanumeric() || c == '_'));
    let name = |at: usize| {
        let rest = &text[at + "crate::".len()..];
        &rest[..rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())]
    };
    names.map(|(at, _)| name(at)).filter(|name| !name.is_empty()).collect()
}

#[test]
fn a_module_imports_only_what_stands_before_it() {
    let order = order();
    let place: BTreeMap<&str, usize> = order.iter().enumerate().map(|(n, name)| (name.as_str(), n)).collect();
    let mut wrong = Vec::new();
    for (file, text) in sources("src").iter().filter(|(file, _)| !is_test(file)) {
        let Some(own) = place.get(room(file)) else { continue };
        for name in imports(without_tests(text)) {
            if place.get(name).is_some_and(|other| other > own) {
                wrong.push(format!("{file} imports {name}, which stands after {}", room(file)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Only these rooms may speak of a crate.
fn only(word: &str, rooms: &[&str]) {
    let mut wrong = Vec::new();
    for (file, text) in shipped().iter().filter(|(file, _)| !is_test(file)) {
        if without_tests(text).contains(word) && !rooms.contains(&room(file)) {
            wrong.push(file.clone());
        }
    }
    assert!(wrong.is_empty(), "{word} outside of {rooms:?}: {wrong:#?}");
}

#[test]
fn sql_is_spoken_in_four_rooms() {
    // The model only has its types kept by columns, and that as a feature: an impl has to stand by its type.
    only("rusqlite", &["sqlite", "log", "view", "query", "model"]);
    only("refinery", &["log"]);
}

#[test]
fn kubernetes_clients_live_in_one_room() {
    only("kube::", &["watch"]);
    only("k8s_openapi", &["watch"]);
}

#[test]
fn what_must_replay_reads_no_clock() {
    let pure = [
        "syntax",
        "model",
        "object",
        "object-diff",
        "gitlab",
        "relations",
        "health",
        "health-lua",
        "redact",
        "view",
        "log",
    ];
    let mut wrong = Vec::new();
    for (file, text) in shipped().iter().filter(|(file, _)| !is_test(file) && pure.contains(&room(file))) {
        for word in ["Utc::now", "SystemTime", "Instant::now", "Local::now", "SystemClock"] {
            if without_tests(text).contains(word) {
                wrong.push(format!("{file}: {word}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn files_stay_small() {
    let mut wrong = Vec::new();
    for (file, text) in shipped().iter().chain(&sources("tests")).chain(&sources("benches")) {
        let lines = text.lines().count();
        if lines > 450 {
            wrong.push(format!("{file}: {lines} lines"));
        }
    }
    assert!(wrong.is_empty(), "would one room be two? {wrong:#?}");
}

#[test]
fn whatever_runs_is_watched() {
    // Who sees to it that what is spawned there does not end unseen.
    let watched = [
        ("src/service/tasks.rs", "the service"),
        ("src/service/rebuild.rs", "a panic is the end of the build, which is reported"),
        ("src/http/server.rs", "a connection ends by itself, and gives its place back however it ends"),
        ("crates/watch/src/supervise/tasks.rs", "the supervisor of the cluster"),
        ("crates/view/src/reading.rs", "the projector, which ends with it"),
        ("crates/sqlite/src/checkpoints.rs", "the writer, which looks for its end after each transaction"),
        ("crates/log/src/guard.rs", "itself; each commit looks too"),
        ("crates/sim/src/api_server/serve.rs", "the simulated server"),
        ("crates/sim/src/api_server/mod.rs", "the simulated server"),
        ("crates/query/src/testing.rs", "the test"),
        ("src/service/detached.rs", "who asked, and waits for what was read"),
        ("src/service/end.rs", "the end of the process"),
        (
            "src/cli/oidc/browser.rs",
            "the login, which waits for what one of them brings, and for no longer than ten minutes",
        ),
        ("src/http/auth/access_reviews.rs", "whoever waits for the answers, which take ten seconds at most"),
        ("src/api/watch.rs", "the connection of the stream, which ends with it"),
    ];
    let mut wrong = Vec::new();
    for (file, text) in shipped().iter().filter(|(file, _)| !is_test(file)) {
        let spawns = ["spawn(", "Builder::new().name("];
        let lines = without_tests(text).lines().filter(|line| spawns.iter().any(|word| line.contains(word)));
        // What runs on the threads for blocking work is waited for by who asked for it.
        let alone = ["spawn_blocking(", "Ended::spawn(", "projection::spawn(", "fn spawn("];
        for line in lines.filter(|line| !alone.iter().any(|word| line.contains(word))) {
            if !watched.iter().any(|(known, _)| known == file) {
                wrong.push(format!("{file}: {}", line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_a_parser_says_is_said_in_our_words() {
    let parsers = ["serde_json::from_", "serde_saphyr::from_", "serde_json::Deserializer"];
    let mut wrong = Vec::new();
    for (file, text) in shipped().iter().filter(|(file, _)| !is_test(file) && !file.contains("/diagnostics"))
    {
        let lines: Vec<&str> = without_tests(text).lines().collect();
        for (number, _) in
            lines.iter().enumerate().filter(|(_, line)| parsers.iter().any(|word| line.contains(word)))
        {
            // As far as the call that reads goes on.
            let call: Vec<_> =
                lines[number..].iter().take(4).take_while(|line| !line.trim().is_empty()).collect();
            let shown = |line: &&&&str| {
                ["{error}", "error.to_string()", "{e}", "e.to_string()"]
                    .iter()
                    .any(|word| line.contains(word))
            };
            wrong.extend(
                call.iter().find(shown).map(|line| format!("{file}:{}: {}", number + 1, line.trim())),
            );
        }
    }
    assert!(wrong.is_empty(), "`diagnostics::of_json` and `diagnostics::of_syntax` say it: {wrong:#?}");
}

/// The macros panic where the stream is full or closed, and say nothing of what is lost.
#[test]
fn the_command_line_prints_by_its_own_helpers() {
    let mut wrong = Vec::new();
    for (file, text) in
        shipped().iter().filter(|(file, _)| file.starts_with("src/cli") || file == "src/main.rs")
    {
        for word in ["println!(", "print!("] {
            let lines = without_tests(text).lines().filter(|line| line.contains(word));
            wrong.extend(lines.map(|line| format!("{file}: {}", line.trim())));
        }
    }
    assert!(wrong.is_empty(), "`output::write` and `stderr::note` do it: {wrong:#?}");
}

#[test]
fn what_is_shipped_does_not_know_that_it_is_tested() {
    let mut wrong = Vec::new();
    for (file, text) in shipped().iter().filter(|(file, _)| !is_test(file)) {
        let branches = without_tests(text).lines().filter(|line| line.contains("cfg!(test)"));
        wrong.extend(branches.map(|line| format!("{file}: {}", line.trim())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_test_file_is_declared() {
    let main = read("tests/it/main.rs");
    let mut forgotten = Vec::new();
    for entry in fs::read_dir(root().join("tests/it")).expect("tests/it can be read").flatten() {
        let name = entry.file_name().to_string_lossy().trim_end_matches(".rs").to_owned();
        if name != "main" && !main.contains(&format!("mod {name};")) {
            forgotten.push(name);
        }
    }
    assert!(forgotten.is_empty(), "{forgotten:#?}");
}

#[test]
fn the_tree_of_dependencies_stays_small() {
    let lock = read("Cargo.lock");
    let ours = lock.matches("\nname = \"strandline").count();
    let packages = lock.matches("[[package]]").count() - ours;
    // GraphQL takes fifteen of them, half for macros: the library is the one whose own limits hold against hostile queries.
    // The JSON Schema of the configuration takes four, of which three are macros and what those need.
    // The table of routes takes one, and the tz database one. Compression takes nine: two codecs in Rust, in small parts.
    // What makes the command line at home in a shell takes seven: completion, manual pages, the browser of a desktop.
    // What systemd is told takes one, and proxies to clusters one. The allocator takes two.
    assert!(packages <= 385, "{packages} packages; is there one to be spared?");
}

#[test]
fn what_the_documents_promise_is_held_by_a_test() {
    let text = read("docs/trust.md");
    let code: String = shipped().into_iter().chain(sources("tests")).map(|(_, text)| text).collect();
    let rows: Vec<&str> =
        text.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| what |")).collect();
    assert!(rows.len() > 20, "the table is where it was");
    for row in rows {
        let held_by = row.trim_end_matches(" |").rsplit(" | ").next().unwrap_or_default();
        let tests: Vec<&str> = held_by.split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "held by nothing: {row}");
        for test in tests {
            assert!(code.contains(&format!("fn {test}(")), "no test `{test}`, named in: {row}");
        }
    }
}

#[test]
fn every_reason_is_documented() {
    let (reasons, text) = (read("crates/model/src/reason.rs"), read("docs/gaps.md"));
    let words: Vec<&str> =
        reasons.lines().filter_map(|line| line.strip_prefix("pub const ")?.split('"').nth(1)).collect();
    assert!(words.len() > 20, "the reasons are where they were");
    let missing: Vec<&&str> = words.iter().filter(|word| !text.contains(&format!("`{word}`"))).collect();
    assert!(missing.is_empty(), "docs/gaps.md says nothing of {missing:?}");
}

/// The lines of shipped code that `wrong` finds fault with, by file.
fn faults(wrong: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for (file, text) in shipped().iter().filter(|(file, _)| !is_test(file)) {
        let lines = without_tests(text).lines().filter(|line| wrong(file, line));
        found.extend(lines.map(|line| format!("{file}: {}", line.trim())));
    }
    found
}

#[test]
fn whatever_waits_waits_within_bounds() {
    let named =
        |line: &str| line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|name| name == "channel");
    let unbounded = |_: &str, line: &str| {
        let imported = line.trim_start().starts_with("use std::sync::mpsc::") && named(line);
        imported
            || ["unbounded_channel", "mpsc::channel()", "mpsc::unbounded"]
                .iter()
                .any(|word| line.contains(word))
    };
    assert_eq!(faults(unbounded), [""; 0], "use a channel of some size");
}

#[test]
fn nothing_that_is_kept_or_told_is_made_of_rusts_own_words() {
    // What stands in an assertion or a panic leaves nothing behind.
    let debug = |_: &str, line: &str| {
        line.contains(":?}") && !["assert", "panic!"].iter().any(|word| line.contains(word))
    };
    assert_eq!(faults(debug), [""; 0], "say it in words of ours, which do not change with a type's name");
}

#[test]
fn a_number_that_cannot_be_is_never_read_as_another() {
    let milder = |file: &str, line: &str| {
        let rooms = ["sqlite", "log", "view", "query"].contains(&room(file));
        rooms && line.contains("try_from(row.get") && line.contains("unwrap_or")
    };
    assert_eq!(faults(milder), [""; 0], "`column::Count` refuses it and names the column");
}
