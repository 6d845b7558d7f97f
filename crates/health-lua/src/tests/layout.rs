//! Folders in Argo CD's layout with their own cases: `health_test.yaml` names objects in `testdata` and what
//! the script says of them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::Scripts;
use strandline_health::Rules;
use strandline_model::Health;
use strandline_object::Object;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/health");

#[derive(Debug, Deserialize)]
struct Cases {
    #[serde(default)]
    tests: Vec<Case>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    // Argo CD reads names in any case, and some of its files rely on that.
    #[serde(alias = "inputpath")]
    input_path: String,
    #[serde(default)]
    health_status: Said,
}

#[derive(Debug, Default, Deserialize)]
struct Said {
    #[serde(default)]
    status: String,
    #[serde(default)]
    message: String,
}

#[derive(Debug, Default)]
struct Tally {
    scripts: usize,
    cases: usize,
    differ: Vec<String>,
    /// Objects that our reader of YAML refuses.
    unreadable: Vec<String>,
}

/// The files with this name below a folder, by their paths relative to it.
fn files(folder: &Path, name: &str) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).expect("the folder can be read").flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if entry.file_name() == name {
                let relative = path.strip_prefix(folder).expect("it is below").display().to_string();
                found.insert(relative, path);
            }
        }
    }
    found
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("the file can be read")
}

/// Judges every case of a folder.
fn tally(folder: &Path) -> Tally {
    let texts = files(folder, "health.lua").into_iter().map(|(path, file)| (path, read(&file)));
    let scripts = Scripts::from_folder(texts).expect("every script can be compiled");
    let rules = scripts.rules();
    let mut tally = Tally { scripts: scripts.len(), ..Tally::default() };
    for (name, file) in files(folder, "health_test.yaml") {
        let cases: Cases =
            serde_saphyr::from_str(&read(&file)).unwrap_or_else(|error| panic!("{name}: {error}"));
        for Case { input_path, health_status } in cases.tests {
            let object: serde_json::Value =
                match serde_saphyr::from_str(&read(&file.with_file_name(&input_path))) {
                    Ok(object) => object,
                    Err(error) => {
                        tally.unreadable.push(format!("{name} {input_path}: {error}"));
                        continue;
                    }
                };
            let text = object.to_string();
            let verdict = rules.judge(&Object::parse(&text).expect("an object"));
            let found = verdict.as_ref().map_or(("no script", ""), |verdict| {
                (verdict.health.map_or("", Health::as_str), verdict.message.as_str())
            });
            tally.cases += 1;
            if found != (health_status.status.as_str(), health_status.message.as_str()) {
                tally.differ.push(format!("{name} {input_path}: wants {health_status:?}, found {verdict:?}"));
            }
        }
    }
    tally
}

#[test]
fn our_own_scripts_judge_their_cases() {
    let tally = tally(Path::new(EXAMPLES));
    assert!(tally.scripts >= 12 && tally.cases >= 3 * tally.scripts, "{tally:?}");
    assert!(tally.differ.is_empty() && tally.unreadable.is_empty(), "{tally:#?}");
}

#[test]
fn scripts_of_argo_cd_say_what_they_say_there() {
    let mut stderr = std::io::stderr();
    let Some(folder) = std::env::var_os("STRANDLINE_ARGO_CD_CUSTOMIZATIONS") else {
        let why = "STRANDLINE_ARGO_CD_CUSTOMIZATIONS names no folder `resource_customizations` of Argo CD";
        _ = writeln!(stderr, "NOT RUN: {why}, so its scripts were not tried");
        return;
    };
    let tally = tally(Path::new(&folder));
    let agree = tally.cases - tally.differ.len();
    _ = writeln!(
        stderr,
        "Argo CD's scripts: {} read, {agree} of {} cases agree, {} objects are no YAML to us",
        tally.scripts,
        tally.cases,
        tally.unreadable.len()
    );
    assert!(tally.differ.is_empty(), "{:#?}", tally.differ);
}
