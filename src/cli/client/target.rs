//! Which server is asked, as whom, and whom the connection trusts: by arguments, the environment and the contexts, in this order.

use std::path::PathBuf;

use super::token::{token_of_file, token_of_text};
use crate::cli::args::{AddressArgs, TokenText};
use crate::cli::contexts::{self, Context, Contexts, OidcTokens};
use crate::cli::error::CliError;

/// What a client is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Target {
    pub(in crate::cli) server: String,
    pub(in crate::cli) ca_file: Option<PathBuf>,
    pub(in crate::cli) credential: Credential,
    /// The context that the server comes from, or whose server it is.
    pub(in crate::cli) context: Option<String>,
}

/// What a client presents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Credential {
    Nothing,
    Token(TokenText),
    /// The login of a context, which is renewed.
    Login(OidcTokens),
}

/// A variable of the environment. One that is empty counts as absent, because that is how many take one away.
pub(in crate::cli) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

impl Target {
    /// By arguments, the environment of this process and the file of contexts.
    pub(in crate::cli) fn of(args: &AddressArgs) -> Result<Self, CliError> {
        let read = || contexts::path().map_or_else(|| Ok(Contexts::default()), |path| contexts::read(&path));
        Target::find(args, &variable, read)
    }

    /// By these. The file of contexts is read only where something of it is needed, so that a broken one is in nobody's way who
    /// says everything otherwise.
    fn find(
        args: &AddressArgs,
        variable: &dyn Fn(&str) -> Option<String>,
        read: impl Fn() -> Result<Contexts, CliError>,
    ) -> Result<Self, CliError> {
        let token = match (&args.token, &args.token_file) {
            (Some(token), _) => Some(token.clone()),
            (None, Some(path)) => Some(token_of_file(path)?),
            (None, None) => variable("STRANDLINE_TOKEN").map(|text| token_of_text(&text)).transpose()?,
        };
        let ca_file = args.ca_file.clone().or_else(|| variable("STRANDLINE_CA_FILE").map(PathBuf::from));
        let by_name = args.server.clone().or_else(|| match args.context {
            Some(_) => None,
            None => variable("STRANDLINE_SERVER"),
        });
        let (server, context) = match by_name {
            // Nothing that belongs to a context is used for another server.
            Some(server) if token.is_some() && ca_file.is_some() => (server, None),
            Some(server) => {
                let context = read()?.of_server(&server).cloned();
                (server, context)
            }
            None => {
                let contexts = read()?;
                let name = args.context.clone().or_else(|| variable("STRANDLINE_CONTEXT"));
                let context = match name.or_else(|| contexts.current.clone()) {
                    Some(name) => Some(contexts.named(&name)?.clone()),
                    None => contexts.of_server(AddressArgs::DEFAULT).cloned(),
                };
                let server = context.as_ref().map_or(AddressArgs::DEFAULT, |context| &context.server);
                (server.to_owned(), context)
            }
        };
        let name = context.as_ref().map(|context| context.name.clone());
        let (its_ca_file, its_credential) = context.map_or((None, Credential::Nothing), parts);
        let credential = token.map_or(its_credential, Credential::Token);
        Ok(Target { server, ca_file: ca_file.or(its_ca_file), credential, context: name })
    }
}

