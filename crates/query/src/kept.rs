//! What is kept in memory of one file of the view, from one question to the next.

use crate::kept_lines::KeptLines;
use crate::overview::KeptMoves;
use crate::standings::Standings;

/// Each part is read when it is first asked for; clones share it.
#[derive(Clone)]
pub(super) struct Kept {
    /// How all environments stand.
    pub(super) standings: Standings,
    /// What environments showed lately.
    pub(super) moves: KeptMoves,
    /// The lines of search.
    pub(super) lines: KeptLines,
}

impl Kept {
    /// The same of another file, of which nothing is known yet, once nobody writes the one before any more.
    pub(super) fn of_another_file(&self) -> Self {
        Kept {
            standings: self.standings.of_another_file(),
            moves: KeptMoves::default(),
            lines: self.lines.of_another_file(),
        }
    }
}
