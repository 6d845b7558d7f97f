//! Reading health scripts: a folder in Argo CD's layout, and its ConfigMap `argocd-cm`.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use thiserror::Error;

use strandline_health_lua::{SCRIPT_BYTES_MAX, SCRIPTS_MAX, Scripts, ScriptsError};

/// The file of a script.
const FILE: &str = "health.lua";
/// Bytes of all scripts of a folder together.
const FOLDER_BYTES_MAX: usize = 32 << 20;
/// How many entries of folders are looked at.
const ENTRIES_MAX: usize = 100_000;
/// Bytes of a ConfigMap; Kubernetes allows one MiB, and YAML may write it longer.
const CONFIG_MAP_BYTES_MAX: usize = 8 << 20;

/// Why health scripts cannot be used.
#[derive(Debug, Error)]
pub enum ReadScriptsError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// There is more than anyone would write.
    #[error("{}: {what}", path.display())]
    TooMuch {
        /// The file or folder.
        path: PathBuf,
        /// What there is too much of.
        what: String,
    },
    /// The folder holds no script where one is looked for.
    #[error("{} contains no health scripts", path.display())]
    NoScripts {
        /// The folder.
        path: PathBuf,
    },
    /// Scripts that were read make no sense; their places name the file.
    #[error(transparent)]
    Mistakes(#[from] ScriptsError),
}

impl ReadScriptsError {
    /// What to do about it; with several mistakes, about the first.
    pub fn hint(&self) -> &'static str {
        const LAYOUT: &str = "expected <group>/<Kind>/health.lua, or <Kind>/health.lua for the core group";
        match self {
            ReadScriptsError::Unreadable { .. } => "check the path and its permissions",
            ReadScriptsError::TooMuch { .. } => {
                "check the path: the directory should contain little else than health scripts"
            }
            ReadScriptsError::NoScripts { .. } => LAYOUT,
            ReadScriptsError::Mistakes(error) => error.hint().unwrap_or(LAYOUT),
        }
    }
}

/// With the place of each mistake made into one that can be found from here.
fn placed(mut error: ScriptsError, place: impl Fn(&str) -> String) -> ReadScriptsError {
    for mistake in &mut error.mistakes {
        mistake.origin = place(&mistake.origin);
    }
    ReadScriptsError::Mistakes(error)
}

/// Reads the health scripts of a folder in Argo CD's layout, such as its `resource_customizations`.
///
/// Links are followed, as ConfigMaps are mounted by links; a circle of them ends, because scripts lie no deeper
/// than `<group>/<Kind>`. Names that begin with a dot are left alone.
///
/// # Errors
/// When the folder cannot be read or holds no scripts, or with every script that cannot be used.
pub fn read_scripts(folder: &Path) -> Result<Scripts, ReadScriptsError> {
    let mut walk = Walk { files: Vec::new(), entries: 0, bytes: 0 };
    walk.enter(folder, "", 0)?;
    if walk.files.is_empty() {
        return Err(ReadScriptsError::NoScripts { path: folder.to_owned() });
    }
    let place = |name: &str| folder.join(name).display().to_string();
    Scripts::from_folder(walk.files).map_err(|error| placed(error, place))
}

/// Reads the health scripts of an `argocd-cm`, in YAML or JSON; there may be none.
///
/// # Errors
/// When the file cannot be read or is no such ConfigMap, or with every script that cannot be used.
pub fn read_customizations(file: &Path) -> Result<Scripts, ReadScriptsError> {
    let text = read(file, CONFIG_MAP_BYTES_MAX)?;
    let place = |key: &str| format!("{}: {key}", file.display());
    Scripts::from_customizations(&text).map_err(|error| placed(error, place))
}

/// Reads both, of which the ConfigMap is stronger, as in Argo CD; without either there are no scripts.
///
/// # Errors
/// As each of them.
pub fn read_all_scripts(
    folder: Option<&Path>,
    config_map: Option<&Path>,
) -> Result<Scripts, ReadScriptsError> {
    let customized = config_map.map(read_customizations).transpose()?.unwrap_or_default();
    let scripts = folder.map(read_scripts).transpose()?.unwrap_or_default();
    Ok(customized.merge(&scripts))
}

/// What was found so far.
struct Walk {
    files: Vec<(String, String)>,
    entries: usize,
    bytes: usize,
}

