//! `strandline health`: what objects say about their health, without a server; or what a server says of it over time.

use super::args::HealthArgs;
use super::error::{CliError, Exit};
use super::health_history;
use super::objects::{Shown, look};
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
        Some(objects) => look(&objects, judge),
        None => health_history::run(args),
    }
}

/// An object's name and kind with the verdict on it.
struct Judged {
    name: String,
    kind: String,
    verdict: Verdict,
}

fn judge(object: &Object<'_>) -> Judged {
    Judged {
        name: object.metadata.name.to_string(),
        kind: object.kind.to_string(),
        verdict: health::assess(object),
    }
}

impl Shown for Judged {
    fn line(&self) -> serde_json::Result<String> {
        serde_json::to_string(&self.verdict)
    }

    fn table(all: &[Self]) -> Table {
        table(all)
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

#[cfg(test)]
mod tests {
    use super::super::args::{ColorChoice, LineFormat, ObjectsArgs};
    use super::super::objects::{all, shown};
    use super::*;

    fn judged(text: &str) -> Vec<Judged> {
        all(text, judge).0
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
}
