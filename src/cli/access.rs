//! `strandline access check`: whether a job may deploy with an agent, by its configuration file and without a server.

use std::io::{self, Read};
use std::path::Path;

use serde_json::{Map, Value, json};

use super::args::{AccessCheckArgs, ReportFormat};
use super::error::{CliError, Exit};
use super::output::{report_text, write};
use crate::format::visible;
use strandline_gitlab::{
    AgentConfigError, Decision, EntryRef, Job, JobEnvironment, MAX_CONFIG_BYTES, decide, read_agent_config,
};
use strandline_syntax::diagnostics::Mistake;

/// How much of a line is shown before a mistake in it, and how much in all.
const BEFORE: usize = 60;
const SHOWN: usize = 100;

/// How many mistakes are printed for people; a document has all.
const MISTAKES_SHOWN: usize = 20;

/// Runs the command; a denial is printed like any other decision, and then a failure for scripts.
pub(super) fn check(args: &AccessCheckArgs) -> Result<(), CliError> {
    let source = read(&args.config)
        .map_err(|error| wrong(format!("cannot read {}: {error}", args.config.display())))?;
    let read = match read_agent_config(&source) {
        Ok(read) => read,
        Err(error) => return Err(mistaken(args, &source, &error)?),
    };
    let owner = args.agent_project.as_deref().unwrap_or_default();
    let decision = decide(&read.config, owner, &job(args));
    let text = text(&decision, &args.config, &read.warnings);
    print(args.output, &value(&decision, &read.warnings)?, &text)?;
    if decision.allowed {
        return Ok(());
    }
    Err(CliError::new("checking access", format!("denied: {}", decision.message)))
}

fn job(args: &AccessCheckArgs) -> Job {
    let job = Job {
        project: args.project.clone(),
        groups: args.groups.clone(),
        environment: args.environment.as_deref().map(JobEnvironment::named),
        ref_name: args.ref_name.clone(),
        tag: args.tag,
        protected: args.protected,
        default_branch: None,
        variables: args.variables.iter().cloned().collect(),
        namespace: args.namespace.clone(),
    };
    job.completed()
}

