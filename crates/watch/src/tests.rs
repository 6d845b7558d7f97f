//! The state machine against a small server with a script for each test.

#![expect(clippy::unwrap_used, reason = "a test may fail loudly")]

mod consistency;
mod credentials;
mod definitions;
mod fake;
mod late;
mod list_watch;
mod namespaces;
mod outages;
mod removed;
mod restarts;
mod streaming;
mod supervise;
