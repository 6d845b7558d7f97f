//! The tasks of `docs/tasks.md`, each as its reader types it.

use std::process::Stdio;

use tokio::process::Command;

use crate::checkout::read;
use crate::server::{PROGRAM, Result};

/// The number and the command of each task.
fn tasks() -> Vec<(String, String)> {
    let page = read("docs/tasks.md");
    let cells =
        page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix("` |")?.split_once(" | "));
    let task =
        |(number, rest): (&str, &str)| Some((number.to_owned(), rest.split_once(" | `")?.1.to_owned()));
    cells.filter_map(task).collect()
}

/// The words of a command, of which some are quoted.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut quoted) = (vec![String::new()], false);
    for c in command.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.iter_mut().next_back().into_iter().for_each(|word| word.push(c)),
        }
    }
    words
}

/// Runs them all against a demo.
pub(crate) async fn try_all(url: &str) -> Result<()> {
    let tasks = tasks();
    assert_eq!(tasks.len(), 20, "the tasks are where they were");
    let mut failed = Vec::new();
    for (number, command) in tasks {
        let words = words(&command);
        let mut run = Command::new(PROGRAM);
        run.args(&words[1..]).env("STRANDLINE_SERVER", url).env("NO_COLOR", "1").stdin(Stdio::null());
        let output = run.output().await?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        // Nothing to show is an answer too, where it is said.
        let answered = !output.stdout.is_empty() || !said.is_empty();
        if !output.status.success() || !answered {
            failed.push(format!("{number}: {command}: {} {said}", output.status));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
    Ok(())
}
