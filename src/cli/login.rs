//! `strandline login` and `strandline logout`.

use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::answers::typed;
use super::args::{AddressArgs, LoginArgs, LoginFlow, LogoutArgs, TokenText};
use super::client::{Client, Credential, Target, variable};
use super::contexts::{self, Context, Contexts, Locked, OidcTokens};
use super::error::{CliError, Exit};
use super::oidc::{OidcError, Provider};
use super::output::write;
use super::runtime::runtime;
use super::stderr::{self, note};
use super::whoami::role;
use crate::format::visible;
use crate::http::auth::is_trustworthy;
use strandline_protocol::{AuthenticationMethod, LoginMethods, OidcLogin, WhoAmI};

const WHAT: &str = "logging in";

/// More than a token ever has, in bytes.
const TOKEN_BYTES_MAX: u64 = 64 * 1024;

/// Logs in.
pub(super) fn login(args: &LoginArgs) -> Result<(), CliError> {
    runtime()?.block_on(async {
        let known = contexts::read(&contexts::required_path()?)?;
        let place = Place::of(args, &known)?;
        let credential = place.credential(args).await?;
        let who = who(&place.client(credential.clone())?.unrenewed()).await?;
        let name = place.name.clone();
        let said = said(
            &who,
            &place,
            matches!(&credential, Credential::Login(tokens) if tokens.refresh_token.is_some()),
        );
        let locked = Locked::acquire(&contexts::required_path()?).await?;
        let mut all = locked.read()?;
        all.put(place.context(credential));
        all.current = Some(name);
        locked.write(&all)?;
        write(&said)
    })
}

/// Where somebody logs in.
struct Place {
    name: String,
    server: String,
    ca_file: Option<PathBuf>,
}

impl Place {
    fn of(args: &LoginArgs, known: &Contexts) -> Result<Self, CliError> {
        let named = args.context.as_deref().and_then(|name| known.named(name).ok());
        let current = || known.current.as_deref().and_then(|name| known.named(name).ok());
        let server = match (&args.server, named) {
            (Some(server), _) => server.clone(),
            (None, Some(context)) => context.server.clone(),
            (None, None) => {
                let usual = variable("STRANDLINE_SERVER").or_else(|| current().map(|one| one.server.clone()));
                usual.unwrap_or_else(|| AddressArgs::DEFAULT.to_owned())
            }
        };
        let server = server.trim_end_matches('/').to_owned();
        if !is_trustworthy(&server) {
            let why = format!(
                "`{server}` is not an https URL, so anybody between here and there could read the token"
            );
            return Err(CliError::new(WHAT, why)
                .hint("log in by https; http is for a server on this machine")
                .exit(Exit::Usage));
        }
        let before = named.filter(|one| one.server == server).or_else(|| known.of_server(&server));
        let host = server.split_once("://").map_or(server.as_str(), |(_, rest)| rest);
        let name = args.context.clone().or_else(|| before.map(|context| context.name.clone()));
        let file = args.ca_file.clone().or_else(|| variable("STRANDLINE_CA_FILE").map(PathBuf::from));
        // Later commands run in other folders.
        let file = file.map(|file| std::path::absolute(&file).unwrap_or(file));
        Ok(Place {
            name: name.unwrap_or_else(|| host.to_owned()),
            ca_file: file.or_else(|| before.and_then(|context| context.ca_file.clone())),
            server,
        })
    }

    fn client(&self, credential: Credential) -> Result<Client, CliError> {
        let (server, ca_file) = (self.server.clone(), self.ca_file.clone());
        Client::at(Target { server, ca_file, credential, context: Some(self.name.clone()) })
    }

    fn context(self, credential: Credential) -> Context {
        let (token, oidc) = match credential {
            Credential::Nothing => (None, None),
            Credential::Token(token) => (Some(token), None),
            Credential::Login(tokens) => (None, Some(tokens)),
        };
        Context { name: self.name, server: self.server, ca_file: self.ca_file, token, oidc }
    }

