//! `strandline health`: what objects say about their health, without a server; or what a server says of it over time.

use std::path::Path;

use super::args::HealthArgs;
use super::error::{CliError, Exit, Outcome};
use super::objects::{Shown, look, shortened};
use super::table::{Cell, Table};
use super::{health_cases, health_history};
use crate::config::{self, ReadScriptsError};
use strandline_health::Patience;
use strandline_health_lua::Judge;
use strandline_model::Verdict;
use strandline_object::Object;

/// Judges the objects of a file, or asks a server.
pub(super) fn health(args: &HealthArgs) -> Result<Outcome, CliError> {
    let objects = args.objects();
    match objects.map_err(|why| CliError::new("printing health", why).exit(Exit::Usage))? {
        Some(objects) => {
            let judge = judge_by(args.scripts.as_deref(), args.argocd_cm.as_deref())?;
            if args.check {
                return health_cases::check(&objects, &judge);
            }
            look(&objects, |object| judged(&judge, object))?;
        }
        None => health_history::run(args)?,
    }
    Ok(Outcome::Done)
}

/// An object's name and kind with the verdict on it.
struct Judged {
    name: String,
    kind: String,
    verdict: Verdict,
}

/// A judge with the scripts that are given, if any.
fn judge_by(scripts: Option<&Path>, argocd_cm: Option<&Path>) -> Result<Judge, CliError> {
    let failed = |error: ReadScriptsError| CliError::new("reading the scripts", &error).hint(error.hint());
    Ok(Judge::new(&config::read_all_scripts(scripts, argocd_cm).map_err(failed)?, Patience::default()))
}

fn judged(judge: &Judge, object: &Object<'_>) -> Judged {
    Judged {
        name: object.metadata.name.to_string(),
        kind: object.kind.to_string(),
        verdict: judge.judge(object),
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
        let Verdict { health, reason, message, rule, .. } = &one.verdict;
        vec![
            Cell::text(&one.name),
            Cell::text(&one.kind),
            Cell::Health(*health),
            Cell::text(reason),
            Cell::text(shortened(message)),
            Cell::text(rule),
        ]
    };
    Table::new(["NAME", "KIND", "HEALTH", "REASON", "MESSAGE", "RULE"], judged.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::super::args::{ColorChoice, LineFormat, ObjectsArgs};
    use super::super::objects::{all, shown};
    use super::*;
    use strandline_health_lua::Scripts;

    fn all_by(text: &str, judge: &Judge) -> Vec<Judged> {
        all(text, |object| judged(judge, object)).0
    }

    fn without_scripts(text: &str) -> Vec<Judged> {
        all_by(text, &Judge::new(&Scripts::default(), Patience::default()))
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
        let schedule = "{apiVersion: postgresql.cnpg.io/v1, kind: ScheduledBackup, metadata: {name: nightly}, spec: {suspend: true}}";
        let rule = |judge: Judge| {
            all_by(schedule, &judge).into_iter().map(|one| one.verdict.rule).collect::<Vec<_>>()
        };
        let by = |scripts: Option<&str>| {
            judge_by(scripts.map(Path::new), None).map(rule).map_err(|error| error.lines())
        };
        assert_eq!(by(Some(examples)), Ok(vec!["lua/postgresql.cnpg.io/ScheduledBackup".to_owned()]));
        assert_eq!(by(None), Ok(vec!["conventions/suspend".to_owned()]));
        let failure = by(Some("/nowhere")).err().unwrap_or_default();
        assert!(failure.starts_with("error: reading the scripts: cannot read /nowhere: "), "{failure}");
        assert!(failure.contains("\nhint: "), "{failure}");
    }
}
