//! `strandline doctor`: prints what [`crate::doctor`] found.

use serde_json::to_value;

use super::args::{DoctorArgs, OutputFormat, ReportFormat};
use super::error::CliError;
use super::kinds::selected;
use super::output::{document, write};
use super::runtime;
use crate::clock::SystemClock;
use crate::doctor::{self, Report};
use crate::present::visible;

/// Runs the command; fails when there is any problem, once all of them are printed.
pub(super) fn run(args: &DoctorArgs) -> Result<(), CliError> {
    let report = match crate::config::load(&args.config) {
        Err(error) => doctor::of_mistakes(&error),
        Ok(config) => {
            let clusters = selected(&config, args.cluster.as_deref())?;
            let data = args.data.as_deref().unwrap_or(&config.data);
            runtime()?.block_on(doctor::check(&config, data, &clusters, &SystemClock))
        }
    };
    let format = match args.output {
        ReportFormat::Text => OutputFormat::Table,
        ReportFormat::Json => OutputFormat::Json,
        ReportFormat::Yaml => OutputFormat::Yaml,
    };
    let value = to_value(&report).map_err(|error| CliError::new("writing the report", error))?;
    write(&document(format, &value).unwrap_or_else(|| Ok(text(&report)))?)?;
    match report.problems() {
        0 => Ok(()),
        1 => Err(CliError::new("checking", "there is 1 problem")),
        problems => Err(CliError::new("checking", format!("there are {problems} problems"))),
    }
}

/// A line for each check; below them, after an empty line, the YAML as it may be copied.
fn text(report: &Report) -> String {
    let mut text = String::new();
    for check in &report.checks {
        let hint = check.hint.as_deref().map(|hint| format!("; hint: {hint}")).unwrap_or_default();
        let line = format!("{:<9}{}: {}{hint}", check.result.as_str(), check.subject, check.message);
        text.push_str(&visible(&line));
        text.push('\n');
    }
    for manifest in &report.missing {
        text.push('\n');
        text.push_str(&manifest.yaml);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{Check, CheckResult, Manifest};

    #[test]
    fn checks_stand_on_a_line_each_and_permissions_below() {
        let check = |result, message: &str, hint: Option<&str>| Check {
            result,
            subject: "cluster eu-1".into(),
            message: message.into(),
            hint: hint.map(str::to_owned),
        };
        let checks = vec![
            check(CheckResult::Ok, "answers", None),
            check(CheckResult::Warning, "late", Some("wait")),
            check(CheckResult::Problem, "said\n\u{1b}[2J", Some("ask")),
        ];
        let missing = vec![Manifest { cluster: "eu-1".into(), yaml: "---\nkind: Role\n".into() }];
        assert_eq!(
            text(&Report { checks, missing }),
            "ok       cluster eu-1: answers\n\
             warning  cluster eu-1: late; hint: wait\n\
             problem  cluster eu-1: said\\n\\u{1b}[2J; hint: ask\n\n\
             ---\nkind: Role\n"
        );
    }
}
