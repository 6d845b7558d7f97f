//! Lines out of pieces.

use bytes::{Bytes, BytesMut};

/// Cuts what arrives into lines; never holds more than one line of the allowed length and one piece.
#[derive(Debug)]
pub(super) struct Lines {
    buffer: BytesMut,
    searched: usize,
    longest: usize,
    broken: bool,
}

/// A line is longer than allowed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl Lines {
    pub(super) fn new(longest: usize) -> Self {
        Lines { buffer: BytesMut::new(), searched: 0, longest, broken: false }
    }

    pub(super) fn push(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    /// The next whole line without its end, skipping empty ones; once a line was too long, only that.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, TooLong> {
        while !self.broken {
            let Some(found) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                self.searched = self.buffer.len();
                self.broken = self.buffer.len() > self.longest;
                return if self.broken { Err(TooLong) } else { Ok(None) };
            };
            let line = self.buffer.split_to(self.searched + found + 1).freeze();
            self.searched = 0;
            self.broken = line.len() > self.longest + 1;
            let line = line.slice(..line.trim_ascii_end().len());
            if !self.broken && !line.is_empty() {
                return Ok(Some(line));
            }
        }
        Err(TooLong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_however_they_arrive() {
        let text = b"one\n\ntwo\r\nthree\nfour";
        for size in 1..text.len() {
            let mut lines = Lines::new(7);
            let mut found = Vec::new();
            for piece in text.chunks(size) {
                lines.push(piece);
                while let Ok(Some(line)) = lines.next() {
                    found.push(line);
                }
            }
            assert_eq!(found, ["one", "two", "three"], "pieces of {size}");
        }
    }

    #[test]
    fn a_line_that_never_ends_is_refused() {
        let mut lines = Lines::new(4);
        lines.push(b"abc\n12345");
        assert_eq!(lines.next(), Ok(Some(Bytes::from_static(b"abc"))));
        assert_eq!(lines.next(), Err(TooLong));
        lines.push(b"\nok\n");
        assert_eq!(lines.next(), Err(TooLong));
    }
}
