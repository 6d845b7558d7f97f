//! Which server to ask, and with which token.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};

/// The server's address, the token for it, and whom to trust.
#[derive(Clone, Debug, Default, Args)]
pub struct AddressArgs {
    /// URL of the server; default: that of --context, STRANDLINE_SERVER, STRANDLINE_CONTEXT, the current context, http://127.0.0.1:7979
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// Context of `strandline login` to use
    #[arg(long, value_name = "CONTEXT", conflicts_with = "server")]
    pub context: Option<String>,
    /// API token; visible to other users in the process list, so prefer --token-file
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    pub token: Option<TokenText>,
    /// File with the API token; default: the variable STRANDLINE_TOKEN, else the login of the context
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// File with certificates (PEM) of authorities to trust besides those of this machine; default: STRANDLINE_CA_FILE
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
}

impl AddressArgs {
    /// The server that is asked where none is named: the one of `strandline demo`.
    pub const DEFAULT: &str = "http://127.0.0.1:7979";
}

/// A token, which nothing prints.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TokenText(String);

impl TokenText {
    /// Its text, for sending it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<TokenText> for String {
    fn from(token: TokenText) -> Self {
        token.0
    }
}

impl TryFrom<String> for TokenText {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl std::str::FromStr for TokenText {
    type Err = &'static str;

    /// Takes a token without the white space around it, which files and variables often have.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "" => Err("it is empty"),
            token if token.bytes().all(|byte| byte.is_ascii_graphic()) => Ok(TokenText(token.to_owned())),
            _ => Err("a token has no spaces and only ASCII characters"),
        }
    }
}

impl std::fmt::Debug for TokenText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TokenText(…)")
    }
}
