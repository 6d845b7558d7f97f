//! `strandline health`: what objects say about their health, without a server; or what a server says of it over time.

use std::io::Read;
use std::path::Path;

use super::args::{HealthArgs, LineFormat, ObjectsArgs};
use super::documents::{self, Found, Unreadable};
use super::error::{CliError, Exit};
use super::health_history;
use super::output::{Paint, write};
use super::table::{Cell, Table};
use crate::health;
use crate::model::Verdict;
use crate::object::Object;

/// How much of a message stands in a table.
const MESSAGE_MAX: usize = 100;

/// Judges the objects of a file, or asks a server.
pub(super) fn health(args: &HealthArgs) -> Result<(), CliError> {
    let objects = args.objects();
    match objects.map_err(|why| CliError::new("printing verdicts", why).exit(Exit::Usage))? {
        Some(objects) => of_file(&objects),
        None => health_history::run(args),
    }
}

/// Judges the objects of a file; those that cannot be read are told, and the others judged all the same.
fn of_file(objects: &ObjectsArgs) -> Result<(), CliError> {
    let text = read(&objects.file)?;
    let mut judged = Vec::new();
    let mut unreadable = Vec::new();
    for document in documents::read(&text) {
        match document.and_then(|found| judge(&found)) {
            Ok(one) => judged.push(one),
            Err(problem) => unreadable.push(problem),
        }
    }
    if judged.is_empty() && unreadable.is_empty() {
        eprintln!("No objects found.");
        return Ok(());
    }
    if !judged.is_empty() {
        write(&shown(&judged, objects)?)?;
    }
    failures(&unreadable, judged.len())
}

/// An object's name and kind with the verdict on it.
struct Judged {
    name: String,
    kind: String,
    verdict: Verdict,
}

fn read(file: &Path) -> Result<String, CliError> {
    let failed = |error: std::io::Error| CliError::new(format!("reading {}", file.display()), error);
    if file != Path::new("-") {
        return std::fs::read_to_string(file).map_err(failed);
    }
    let mut text = String::new();
    std::io::stdin().lock().read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

fn judge(found: &Found) -> Result<Judged, Unreadable> {
    let object = Object::parse(&found.text).map_err(|error| found.unreadable(error))?;
    Ok(Judged {
        name: object.metadata.name.to_string(),
        kind: object.kind.to_string(),
        verdict: health::assess(&object),
    })
}

fn shown(judged: &[Judged], args: &ObjectsArgs) -> Result<String, CliError> {
    match args.output {
        LineFormat::Table => Ok(table(judged).render(Paint::for_stdout(args.color), !args.no_headers)),
        LineFormat::Json => {
            let line = |one: &Judged| serde_json::to_string(&one.verdict).map(|line| line + "\n");
            judged
                .iter()
                .map(line)
                .collect::<Result<_, _>>()
                .map_err(|error| CliError::new("writing a verdict", error))
        }
    }
}

fn table(judged: &[Judged]) -> Table {
    let row = |one: &Judged| {
        let Verdict { health, reason, message, rule } = &one.verdict;
        vec![
            Cell::text(&one.name),
            Cell::text(&one.kind),
            Cell::Health(*health),
            Cell::text(reason),
            Cell::text(shortened(message)),
            Cell::text(rule),
        ]
    };
    Table {
        headers: vec!["NAME", "KIND", "HEALTH", "REASON", "MESSAGE", "RULE"],
        rows: judged.iter().map(row).collect(),
    }
}

/// The beginning of a message on one line.
fn shortened(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MESSAGE_MAX) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

fn failures(unreadable: &[Unreadable], judged: usize) -> Result<(), CliError> {
    let Some((last, others)) = unreadable.split_last() else { return Ok(()) };
    let failure = |problem: &Unreadable| CliError::new("reading the objects", problem);
    for problem in others {
        eprintln!("{}", failure(problem).lines());
    }
    Err(failure(last).hint(format!("the other {judged} objects were judged")))
}

#[cfg(test)]
mod tests {
    use super::super::args::ColorChoice;
    use super::*;

    fn judged(text: &str) -> Vec<Judged> {
        documents::read(text).into_iter().filter_map(|document| judge(&document.ok()?).ok()).collect()
    }

    fn args(output: LineFormat) -> ObjectsArgs {
        ObjectsArgs { file: "-".into(), output, no_headers: false, color: ColorChoice::Never }
    }

    const OBJECTS: &str = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: db}, status: {phase: Lost}}\n---\n\
                           {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}\n";

    #[test]
    fn verdicts_are_lines_of_json() {
        let lines = shown(&judged(OBJECTS), &args(LineFormat::Json)).unwrap_or_default();
        assert_eq!(
            lines,
            "{\"health\":\"Degraded\",\"reason\":\"Lost\",\"message\":\"\",\"rule\":\"builtin/PersistentVolumeClaim\"}\n\
             {\"health\":null,\"reason\":\"\",\"message\":\"\",\"rule\":\"none\"}\n"
        );
    }

    #[test]
    fn verdicts_are_a_table_for_people() {
        let table = shown(&judged(OBJECTS), &args(LineFormat::Table)).unwrap_or_default();
        let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[0], ["NAME", "KIND", "HEALTH", "REASON", "MESSAGE", "RULE"]);
        assert_eq!(words[1][..4], ["db", "PersistentVolumeClaim", "Degraded", "Lost"]);
        assert_eq!(words[2], ["settings", "ConfigMap", "<none>", "<none>", "<none>", "none"]);
    }

    #[test]
    fn long_messages_are_cut_on_one_line() {
        assert_eq!(shortened("a\n  b"), "a b");
        assert_eq!(shortened(&"é".repeat(101)), format!("{}…", "é".repeat(100)));
    }

    #[test]
    fn what_cannot_be_read_is_a_failure_that_names_it() {
        let problem = documents::read("kind: A\n---\n7\n").into_iter().find_map(Result::err);
        let failure = failures(problem.as_slice(), 1).err();
        let failure = failure.map(|failure| (failure.to_string(), failure.exit));
        let expected = "reading the objects: document 2, line 3: not an object".to_owned();
        assert_eq!(failure, Some((expected, Exit::Failure)));
    }
}
