//! A folder of kubeconfigs, of which each file is a cluster: a Secret that is mounted, or files that somebody keeps.
//!
//! The file gives the cluster its name, and nothing in the file does: whoever may write one cluster's file renames no other.
//! A file that cannot be read is listed all the same, so that its cluster lies in a gap and not outside of the record.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use strandline_model::EnvironmentId;

/// The most bytes of a kubeconfig in a folder; those with certificates have some ten thousand.
pub(super) const BYTES_MAX: u64 = 256 * 1024;

/// The most clusters of a folder.
const FILES_MAX: usize = 1000;

/// How many entries of a folder are looked at.
const ENTRIES_MAX: usize = 10_000;

/// What a file's name may end with besides the name of its cluster.
const ENDINGS: [&str; 4] = [".yaml", ".yml", ".kubeconfig", ".conf"];

/// A file of such a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeconfigFile {
    /// The name of its cluster.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// What it contains, or why it cannot be read, as a digest: another one means another way to the cluster.
    pub digest: [u8; 32],
}

/// The clusters of a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KubeconfigFolder {
    /// In the order of their names.
    pub files: Vec<KubeconfigFile>,
    /// Files that are no cluster, each with the reason.
    pub ignored: Vec<String>,
}

impl KubeconfigFolder {
    /// Reads a folder. Links are followed, as Secrets are mounted by links. Names that begin with a dot are left alone, and so
    /// is what is no file.
    ///
    /// # Errors
    /// When the folder cannot be read, or has more entries than anyone would write.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            if names.len() == ENTRIES_MAX {
                return Err(io::Error::other(format!("it has more than {ENTRIES_MAX} entries")));
            }
            names.push(entry?.file_name());
        }
        // `a.yaml` is before `a.yml`, whatever the filesystem lists first.
        names.sort();
        let mut found = KubeconfigFolder::default();
        for file in names {
            let path = folder.join(&file);
            let Some(file) = file.to_str() else {
                found.ignored.push(format!("{}: the file name is not UTF-8", path.display()));
                continue;
            };
            // A link that leads nowhere is what a Secret leaves for a moment of a key that was removed.
            if file.starts_with('.') || !fs::metadata(&path).is_ok_and(|of| of.is_file()) {
                continue;
            }
            let ending = ENDINGS.iter().find_map(|ending| file.strip_suffix(ending));
            let name = ending.unwrap_or(file);
            let before = found.files.iter().find(|known| known.name == name);
            let why = match before {
                _ if !EnvironmentId::new(name).is_plain() => {
                    format!("`{name}` is no name of a cluster; use letters, digits, `-`, `_` and `.`")
                }
                Some(before) => format!("{} is the cluster `{name}` already", before.path.display()),
                None if found.files.len() == FILES_MAX => {
                    format!("only the first {FILES_MAX} files of a folder are clusters")
                }
                None => {
                    let digest = digest(&path);
                    found.files.push(KubeconfigFile { name: name.to_owned(), path, digest });
                    continue;
                }
            };
            found.ignored.push(format!("{}: {why}", path.display()));
        }
        found.files.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }
}

/// The text of a kubeconfig in a folder.
pub(super) fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(BYTES_MAX + 1).read_to_string(&mut text)?;
    match text.len() as u64 > BYTES_MAX {
        true => Err(io::Error::other(format!("it has more than {BYTES_MAX} bytes"))),
        false => Ok(text),
    }
}

fn digest(path: &Path) -> [u8; 32] {
    let (kind, content) = match read_text(path) {
        Ok(text) => (&b"text "[..], text),
        Err(error) => (&b"error"[..], error.to_string()),
    };
    let mut hasher = blake3::Hasher::new();
    hasher.update(kind).update(content.as_bytes());
    hasher.finalize().into()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        KubeconfigFolder::read(folder).unwrap().files.into_iter().map(|file| file.name).collect()
    }

    /// The layout that the kubelet gives a Secret: files are links through `..data`, which is swapped as a whole.
    #[test]
    fn a_mounted_secret_is_read_through_its_links() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (version, text) in [("..2026_1", "old"), ("..2026_2", "new")] {
            fs::create_dir(at(version)).unwrap();
            fs::write(at(version).join("eu-1.yaml"), text).unwrap();
        }
        fs::write(at("..2026_1").join("us-1"), "old").unwrap();
        std::os::unix::fs::symlink("..2026_1", at("..data")).unwrap();
        for name in ["eu-1.yaml", "us-1"] {
            std::os::unix::fs::symlink(format!("..data/{name}"), at(name)).unwrap();
        }
        let before = KubeconfigFolder::read(folder.path()).unwrap();
        assert_eq!(names(folder.path()), ["eu-1", "us-1"]);
        std::os::unix::fs::symlink("..2026_2", at("..data_tmp")).unwrap();
        fs::rename(at("..data_tmp"), at("..data")).unwrap();
        let after = KubeconfigFolder::read(folder.path()).unwrap();
        assert_eq!(names(folder.path()), ["eu-1"], "the link of the other key leads nowhere");
        assert_ne!(before.files[0].digest, after.files[0].digest);
        assert_eq!(before.files[0].path, after.files[0].path);
    }

    #[test]
    fn what_is_no_cluster_is_named_and_keeps_no_other_out() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.yaml", "a.yml", "b c.yaml", "d", ".hidden", "e.conf", "e.1.kubeconfig", ".yaml"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        fs::create_dir(folder.path().join("folder")).unwrap();
        fs::write(folder.path().join("large"), vec![b'a'; 300 * 1024]).unwrap();
        let found = KubeconfigFolder::read(folder.path()).unwrap();
        assert_eq!(names(folder.path()), ["a", "d", "e", "e.1", "large"]);
        assert!(found.files[0].path.ends_with("a.yaml"));
        let ignored = found.ignored.join("\n");
        assert_eq!(found.ignored.len(), 2, "{ignored}");
        assert!(
            ignored.contains("a.yml: ") && ignored.contains("a.yaml is the cluster `a` already"),
            "{ignored}"
        );
        assert!(ignored.contains("`b c` is no name"), "{ignored}");
        assert!(KubeconfigFolder::read(&folder.path().join("nowhere")).is_err());
    }
}
