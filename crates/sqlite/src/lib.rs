//! How databases are opened and shared: one writer each, and a bounded pool of readers.
//!
//! This is where async ends: a query is handed to a thread of the pool, never run where requests are served.

mod checkpoints;
pub mod column;
mod failure;
mod full_disk;
mod identity;
mod key;
mod lock;
mod mounts;
mod open;
mod pace;
mod pool;
mod private;
mod resting;
mod space;
mod timed;
mod truncation;
mod turns;
mod wal;
mod watermark;

pub use checkpoints::Checkpoints;
pub use failure::{is_corrupt, is_denied, is_disk_full, is_interrupted, is_storage_full};
pub use full_disk::{FullDiskBackoff, sleep_unless};
pub use identity::{Displaced, Identities};
pub use key::{KEY_FILE, new_key, redaction_key, write_key};
pub use lock::{DirectoryLock, LockError};
pub use mounts::{filesystem_of, is_unreliable};
pub use open::{OpenError, Role, open, open_at_rest, size_cache, sqlite_version, with_temporary};
pub use pace::Pace;
pub use pool::{Abandoned, Pool, PoolError};
pub use private::{
    Exposed, create_directories, create_directory, create_file, enter_directory, exposed, is_link,
    keep_private, open_file, replace_file,
};
pub use resting::{Resting, lacks_wal_index};
pub use space::free_bytes;
pub use timed::commit;
pub use truncation::{Truncation, is_database, truncation};
pub use turns::{Asker, Crowd};
pub use wal::{
    LOCK_TIMEOUT, incremental_vacuum, is_shrinkable, skip_checkpoint_on_close, truncate_wal, wal, wal_index,
};
pub use watermark::Watermark;
