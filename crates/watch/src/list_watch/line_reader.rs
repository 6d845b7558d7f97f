//! Takes from a watch whatever lines are there.

use std::fmt;

use bytes::Bytes;
use futures_util::StreamExt;
use tokio::time::{Instant, timeout, timeout_at};

use crate::limits::Limits;
use crate::lines::{Lines, TooLong};
use crate::request::Pieces;

/// What a watch had.
#[derive(Debug)]
pub(super) enum Read {
    /// Lines that were there at once.
    Lines(Vec<Bytes>),
    /// A line longer than we take.
    TooLong,
    /// The end; the next watch sends a line again that was cut off by it.
    Ended(Ending),
}

/// How a watch ended.
#[derive(Clone, Debug)]
pub(super) enum Ending {
    /// By the server, as every watch does.
    Closed,
    /// By a failure on the way.
    Broken(String),
    /// Nothing arrived for too long.
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
pub(super) struct LineReader {
    body: Pieces,
    lines: Lines,
    /// Lines that are there; kept here, so that a wait that is dropped loses none.
    batch: Vec<Bytes>,
    bytes: usize,
    /// When the batch is handed over at the latest.
    due: Option<Instant>,
    ended: Option<Ending>,
    limits: Limits,
}

impl LineReader {
    pub(super) fn new(body: Pieces, limits: &Limits) -> Self {
        LineReader {
            body,
            lines: Lines::new(limits.line_bytes),
            batch: Vec::new(),
            bytes: 0,
            due: None,
            ended: None,
            limits: limits.clone(),
        }
    }

    /// Waits for a line and takes along those that come within a moment: servers send line by line, and a commit for
    /// each would be the slowest way to record a storm. May be dropped while it waits.
    pub(super) async fn next(&mut self) -> Read {
        loop {
            let too_long = self.gather().is_err();
            if !self.batch.is_empty() && (too_long || self.is_full() || self.ended.is_some()) {
                return self.take();
            }
            match &self.ended {
                _ if too_long => return Read::TooLong,
                Some(why) => return Read::Ended(why.clone()),
                None if self.batch.is_empty() => self.wait().await,
                None => {
                    let linger = self.limits.linger;
                    let due = *self.due.get_or_insert_with(|| Instant::now() + linger);
                    match timeout_at(due, self.body.next()).await {
                        Ok(piece) => self.push(piece),
                        Err(_) => return self.take(),
                    }
                }
            }
        }
    }

    /// Takes whole lines out of what has arrived.
    fn gather(&mut self) -> Result<(), TooLong> {
        while !self.is_full() {
            let Some(line) = self.lines.next()? else { break };
            self.bytes += line.len();
            self.batch.push(line);
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        self.batch.len() >= self.limits.batch_lines || self.bytes >= self.limits.batch_bytes
    }

    fn take(&mut self) -> Read {
        (self.bytes, self.due) = (0, None);
        Read::Lines(std::mem::take(&mut self.batch))
    }

    /// Waits for one more piece or the end.
    async fn wait(&mut self) {
        match timeout(self.limits.idle, self.body.next()).await {
            Ok(piece) => self.push(piece),
            Err(_) => self.ended = Some(Ending::Silence),
        }
    }

    fn push(&mut self, piece: Option<Result<Bytes, String>>) {
        match piece {
            Some(Ok(piece)) => self.lines.push(&piece),
            Some(Err(error)) => self.ended = Some(Ending::Broken(error)),
            None => self.ended = Some(Ending::Closed),
        }
    }
}
