//! `strandline health`: what objects say about their health, without a server.

use std::io::Read;
use std::path::Path;

use super::args::{HealthArgs, LineFormat, ObjectsArgs};
use super::documents::{self, Found, Unreadable};
use super::error::CliError;
use super::output::{Paint, write};
use super::table::{Cell, Table};
use crate::config::{self, ReadScriptsError};
use crate::health::Judge;
use crate::model::Verdict;
use crate::object::Object;

/// How much of a message stands in a table.
const MESSAGE_MAX: usize = 100;

/// Judges the objects of a file; those that cannot be read are told, and the others judged all the same.
pub(super) fn health(args: &HealthArgs) -> Result<(), CliError> {
    let judge = judge_by(args)?;
    let text = read(&args.objects.file)?;
    let mut verdicts = Vec::new();
    let mut unreadable = Vec::new();
    for document in documents::read(&text) {
        match document.and_then(|found| judged(&judge, &found)) {
            Ok(one) => verdicts.push(one),
            Err(problem) => unreadable.push(problem),
        }
    }
    if verdicts.is_empty() && unreadable.is_empty() {
        eprintln!("No objects found.");
        return Ok(());
    }
    if !verdicts.is_empty() {
        write(&shown(&verdicts, &args.objects)?)?;
    }
    failures(&unreadable, verdicts.len())
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

/// A judge with the scripts that are given, if any.
fn judge_by(args: &HealthArgs) -> Result<Judge, CliError> {
    let failed = |error: ReadScriptsError| CliError::new("reading the scripts", &error).hint(error.hint());
    let scripts = config::read_all_scripts(args.scripts.as_deref(), args.argocd_cm.as_deref());
    Ok(Judge::new(&scripts.map_err(failed)?))
}

fn judged(judge: &Judge, found: &Found) -> Result<Judged, Unreadable> {
    let object = Object::parse(&found.text).map_err(|error| found.unreadable(error))?;
    Ok(Judged {
        name: object.metadata.name.to_string(),
        kind: object.kind.to_string(),
        verdict: judge.judge(&object),
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
    use super::super::error::Exit;
    use super::*;
    use crate::health::Scripts;

    fn all(text: &str, judge: &Judge) -> Vec<Judged> {
        documents::read(text).into_iter().filter_map(|document| judged(judge, &document.ok()?).ok()).collect()
    }

    fn without_scripts(text: &str) -> Vec<Judged> {
        all(text, &Judge::new(&Scripts::default()))
    }

    fn args(output: LineFormat) -> ObjectsArgs {
        ObjectsArgs { file: "-".into(), output, no_headers: false, color: ColorChoice::Never }
    }

    const OBJECTS: &str = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: db}, status: {phase: Lost}}\n---\n\
                           {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}\n";

    #[test]
    fn verdicts_are_lines_of_json() {
        let lines = shown(&without_scripts(OBJECTS), &args(LineFormat::Json)).unwrap_or_default();
        assert_eq!(
            lines,
            "{\"health\":\"Degraded\",\"reason\":\"Lost\",\"message\":\"\",\"rule\":\"builtin/PersistentVolumeClaim\"}\n\
             {\"health\":null,\"reason\":\"\",\"message\":\"\",\"rule\":\"none\"}\n"
        );
    }

    #[test]
    fn verdicts_are_a_table_for_people() {
        let table = shown(&without_scripts(OBJECTS), &args(LineFormat::Table)).unwrap_or_default();
        let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[0], ["NAME", "KIND", "HEALTH", "REASON", "MESSAGE", "RULE"]);
        assert_eq!(words[1][..4], ["db", "PersistentVolumeClaim", "Degraded", "Lost"]);
        assert_eq!(words[2], ["settings", "ConfigMap", "<none>", "<none>", "<none>", "none"]);
    }

    #[test]
    fn scripts_judge_the_kinds_that_they_are_for() {
        let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/health");
        let args = |scripts: Option<&str>| HealthArgs {
            objects: args(LineFormat::Table),
            scripts: scripts.map(Into::into),
            argocd_cm: None,
        };
        let schedule = "{apiVersion: postgresql.cnpg.io/v1, kind: ScheduledBackup, metadata: {name: nightly}, spec: {suspend: true}}";
        let rule =
            |judge: Judge| all(schedule, &judge).into_iter().map(|one| one.verdict.rule).collect::<Vec<_>>();
        let by = |scripts| judge_by(&args(scripts)).map(rule).map_err(|error| error.lines());
        assert_eq!(by(Some(examples)), Ok(vec!["lua/postgresql.cnpg.io/ScheduledBackup".to_owned()]));
        assert_eq!(by(None), Ok(vec!["conventions/suspend".to_owned()]));
        let failure = by(Some("/nowhere")).err().unwrap_or_default();
        assert!(failure.starts_with("error: reading the scripts: cannot read /nowhere: "), "{failure}");
        assert!(failure.contains("\nhint: "), "{failure}");
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
