//! What documents promise of themselves: their links lead somewhere, and what they list is what there is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::checkout::{files, read, root};
use clap::{CommandFactory, Parser};
use strandline::cli::Cli;
use strandline::config::{ConfigError, parse};

/// Every document of the checkout.
pub(crate) fn documents() -> Vec<PathBuf> {
    let is_document = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    files(&root()).into_iter().filter(is_document).collect()
}

/// The lines of a document with the language of the code block that each stands in, if it does.
pub(crate) fn lines(text: &str) -> Vec<(Option<&str>, &str)> {
    let mut block = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        match (line.trim_start().strip_prefix("```"), block) {
            (Some(_), Some(_)) => block = None,
            (Some(language), None) => block = Some(language),
            (None, _) => lines.push((block, line)),
        }
    }
    lines
}

/// The anchor that GitLab and GitHub give a heading.
fn anchor(heading: &str) -> String {
    let text = heading.split_once("</a>").map_or(heading, |(_, rest)| rest).trim().to_lowercase();
    let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    let prose = || lines(text).into_iter().filter(|(block, _)| block.is_none()).map(|(_, line)| line);
    let headings = prose().filter(|line| line.starts_with('#'));
    let named = prose().flat_map(|line| line.split("<a id=\"").skip(1));
    let named = named.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned()));
    headings.map(|line| anchor(line.trim_start_matches('#'))).chain(named).collect()
}

/// What a document links to that is not an address of the web.
fn links(text: &str) -> Vec<String> {
    let prose: Vec<&str> =
        lines(text).into_iter().filter(|(block, _)| block.is_none()).map(|(_, line)| line).collect();
    // What stands in back-ticks is no link.
    let prose: String = prose.join("\n").split('`').step_by(2).collect();
    let inline = prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
    let below = prose.lines().filter(|line| line.starts_with('[')).filter_map(|line| line.split_once("]: "));
    let below = below.map(|(_, target)| target.trim().to_owned());
    inline.chain(below).filter(|target| !target.contains("://") && !target.starts_with("mailto:")).collect()
}

#[test]
fn every_link_of_a_document_leads_somewhere() {
    let mut dead = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).expect("the document can be read");
        for link in links(&text) {
            let (path, fragment) = link.split_once('#').unwrap_or((&link, ""));
            let target = match path {
                "" => document.clone(),
                path => document.parent().expect("a file has a folder").join(path),
            };
            let exists = target.exists();
            let is_document = target.extension().is_some_and(|extension| extension == "md");
            let found = exists
                && (fragment.is_empty()
                    || !is_document
                    || anchors(&fs::read_to_string(&target).expect("a document")).contains(fragment));
            if !found {
                dead.push(format!("{}: {link}", document.display()));
            }
        }
    }
    assert!(dead.is_empty(), "{dead:#?}");
}

