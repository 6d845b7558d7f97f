//! What kubectl's users type by habit, put into the order that the definitions of the commands want: options before the
//! command that takes them, `get TYPE/NAME` as `-o name` prints it, and `get` with any kind of Kubernetes.

use std::ffi::{OsStr, OsString};

use clap::{Arg, Command, CommandFactory};

use super::args::Cli;

/// The command that lists resources of the kinds of Kubernetes.
const RESOURCES: &str = "resources";

/// The command that lists deployments of GitLab.
const DEPLOYMENTS: &str = "deployments";

/// What kubectl calls Events, which are no resources here.
const EVENTS: [&str; 3] = ["events", "event", "ev"];

/// The arguments with each option behind the command that takes it. What is not understood stays as it is, for the parser
/// to say so.
pub(super) fn reorder(given: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut root = Cli::command();
    root.build();
    let given: Vec<OsString> = given.into_iter().collect();
    let mut words = given.iter();
    let mut ordered: Vec<OsString> = words.next().into_iter().cloned().collect();
    let (mut command, mut moved) = (&root, Vec::new());
    while command.has_subcommands() {
        let Some(word) = words.next() else { break };
        let Some(text) = word.to_str() else { return given };
        if is_option(text) {
            let Some(takes_value) = takes_value(command, text) else { return given };
            moved.push(word.clone());
            moved.extend(takes_value.then(|| words.next().cloned()).flatten());
            continue;
        }
        let rest = words.as_slice();
        match command.find_subcommand(text) {
            Some(found)
                if found.get_name() == DEPLOYMENTS && means_kubernetes(command, found, &moved, rest) =>
            {
                ordered.extend(get(command, text, rest, moved));
                return ordered;
            }
            Some(found) => {
                ordered.push(word.clone());
                command = found;
            }
            None if command.get_name() == "get" && EVENTS.contains(&text) => {
                ordered.pop();
                ordered.push("events".into());
                break;
            }
            None if command.get_name() == "get" => {
                ordered.extend(get(command, text, rest, moved));
                return ordered;
            }
            None => return given,
        }
    }
    ordered.extend(moved);
    ordered.extend(words.cloned());
    ordered
}

fn is_option(text: &str) -> bool {
    text.len() > 1 && text.starts_with('-')
}

/// What follows `get` where that is none of its commands: a type and a name in one word, or a kind of Kubernetes.
fn get(get: &Command, word: &str, rest: &[OsString], moved: Vec<OsString>) -> Vec<OsString> {
    let behind = |words: Vec<OsString>, rest: Vec<OsString>| {
        words.into_iter().chain(moved.clone()).chain(rest).collect::<Vec<OsString>>()
    };
    if let Some((noun, name)) = word.split_once('/') {
        let is_ours = get.find_subcommand(noun).is_some_and(|found| match found.get_name() {
            // What GitLab numbers is a deployment of GitLab's, what has a name a Deployment of Kubernetes.
            DEPLOYMENTS => is_number(name),
            found => found != RESOURCES,
        });
        let words = if is_ours { [noun, name] } else { [RESOURCES, word] };
        return behind(words.map(OsString::from).to_vec(), rest.to_vec());
    }
    let Some(resources) = get.find_subcommand(RESOURCES) else {
        return behind(vec![word.into()], rest.to_vec());
    };
    let mut rest = rest.to_vec();
    match first_positional(resources, &rest) {
        Some(at) => {
            let name = rest.remove(at);
            let mut subject = OsString::from(format!("{word}/"));
            subject.push(name);
            behind(vec![RESOURCES.into(), subject], rest)
        }
        None => behind(vec![RESOURCES.into(), "--kind".into(), word.into()], rest),
    }
}

/// The place of the first word that is neither an option nor the value of one.
fn first_positional(command: &Command, words: &[OsString]) -> Option<usize> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let text = word.to_str()?;
        if !is_option(text) {
            return Some(at);
        }
        at += 1 + usize::from(takes_value(command, text)?);
    }
    None
}

/// Whether the word after this option is its value; none where neither the command nor one below it has the option.
fn takes_value(command: &Command, text: &str) -> Option<bool> {
    let wants = |is_meant: &dyn Fn(&&Arg) -> bool| {
        let arg = option(command, is_meant)?;
        let optional = arg.get_num_args().is_some_and(|number| number.min_values() == 0);
        Some((arg.get_action().takes_values(), optional))
    };
    if let Some(long) = text.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        let named =
            |arg: &&Arg| arg.get_long_and_visible_aliases().is_some_and(|names| names.contains(&name));
        let (takes, optional) = wants(&named)?;
        return Some(takes && !optional && !long.contains('='));
    }
    // Letters in one word, as in `-Ao wide`: the first that takes a value has the rest of the word for it.
    let mut letters = text.strip_prefix('-')?.chars();
    while let Some(letter) = letters.next() {
        let (takes, optional) = wants(&|arg| arg.get_short() == Some(letter))?;
        if takes {
            return Some(!optional && letters.as_str().is_empty());
        }
    }
    Some(false)
}

/// Whether words have an option that a command does not have and another has.
fn asks_for(words: &[OsString], other: &Command, than: &Command) -> bool {
    let mut options = words.iter().filter_map(|word| word.to_str()).filter(|text| is_option(text));
    options.any(|text| takes_value(than, text).is_none() && takes_value(other, text).is_some())
}

