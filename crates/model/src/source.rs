//! Who declares facts of the catalog.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Who declares a fact, and so may change it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The configuration file.
    #[default]
    Config,
    /// A folder of agent configuration files.
    Folder,
    /// A caller of the API.
    Api,
}

impl Source {
    /// All of them.
    pub const ALL: [Source; 3] = [Source::Config, Source::Folder, Source::Api];

    /// The word for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Source::Config => "config",
            Source::Folder => "folder",
            Source::Api => "api",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let named = |source: &Source| source.as_str() == text;
        Source::ALL
            .into_iter()
            .find(named)
            .ok_or_else(|| format!("invalid source `{text}`; use one of config, folder, api"))
    }
}
