//! What is said to a bench: by its arguments, and by the environment for other sizes than the usual.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use tempfile::TempDir;

/// Whether the program got an argument.
pub(crate) fn has_argument(wanted: &str) -> bool {
    std::env::args().any(|argument| argument == wanted)
}

/// Whether the tests that there are in a bench are asked for, of which there are none.
pub(crate) fn is_listed() -> bool {
    has_argument("--list")
}

/// The number that `STRANDLINE_BENCH_` with this name is, or else this one.
pub(crate) fn number<T: FromStr>(name: &str, otherwise: T) -> T {
    let name = format!("STRANDLINE_BENCH_{name}");
    let Ok(text) = std::env::var(&name) else { return otherwise };
    text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text:?}"))
}

/// Where log and view are kept: in the folder that `STRANDLINE_BENCH_DIR` names, which stays, or in one of their own.
pub(crate) enum Place {
    Kept(PathBuf),
    Temporary(TempDir),
}

impl Place {
    /// The place, which is there then.
    pub(crate) fn new() -> std::io::Result<Self> {
        match std::env::var_os("STRANDLINE_BENCH_DIR") {
            None => Ok(Place::Temporary(tempfile::tempdir()?)),
            Some(kept) => {
                std::fs::create_dir_all(&kept)?;
                Ok(Place::Kept(kept.into()))
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Place::Kept(path) => path,
            Place::Temporary(directory) => directory.path(),
        }
    }
}
