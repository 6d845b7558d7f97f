//! How output is written: colours, forms, and a pipe that closes early.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

use super::args::{ColorChoice, OutputArgs, OutputFormat, ReportFormat};
use super::error::{CliError, Exit};
use strandline_model::Health;

/// Whether to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Paint(pub(super) bool);

/// ANSI codes of the colours in use.
const BOLD: &str = "1";
const DIM: &str = "2";

impl Paint {
    /// Decides for standard output.
    pub(super) fn for_stdout(choice: ColorChoice) -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let force = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        Paint::decide(choice, set("NO_COLOR").is_some(), force, io::stdout().is_terminal())
    }

    /// The flag decides first, then NO_COLOR, then CLICOLOR_FORCE, then whether it is a terminal.
    fn decide(choice: ColorChoice, no_color: bool, force: bool, terminal: bool) -> Self {
        Paint(match choice {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => !no_color && (force || terminal),
        })
    }

    fn code(self, code: &str, text: &str) -> String {
        if self.0 && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.code(BOLD, text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.code(DIM, text)
    }

    /// Text of what is no more.
    pub(super) fn removed(self, text: &str) -> String {
        self.code("31", text)
    }

    /// Text of what is new.
    pub(super) fn added(self, text: &str) -> String {
        self.code("32", text)
    }

    /// Text in the colour of a health.
    pub(super) fn health(self, health: Option<Health>, text: &str) -> String {
        let code = match health {
            Some(Health::Healthy) => "32",
            Some(Health::Suspended) => "90",
            Some(Health::Progressing) => "36",
            Some(Health::Missing) => "33",
            Some(Health::Degraded) => "31",
            Some(Health::Unknown) => "35",
            None => DIM,
        };
        self.code(code, text)
    }
}

/// The width of the terminal that reads standard output; none where none does, as in a pipe.
pub(super) fn width() -> Option<usize> {
    let from_environment = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    from_environment
        .or_else(|| terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0)))
}

/// An answer in a form that its JSON decides; none for those that each command makes itself.
pub(super) fn document(output: &OutputArgs, value: &Value) -> Option<Result<String, CliError>> {
    match &output.output {
        OutputFormat::JsonPath(template) => Some(template.render(value, io::stdout().is_terminal())),
        OutputFormat::CustomColumns(columns) => {
            let paint = Paint::for_stdout(output.color);
            Some(columns.table(value).map(|table| table.render(paint, !output.no_headers)))
        }
        OutputFormat::Json => Some(json_text(value)),
        OutputFormat::Yaml => Some(yaml_text(value)),
        OutputFormat::Table | OutputFormat::Wide | OutputFormat::Name | OutputFormat::Csv => None,
    }
}

/// The same of an answer that is drawn rather than listed, and so has no rows.
pub(super) fn drawing(output: &OutputArgs, value: &Value) -> Option<Result<String, CliError>> {
    if output.output == OutputFormat::Csv {
        let why = "this command draws its answer and has no rows for -o csv";
        return Some(Err(CliError::new("writing the answer", why)
            .hint("use -o json, or -o custom-columns")
            .exit(Exit::Usage)));
    }
    document(output, value)
}

/// Refuses `-o name` where no command takes a name of what is listed.
pub(super) fn named(what: &str, output: &OutputArgs, listed: &str) -> Result<(), CliError> {
    if output.output != OutputFormat::Name {
        return Ok(());
    }
    let why = format!("{listed} no name for -o name");
    Err(CliError::new(what, why).hint("use -o json").exit(Exit::Usage))
}

/// A report in the form asked for.
pub(super) fn report_text(
    format: ReportFormat,
    value: &Value,
    text: impl FnOnce() -> String,
) -> Result<String, CliError> {
    match format {
        ReportFormat::Text => Ok(text()),
        ReportFormat::Json => json_text(value),
        ReportFormat::Yaml => yaml_text(value),
    }
}

fn failed_to_write(error: impl std::fmt::Display) -> CliError {
    CliError::new("writing the answer", error)
}

/// Indented JSON.
pub(super) fn json_text(value: &Value) -> Result<String, CliError> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(failed_to_write)
}

/// YAML.
pub(super) fn yaml_text(value: &Value) -> Result<String, CliError> {
    serde_saphyr::to_string(value).map_err(failed_to_write)
}

/// Writes to standard output; a reader that has seen enough, such as `head`, is no failure.
pub(super) fn write(text: &str) -> Result<(), CliError> {
    write_while_read(text).map(|_| ())
}

/// The same of one of many texts; whether somebody still reads.
pub(super) fn write_while_read(text: &str) -> Result<bool, CliError> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(CliError::new("writing to standard output", error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn colours_follow_the_flag_then_the_environment_then_the_terminal() {
        use ColorChoice::{Always, Auto, Never};
        for (choice, no_color, force, terminal, expected) in [
            (Auto, false, false, true, true),
            (Auto, false, false, false, false),
            (Auto, false, true, false, true),
            (Auto, true, true, true, false),
            (Always, true, false, false, true),
            (Never, false, true, true, false),
        ] {
            assert_eq!(Paint::decide(choice, no_color, force, terminal), Paint(expected));
        }
        assert_eq!(Paint(true).health(Some(Health::Degraded), "x"), "\u{1b}[31mx\u{1b}[0m");
        assert_eq!(Paint(false).bold("x"), "x");
    }

    #[test]
    fn yaml_says_what_json_says() {
        let value = json!({
            "strings": ["no", "1234", "1e3", "null", "~", "", " edge ", "a: b", "# c", "- d", "é😀", "two\nlines\n", "\u{1b}[31m", "'", "\"", "0x1f", "2026-11-20", "[", "{}", "*a", "&a", "!t", "%", "@", "`", "tab\there", "\n", "trailing \n\n"],
            "others": [null, true, 0, -5, 1.5, 18446744073709551615u64, [], {}, [[1], [2, [3]]]],
            "n": {"a": {"b": []}, "1": 1, "yes": "yes", "": 0}
        });
        let text = yaml_text(&value).unwrap_or_default();
        assert_eq!(serde_saphyr::from_str::<Value>(&text).ok(), Some(value), "{text}");
        assert!(!text.contains('\u{1b}'), "no escape reaches the terminal: {text}");
    }
}
