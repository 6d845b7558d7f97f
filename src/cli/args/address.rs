//! Which server to ask, and with which token.

use std::path::PathBuf;

use clap::Args;

/// The server's address and the token for it.
#[derive(Clone, Debug, Args)]
pub struct AddressArgs {
    /// URL of the server
    #[arg(long, value_name = "URL", env = "STRANDLINE_SERVER", default_value = AddressArgs::DEFAULT)]
    pub server: String,
    /// API token; visible to other users in the process list, so prefer --token-file
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    pub token: Option<TokenText>,
    /// File with the API token; default: the environment variable STRANDLINE_TOKEN
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
}

impl AddressArgs {
    /// The server that is asked where none is named: the one of `strandline demo`.
    pub const DEFAULT: &str = "http://127.0.0.1:7979";
}

/// A token, which nothing prints.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenText(String);

impl TokenText {
    /// Its text, for sending it.
    pub fn as_str(&self) -> &str {
        &self.0
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
