//! Failures as the command line prints them.

use std::fmt;
use std::process::ExitCode;

/// What scripts learn from the end of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It failed.
    Failure = 1,
    /// It was asked wrongly.
    Usage = 2,
    /// What was asked for is not there.
    NotFound = 3,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did what it was asked.
    Done = 0,
    /// Besides, what it compared differs, and it was asked to say so.
    Different = 1,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        ExitCode::from(outcome as u8)
    }
}

/// A failure: `error: what failed: why`, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct CliError {
    /// What failed, such as `reading environments`.
    pub what: String,
    /// Why.
    pub why: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// What scripts learn.
    pub exit: Exit,
}

impl CliError {
    /// A failure.
    pub fn new(what: impl Into<String>, why: impl fmt::Display) -> Self {
        CliError { what: what.into(), why: why.to_string(), hint: None, exit: Exit::Failure }
    }

    /// With what to do about it.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        CliError { hint: Some(hint.into()), ..self }
    }

    /// With what scripts learn.
    pub fn exit(self, exit: Exit) -> Self {
        CliError { exit, ..self }
    }

    /// The lines for stderr; what servers and files wrote cannot steer the terminal, nor pass for a line of ours.
    pub fn lines(&self) -> String {
        // Back-ticks are for those who render them.
        let shown = |text: &str| {
            let lines: Vec<_> =
                text.lines().map(|line| crate::format::visible(line).replace('`', "\"")).collect();
            lines.join("\n       ")
        };
        let hint = self.hint.as_deref().map(|hint| format!("\nhint: {}", shown(hint)));
        format!("error: {}{}", shown(&self.to_string()), hint.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_stands_in_quotes() {
        let failure = CliError::new("reading environment nope", "no environment `nope`").hint("`a` or `b`");
        assert_eq!(
            failure.lines(),
            "error: reading environment nope: no environment \"nope\"\nhint: \"a\" or \"b\""
        );
    }

    #[test]
    fn several_lines_stay_lines_that_pass_for_no_other() {
        let failure = CliError::new("reading the configuration", "c.yaml:1:1: a\nerror: \u{1b}[2J").hint("b");
        assert_eq!(
            failure.lines(),
            "error: reading the configuration: c.yaml:1:1: a\n       error: \\u{1b}[2J\nhint: b"
        );
    }
}