    async fn credential(&self, args: &LoginArgs) -> Result<Credential, CliError> {
        if args.token_stdin {
            return token_of_stdin().map(Credential::Token);
        }
        let client = self.client(Credential::Nothing)?;
        let methods: LoginMethods = typed(WHAT, client.get(WHAT, "/api/v1/login", &[]).await?)?;
        match (methods.oidc, args.flow) {
            (Some(oidc), None | Some(LoginFlow::Device | LoginFlow::Browser)) => {
                self.log_in_at(&oidc, args).await.map(Credential::Login)
            }
            (None, Some(LoginFlow::Device | LoginFlow::Browser)) => {
                Err(CliError::new(WHAT, format!("{} has no provider for the command line", self.server))
                    .hint("use a token: strandline login --flow token; an administrator can set `issuers[].command_line`")
                    .exit(Exit::Usage))
            }
            (_, flow) => {
                // Where nobody needs a token, none is asked for.
                if flow.is_none() && who(&client).await.is_ok() {
                    return Ok(Credential::Nothing);
                }
                token_of_terminal(&self.server).map(Credential::Token)
            }
        }
    }

    async fn log_in_at(&self, oidc: &OidcLogin, args: &LoginArgs) -> Result<OidcTokens, CliError> {
        let issuer = visible(&oidc.issuer).into_owned();
        let failed = |error| failed(&issuer, error);
        let provider = Provider::discover(&oidc.issuer, &oidc.client_id, self.ca_file.clone());
        let provider = provider.await.map_err(failed)?;
        note!("Logging in to {} at {issuer}.", visible(&self.server));
        let by_device = match args.flow {
            Some(flow) => flow == LoginFlow::Device,
            None => provider.has_device_flow(),
        };
        if by_device {
            let code = provider.device_code(&oidc.scopes).await.map_err(failed)?;
            note!("Open {} and enter the code {}", visible(&code.verification_uri), visible(&code.user_code));
            open(
                code.verification_uri_complete.as_deref().unwrap_or(&code.verification_uri),
                args.no_browser,
            );
            return provider.await_device(&code).await.map_err(failed);
        }
        let callback = provider.callback(&oidc.scopes, oidc.redirect_port).await.map_err(failed)?;
        note!("Open {}", visible(&callback.url));
        open(&callback.url, args.no_browser);
        provider.await_browser(callback).await.map_err(failed)
    }
}

/// Opens an address, where there is a browser; it was printed anyway.
fn open(url: &str, not: bool) {
    if !not && io::stderr().is_terminal() {
        _ = open::that_detached(url);
    }
}

fn failed(issuer: &str, error: OidcError) -> CliError {
    let (why, hint) = match error {
        OidcError::Unreachable(why) => {
            (why, Some("check the address, and --ca-file if an authority of your own signed its certificate"))
        }
        OidcError::Refused(word) => match word.as_str() {
            "access_denied" => ("the login was refused (access_denied)".to_owned(), None),
            "expired_token" | "expired" => {
                ("nobody logged in in time".to_owned(), Some("run the command again"))
            }
            _ => (
                format!("the provider refuses it: {word}"),
                Some(
                    "an administrator can check `issuers[].command_line` of the server and its client at the provider",
                ),
            ),
        },
        OidcError::Wrong(why) => (why.to_owned(), None),
    };
    let error = CliError::new(format!("logging in at {issuer}"), why);
    hint.into_iter().fold(error, CliError::hint)
}

async fn who(client: &Client) -> Result<WhoAmI, CliError> {
    typed(WHAT, client.get(WHAT, "/api/v1/whoami", &[]).await?)
}

