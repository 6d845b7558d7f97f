//! `strandline doctor`: prints what [`crate::doctor`] found.

use std::path::Path;

use serde_json::to_value;

use super::args::{DoctorArgs, RoleWidth};
use super::error::CliError;
use super::kinds::selected;
use super::output::{report_text, write};
use super::progress::Progress;
use super::runtime::runtime;
use super::stderr;
use crate::doctor::{self, Manifest, Report};
use crate::format::visible;
use crate::service::{self, ServiceError};
use strandline_clock::SystemClock;
use strandline_log::{AcceptedLoss, Salvaged};

/// Marks the changes whose recorded times are wrong.
fn mend_clock(data: &Path) -> Result<(), CliError> {
    let found = service::mend_clock(data).map_err(|error| {
        let hint = error.hint();
        let error = CliError::new("marking wrong timestamps", error);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    })?;
    let mut text: String = found.iter().map(|wrong| format!("marked as wrong: {wrong}\n")).collect();
    if text.is_empty() {
        text.push_str("no wrong timestamps found; nothing was changed\n");
    }
    write(&text)
}

/// Runs the command; fails when there is any problem, once all of them are printed.
pub(super) fn run(args: &DoctorArgs) -> Result<(), CliError> {
    if let Some(data) = args.data.as_ref().filter(|_| args.mend_clock) {
        return mend_clock(data);
    }
    if let Some(data) = &args.data
        && (args.accept_loss || args.salvage.is_some())
    {
        return mend(data, args.salvage.as_deref());
    }
    let report = report(args)?;
    match args.rbac {
        Some(width) => {
            // YAML alone on standard output, so that it can be piped into kubectl.
            stderr::text(format_args!("{}", text(&report)));
            write(&roles(&report, width))?;
        }
        None => print(args, &report)?,
    }
    match report.problems() {
        0 => Ok(()),
        1 => Err(CliError::new("checking", "1 problem found")),
        problems => Err(CliError::new("checking", format!("{problems} problems found"))),
    }
}

fn print(args: &DoctorArgs, report: &Report) -> Result<(), CliError> {
    let value = to_value(report).map_err(|error| CliError::new("writing the report", error))?;
    write(&report_text(args.output, &value, || text(report))?)
}

/// The roles that are missing, as documents of YAML and nothing else.
fn roles(report: &Report, width: RoleWidth) -> String {
    let yaml = |manifest: &Manifest| match width {
        RoleWidth::Narrow => manifest.yaml.clone(),
        RoleWidth::Groups => manifest.yaml_groups.clone(),
        RoleWidth::Wildcard => manifest.yaml_wildcard.clone(),
    };
    report.missing.iter().map(yaml).collect()
}

fn report(args: &DoctorArgs) -> Result<Report, CliError> {
    let config = match args.config.as_deref().map(crate::config::load).transpose() {
        Err(error) => return Ok(doctor::of_mistakes(&error)),
        Ok(config) => config,
    };
    let data = match (&args.data, &config) {
        (Some(data), _) => data.clone(),
        (None, Some(config)) => config.data.clone(),
        (None, None) => return Err(CliError::new("checking", "--data or --config is required")),
    };
    let mut report = match &config {
        Some(config) => {
            let clusters = selected(config, args.cluster.as_deref())?;
            runtime()?.block_on(doctor::check(config, &data, &clusters, &SystemClock))
        }
        None => doctor::check_data(&data),
    };
    if args.full {
        let mut progress = Progress::new(0);
        report.checks.extend(doctor::check_fully(&data, &mut |done, all| progress.update(done, all)));
        progress.end();
    }
    Ok(report)
}

/// Takes a damaged log as it is, or copies what can be read of it.
fn mend(data: &Path, target: Option<&Path>) -> Result<(), CliError> {
    let failure = |what| {
        move |error: ServiceError| {
            let hint = error.hint();
            let error = CliError::new(what, error);
            match hint {
                Some(hint) => error.hint(hint),
                None => error,
            }
        }
    };
    let Some(target) = target else {
        let accepted = service::accept_loss(data).map_err(failure("accepting lost records"))?;
        return write(&match accepted {
            None => "no records are missing; nothing was changed\n".to_owned(),
            Some(AcceptedLoss { found, recorded, watches, head }) => format!(
                "changes {} to {recorded} are lost; recorded gaps for {watches} watches; the log continues after offset {head}\n",
                found.next(),
            ),
        });
    };
    let mut progress = Progress::new(0);
    let salvaged = service::salvage(data, target, &mut |done, all| progress.update(done, all));
    progress.end();
    let Salvaged { copied, findings, head } = salvaged.map_err(failure("salvaging the log"))?;
    let mut text: String =
        findings.iter().map(|finding| format!("{}\n", visible(&finding.to_string()))).collect();
    text.push_str(&format!(
        "copied {copied} changes to {}; its log ends at offset {head}; start a server with `serve --data {0}`\n",
        target.display()
    ));
    write(&text)
}

/// A line for each check.
fn text(report: &Report) -> String {
    let mut text = String::new();
    for check in &report.checks {
        let hint = check.hint.as_deref().map(|hint| format!("; hint: {hint}")).unwrap_or_default();
        let line = format!("{:<9}{}: {}{hint}", check.result.as_str(), check.subject, check.message);
        text.push_str(&visible(&line));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::{Check, CheckResult};

    #[test]
    fn checks_stand_on_a_line_each_and_roles_apart_from_them() {
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
        let missing = vec![Manifest {
            cluster: "eu-1".into(),
            yaml: "---\nkind: Role\n".into(),
            yaml_groups: "---\nkind: Groups\n".into(),
            yaml_wildcard: "---\nkind: Wildcard\n".into(),
        }];
        let report = Report { checks, missing };
        for (width, expected) in [
            (RoleWidth::Narrow, "---\nkind: Role\n"),
            (RoleWidth::Groups, "---\nkind: Groups\n"),
            (RoleWidth::Wildcard, "---\nkind: Wildcard\n"),
        ] {
            assert_eq!(roles(&report, width), expected);
        }
        assert_eq!(
            text(&report),
            "ok       cluster eu-1: answers\n\
             warning  cluster eu-1: late; hint: wait\n\
             problem  cluster eu-1: said\\n\\u{1b}[2J; hint: ask\n"
        );
    }
}
