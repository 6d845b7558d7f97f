//! Whether the data directory can be used.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use super::modes;
use super::report::Check;
use strandline_sqlite::DirectoryLock;

const SUBJECT: &str = "data directory";

/// Free space below which the log soon has no room, and below which it has hardly any: a commit may need as
/// much as the largest write-ahead log that is kept.
const FEW_MIB: u64 = 1024;
const TOO_FEW_MIB: u64 = 100;

/// Checks the directory or, where it is yet to be made, the place for it.
pub(super) fn check(directory: &Path) -> Vec<Check> {
    let shown = directory.display();
    let Some(place) = nearest(directory) else {
        return vec![
            Check::problem(SUBJECT, format!("{shown} cannot be created")).hint("choose another with --data"),
        ];
    };
    let exists = place == directory;
    let mut checks = Vec::new();
    checks.push(match (writable(&place), exists) {
        (Ok(()), true) => Check::ok(SUBJECT, format!("{shown} is writable")),
        (Ok(()), false) => Check::ok(SUBJECT, format!("{shown} does not exist yet and can be created")),
        (Err(error), _) => Check::problem(SUBJECT, format!("{} cannot be written: {error}", place.display()))
            .hint("change its owner to the user that runs Strandline, or choose another with --data"),
    });
    if exists {
        checks.push(holder(directory));
        checks.extend(modes::check(directory));
    }
    checks.push(filesystem(strandline_sqlite::filesystem_of(&place).as_deref()));
    checks.push(free(free_mib(&place)));
    checks
}

/// The directory itself, or the nearest one above it that is there, without links in its path.
fn nearest(directory: &Path) -> Option<PathBuf> {
    if directory.is_dir() {
        return Some(directory.to_owned());
    }
    if fs::symlink_metadata(directory).is_ok() {
        return None;
    }
    let above = directory.parent()?;
    nearest(if above.as_os_str().is_empty() { Path::new(".") } else { above })
}

/// Tries with a file that is gone again at once: permissions alone do not show full or read-only disks.
fn writable(directory: &Path) -> io::Result<()> {
    let probe = directory.join(format!(".strandline-doctor-{}", std::process::id()));
    fs::OpenOptions::new().write(true).create_new(true).open(&probe)?;
    fs::remove_file(&probe)
}

fn holder(directory: &Path) -> Check {
    match DirectoryLock::holder(directory) {
        Ok(None) => Check::ok(SUBJECT, "no other process uses it"),
        Ok(Some(holder)) => Check::warning(SUBJECT, format!("process {holder} uses it"))
            .hint("this is expected if it is Strandline; a second server would not start"),
        Err(error) => Check::problem(SUBJECT, format!("its lock cannot be read: {error}"))
            .hint("run this as the user that runs Strandline"),
    }
}

fn filesystem(found: Option<&str>) -> Check {
    match found {
        None => Check::ok(SUBJECT, "its filesystem type cannot be determined on this system"),
        Some(filesystem) if strandline_sqlite::is_unreliable(filesystem) => Check::warning(
            SUBJECT,
            format!("it lies on {filesystem}, where SQLite cannot rely on locks"),
        )
        .hint("keep it on a disk of this machine; `serve` refuses it without --allow-network-filesystem"),
        Some(filesystem) => Check::ok(SUBJECT, format!("it lies on {filesystem}")),
    }
}

fn free(mib: Option<u64>) -> Check {
    match mib {
        None => Check::ok(SUBJECT, "its free space cannot be determined on this system"),
        Some(mib) if mib < TOO_FEW_MIB => Check::problem(SUBJECT, format!("{mib} MiB are free"))
            .hint("free disk space: when it is full, watchers wait and changes are recorded late"),
        Some(mib) if mib < FEW_MIB => {
            Check::warning(SUBJECT, format!("{mib} MiB are free")).hint("free disk space soon")
        }
        Some(mib) => Check::ok(SUBJECT, format!("{mib} MiB are free")),
    }
}

/// Free space, from `df`, since the standard library does not have it.
fn free_mib(place: &Path) -> Option<u64> {
    let output = Command::new("df").arg("-Pk").arg(place).stdin(Stdio::null()).output().ok()?;
    available_mib(&String::from_utf8_lossy(&output.stdout))
}

/// The column before that of the percentage: names of devices and mount points may hold blanks.
fn available_mib(df: &str) -> Option<u64> {
    let fields: Vec<&str> = df.lines().nth(1)?.split_whitespace().collect();
    let used = fields.iter().position(|field| field.ends_with('%'))?;
    fields.get(used.checked_sub(1)?)?.parse::<u64>().ok().map(|kib| kib / 1024)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use crate::doctor::report::CheckResult::{self, Ok as Fine, Problem, Warning};

    fn results(checks: &[Check]) -> Vec<CheckResult> {
        checks.iter().map(|check| check.result).collect()
    }

    #[test]
    fn a_directory_is_judged_and_left_as_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("not/yet");
        let checks = check(&missing);
        assert!(checks[0].message.ends_with("does not exist yet and can be created"), "{checks:?}");
        let lock = DirectoryLock::acquire(dir.path()).unwrap();
        let checks = check(dir.path());
        assert_eq!(results(&checks[..2]), [Fine, Warning], "{checks:?}");
        assert!(checks[1].message.contains(&std::process::id().to_string()), "{checks:?}");
        drop(lock);
        assert_eq!(results(&check(dir.path())[..2]), [Fine, Fine]);
        let names: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["lock"]);
    }

    #[test]
    fn a_file_in_its_place_is_a_problem() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        assert_eq!(results(&check(&file)), [Problem]);
        assert_eq!(results(&check(&file.join("below"))), [Problem]);
    }

    #[test]
    fn filesystems_and_free_space_are_judged() {
        for (found, expected) in [(Some("nfs4"), Warning), (Some("ext4"), Fine), (None, Fine)] {
            assert_eq!(filesystem(found).result, expected, "{found:?}");
        }
        for (mib, expected) in [(Some(99), Problem), (Some(1023), Warning), (Some(1024), Fine), (None, Fine)]
        {
            assert_eq!(free(mib).result, expected, "{mib:?}");
        }
    }

    #[test]
    fn df_is_understood() {
        let head = "Filesystem     1024-blocks      Used Available Capacity Mounted on\n";
        let cases = [
            ("/dev/vda1        103081248  21345678  77431234      22% /", Some(75_616)),
            ("//nas/my share   2048 1024 1024 50% /mnt/my share", Some(1)),
            ("", None),
            ("garbage", None),
            ("50%", None),
        ];
        for (line, expected) in cases {
            assert_eq!(available_mib(&format!("{head}{line}\n")), expected, "{line}");
        }
    }
}
