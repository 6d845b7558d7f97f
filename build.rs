//! What the program is built from, for `strandline version` and `/metrics`: no clock, so that the same sources give the same
//! program.
//!
//! `STRANDLINE_COMMIT` and `SOURCE_DATE_EPOCH` come first, as for a build of an archive without Git. Else a release asks Git;
//! other builds do not, since each commit would make them link anew.

use std::process::Command;

fn main() {
    for name in ["STRANDLINE_COMMIT", "SOURCE_DATE_EPOCH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    let release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    if release {
        // A commit is written to this log, a checkout too.
        if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
            println!("cargo:rerun-if-changed={log}");
        }
    }
    let asked = |arguments: &[&str]| if release { git(arguments) } else { None };
    let commit =
        variable("STRANDLINE_COMMIT").or_else(|| asked(&["rev-parse", "HEAD"])).filter(|text| is_plain(text));
    let epoch = variable("SOURCE_DATE_EPOCH").or_else(|| asked(&["log", "-1", "--format=%ct"]));
    let epoch = epoch.and_then(|text| text.parse::<u64>().ok());
    println!("cargo:rustc-env=STRANDLINE_BUILD_COMMIT={}", commit.as_deref().unwrap_or("unknown"));
    println!(
        "cargo:rustc-env=STRANDLINE_BUILD_EPOCH={}",
        epoch.map(|epoch| epoch.to_string()).unwrap_or_default()
    );
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|text| !text.is_empty())
}

fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c))
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