impl Walk {
    /// Looks into a folder; `name` is its path within the folder of scripts.
    fn enter(&mut self, folder: &Path, name: &str, depth: usize) -> Result<(), ReadScriptsError> {
        let unreadable = |source| ReadScriptsError::Unreadable { path: folder.to_owned(), source };
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            self.entries += 1;
            if self.entries > ENTRIES_MAX {
                let what = format!("more than {ENTRIES_MAX} files");
                return Err(ReadScriptsError::TooMuch { path: folder.to_owned(), what });
            }
            // What is no text is no name of a group or kind.
            let Ok(own) = entry.file_name().into_string() else { continue };
            let path = entry.path();
            if own == FILE && depth > 0 {
                self.take(&path, format!("{name}{FILE}"))?;
            } else if depth < 2 && !own.starts_with('.') && path.is_dir() {
                self.enter(&path, &format!("{name}{own}/"), depth + 1)?;
            }
        }
        Ok(())
    }

    fn take(&mut self, path: &Path, name: String) -> Result<(), ReadScriptsError> {
        let text = read(path, SCRIPT_BYTES_MAX)?;
        self.bytes += text.len();
        if self.files.len() >= SCRIPTS_MAX || self.bytes > FOLDER_BYTES_MAX {
            let what = format!("more than {SCRIPTS_MAX} scripts, or {FOLDER_BYTES_MAX} bytes of them");
            return Err(ReadScriptsError::TooMuch { path: path.to_owned(), what });
        }
        self.files.push((name, text));
        Ok(())
    }
}

/// Reads a file that is a file and no larger than it should be.
fn read(path: &Path, bytes_max: usize) -> Result<String, ReadScriptsError> {
    let unreadable = |source| ReadScriptsError::Unreadable { path: path.to_owned(), source };
    // A pipe would keep us waiting, and a device would never end.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::other("not a file")));
    }
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(bytes_max as u64 + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() > bytes_max {
        let what = format!("more than {bytes_max} bytes");
        return Err(ReadScriptsError::TooMuch { path: path.to_owned(), what });
    }
    Ok(text)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, text: &str) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn a_folder_and_a_config_map_make_one_set() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "cert-manager.io/Certificate/health.lua", "return nil");
        write(folder.path(), "cert-manager.io/Certificate/testdata/health.lua", "not a script");
        write(folder.path(), "cert-manager.io/Certificate/actions/x/action.lua", "not a script");
        write(folder.path(), "Pod/health.lua", "return nil");
        write(folder.path(), ".git/Pod/health.lua", "not a script");
        write(folder.path(), "health.lua", "not a script");
        write(folder.path(), "cm.yaml", "data: {resource.customizations.health.Pod: return nil}");
        let config_map = folder.path().join("cm.yaml");
        assert_eq!(read_scripts(folder.path()).unwrap().len(), 2);
        assert_eq!(read_all_scripts(Some(folder.path()), Some(&config_map)).unwrap().len(), 3);
        assert!(read_all_scripts(None, None).unwrap().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_circles_of_them_end() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), "..data/apps/Deployment/health.lua", "return nil");
        symlink("..data/apps", folder.path().join("apps")).unwrap();
        symlink(".", folder.path().join("itself")).unwrap();
        symlink("nowhere", folder.path().join("broken")).unwrap();
        // Itself, itself/apps: what lies there is deeper than scripts do.
        assert_eq!(read_scripts(folder.path()).unwrap().len(), 1);
    }

    #[test]
    fn what_cannot_be_used_is_told_with_its_place_and_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let message = |outcome: Result<Scripts, ReadScriptsError>| {
            let error = outcome.unwrap_err();
            assert!(!error.hint().is_empty());
            error.to_string().replace(&folder.path().display().to_string(), "DIR")
        };
        assert_eq!(message(read_scripts(folder.path())), "DIR contains no health scripts");
        assert!(message(read_scripts(&folder.path().join("x"))).starts_with("cannot read DIR/x: "));
        write(folder.path(), "a/B/health.lua", "return\nif");
        assert_eq!(message(read_scripts(folder.path())), "DIR/a/B/health.lua:2: unexpected symbol near 'if'");
        write(folder.path(), "a/B/health.lua", &"-".repeat(SCRIPT_BYTES_MAX + 1));
        assert_eq!(message(read_scripts(folder.path())), "DIR/a/B/health.lua: more than 262144 bytes");
        write(folder.path(), "cm.yaml", "data: {resource.customizations.health.Pod: if}");
        let key = "argocd-cm resource.customizations.health.Pod";
        let expected = format!("DIR/cm.yaml: {key}:1: unexpected symbol near <eof>");
        assert_eq!(message(read_customizations(&folder.path().join("cm.yaml"))), expected);
    }
}
