//! The files of this checkout, for the tests that read them.

use std::fs;
use std::path::{Path, PathBuf};

pub(super) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub(super) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every file below a folder, but for what is built, fetched or given as test data.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder can be read").flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if !path.is_dir() {
            found.push(path);
        } else if !name.starts_with('.') && name != "target" && name != "data" {
            found.extend(files(&path));
        }
    }
    found.sort();
    found
}
