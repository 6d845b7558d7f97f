//! Why a cluster cannot be reached, in one line.

use std::error::Error as StdError;

use thiserror::Error;

use strandline_redact::without_logins;

/// Why there is no way to a cluster.
#[derive(Debug, Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be read.
    #[error("the kubeconfig cannot be read: {0}")]
    Kubeconfig(String),
    /// The kubeconfig has no such context.
    #[error("the kubeconfig has no context `{name}`; it has {}", list(.available))]
    UnknownContext {
        /// The context asked for.
        name: String,
        /// Those there are.
        available: Vec<String>,
    },
    /// The kubeconfig names no current context and none was asked for.
    #[error("the kubeconfig has no current context; name one of {}", list(.0))]
    NoContext(Vec<String>),
    /// The kubeconfig wants a program to be run.
    #[error(
        "user `{user}` of the kubeconfig gets its credentials by running `{command}`, which is refused; \
         set `allow_exec_plugins` if you trust this file"
    )]
    ExecPlugin {
        /// The user of the kubeconfig.
        user: String,
        /// The program.
        command: String,
    },
    /// The kubeconfig names a file where it has to contain what it needs.
    #[error(
        "the kubeconfig names a file in `{0}`, which is not read for a kubeconfig of a folder or a hub; \
         write one that contains everything: `kubectl config view --minify --flatten`"
    )]
    NamesFile(&'static str),
    /// We do not run in a cluster.
    #[error("not running in a cluster: {0}")]
    NotInCluster(String),
    /// The address makes no sense.
    #[error("`{url}` is not an address of a cluster: {reason}")]
    Url {
        /// The address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// TLS or credentials cannot be set up.
    #[error("the connection cannot be set up: {0}")]
    Client(String),
}

fn list(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// What every request fails with while the credentials of its way cannot be read.
#[derive(Debug, Error)]
#[error("{0}")]
pub(super) struct NoCredentials(pub(super) String);

/// An error with all its causes in one line.
pub(super) fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        // Wrappers often repeat what they wrap.
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    // Some quote the address of a server or a proxy as the kubeconfig has it.
    without_logins(&text)
}
