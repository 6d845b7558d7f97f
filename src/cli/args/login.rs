//! Logging in, out, and between servers.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::address::AddressArgs;
use super::doctor::ReportFormat;

/// Arguments of `login`.
#[derive(Clone, Debug, Args)]
pub struct LoginArgs {
    /// URL of the server; default: that of the context, else STRANDLINE_SERVER, else that of the current context
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// Name of the context to write, which becomes the current one; default: the one of the server, or its host
    #[arg(long, value_name = "CONTEXT")]
    pub context: Option<String>,
    /// File with certificates (PEM) of authorities to trust besides those of this machine; kept in the context
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Read a token from standard input
    #[arg(long, conflicts_with_all = ["flow", "no_browser"])]
    pub token_stdin: bool,
    /// How to log in; default: device if the provider can do that, else browser, and token where there is no provider
    #[arg(long, value_enum)]
    pub flow: Option<LoginFlow>,
    /// Only print the address to open
    #[arg(long)]
    pub no_browser: bool,
}

/// How to log in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LoginFlow {
    /// Enter a code in a browser anywhere (OAuth device authorization grant)
    Device,
    /// Log in with a browser on this machine (authorization code with PKCE)
    Browser,
    /// Paste a token that an administrator of the server made
    Token,
}

/// Arguments of `logout`.
#[derive(Clone, Debug, Args)]
pub struct LogoutArgs {
    /// Context to log out of; default: STRANDLINE_CONTEXT, else the current context
    #[arg(long, value_name = "CONTEXT")]
    pub context: Option<String>,
}

/// Arguments of `whoami`.
#[derive(Clone, Debug, Args)]
pub struct WhoamiArgs {
    /// Which server.
    #[command(flatten)]
    pub server: AddressArgs,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = ReportFormat::Text)]
    pub output: ReportFormat,
}

/// Subcommands of `context`.
#[derive(Clone, Debug, Subcommand)]
pub enum ContextCommand {
    /// List the contexts, without their tokens
    List {
        /// Output format
        #[arg(short, long, value_enum, default_value_t = ReportFormat::Text)]
        output: ReportFormat,
    },
    /// Make a context the current one
    Use {
        /// Its name
        #[arg(value_name = "CONTEXT")]
        name: String,
    },
    /// Delete a context; log out first if it has a login of a provider
    Delete {
        /// Its name
        #[arg(value_name = "CONTEXT")]
        name: String,
    },
}
