//! A corpus of our own: credentials that have to be found, and values that have to stay.

use std::path::Path;

use data_encoding::BASE64;
use serde_json::{Value, json};

use super::super::Rules;
use super::*;

/// A file of the corpus, without its remarks.
fn lines(file: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.flat_map(each).collect()
}

/// A line for each of the words in its first `{a,b}`.
fn each(line: &str) -> Vec<String> {
    let word = |c: char| !c.is_whitespace() && !"\"':{}§¤®⏎".contains(c);
    for (open, _) in line.match_indices('{') {
        let rest = &line[open + 1..];
        let Some(close) = rest.find(|c| !word(c)).filter(|&end| rest[end..].starts_with('}')) else {
            continue;
        };
        if !rest[..close].contains(',') {
            continue;
        }
        let with = |word: &str| format!("{}{word}{}", &line[..open], &rest[close + 1..]);
        return rest[..close].split(',').flat_map(|word| each(&with(word))).collect();
    }
    vec![line.to_owned()]
}

/// A line with its canaries in it, and what may be seen nowhere of it.
fn planted(line: &str, number: usize) -> (String, Vec<String>) {
    let mut canaries = Vec::new();
    let seed = blake3::hash(number.to_string().as_bytes()).to_hex();
    let letters = |count: usize| -> String {
        let digit = |byte: u8| char::from(b"kzqvxwjy"[usize::from(byte % 8)]);
        seed.bytes().take(count).map(digit).collect()
    };
    let mut text = String::new();
    for c in line.chars() {
        let canary = match c {
            '§' => match number % 3 {
                0 => format!("{}{}{}", &letters(4), number % 90 + 10, &letters(6)[4..]),
                1 => format!("Zx{}{}!q", number % 9000 + 1000, letters(5)),
                _ => format!("qP{}wX{}", number % 90 + 10, number % 9000 + 1000),
            },
            '¤' => format!("{}garden", letters(5)),
            '®' if text.ends_with('h') => format!("{}{}", &seed[..24], "0123456789abcdef"),
            '®' => format!("aB3{}X9z{}", &seed[..24], "Qw5Er7Ty2"),
            '⏎' => "\n".to_owned(),
            c => {
                text.push(c);
                continue;
            }
        };
        if c != '⏎' {
            canaries.push(canary.chars().take(24).collect());
        }
        text.push_str(&canary);
    }
    while let Some((before, rest)) = text.split_once("B64(") {
        // Brackets within are counted.
        let mut depth = 1;
        let end = rest.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        let (inner, rest) = rest.split_at(end.unwrap());
        let encoded = BASE64.encode(inner.as_bytes());
        canaries.push(encoded.clone());
        text = format!("{before}{encoded}{}", &rest[1..]);
    }
    if canaries.is_empty() {
        canaries.push("CANARY1".to_owned());
    }
    (text, canaries)
}

/// The object that a line describes.
fn described(line: &str) -> Value {
    let (place, text) = line.split_once(' ').unwrap();
    let read = |text: &str| -> Value {
        serde_json::from_str(&text.replace('\n', "\\n")).unwrap_or_else(|error| panic!("{error}: {text}"))
    };
    let members = match place {
        "env" => {
            let (name, value) = text.split_once('=').unwrap();
            json!({"spec": {"containers": [{"name": "web", "env": [{"name": name, "value": value}]}]}})
        }
        "arg" => json!({"spec": {"containers": [{"name": "web", "args": read(text)}]}}),
        "sh" => json!({"spec": {"containers": [{"name": "web", "command": ["sh", "-c", text]}]}}),
        "spec" => json!({"spec": read(text)}),
        "anno" => {
            let (name, value) = text.split_once('=').unwrap();
            json!({"annotations": {name: value}})
        }
        "data" => {
            let (name, value) = text.split_once('|').unwrap();
            json!({"data": {name: value}})
        }
        "note" => json!({"message": text, "status": {"conditions": [{"type": "Ready", "message": text}]}}),
        "obj" => {
            let mut whole = read(text);
            for (key, value) in [("name", "a"), ("namespace", "n"), ("uid", "u"), ("resourceVersion", "1")] {
                whole["metadata"][key] = Value::from(value);
            }
            return whole;
        }
        other => panic!("no such place: {other}"),
    };
    object(members)
}

