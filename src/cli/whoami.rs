//! `strandline whoami`: who a server takes somebody for.

use super::answers::typed;
use super::args::WhoamiArgs;
use super::client::Client;
use super::error::CliError;
use super::output::{report_text, write};
use super::runtime::runtime;
use crate::format::visible;
use strandline_protocol::{AuthenticationMethod, Rights, WhoAmI};

/// Runs the command.
pub(super) fn run(args: &WhoamiArgs) -> Result<(), CliError> {
    let client = Client::of(&args.server)?;
    let what = "reading who you are";
    let value = runtime()?.block_on(client.get(what, "/api/v1/whoami", &[]))?;
    let who: WhoAmI = typed(what, value.clone())?;
    write(&report_text(args.output, &value, || text(&who, &client))?)
}

/// A line for each thing that is known.
fn text(who: &WhoAmI, client: &Client) -> String {
    let line = |name: &str, value: &str| format!("{name:<9}{}\n", visible(value));
    let expires = who.expires.map_or_else(|| "never".to_owned(), |time| time.to_the_second().to_string());
    let mut lines = line("user", who.user.as_deref().unwrap_or(&who.name));
    lines.push_str(&line("name", &who.name));
    lines.push_str(&line("role", role(who)));
    lines.push_str(&line("reads", &rights(&who.reads)));
    lines.push_str(&line("writes", &written(who)));
    lines.push_str(&line("by", method(who.method)));
    lines.push_str(&line("expires", &expires));
    lines.push_str(&line("server", client.server()));
    lines.push_str(&line("context", client.context().unwrap_or("<none>")));
    lines
}

/// What somebody is, in a word.
pub(super) fn role(who: &WhoAmI) -> &'static str {
    let writes = &who.writes;
    match who.job_environment {
        Some(_) => "CI job",
        None if writes.everything => "admin",
        None if *writes != Rights::default() => "writer",
        None => "reader",
    }
}

fn written(who: &WhoAmI) -> String {
    match &who.job_environment {
        Some(environment) if who.writes != Rights::default() => {
            format!("deployments to {environment} of {}", rights(&who.writes))
        }
        _ => rights(&who.writes),
    }
}

fn rights(rights: &Rights) -> String {
    if rights.everything {
        return "everything".to_owned();
    }
    let groups = rights.groups.iter().map(|group| format!("{group}/**"));
    let namespaces = rights.namespaces.iter().map(|namespace| format!("namespace {namespace}"));
    let all: Vec<_> = rights.projects.iter().cloned().chain(groups).chain(namespaces).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

fn method(method: AuthenticationMethod) -> &'static str {
    match method {
        AuthenticationMethod::Token => "token of the server's configuration",
        AuthenticationMethod::SignedToken => "token that an issuer signed",
        AuthenticationMethod::ServiceAccount => "ServiceAccount of a cluster",
        AuthenticationMethod::Session => "session of a browser",
        AuthenticationMethod::Proxy => "trusted proxy",
        AuthenticationMethod::Local => "the server's own machine",
        AuthenticationMethod::None => "anonymous access",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_written_as_patterns_of_projects() {
        let all = Rights { everything: true, ..Rights::default() };
        let some = Rights {
            projects: ["shop/web".to_owned()].into(),
            groups: ["pay".to_owned()].into(),
            ..Rights::default()
        };
        let places =
            Rights { namespaces: ["east/shop".to_owned(), "west/*".to_owned()].into(), ..some.clone() };
        for (given, expected) in [
            (&all, "everything"),
            (&some, "shop/web, pay/**"),
            (&places, "shop/web, pay/**, namespace east/shop, namespace west/*"),
            (&Rights::default(), "nothing"),
        ] {
            assert_eq!(rights(given), expected);
        }
        let who = WhoAmI {
            name: "ci:shop/web".to_owned(),
            user: None,
            method: AuthenticationMethod::SignedToken,
            expires: None,
            reads: some.clone(),
            writes: some,
            job_environment: Some("production".to_owned()),
        };
        assert_eq!(
            (role(&who), written(&who).as_str()),
            ("CI job", "deployments to production of shop/web, pay/**")
        );
        let user = WhoAmI { job_environment: None, ..who };
        assert_eq!((role(&user), written(&user).as_str()), ("writer", "shop/web, pay/**"));
        assert_eq!(role(&WhoAmI { writes: Rights::default(), ..user.clone() }), "reader");
        assert_eq!(role(&WhoAmI { writes: all, ..user }), "admin");
    }
}
