//! The servers that somebody logged in to, in a file of their own that nobody else reads: `~/.config/strandline/contexts.yaml`.
//!
//! Several commands run at once, and each may have to renew a login. So whoever changes the file has a lock, reads it again under
//! the lock, and puts a whole new file in its place: another command reads the old one or the new one.

#[cfg(test)]
mod tests;

use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::args::TokenText;
use super::error::{CliError, Exit};
use strandline_model::Timestamp;
use strandline_sqlite::{create_directories, open_file, replace_file};
use strandline_syntax::diagnostics::of_syntax;

/// How long another command may have the lock: as long as a provider may take to answer, and some more.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often the lock is tried.
const AGAIN: Duration = Duration::from_millis(20);

/// What the file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Contexts {
    /// The one that commands use which name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) current: Option<String>,
    #[serde(default)]
    pub(super) contexts: Vec<Context>,
}

/// A server, and who somebody is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Context {
    pub(super) name: String,
    pub(super) server: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) ca_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<TokenText>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) oidc: Option<OidcTokens>,
}

/// The tokens of a login at an OpenID provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OidcTokens {
    pub(super) issuer: String,
    pub(super) client_id: String,
    /// What the server is shown.
    pub(super) id_token: TokenText,
    /// When that expires.
    pub(super) expires: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refresh_token: Option<TokenText>,
}

impl Contexts {
    /// One by its name.
    ///
    /// # Errors
    /// When there is none.
    pub(super) fn named(&self, name: &str) -> Result<&Context, CliError> {
        self.contexts.iter().find(|context| context.name == name).ok_or_else(|| {
            let names: Vec<_> = self.contexts.iter().map(|context| context.name.as_str()).collect();
            let hint = match names.is_empty() {
                true => "there is none yet; `strandline login --server URL` makes one".to_owned(),
                false => format!("there are: {}", names.join(", ")),
            };
            CliError::new(format!("using context `{name}`"), "no such context")
                .hint(hint)
                .exit(Exit::NotFound)
        })
    }

    /// The one of a server; where there are several, the current one goes first.
    pub(super) fn of_server(&self, server: &str) -> Option<&Context> {
        let is_current = |context: &&Context| Some(&context.name) == self.current.as_ref();
        let all = || self.contexts.iter().filter(|context| same_server(&context.server, server));
        all().find(is_current).or_else(|| all().next())
    }

    /// Puts a context in, in the place of the one with its name.
    pub(super) fn put(&mut self, context: Context) {
        match self.contexts.iter_mut().find(|one| one.name == context.name) {
            Some(one) => *one = context,
            None => self.contexts.push(context),
        }
    }
}

/// Whether two addresses are written for the same server.
fn same_server(one: &str, other: &str) -> bool {
    one.trim_end_matches('/') == other.trim_end_matches('/')
}

/// Where the file is: below `XDG_CONFIG_HOME`, or else below `~/.config`.
pub(super) fn path_of(variable: impl Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let folder = variable("XDG_CONFIG_HOME").and_then(absolute);
    let folder = folder.or_else(|| variable("HOME").and_then(absolute).map(|home| home.join(".config")))?;
    Some(folder.join("strandline").join("contexts.yaml"))
}

/// The same by the environment of this process.
pub(super) fn path() -> Option<PathBuf> {
    path_of(|name| std::env::var_os(name).map(PathBuf::from))
}

/// The same where there has to be one.
pub(super) fn required_path() -> Result<PathBuf, CliError> {
    path().ok_or_else(|| {
        CliError::new("finding the contexts", "neither XDG_CONFIG_HOME nor HOME is set").exit(Exit::Usage)
    })
}

/// What the file holds; nothing where there is none.
///
/// # Errors
/// When it cannot be read, or others can.
pub(super) fn read(path: &Path) -> Result<Contexts, CliError> {
    let what = || format!("reading {}", path.display());
    let mode = match std::fs::metadata(path) {
        Ok(found) => found.permissions().mode(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Contexts::default()),
        Err(error) => return Err(CliError::new(what(), error)),
    };
    if mode & 0o077 != 0 {
        return Err(CliError::new(
            what(),
            format!("it has tokens, and its mode {:03o} lets others at it", mode & 0o777),
        )
        .hint(format!("chmod 600 {}", path.display())));
    }
    let text = std::fs::read_to_string(path).map_err(|error| CliError::new(what(), error))?;
    if text.trim().is_empty() {
        return Ok(Contexts::default());
    }
    serde_saphyr::from_str(&text).map_err(|error| {
        // Of what is in it only the place is shown.
        let mistake = of_syntax(&error);
        CliError::new(
            what(),
            format!("line {}, column {}: it is not a file of contexts", mistake.line, mistake.column),
        )
        .hint("correct it, or delete it and log in again")
    })
}

/// The right to change the file, until it is dropped.
#[derive(Debug)]
pub(super) struct Locked {
    path: PathBuf,
    _lock: File,
}

impl Locked {
    /// Waits until no other command has it.
    ///
    /// # Errors
    /// When the folder cannot be written, or another command has it for too long.
    pub(super) async fn acquire(path: &Path) -> Result<Self, CliError> {
        let what = || format!("locking {}", path.display());
        let failed = |error: std::io::Error| CliError::new(what(), error);
        // A link, as those who keep such files elsewhere make it, stays one.
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if let Some(folder) = path.parent() {
            create_directories(folder).map_err(failed)?;
        }
        let lock = open_file(&path.with_extension("lock")).map_err(failed)?;
        let acquiring = async {
            loop {
                match lock.try_lock() {
                    Ok(()) => return Ok(()),
                    Err(TryLockError::WouldBlock) => tokio::time::sleep(AGAIN).await,
                    Err(TryLockError::Error(error)) => return Err(failed(error)),
                }
            }
        };
        let acquired = tokio::time::timeout(PATIENCE, acquiring).await;
        acquired.unwrap_or_else(|_| Err(CliError::new(what(), "another command has had it for too long")))?;
        Ok(Locked { path, _lock: lock })
    }

    /// What the file holds now.
    pub(super) fn read(&self) -> Result<Contexts, CliError> {
        read(&self.path)
    }

    /// Puts a new file in the place of the old one.
    pub(super) fn write(&self, contexts: &Contexts) -> Result<(), CliError> {
        let what = || format!("writing {}", self.path.display());
        let text = serde_saphyr::to_string(contexts).map_err(|error| CliError::new(what(), error))?;
        let beside = self.path.with_extension("new");
        let written = || {
            let mut file = replace_file(&beside)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&beside, &self.path)
        };
        written().map_err(|error| CliError::new(what(), error))
    }
}
