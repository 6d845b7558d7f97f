//! `strandline health --check`: whether objects get the health that is wanted of each.

use serde_json::json;

use super::args::{LineFormat, ObjectsArgs};
use super::error::{CliError, Outcome};
use super::objects::{Source, failures, shortened, sources};
use super::output::{Paint, write};
use super::table::{Cell, Table};
use strandline_health::{Agreement, Case};
use strandline_health_lua::Judge;
use strandline_model::{Health, Verdict};
use strandline_object::{Object, manifests};

/// A case with the verdict on its object.
struct Tried {
    case: Case,
    verdict: Verdict,
}

/// Judges the objects of all cases and prints where verdicts differ from what is wanted, and how many do not.
pub(super) fn check(args: &ObjectsArgs, judge: &Judge) -> Result<Outcome, CliError> {
    let (mut tried, mut unreadable) = (Vec::new(), Vec::new());
    for source in sources(&args.file)? {
        let (some, failed) = try_all(&source, judge);
        tried.extend(some);
        unreadable.extend(failed);
    }
    write(&printed(&tried, args))?;
    let differs = tried.iter().any(|one| !one.case.agrees(&one.verdict));
    failures(unreadable, tried.len())?;
    Ok(if differs { Outcome::Different } else { Outcome::Done })
}

/// The cases of a text, each tried, and what cannot be read as one.
fn try_all(source: &Source, judge: &Judge) -> (Vec<Tried>, Vec<CliError>) {
    let (mut tried, mut unreadable) = (Vec::new(), Vec::new());
    for document in manifests::read(&source.text) {
        let one = document.and_then(|found| {
            let case: Case = found.text.parse().map_err(|why: String| found.unreadable(why))?;
            let object = case.object.to_string();
            let object = Object::parse(&object).map_err(|error| found.unreadable(error))?;
            let verdict = judge.judge(&object);
            Ok(Tried { verdict, case })
        });
        match one {
            Ok(one) => tried.push(one),
            Err(problem) => unreadable.push(source.failure(problem)),
        }
    }
    (tried, unreadable)
}

fn printed(tried: &[Tried], args: &ObjectsArgs) -> String {
    match args.output {
        LineFormat::Table => {
            let differ: Vec<_> = tried.iter().filter(|one| !one.case.agrees(&one.verdict)).collect();
            let paint = Paint::for_stdout(args.color);
            let table = (!differ.is_empty()).then(|| table(&differ).render(paint, !args.no_headers) + "\n");
            table.unwrap_or_default() + &summary(tried)
        }
        LineFormat::Json => tried.iter().map(|one| line(one) + "\n").collect(),
    }
}

fn table(differ: &[&Tried]) -> Table {
    let row = |one: &&Tried| {
        let Verdict { health, reason, message, rule, .. } = &one.verdict;
        vec![
            Cell::text(&one.case.case),
            Cell::Health(one.case.want),
            Cell::Health(*health),
            Cell::text(reason),
            Cell::text(shortened(message)),
            Cell::text(rule),
        ]
    };
    let headers = ["CASE", "WANT", "HEALTH", "REASON", "MESSAGE", "RULE"];
    Table::new(headers, differ.iter().map(row).collect())
}

/// A case as a line of JSON: its verdict, what is wanted, and whether they agree.
fn line(one: &Tried) -> String {
    let (case, verdict) = (&one.case, &one.verdict);
    let want = case.want.map_or("none", Health::as_str);
    json!({"case": case.case, "want": want, "agrees": case.agrees(verdict), "verdict": verdict}).to_string()
}

fn summary(tried: &[Tried]) -> String {
    let mut agreement = Agreement::default();
    tried.iter().for_each(|one| agreement.count(&one.case, &one.verdict));
    let Agreement { cases, agree, degraded, degraded_as_healthy } = agreement;
    // One place after the point, cut, so that 100% is all of them.
    let tenths = (agree * 1000).checked_div(cases).unwrap_or(1000);
    let share = format!("{}.{}%", tenths / 10, tenths % 10);
    format!(
        "{agree} of {cases} cases pass ({share}). Of {degraded} that expect Degraded, {degraded_as_healthy} are assessed as Healthy.\n"
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::super::args::ColorChoice;
    use super::super::error::Exit;
    use super::*;
    use strandline_health::Patience;
    use strandline_health_lua::Scripts;

    const CASES: &str = r#"
{"case": "lost", "want": "Degraded", "object": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Lost"}}}
{"case": "bound", "want": "Degraded", "object": {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "status": {"phase": "Bound"}}}
{"case": "map", "want": "none", "object": {"apiVersion": "v1", "kind": "ConfigMap"}}
"#;

    fn args(text: &str, output: LineFormat) -> (tempfile::TempDir, ObjectsArgs) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cases.jsonl");
        std::fs::write(&file, text).unwrap();
        (folder, ObjectsArgs { file, output, no_headers: false, color: ColorChoice::Never })
    }

    fn judge() -> Judge {
        Judge::new(&Scripts::default(), Patience::default())
    }

    fn tried(args: &ObjectsArgs) -> Vec<Tried> {
        sources(&args.file).unwrap().iter().flat_map(|source| try_all(source, &judge()).0).collect()
    }

    #[test]
    fn what_differs_is_a_table_and_the_rest_is_counted() {
        let (_folder, args) = args(CASES, LineFormat::Table);
        let text = printed(&tried(&args), &args);
        let lines: Vec<_> = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
        assert_eq!(lines[0], ["CASE", "WANT", "HEALTH", "REASON", "MESSAGE", "RULE"]);
        let row = ["bound", "Degraded", "Healthy", "<none>", "<none>", "builtin/PersistentVolumeClaim"];
        assert_eq!(lines[1], row);
        let counted = "2 of 3 cases pass (66.6%). Of 2 that expect Degraded, 1 are assessed as Healthy.";
        assert_eq!(lines[3].join(" "), counted);
        assert_eq!(lines.len(), 4);
        assert_eq!(check(&args, &judge()), Ok(Outcome::Different));
    }

    #[test]
    fn as_json_each_case_is_a_line() {
        let (_folder, args) = args(CASES, LineFormat::Json);
        let text = printed(&tried(&args), &args);
        let lines: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[1]["agrees"], false);
        assert_eq!((&lines[2]["want"], &lines[2]["verdict"]["health"]), (&json!("none"), &json!(null)));
    }

    #[test]
    fn what_is_no_case_is_a_failure_and_the_others_are_tried() {
        let (_folder, args) = args("{\"kind\": \"ConfigMap\"}\n", LineFormat::Table);
        let failure = check(&args, &judge()).err().map(|failure| (failure.to_string(), failure.exit));
        let why = "document 1, line 1: not a case; it needs `want`, a health or none, and `object`";
        assert!(failure.as_ref().is_some_and(|(text, _)| text.contains(why)), "{failure:?}");
        assert_eq!(failure.map(|(_, exit)| exit), Some(Exit::Failure));
        let agreed = r#"{"want": "none", "object": {"apiVersion": "v1", "kind": "ConfigMap"}}"#;
        let (_folder, args) = self::args(agreed, LineFormat::Table);
        assert_eq!(check(&args, &judge()), Ok(Outcome::Done));
    }
}
