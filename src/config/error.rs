//! Why a configuration cannot be used.

use std::path::PathBuf;

use thiserror::Error;

use strandline_syntax::diagnostics::Mistake;

/// Why a configuration, or a file of relations, cannot be used.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The option by which it is named on the command line.
        option: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file says something that cannot be meant.
    #[error("{}", shown(path, mistakes))]
    Mistakes {
        /// The file.
        path: PathBuf,
        /// All that were found, in the order of the file.
        mistakes: Vec<Mistake>,
    },
}

impl ConfigError {
    /// What to do about it; with several mistakes, about the first that has a hint.
    pub fn hint(&self) -> Option<String> {
        match self {
            ConfigError::Unreadable { option, .. } => Some(format!("set the file with {option}")),
            ConfigError::Mistakes { mistakes, .. } => {
                mistakes.iter().find_map(|mistake| mistake.hint.clone())
            }
        }
    }
}

fn shown(path: &std::path::Path, mistakes: &[Mistake]) -> String {
    // What the environment says has no place in the file.
    let line = |mistake: &Mistake| match mistake.line {
        0 => format!("{}: {}", path.display(), mistake.message),
        _ => format!("{}:{mistake}", path.display()),
    };
    let lines = mistakes.iter().map(line);
    lines.collect::<Vec<_>>().join("\n")
}
