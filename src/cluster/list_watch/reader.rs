//! Takes from a watch whatever lines are there.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use tokio::time::timeout;

use crate::cluster::Limits;
use crate::cluster::lines::Lines;
use crate::cluster::request::Pieces;

/// What a watch had.
#[derive(Debug)]
pub(super) enum Read {
    /// Lines that were there at once.
    Lines(Vec<Bytes>),
    /// A line longer than we take.
    TooLong,
    /// The end; a line cut off by it is told again by the next watch.
    Ended(Ending),
}

/// How a watch ended.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    /// By the server, as every watch does.
    Closed,
    /// By a failure on the way.
    Broken(String),
    /// It was given up, for nothing was heard for too long.
    Silence,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Closed => f.write_str("closed by the server"),
            Ending::Broken(why) => f.write_str(why),
            Ending::Silence => f.write_str("no sign of life"),
        }
    }
}

/// Reads a watch in batches.
pub(super) struct Reader {
    body: Pieces,
    lines: Lines,
    ended: Option<Ending>,
    batch_lines: usize,
    batch_bytes: usize,
    idle: Duration,
}

impl Reader {
    pub(super) fn new(body: Pieces, limits: &Limits) -> Self {
        Reader {
            body,
            lines: Lines::new(limits.line_bytes),
            ended: None,
            batch_lines: limits.batch_lines,
            batch_bytes: limits.batch_bytes,
            idle: limits.idle,
        }
    }

    /// Waits for a line and takes along those that are there already; may be dropped while it waits.
    pub(super) async fn next(&mut self) -> Read {
        let mut batch = Vec::new();
        let mut bytes = 0;
        loop {
            while batch.len() < self.batch_lines && bytes < self.batch_bytes {
                match self.lines.next() {
                    Ok(Some(line)) => {
                        bytes += line.len();
                        batch.push(line);
                    }
                    Ok(None) => break,
                    Err(_) if batch.is_empty() => return Read::TooLong,
                    Err(_) => return Read::Lines(batch),
                }
            }
            if batch.len() >= self.batch_lines || bytes >= self.batch_bytes {
                return Read::Lines(batch);
            }
            if let (Some(why), true) = (&self.ended, batch.is_empty()) {
                return Read::Ended(why.clone());
            }
            if !self.more(!batch.is_empty()).await {
                return Read::Lines(batch);
            }
        }
    }

    /// Takes in one more piece or the end; with `at_once` only when it is there, else false.
    async fn more(&mut self, at_once: bool) -> bool {
        if self.ended.is_some() {
            return false;
        }
        let piece = if at_once {
            match self.body.next().now_or_never() {
                Some(piece) => piece,
                None => return false,
            }
        } else if let Ok(piece) = timeout(self.idle, self.body.next()).await {
            piece
        } else {
            self.ended = Some(Ending::Silence);
            return true;
        };
        match piece {
            Some(Ok(piece)) => self.lines.push(&piece),
            Some(Err(error)) => self.ended = Some(Ending::Broken(error)),
            None => self.ended = Some(Ending::Closed),
        }
        true
    }
}
