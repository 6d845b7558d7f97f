//! On which kind of filesystem a path is, as the kernel lists it in `/proc/self/mountinfo`.
//!
//! statfs returns a number that several share: ext2 to ext4 have one, and so have all that FUSE serves, whose names people know.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The filesystem on which a file or folder lies, or would lie once it is made; none where this system does not list them.
pub fn filesystem_of(place: &Path) -> Option<String> {
    let there = place.ancestors().find_map(|above| fs::canonicalize(above).ok());
    let there = there.or_else(|| fs::canonicalize(".").ok())?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    filesystem(&mounts, &there).map(str::to_owned)
}

/// The filesystem of a path that has no links and no `..` in it.
fn filesystem<'a>(mountinfo: &'a str, path: &Path) -> Option<&'a str> {
    let mounts = mountinfo.lines().filter_map(mount).filter(|(point, _)| path.starts_with(point));
    // Where two are mounted on the same point, the later one lies on top.
    mounts.max_by_key(|(point, _)| point.components().count()).map(|(_, filesystem)| filesystem)
}

/// The mount point and the filesystem of a line.
fn mount(line: &str) -> Option<(PathBuf, &str)> {
    let (mount, source) = line.split_once(" - ")?;
    Some((unescape(mount.split(' ').nth(4)?), source.split(' ').next()?))
}

/// Blanks, tabs, line ends and backslashes are written there as a backslash with three octal digits.
fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escaped) = rest.split_at(at);
        bytes.extend_from_slice(before.as_bytes());
        match escaped.get(1..4).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = escaped.get(4..).unwrap_or_default();
            }
            None => {
                bytes.push(b'\\');
                rest = escaped.get(1..).unwrap_or_default();
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// Whether SQLite cannot rely on a filesystem: its locks and shared memory may reach no other machine, or a
/// program is between the file and the disk.
pub fn is_unreliable(filesystem: &str) -> bool {
    let names = ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "ceph", "afs", "lustre"];
    names.contains(&filesystem) || filesystem.starts_with("fuse")
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw
30 22 0:26 / /srv rw shared:2 - nfs4 server:/export rw,vers=4.2
31 30 0:27 / /srv/local\\040disk rw - xfs /dev/vdb rw
32 22 0:28 / /mnt/over rw - tmpfs tmpfs rw
33 22 0:29 / /mnt/over rw master:3 propagate_from:2 - fuse.sshfs me@host: rw
";

    #[test]
    fn the_nearest_and_latest_mount_counts() {
        let cases = [
            ("/", "ext4"),
            ("/var/lib/strandline", "ext4"),
            ("/srv", "nfs4"),
            ("/srv/local", "nfs4"),
            ("/srvx", "ext4"),
            ("/srv/local disk/data", "xfs"),
            ("/mnt/over/data", "fuse.sshfs"),
        ];
        for (path, expected) in cases {
            assert_eq!(filesystem(MOUNTS, Path::new(path)), Some(expected), "{path}");
        }
        assert_eq!(filesystem("", Path::new("/")), None);
        assert_eq!(filesystem("no such line\n\\04 - \n", Path::new("/")), None);
    }

    #[test]
    fn filesystems_that_cannot_be_relied_on_are_known() {
        for bad in ["nfs", "nfs4", "cifs", "smb3", "9p", "fuse", "fuse.sshfs", "fuseblk", "virtiofs"] {
            assert!(is_unreliable(bad), "{bad}");
        }
        for good in ["ext4", "xfs", "btrfs", "zfs", "overlay", "tmpfs"] {
            assert!(!is_unreliable(good), "{good}");
        }
    }
}