/// Reads a file, or standard input; no more of it than is needed to see that it is too long.
fn read(path: &Path) -> io::Result<String> {
    let input: Box<dyn Read> =
        if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(std::fs::File::open(path)?) };
    let mut bytes = Vec::new();
    input.take(MAX_CONFIG_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_CONFIG_BYTES {
        return Err(io::Error::other(format!("the file is longer than {MAX_CONFIG_BYTES} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("the file is not UTF-8"))
}

fn wrong(why: impl std::fmt::Display) -> CliError {
    CliError::new("reading the agent configuration", why).exit(Exit::Usage)
}

/// Prints a document where one is asked for, and the text otherwise.
fn print(format: ReportFormat, value: &Value, text: &str) -> Result<(), CliError> {
    write(&report_text(format, value, || text.to_owned())?)
}

/// The failure for a file with mistakes; as a document they are printed too.
fn mistaken(args: &AccessCheckArgs, source: &str, error: &AgentConfigError) -> Result<CliError, CliError> {
    let message = "the agent's configuration is invalid";
    let value = json!({
        "allowed": false, "rule": null, "namespace": null, "reason": "bad_config", "message": message,
        "mistakes": error.mistakes.iter().map(describe).collect::<Vec<_>>(),
    });
    print(args.output, &value, "")?;
    let mut lines = Vec::new();
    for mistake in error.mistakes.iter().take(MISTAKES_SHOWN) {
        lines.push(format!("{}:{mistake}", args.config.display()));
        lines.extend(pointed(source, mistake).into_iter().flatten());
    }
    if let Some(more) = error.mistakes.len().checked_sub(MISTAKES_SHOWN).filter(|more| *more > 0) {
        lines.push(format!("and {more} more"));
    }
    let hint = error.mistakes.iter().find_map(|mistake| mistake.hint.clone());
    Ok(hint.into_iter().fold(wrong(lines.join("\n")), CliError::hint))
}

/// The line of a mistake, and below it a caret under its column.
fn pointed(source: &str, mistake: &Mistake) -> Option<[String; 2]> {
    let line = source.lines().nth(usize::try_from(mistake.line).ok()?.checked_sub(1)?)?;
    let column = usize::try_from(mistake.column).ok()?.checked_sub(1)?;
    let skipped = column.saturating_sub(BEFORE);
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let shown: String = line.chars().skip(skipped).take(SHOWN).map(plain).collect();
    Some([format!("  {}", shown.trim_end()), format!("  {}^", " ".repeat(column - skipped))])
}

fn describe(mistake: &Mistake) -> Value {
    json!({
        "line": mistake.line, "column": mistake.column, "code": mistake.code,
        "message": mistake.message, "hint": mistake.hint,
    })
}

fn value(decision: &Decision, warnings: &[Mistake]) -> Result<Value, CliError> {
    let failed = |error| CliError::new("writing the decision", error);
    let mut fields: Map<String, Value> = match serde_json::to_value(decision).map_err(failed)? {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    fields.insert("warnings".to_owned(), warnings.iter().map(describe).collect());
    Ok(Value::Object(fields))
}

/// A line for each thing that the decision says.
fn text(decision: &Decision, config: &Path, warnings: &[Mistake]) -> String {
    let mut lines = vec![if decision.allowed { "allowed" } else { "denied" }.to_owned()];
    let mut add_line = |name: &str, value_of: Option<String>| {
        lines.extend(value_of.map(|value_of| visible(&format!("{name:<11}{value_of}")).into_owned()));
    };
    add_line("rule", Some(decision.rule.map_or("<none>".to_owned(), |rule| rule.to_string())));
    add_line("namespace", Some(decision.namespace.clone().unwrap_or("<none>".to_owned())));
    add_line("reason", Some(format!("{}: {}", decision.reason.as_str(), decision.message)));
    add_line("entry", decision.entry.as_ref().map(entry));
    add_line("truncated", decision.namespace_before.clone());
    let roles = Some(&decision.roles).filter(|roles| !roles.is_null());
    add_line("roles", roles.map(Value::to_string));
    let unset = Some(decision.unset.join(", ")).filter(|unset| !unset.is_empty());
    add_line("unset", unset);
    let unverified = Some(decision.unverified.join(", ")).filter(|names| !names.is_empty());
    add_line(
        "unverified",
        unverified.map(|names| format!("{names}: taken from the job without verification")),
    );
    for warning in warnings {
        let hint = warning.hint.as_deref().map(|hint| format!("; hint: {hint}")).unwrap_or_default();
        add_line("warning", Some(format!("{}:{warning}{hint}", config.display())));
    }
    lines.join("\n") + "\n"
}

/// Which entry, and which of several of the same project or group.
fn entry(entry: &EntryRef) -> String {
    let block = if entry.block > 1 { format!(" (entry {})", entry.block) } else { String::new() };
    format!("{} {}{block}", entry.kind.as_str(), entry.id).trim_end().to_owned()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    const CONFIG: &str = "ci_access:\n  projects:\n    - id: a/b\n      rules:\n        - when: never\n          if: $STOP\n    - id: a/b\n      rules:\n        - if: $NO\n        - namespace: x-$CI_ENVIRONMENT_SLUG\n          roles: [edit]\n";

    fn args(project: &str) -> AccessCheckArgs {
        AccessCheckArgs {
            config: "c.yaml".into(),
            project: project.into(),
            groups: vec![],
            agent_project: None,
            ref_name: None,
            tag: false,
            protected: false,
            environment: Some("qa".into()),
            namespace: None,
            variables: vec![],
            output: ReportFormat::Text,
        }
    }

    #[test]
    fn a_decision_is_told_line_by_line() {
        let read = read_agent_config(CONFIG).unwrap();
        let describe = |project: &str| {
            let decision = decide(&read.config, "", &job(&args(project)));
            text(&decision, Path::new("c.yaml"), &read.warnings)
        };
        assert_eq!(
            describe("a/b"),
            "allowed\n\
             rule       2\n\
             namespace  x-qa\n\
             reason     rule_matched: rule 2 matched\n\
             entry      project a/b (entry 2)\n\
             roles      [\"edit\"]\n\
             unset      NO, STOP\n\
             unverified NO, STOP: taken from the job without verification\n\
             warning    c.yaml:7:11: duplicate project, first in line 3; \
             hint: entries are evaluated in order; merge their rules into one entry\n"
        );
        assert!(
            describe("a/\u{1b}c")
                .starts_with("denied\nrule       <none>\nnamespace  <none>\nreason     not_listed: ")
        );
        assert!(!describe("a/\u{1b}c").contains('\u{1b}'));
    }

    #[test]
    fn a_document_has_the_decision_and_the_warnings() {
        let read = read_agent_config(CONFIG).unwrap();
        let decision = decide(&read.config, "", &job(&args("a/b")));
        let value = value(&decision, &read.warnings).unwrap();
        assert_eq!(value["allowed"], true);
        assert_eq!(value["rule"], 2);
        assert_eq!(value["namespace"], "x-qa");
        assert_eq!(value["reason"], "rule_matched");
        assert_eq!(value["warnings"][0]["line"], 7);
        assert_eq!(value["warnings"][0]["code"], "duplicate");
    }

    #[test]
    fn a_caret_stands_under_the_column() {
        let at = |source: &str, line, column| {
            let mistake = Mistake { line, column, code: "x", message: String::new(), hint: None };
            pointed(source, &mistake).map(|lines| lines.join("\n"))
        };
        assert_eq!(at("a: 1\n\tif: $A = 1\n", 2, 9).as_deref(), Some("   if: $A = 1\n          ^"));
        assert_eq!(at("a", 0, 0), None);
        assert_eq!(at("a", 7, 1), None);
        let long = at(&"é".repeat(1000), 1, 500).unwrap();
        assert_eq!(long, format!("  {}\n  {}^", "é".repeat(SHOWN), " ".repeat(BEFORE)));
    }
}