fn said(who: &WhoAmI, place: &Place, renewed: bool) -> String {
    let (server, context) = (visible(&place.server), visible(&place.name));
    if matches!(who.method, AuthenticationMethod::Local | AuthenticationMethod::None) {
        return format!("{server} asks for no login; context {context} is the current one\n");
    }
    let user = visible(who.user.as_deref().unwrap_or(&who.name)).into_owned();
    let until = match who.expires {
        _ if renewed => ", renewed automatically".to_owned(),
        Some(time) => format!(", until {}", time.to_the_second()),
        None => String::new(),
    };
    format!("logged in to {server} as {user} ({}{until}); context {context} is the current one\n", role(who))
}

fn token_of(text: &str) -> Result<TokenText, CliError> {
    text.parse().map_err(|why| CliError::new("reading the token", why).exit(Exit::Usage))
}

fn token_of_stdin() -> Result<TokenText, CliError> {
    let mut text = String::new();
    let read = io::stdin().take(TOKEN_BYTES_MAX).read_to_string(&mut text);
    read.map_err(|error| CliError::new("reading the token", error).exit(Exit::Usage))?;
    token_of(&text)
}

/// A terminal that shows nothing of what is typed until this is dropped.
struct Silent(Option<Termios>);

impl Silent {
    fn new() -> Self {
        let before = tcgetattr(io::stdin()).ok();
        if let Some(before) = &before {
            let mut silent = before.clone();
            silent.local_modes.remove(LocalModes::ECHO);
            _ = tcsetattr(io::stdin(), OptionalActions::Flush, &silent);
        }
        Silent(before)
    }
}

impl Drop for Silent {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            _ = tcsetattr(io::stdin(), OptionalActions::Flush, before);
            note!("");
        }
    }
}

fn token_of_terminal(server: &str) -> Result<TokenText, CliError> {
    if !io::stdin().is_terminal() {
        return Err(CliError::new(WHAT, "this server needs a token, and standard input is no terminal")
            .hint("use --token-stdin")
            .exit(Exit::Usage));
    }
    stderr::text(format_args!("Token for {} (not shown): ", visible(server)));
    let mut text = String::new();
    let silent = Silent::new();
    let read = io::stdin().read_line(&mut text);
    drop(silent);
    read.map_err(|error| CliError::new("reading the token", error))?;
    token_of(&text)
}

/// Logs out. The login is removed here whatever the provider says; what could not be revoked there is a failure.
pub(super) fn logout(args: &LogoutArgs) -> Result<(), CliError> {
    let what = "logging out";
    runtime()?.block_on(async {
        let locked = Locked::acquire(&contexts::required_path()?).await?;
        let mut all = locked.read()?;
        let name = args.context.clone().or_else(|| variable("STRANDLINE_CONTEXT")).or(all.current.clone());
        let name = name.ok_or_else(|| {
            CliError::new(what, "no context is the current one").hint("name one with --context").exit(Exit::Usage)
        })?;
        let context = all.named(&name)?.clone();
        let shown = visible(&name).into_owned();
        all.put(Context { token: None, oidc: None, ..context.clone() });
        locked.write(&all)?;
        drop(locked);
        let Some(tokens) = context.oidc else {
            let text = if context.token.is_some() {
                "the token is removed; it is valid until it is removed from the server's configuration"
            } else {
                "there was no login"
            };
            return write(&format!("context {shown}: {text}\n"));
        };
        match revoke(&tokens, context.ca_file).await {
            Ok(true) => write(&format!("context {shown}: logged out, and the login is revoked\n")),
            Ok(false) => write(&format!(
                "context {shown}: logged out; the provider revokes no logins, so its token is valid until {}\n",
                tokens.expires.to_the_second()
            )),
            Err(error) => Err(CliError {
                what: format!("revoking the login of context {shown}, which is removed here"),
                ..failed(&tokens.issuer, error)
            }),
        }
    })
}

async fn revoke(tokens: &OidcTokens, ca_file: Option<PathBuf>) -> Result<bool, OidcError> {
    let provider = Provider::discover(&tokens.issuer, &tokens.client_id, ca_file).await?;
    provider.revoke(tokens).await
}