fn parts(context: Context) -> (Option<PathBuf>, Credential) {
    let token = context.token.map_or(Credential::Nothing, Credential::Token);
    (context.ca_file, context.oidc.map_or(token, Credential::Login))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contexts() -> Contexts {
        let context = |name: &str, server: &str, token: &str| Context {
            name: name.to_owned(),
            server: server.to_owned(),
            ca_file: Some(PathBuf::from(format!("/{name}.pem"))),
            token: token.parse().ok(),
            oidc: None,
        };
        Contexts {
            current: Some("prod".to_owned()),
            contexts: vec![
                context("old", "https://prod.test", "sl_old"),
                context("prod", "https://prod.test/", "sl_prod"),
                context("test", "https://test.test", "sl_test"),
            ],
        }
    }

    fn found(args: &[&str], environment: &[(&str, &str)]) -> Result<[String; 4], CliError> {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            address: AddressArgs,
        }
        let line = <Line as clap::Parser>::parse_from([&["x"], args].concat());
        let variable = |name: &str| {
            environment.iter().find(|(one, _)| *one == name).map(|(_, value)| (*value).to_owned())
        };
        let target = Target::find(&line.address, &variable, || Ok(contexts()))?;
        let token = match target.credential {
            Credential::Token(token) => token.as_str().to_owned(),
            _ => String::new(),
        };
        let ca_file = target.ca_file.map(|path| path.display().to_string()).unwrap_or_default();
        Ok([target.server, token, ca_file, target.context.unwrap_or_default()])
    }

    /// The order that docs/cli.md promises.
    #[test]
    fn flags_override_the_environment_and_that_the_contexts() {
        let (server, context) = ("STRANDLINE_SERVER", "STRANDLINE_CONTEXT");
        for (args, environment, expected) in [
            (&[][..], &[][..], ["https://prod.test/", "sl_prod", "/prod.pem", "prod"]),
            (&[], &[(context, "test")], ["https://test.test", "sl_test", "/test.pem", "test"]),
            (
                &[],
                &[(context, "test"), (server, "https://prod.test")],
                ["https://prod.test", "sl_prod", "/prod.pem", "prod"],
            ),
            (
                &["--context", "test"],
                &[(server, "https://prod.test")],
                ["https://test.test", "sl_test", "/test.pem", "test"],
            ),
            (
                &["--context", "test"],
                &[(context, "prod")],
                ["https://test.test", "sl_test", "/test.pem", "test"],
            ),
            (
                &["--server", "https://test.test/"],
                &[(server, "https://prod.test")],
                ["https://test.test/", "sl_test", "/test.pem", "test"],
            ),
            (
                &["--token", "sl_flag"],
                &[("STRANDLINE_TOKEN", "sl_env")],
                ["https://prod.test/", "sl_flag", "/prod.pem", "prod"],
            ),
            (
                &[],
                &[("STRANDLINE_TOKEN", " sl_env\n")],
                ["https://prod.test/", "sl_env", "/prod.pem", "prod"],
            ),
            (
                &["--ca-file", "/flag.pem"],
                &[("STRANDLINE_CA_FILE", "/env.pem")],
                ["https://prod.test/", "sl_prod", "/flag.pem", "prod"],
            ),
            (
                &[],
                &[("STRANDLINE_CA_FILE", "/env.pem")],
                ["https://prod.test/", "sl_prod", "/env.pem", "prod"],
            ),
        ] {
            assert_eq!(found(args, environment), Ok(expected.map(str::to_owned)), "{args:?} {environment:?}");
        }
    }

    #[test]
    fn no_token_goes_to_another_server_than_that_of_its_context() {
        for server in
            ["https://prod.test.evil", "http://prod.test", "https://prod.test:444", "https://PROD.test"]
        {
            let expected = [server, "", "", ""].map(str::to_owned);
            assert_eq!(found(&["--server", server], &[]), Ok(expected.clone()), "{server}");
            assert_eq!(found(&[], &[("STRANDLINE_SERVER", server)]), Ok(expected), "{server}");
        }
        let unknown = found(&["--context", "nope"], &[]).expect_err("no context");
        assert!(unknown.lines().contains("old, prod, test"), "{}", unknown.lines());
    }

    #[test]
    fn the_file_is_read_only_where_something_of_it_is_needed() {
        let broken = || Err(CliError::new("reading", "it is broken"));
        let args = AddressArgs {
            server: Some("https://a.test".to_owned()),
            token: "sl_1".parse().ok(),
            ca_file: Some("/a.pem".into()),
            ..AddressArgs::default()
        };
        assert!(Target::find(&args, &|_| None, broken).is_ok());
        assert!(Target::find(&AddressArgs::default(), &|_| None, broken).is_err());
    }
}