#[test]
fn every_document_that_the_code_names_exists() {
    let mut wrong = Vec::new();
    for file in ["src", "crates", "api", "tests"].iter().flat_map(|folder| files(&root().join(folder))) {
        let text = fs::read_to_string(&file).unwrap_or_default();
        for rest in text.split("docs/").skip(1) {
            let name = rest.split(|c: char| !c.is_ascii_alphanumeric() && !"-_./".contains(c)).next();
            let name = name.unwrap_or_default().trim_end_matches('.');
            if name.ends_with(".md") && !root().join("docs").join(name).exists() {
                wrong.push(format!("{}: docs/{name}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_path_that_a_document_names_exists() {
    let folders = ["src/", "crates/", "tests/", "schema/", "api/", "benches/", "examples/", "docs/"];
    let mut wrong = Vec::new();
    for document in documents() {
        let text = fs::read_to_string(&document).expect("the document can be read");
        let prose: Vec<&str> =
            lines(&text).into_iter().filter(|(block, _)| block.is_none()).map(|(_, line)| line).collect();
        for code in prose.join("\n").split('`').skip(1).step_by(2) {
            let plain = code.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
            let named = plain && folders.iter().any(|folder| code.starts_with(folder));
            if named && !root().join(code).exists() {
                wrong.push(format!("{}: {code}", document.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The documents of a folder of the checkout.
pub(crate) fn pages(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(folder)).expect("the folder can be read").flatten();
    let names = entries.map(|entry| format!("{folder}/{}", entry.file_name().to_string_lossy()));
    names.filter(|name| name.ends_with(".md")).collect()
}

#[test]
fn the_index_names_every_page() {
    let index = read("docs/README.md");
    let mut missing = Vec::new();
    for name in pages("docs").into_iter().chain(pages("docs/operations")) {
        let name = name.trim_start_matches("docs/");
        if name != "README.md" && !index.contains(&format!("]({name})")) {
            missing.push(name.to_owned());
        }
    }
    assert!(missing.is_empty(), "docs/README.md does not name {missing:?}");
}

#[test]
fn the_readme_stays_short() {
    let lines = read("README.md").lines().count();
    assert!(lines <= 150, "{lines} lines; what is longer belongs into docs/");
}

#[test]
fn every_key_of_the_configuration_is_documented() {
    let (schema, page) = (strandline::config::schema(), read("docs/configuration.md"));
    let definitions = schema["$defs"].as_object().into_iter().flat_map(|definitions| definitions.values());
    let keys: BTreeSet<&String> = definitions
        .chain([&schema])
        .filter_map(|definition| definition["properties"].as_object())
        .flat_map(|properties| properties.keys())
        .collect();
    assert!(keys.len() > 60, "the keys are where they were: {}", keys.len());
    // A key stands in back-ticks, by itself or with the key that holds it.
    let words: BTreeSet<&str> =
        page.split('`').skip(1).step_by(2).flat_map(|code| code.split(['.', '[', ']'])).collect();
    let missing: Vec<&&String> = keys.iter().filter(|key| !words.contains(key.as_str())).collect();
    assert!(missing.is_empty(), "docs/configuration.md says nothing of {missing:?}");
}

#[test]
fn every_configuration_that_a_document_shows_is_read() {
    // An excerpt names clusters of other excerpts, and files that are not there.
    let excerpt = ["unknown_cluster", "missing_key", "unreadable", "bad_script"];
    let named =
        ["README.md", "docs/configuration.md", "docs/retention.md", "docs/diff.md", "docs/catalog.md"];
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for page in named.map(str::to_owned).into_iter().chain(pages("docs/operations")) {
        let text = read(&page);
        let mut blocks: Vec<String> = Vec::new();
        let mut within = false;
        for (language, line) in lines(&format!("{text}\n")) {
            if language == Some("yaml") {
                if !within {
                    blocks.push(String::new());
                }
                if let Some(block) = blocks.last_mut() {
                    block.push_str(line);
                    block.push('\n');
                }
            }
            within = language == Some("yaml");
        }
        for block in blocks {
            seen += 1;
            if let Err(ConfigError::Mistakes { mistakes, .. }) = parse(&block, Path::new(&page)) {
                let told = mistakes.into_iter().filter(|mistake| !excerpt.contains(&mistake.code));
                wrong.extend(told.map(|mistake| format!("{page}: {mistake}\n{block}")));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 10, "the configurations are where they were: {seen}");
}

#[test]
fn every_address_is_documented() {
    let (contract, page) = (read("api/openapi.yaml"), read("docs/api.md"));
    let paths: Vec<&str> =
        contract.lines().filter_map(|line| line.strip_prefix("  /")?.strip_suffix(':')).collect();
    assert!(paths.len() > 40, "the addresses are where they were");
    let missing: Vec<&&str> = paths.iter().filter(|path| !page.contains(&format!("/{path}"))).collect();
    assert!(missing.is_empty(), "docs/api.md says nothing of {missing:?}");
}

#[test]
fn every_command_is_documented() {
    let page = read("docs/cli.md");
    let commands = Cli::command();
    let names = commands.get_subcommands().map(clap::Command::get_name);
    let missing: Vec<&str> = names
        .filter(|name| {
            !page.contains(&format!("| `strandline {name}"))
                && !page.contains(&format!("`, `strandline {name}`"))
        })
        .collect();
    assert!(missing.is_empty(), "docs/cli.md says nothing of {missing:?}");
}

/// The words of each command of a line of shell, up to a comment.
pub(crate) fn commands(line: &str) -> Vec<Vec<String>> {
    let (mut all, mut words, mut word, mut quote) = (Vec::new(), Vec::new(), String::new(), None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '#') if word.is_empty() => break,
            (None, ' ' | '|' | '>' | '<' | ';' | '&') => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
                if c != ' ' {
                    all.push(std::mem::take(&mut words));
                }
            }
            (_, c) => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    all.push(words);
    all
}

#[test]
fn every_command_that_a_document_shows_is_understood() {
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for document in documents() {
        let text = fs::read_to_string(&document).expect("the document can be read").replace("\\\n", " ");
        for (language, line) in lines(&text) {
            let line = match language {
                Some("sh") => line.trim(),
                Some("text") => line.trim().strip_prefix("$ ").unwrap_or_default(),
                _ => continue,
            };
            for words in commands(line) {
                let shown = words.first().is_some_and(|word| word == "strandline");
                if shown
                    && let Err(error) = Cli::try_parse_from(&words)
                    && error.use_stderr()
                {
                    let first = error.to_string();
                    let first = first.lines().next().unwrap_or_default();
                    wrong.push(format!("{}: {line}: {first}", document.display()));
                }
                seen += usize::from(shown);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen > 50, "the commands are where they were: {seen}");
}

/// What a line of output says, without names, numbers, times and places in a tree.
fn shape(line: &str) -> String {
    let mut words = Vec::new();
    let mut before = "";
    for word in line.split_whitespace().filter(|word| !["├─", "└─", "│"].contains(word)) {
        let varies = word.contains(|c: char| c.is_ascii_digit()) || before == "by";
        words.push(if varies { "#".to_owned() } else { word.replace("us-west", "us-east") });
        before = word;
    }
    words.join(" ")
}

#[test]
fn the_guide_shows_what_the_commands_print() {
    // What three commands print of incidents of the demo is kept there, and held by a test of its own.
    let kept: BTreeSet<String> = files(&root().join("src/cli/incidents"))
        .into_iter()
        .flat_map(|file| {
            fs::read_to_string(file).expect("the file can be read").lines().map(shape).collect::<Vec<_>>()
        })
        .collect();
    let (guide, mut command, mut wrong, mut seen) = (read("docs/guide.md"), "", Vec::new(), 0);
    for (_, line) in lines(&guide).into_iter().filter(|(block, _)| *block == Some("text")) {
        if let Some(shown) = line.strip_prefix("$ strandline ") {
            command = shown.split(' ').next().unwrap_or_default();
        } else if ["why", "onset", "diff"].contains(&command) && !line.is_empty() {
            seen += 1;
            wrong.extend((!kept.contains(&shape(line))).then_some(line));
        }
    }
    assert!(wrong.is_empty(), "take them from `strandline demo` again: {wrong:#?}");
    assert!(seen > 20, "the outputs are where they were: {seen}");
}