fn clean_of(object: &Value) -> Value {
    let defaults = match (object.get("apiVersion"), object.get("data")) {
        (None, Some(_)) => TypeMeta { api_version: "v1", kind: "ConfigMap" },
        _ => CUSTOM,
    };
    let body = clean(&object.to_string(), defaults, &rules()).unwrap().body;
    assert_eq!(clean(&body, defaults, &rules()).unwrap().body, body);
    serde_json::from_str(&body).unwrap()
}

/// The leaves of a value with their places.
fn leaves(value: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(key, value)| leaves(value, &format!("{path}.{key}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, value)| leaves(value, &format!("{path}[{at}]"), found));
        }
        leaf => found.push((path.to_owned(), leaf.clone())),
    }
}

/// How many credentials of a file there are, and those that were not found.
fn missed(file: &str) -> (usize, Vec<String>) {
    let (mut count, mut missed) = (0, Vec::new());
    for (number, line) in lines(file).iter().enumerate() {
        let (text, canaries) = planted(line, number);
        // Escapes of JSON stand in canaries of our own nowhere.
        let body = clean_of(&described(&text)).to_string();
        count += 1;
        if canaries.iter().any(|canary| body.contains(canary.as_str())) || !body.contains("redacted:") {
            missed.push(text);
        }
    }
    (count, missed)
}

/// How many values objects have, and those that changed.
fn changed<'a>(objects: impl IntoIterator<Item = &'a Value>) -> (usize, Vec<String>) {
    let (mut count, mut changed) = (0, Vec::new());
    for object in objects {
        let (values, differ) = changed_between(object, &clean_of(object));
        count += values;
        changed.extend(differ);
    }
    (count, changed)
}

/// How many values an object has, and those that are others when it is clean.
pub(super) fn changed_between(object: &Value, clean: &Value) -> (usize, Vec<String>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (key, value) in object.as_object().unwrap() {
        leaves(value, key, &mut before);
        leaves(&clean[key], key, &mut after);
    }
    let dropped = ["managedFields", "last-applied-configuration"];
    before.retain(|(path, value)| !value.is_null() && !dropped.iter().any(|part| path.contains(part)));
    let after: std::collections::BTreeMap<_, _> = after.into_iter().collect();
    let differ = before.iter().filter(|(path, value)| after.get(path) != Some(value));
    let differ = differ.map(|(path, value)| format!("{path}: {value} → {:?}", after.get(path))).collect();
    (before.len(), differ)
}

#[test]
fn credentials_of_the_corpus_are_found_98_times_in_100() {
    let (count, missed) = missed("canaries.txt");
    println!("{} of {count} credentials found; missed: {missed:#?}", count - missed.len());
    assert!(count >= 400, "{count}");
    assert!(missed.len() * 100 <= count * 2, "{} of {count} missed: {missed:#?}", missed.len());
}

/// Those were written after the rules, which were not changed for them: how well the rules do with what they do not know.
#[test]
fn credentials_written_after_the_rules_are_found() {
    let (count, missed) = missed("held_back.txt");
    println!(
        "{} of {count} credentials found that were held back; missed: {missed:#?}",
        count - missed.len()
    );
    assert!(
        count >= 80 && missed.len() * 100 <= count * 10,
        "{} of {count} missed: {missed:#?}",
        missed.len()
    );
}

#[test]
fn ordinary_values_of_the_corpus_stay_but_for_one_in_200() {
    let objects: Vec<Value> =
        lines("ordinary.txt").iter().map(|line| described(&line.replace('⏎', "\n"))).collect();
    let (count, changed) = changed(&objects);
    println!("{} of {count} ordinary values masked: {changed:#?}", changed.len());
    assert!(count >= 1000, "{count}");
    assert!(changed.len() * 200 <= count, "{} of {count} masked: {changed:#?}", changed.len());
}

/// Prints what cleaning takes; nothing depends on it.
#[test]
fn cleaning_takes_time_in_proportion() {
    let pod = lines("ordinary.txt")
        .into_iter()
        .find(|line| line.starts_with("obj ") && line.contains("\"Pod\""))
        .unwrap();
    let pod = described(&pod).to_string();
    let rules: Rules = rules();
    let begun = std::time::Instant::now();
    const ROUNDS: u32 = 2000;
    for _ in 0..ROUNDS {
        std::hint::black_box(clean(std::hint::black_box(&pod), POD, &rules).is_ok());
    }
    let each = begun.elapsed() / ROUNDS;
    println!("{} bytes in {each:?}: {} ns per KB", pod.len(), each.as_nanos() * 1024 / pod.len() as u128);
}
