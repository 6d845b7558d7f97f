//! `strandline context`: the servers that somebody logged in to.

use serde_json::{Value, json};

use super::args::ContextCommand;
use super::contexts::{self, Context, Contexts, Locked};
use super::error::CliError;
use super::output::{Paint, report_text, write};
use super::runtime::runtime;
use super::stderr::note;
use super::table::{Cell, Table};

/// Runs the command.
pub(super) fn run(command: &ContextCommand) -> Result<(), CliError> {
    let path = contexts::required_path()?;
    match command {
        ContextCommand::List { output } => {
            let all = contexts::read(&path)?;
            if all.contexts.is_empty() {
                note!("No contexts found; log in with \"strandline login --server URL\".");
            }
            write(&report_text(*output, &document(&all), || table(&all))?)
        }
        ContextCommand::Use { name } => change(|all| {
            all.current = Some(all.named(name)?.name.clone());
            Ok(format!("context {name} is the current one\n"))
        }),
        ContextCommand::Delete { name } => change(|all| {
            all.named(name)?;
            all.contexts.retain(|context| context.name != *name);
            all.current = all.current.take().filter(|current| current != name);
            Ok(format!("context {name} is deleted\n"))
        }),
    }
}

fn change(change: impl FnOnce(&mut Contexts) -> Result<String, CliError>) -> Result<(), CliError> {
    let said = runtime()?.block_on(async {
        let locked = Locked::acquire(&contexts::required_path()?).await?;
        let mut all = locked.read()?;
        let said = change(&mut all)?;
        locked.write(&all)?;
        Ok(said)
    })?;
    write(&said)
}

/// How somebody is authenticated with a context.
fn login(context: &Context) -> &'static str {
    match (&context.oidc, &context.token) {
        (Some(_), _) => "oidc",
        (None, Some(_)) => "token",
        (None, None) => "none",
    }
}

/// Until when a login lasts that is not renewed.
fn expires(context: &Context) -> Option<String> {
    let tokens = context.oidc.as_ref().filter(|tokens| tokens.refresh_token.is_none())?;
    Some(tokens.expires.to_the_second().to_string())
}

fn document(all: &Contexts) -> Value {
    let item = |context: &Context| {
        json!({
            "name": context.name,
            "current": all.current.as_ref() == Some(&context.name),
            "server": context.server,
            "ca_file": context.ca_file,
            "login": login(context),
            "issuer": context.oidc.as_ref().map(|tokens| &tokens.issuer),
            "expires": expires(context),
        })
    };
    json!({ "items": all.contexts.iter().map(item).collect::<Vec<_>>() })
}

fn table(all: &Contexts) -> String {
    if all.contexts.is_empty() {
        return String::new();
    }
    let row = |context: &Context| {
        let current = if all.current.as_ref() == Some(&context.name) { "*" } else { " " };
        let expires = expires(context).unwrap_or_default();
        let cells = [context.name.as_str(), &context.server, login(context), &expires];
        [Cell::Text(current.to_owned())].into_iter().chain(cells.map(Cell::text)).collect()
    };
    let rows = all.contexts.iter().map(row).collect();
    Table::new(["CURRENT", "NAME", "SERVER", "LOGIN", "EXPIRES"], rows).render(Paint(false), true)
}
