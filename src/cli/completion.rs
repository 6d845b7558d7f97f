//! `strandline completion`: what shells need to complete commands, options and names. Names come from the server, so that
//! `strandline tree shop.<TAB>` offers the environments that there are.
//!
//! The script that a shell reads calls this program for each completion, which [`answer_shell`] answers.

mod names;

use std::ffi::OsStr;

use clap::builder::ValueParser;
use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};

use self::names::Names;
use super::args::{Cli, CompletionArgs};
use super::error::CliError;
use super::output::write;
use strandline_model::{EnvironmentState, Health, Tier};

/// The script sets this variable to the shell that asks.
const VARIABLE: &str = "STRANDLINE_COMPLETE";

/// The name by which people call the program.
const PROGRAM: &str = "strandline";

/// Answers the shell, where a shell asks; then nothing else is to be done.
///
/// # Errors
/// When the shell is not known, or what it asks cannot be read.
pub fn answer_shell() -> Result<bool, clap::Error> {
    let here = std::env::current_dir().ok();
    CompleteEnv::with_factory(completable).var(VARIABLE).try_complete(std::env::args_os(), here.as_deref())
}

/// `strandline completion SHELL`.
pub(super) fn run(args: &CompletionArgs) -> Result<(), CliError> {
    let failed = |why: &dyn std::fmt::Display| CliError::new("writing the completion script", why);
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(&args.shell) else {
        return Err(failed(&format!("unknown shell `{}`", args.shell)));
    };
    let mut script = Vec::new();
    shell
        .write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)
        .map_err(|error| failed(&error))?;
    write(&String::from_utf8_lossy(&script))
}

/// The command line with what completes its values.
fn completable() -> Command {
    with_values(Cli::command())
}

fn with_values(command: Command) -> Command {
    let subcommands: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    let command = command.mut_args(with_value);
    subcommands.into_iter().fold(command, |command, name| command.mut_subcommand(name, with_values))
}

/// An option or argument with what completes it, by the name of its value.
fn with_value(arg: Arg) -> Arg {
    let words = |words: Vec<&'static str>| {
        ArgValueCompleter::new(move |typed: &OsStr| beginning_with(typed, words.iter().copied()))
    };
    let names = |names: Names| ArgValueCompleter::new(move |typed: &OsStr| names.beginning_with(typed));
    let value = arg.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
    let completer = match (value, arg.get_id().as_str()) {
        ("ENVIRONMENT" | "OTHER", _) => names(Names::Environments),
        ("PROJECT", _) => names(Names::Projects),
        (_, "project") => names(Names::EnvironmentProjects),
        ("AGENT", _) | (_, "agent") => names(Names::Agents),
        ("CLUSTER", _) | (_, "cluster") => names(Names::Clusters),
        ("GROUP", _) | (_, "group") => names(Names::Groups),
        (_, "region") => names(Names::Regions),
        (_, "tier") => words(Tier::ALL.map(Tier::as_str).to_vec()),
        (_, "health") => words(Health::ALL.map(Health::as_str).to_vec()),
        (_, "state") if is_of::<EnvironmentState>(&arg) => {
            words(EnvironmentState::ALL.map(EnvironmentState::as_str).to_vec())
        }
        _ => return arg,
    };
    arg.add(completer)
}

/// Whether the values of an argument are of this type.
fn is_of<T: Clone + Send + Sync + 'static>(arg: &Arg) -> bool {
    let parser: &ValueParser = arg.get_value_parser();
    parser.type_id() == std::any::TypeId::of::<T>()
}

/// Those of some words that go on from what is typed.
fn beginning_with<'a>(typed: &OsStr, words: impl Iterator<Item = &'a str>) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    words.filter(|word| word.starts_with(&*typed)).map(CompletionCandidate::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a shell is offered for the last of these words.
    fn offered(words: &[&str]) -> Vec<String> {
        let mut command = completable();
        let last = words.len();
        let words = ["strandline"].iter().chain(words).map(Into::into).collect();
        let candidates = clap_complete::engine::complete(&mut command, words, last, None);
        let text = |candidate: &CompletionCandidate| candidate.get_value().to_string_lossy().into_owned();
        candidates.expect("what is typed can be completed").iter().map(text).collect()
    }

    #[test]
    fn commands_options_and_fixed_words_are_completed_without_a_server() {
        assert_eq!(offered(&["over"]), ["overview"]);
        assert_eq!(offered(&["get", "environments", "--sor"]), ["--sort-by"]);
        assert_eq!(offered(&["overview", "--gro"]), ["--group", "--group-by"]);
        assert_eq!(offered(&["overview", "--tier", "prod"]), ["production"]);
        assert_eq!(offered(&["overview", "--tier", "production,stag"]), ["production,staging"]);
        assert_eq!(offered(&["get", "environments", "--health", "De"]), ["Degraded"]);
        assert_eq!(offered(&["get", "environments", "--state", "stop"]), ["stopping", "stopped"]);
        assert_eq!(offered(&["tree", "x", "--color", "al"]), ["always"]);
    }

    #[test]
    fn every_argument_that_names_an_environment_completes_it() {
        fn unnamed(command: &Command, found: &mut Vec<String>) {
            for arg in command.get_arguments() {
                let named = arg.get_value_names().is_some_and(|names| names[0] == "ENVIRONMENT");
                if named && arg.get::<ArgValueCompleter>().is_none() {
                    found.push(format!("{} {}", command.get_name(), arg.get_id()));
                }
            }
            command.get_subcommands().for_each(|command| unnamed(command, found));
        }
        let mut found = Vec::new();
        let mut command = completable();
        command.build();
        unnamed(&command, &mut found);
        assert_eq!(found, Vec::<String>::new());
    }

    #[test]
    fn each_shell_gets_a_script_that_calls_the_program() {
        for shell in CompletionArgs::SHELLS {
            let shells = Shells::builtins();
            let completer = shells.completer(shell).expect(shell);
            let mut script = Vec::new();
            completer.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script).expect(shell);
            let script = String::from_utf8(script).expect(shell);
            assert!(script.contains(VARIABLE) && script.contains(PROGRAM), "{script}");
        }
    }
}
