//! How databases are opened and shared: one writer each, and a bounded pool of readers.
//!
//! This is where async ends: a query is handed to a thread of the pool, never run where requests are served.

mod lock;
mod open;
mod pool;
mod watermark;

pub use lock::{DirectoryLock, LockError};
pub use open::{OpenError, Role, is_corrupt, is_disk_full, open, sqlite_version};
pub use pool::{Pool, PoolError};
pub use watermark::Watermark;
