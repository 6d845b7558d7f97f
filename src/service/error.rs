//! What can end the service, each with what to do about it.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::http::tls::TlsError;
use strandline_log::{AppendError, LogError};
use strandline_sqlite::{LockError, OpenError};
use strandline_view::ProjectorError;
use strandline_watch::ConnectError;

/// Why the service did not start or go on.
#[derive(Debug, Error)]
pub enum ServiceError {
    /// A cluster cannot even be tried.
    #[error("cluster `{cluster}`: {source}")]
    Connect {
        /// Its name in the configuration.
        cluster: String,
        /// Why.
        source: ConnectError,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// So many connections cannot be open.
    #[error(
        "`limits.connections` is {connections}, which takes {needed} open files, and the system allows {files}"
    )]
    FewOpenFiles {
        /// The connections that were asked for.
        connections: usize,
        /// The files that they take, with those for clusters and data.
        needed: u64,
        /// The files that may be open.
        files: u64,
    },
    /// Others than this machine could read everything.
    #[error(
        "others than this machine can reach {address}, and no token is configured: they could read everything"
    )]
    OpenToOthers {
        /// The address.
        address: SocketAddr,
    },
    /// The certificate of the server cannot be used.
    #[error("TLS: {0}")]
    Tls(#[from] TlsError),
    /// The data directory cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The data directory lies where SQLite cannot rely on locks.
    #[error("{} lies on {filesystem}, where a lock may not reach other machines", data.display())]
    Filesystem {
        /// The data directory.
        data: PathBuf,
        /// The filesystem.
        filesystem: String,
    },
    /// The key that hides secrets cannot be used.
    #[error("cannot use redaction.key in the data directory: {0}")]
    Key(io::Error),
    /// There is no log where one is needed.
    #[error("no log in {}", data.display())]
    NoLog {
        /// The data directory.
        data: PathBuf,
    },
    /// The log cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The log does not take changes.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The view cannot be kept.
    #[error(transparent)]
    Projection(#[from] ProjectorError),
    /// The simulated fleet cannot be started.
    #[error("the simulated fleet cannot be started: {0}")]
    Fleet(io::Error),
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// A task ended that the rest cannot do without.
    #[error("the task `{task}` ended: {why}; the log has every acknowledged change")]
    Fell {
        /// Its name.
        task: String,
        /// Why.
        why: String,
    },
    /// A part of the program failed in a way that was not foreseen.
    #[error("a part of the program panicked; the log has every acknowledged change")]
    Panicked,
}

impl ServiceError {
    /// What to do about it, in a sentence.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            ServiceError::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                "another program listens there; choose another address with --listen"
            }
            ServiceError::Listen { .. } => "choose an address of this machine with --listen",
            ServiceError::FewOpenFiles { .. } => {
                "raise the limit of open files (`ulimit -n`, LimitNOFILE of systemd), or lower `limits.connections`"
            }
            ServiceError::OpenToOthers { .. } => {
                "make a token with `strandline token` and add it to the configuration, listen on 127.0.0.1, or let \
                 everybody read with --allow-anonymous-read"
            }
            ServiceError::Lock(LockError::Held { .. }) => {
                "stop that process first, or choose another directory with --data"
            }
            ServiceError::Lock(LockError::Io { source, .. }) | ServiceError::Key(source)
                if strandline_sqlite::is_storage_full(source) =>
            {
                MAKE_ROOM
            }
            ServiceError::Log(error) | ServiceError::Projection(ProjectorError::Log(error))
                if error.is_disk_full() =>
            {
                MAKE_ROOM
            }
            ServiceError::Projection(error) if error.is_disk_full() => MAKE_ROOM,
            ServiceError::Lock(LockError::Io { directory, .. }) => return Some(give_to_us(directory)),
            ServiceError::Log(LogError::Open(OpenError::Sqlite { path, source }))
                if strandline_sqlite::is_denied(source) =>
            {
                return Some(give_to_us(path));
            }
            ServiceError::Filesystem { .. } => {
                "keep it on a disk of this machine, or take the risk with --allow-network-filesystem"
            }
            ServiceError::NoLog { .. } => "use the data directory of `serve`",
            ServiceError::Log(error) | ServiceError::Projection(ProjectorError::Log(error)) => {
                error.hint()?
            }
            ServiceError::Tls(TlsError::Mismatch { .. }) => {
                "name the key that the certificate was made for in `tls.key`"
            }
            ServiceError::Tls(_) => "check the files of `tls` in the configuration",
            ServiceError::Key(_) => "put the file back as it was, or remove it to begin with a new key",
            ServiceError::Connect { .. }
            | ServiceError::Append(_)
            | ServiceError::Projection(_)
            | ServiceError::Fleet(_)
            | ServiceError::Thread(_)
            | ServiceError::Fell { .. }
            | ServiceError::Panicked => return None,
        };
        Some(text.to_owned())
    }
}

/// Whose a file or folder has to be, so that it can be used.
fn give_to_us(path: &Path) -> String {
    let owner = |path: &Path| std::fs::metadata(path).map(|file| file.uid()).ok();
    let whose = match (owner(path), owner(Path::new("/proc/self"))) {
        (Some(owner), Some(us)) if owner != us => {
            format!("it belongs to user {owner} and this program runs as {us}; ")
        }
        _ => String::new(),
    };
    format!("{whose}let the user that runs Strandline write it, or choose another directory with --data")
}

const MAKE_ROOM: &str = "free disk space for the data directory, or choose another directory with --data";
