//! Who may read and write the data directory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::report::Check;
use strandline_sqlite::{Exposed, exposed};

const SUBJECT: &str = "data directory";

/// Looks at modes and owners of a directory that is there.
pub(super) fn check(directory: &Path) -> Vec<Check> {
    let mut checks = vec![readable(directory)];
    checks.extend(shared(directory));
    checks.extend(owners(directory));
    checks.extend(above(directory));
    checks
}

/// Whether others may read it.
fn readable(directory: &Path) -> Check {
    let (found, is_foreign) = match exposed(directory) {
        Ok(found) => found,
        Err(error) => return Check::problem(SUBJECT, format!("cannot check its files: {error}")),
    };
    let Some(Exposed { path, mode, tight }) = found.first() else {
        return Check::ok(SUBJECT, "only its owner can read it");
    };
    let (more, shown) = (found.len() - 1, path.display());
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let hint = match is_foreign && path == directory {
        true => "it contains other files: use a dedicated directory for Strandline".to_owned(),
        false => format!("chmod {tight:o} {shown}; the next start does this for all files of this user"),
    };
    Check::warning(SUBJECT, format!("other users can read {shown} (mode {mode:04o}{more})")).hint(hint)
}

/// Whether its group may use it, which is by choice; what cannot be read is reported already.
fn shared(directory: &Path) -> Option<Check> {
    let found = fs::metadata(directory).ok()?;
    (found.mode() & 0o2070 > 0o2000).then(|| {
        Check::warning(
            SUBJECT,
            format!("it is shared with group {} (mode {:04o})", found.gid(), found.mode() & 0o7777),
        )
        .hint("this is expected with fsGroup in Kubernetes; otherwise chmod g-s,g-rwx")
    })
}

/// Whether all of it belongs to one user: what another made, as by a command run as root, may not be opened. What went
/// meanwhile is nobody's.
fn owners(directory: &Path) -> Option<Check> {
    let owner = fs::metadata(directory).ok()?.uid();
    let mut entries = fs::read_dir(directory).ok()?.flatten();
    let other = entries.find_map(|entry| {
        let uid = entry.metadata().ok()?.uid();
        (uid != owner && entry.file_name() != "lost+found").then(|| (entry.path(), uid))
    });
    let (path, uid) = other?;
    let shown = path.display();
    let message = format!("{shown} belongs to user {uid}, the directory to user {owner}");
    Some(
        Check::warning(SUBJECT, message)
            .hint("change the owner of all files to the user that runs Strandline, with chown -R"),
    )
}

/// Whether others may put another directory in its place.
fn above(directory: &Path) -> Option<Check> {
    let path = directory.canonicalize().ok()?;
    let above = path.parent()?;
    let mode = fs::metadata(above).ok()?.mode();
    (mode & 0o002 != 0 && mode & 0o1000 == 0).then(|| {
        let message = format!("every user can replace it, because {} is world-writable", above.display());
        Check::warning(SUBJECT, message).hint("move it to a directory that only its user or root can write")
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::doctor::report::CheckResult::{Ok as Fine, Warning};

    #[test]
    fn who_may_read_or_replace_a_directory_is_told_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let data = dir.path().join("data");
        fs::create_dir(&data).unwrap();
        fs::write(data.join("log.db"), "").unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let told = || -> Vec<_> {
            let checks = check(&data).into_iter();
            checks.map(|check| (check.result, check.message, check.hint.unwrap_or_default())).collect()
        };
        set(&data, 0o700);
        set(&data.join("log.db"), 0o600);
        assert_eq!(told().len(), 1);
        assert_eq!(told()[0].0, Fine);
        set(&data.join("log.db"), 0o644);
        let found = told().remove(0);
        assert_eq!(found.0, Warning);
        assert!(found.1.contains("log.db (mode 0644)") && found.2.starts_with("chmod 600 "), "{found:?}");
        set(&data, 0o755);
        assert!(told()[0].1.ends_with("data (mode 0755, and 1 more)"), "{:?}", told());
        set(&data.join("log.db"), 0o660);
        set(&data, 0o2770);
        let found = told();
        assert_eq!((found.len(), found[0].0, found[1].0), (2, Fine, Warning), "{found:?}");
        assert!(found[1].1.starts_with("it is shared with group "), "{found:?}");
        set(dir.path(), 0o777);
        assert!(told().last().unwrap().1.starts_with("every user can replace it"), "{:?}", told());
    }
}