/// Whether `get deployments` means those of Kubernetes: with a namespace, which those of GitLab have none of, or with a
/// name that is no number.
fn means_kubernetes(get: &Command, deployments: &Command, moved: &[OsString], rest: &[OsString]) -> bool {
    let Some(resources) = get.find_subcommand(RESOURCES) else { return false };
    let named = first_positional(deployments, rest).and_then(|at| rest.get(at)?.to_str());
    named.is_some_and(|name| !is_number(name.strip_prefix("deployment/").unwrap_or(name)))
        || asks_for(moved, resources, deployments)
        || asks_for(rest, resources, deployments)
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn option<'c>(command: &'c Command, is_meant: &dyn Fn(&&Arg) -> bool) -> Option<&'c Arg> {
    let own = command.get_arguments().find(|arg| is_meant(arg));
    own.or_else(|| command.get_subcommands().find_map(|below| option(below, is_meant)))
}

/// Whether the program runs as a plug-in of kubectl, which names it `kubectl-strandline`.
pub(super) fn is_kubectl_plugin(program: Option<&OsStr>) -> bool {
    let name = program.and_then(|path| std::path::Path::new(path).file_stem());
    name.is_some_and(|name| name == "kubectl-strandline")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn reordered(line: &str) -> String {
        let words = line.split(' ').map(OsString::from);
        let ordered = reorder(std::iter::once("strandline".into()).chain(words));
        ordered.iter().skip(1).map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_stand_anywhere() {
        for (given, expected) in [
            ("--at 2h get env --tier production", "get env --at 2h --tier production"),
            ("get -o wide --at=2h environments", "get environments -o wide --at=2h"),
            ("--server http://a why shop.web.production", "why --server http://a shop.web.production"),
            ("-o json --no-headers tree x --all", "tree -o json --no-headers x --all"),
            ("get env -o wide", "get env -o wide"),
            ("--version", "--version"),
            ("get", "get"),
            ("--moon get env", "--moon get env"),
            ("fly --at 2h", "fly --at 2h"),
        ] {
            assert_eq!(reordered(given), expected, "{given}");
        }
    }

    #[test]
    fn get_takes_what_kubectl_takes() {
        for (given, expected) in [
            ("get environment/shop.web.production", "get environment shop.web.production"),
            ("get project/shop/web -o json", "get project shop/web -o json"),
            ("get deployment/512", "get deployment 512"),
            ("get deployment/api -n shop", "get resources deployment/api -n shop"),
            ("get deployment.apps/api", "get resources deployment.apps/api"),
            ("get deploy/api", "get resources deploy/api"),
            ("get -e shop.web.production pods", "get resources --kind pods -e shop.web.production"),
            ("get pod web-0 -n shop", "get resources pod/web-0 -n shop"),
            ("get po -n shop web-0 -o yaml", "get resources po/web-0 -n shop -o yaml"),
            ("get pods -A", "get resources --kind pods -A"),
            ("get resources -e x", "get resources -e x"),
            ("get -o wide events --group shop", "events -o wide --group shop"),
            ("get ev", "events"),
            ("get events -n shop", "events -n shop"),
            ("get -nshop events", "events -nshop"),
            ("get events -A", "events -A"),
            ("get pods -Ao wide", "get resources --kind pods -Ao wide"),
            ("get -Ao wide pods", "get resources --kind pods -Ao wide"),
            ("get pods -nshop web-0", "get resources pods/web-0 -nshop"),
            ("get pods -oname -n shop", "get resources --kind pods -oname -n shop"),
            ("get pods -o=name -n=shop", "get resources --kind pods -o=name -n=shop"),
            ("get deployments -n shop", "get resources --kind deployments -n shop"),
            ("get -n shop deployments", "get resources --kind deployments -n shop"),
            ("get deployments -A", "get resources --kind deployments -A"),
            ("get deployment api -n shop", "get resources deployment/api -n shop"),
            ("get deployment api", "get resources deployment/api"),
            ("get deployment 512", "get deployment 512"),
            ("get deployment deployment/512", "get deployment deployment/512"),
            ("get deployments -e shop.web.production", "get deployments -e shop.web.production"),
            ("get deployments -l team=pay -o wide", "get deployments -l team=pay -o wide"),
            ("get deployments --by alice --limit 5", "get deployments --by alice --limit 5"),
            ("get cluster us-east", "get cluster us-east"),
            ("get cluster/us-east", "get cluster us-east"),
            ("get group/shop", "get group shop"),
            ("get resource deploy/web", "get resource deploy/web"),
        ] {
            assert_eq!(reordered(given), expected, "{given}");
            let words = expected.split(' ').filter(|word| *word != "-A");
            let parsed = Cli::try_parse_from(std::iter::once("strandline").chain(words));
            assert!(parsed.is_ok(), "{expected}: {:?}", parsed.err());
        }
    }

    #[test]
    fn a_plugin_of_kubectl_is_known_by_its_name() {
        for (program, expected) in [
            ("/usr/local/bin/kubectl-strandline", true),
            ("kubectl-strandline.exe", true),
            ("strandline", false),
            ("", false),
        ] {
            assert_eq!(is_kubectl_plugin(Some(OsStr::new(program))), expected, "{program}");
        }
        assert!(!is_kubectl_plugin(None));
    }
}
