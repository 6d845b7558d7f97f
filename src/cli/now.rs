//! What time it is for a command: that of this machine, or where a record is read that nobody goes on with, its end.

use std::sync::{LazyLock, OnceLock};

use strandline_clock::{Clock, SystemClock};
use strandline_model::Timestamp;

/// Where the record ends that this command reads.
static RECORD_END: OnceLock<Timestamp> = OnceLock::new();

/// When this command began to read what it was asked.
static BEGUN: LazyLock<Timestamp> = LazyLock::new(|| SystemClock.now());

/// Now, by one reading of the clock for all that a command line says.
pub(super) fn of_command_line() -> Timestamp {
    RECORD_END.get().copied().unwrap_or(*BEGUN)
}

/// Now.
pub(super) fn now() -> Timestamp {
    RECORD_END.get().copied().unwrap_or_else(|| SystemClock.now())
}

/// From here on it is the time at which the record ends; a command reads one.
pub(super) fn stop_at(end: Timestamp) {
    RECORD_END.get_or_init(|| end);
}
