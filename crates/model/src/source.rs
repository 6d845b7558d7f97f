//! Who declares facts of the catalog.

use serde::{Deserialize, Serialize};
use strandline_syntax::keywords;

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
    /// A namespace of a cluster of which the configuration says that each is an environment.
    Namespace,
}

keywords!(
    Source, "source", Exact,
    Config => "config",
    Folder => "folder",
    Api => "api",
    Namespace => "namespace",
);
