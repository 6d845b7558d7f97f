//! How databases are opened and shared: one writer each, and a bounded pool of readers.
//!
//! This is where async ends: a query is handed to a thread of the pool, never run where requests are served.

pub mod column;
mod cut;
mod identity;
mod key;
mod lock;
mod mounts;
mod open;
mod pool;
mod private;
mod room;
mod space;
mod timed;
mod turns;
mod watermark;

pub use cut::{Cut, cut, is_database};
pub use identity::{Displaced, Identities};
pub use key::{KEY_FILE, keep_key, new_key, redaction_key};
pub use lock::{DirectoryLock, LockError};
pub use mounts::{filesystem_of, is_unreliable};
pub use open::{
    OpenError, Role, empty_wal, give_back, is_corrupt, is_denied, is_disk_full, is_interrupted,
    is_shrinkable, is_storage_full, leave_files, open, open_at_rest, sqlite_version, with_temporary,
};
pub use pool::{Abandoned, Pool, PoolError};
pub use private::{
    Exposed, create_directories, create_directory, create_file, enter_directory, exposed, is_link,
    keep_private, open_file, replace_file,
};
pub use room::{RoomWait, sleep_unless};
pub use space::free_bytes;
pub use timed::commit;
pub use turns::{Asker, Crowd};
pub use watermark::Watermark;
