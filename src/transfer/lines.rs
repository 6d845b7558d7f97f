//! Lines of a file, packed with zstd or not, each with its place.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use super::error::{Result, TransferError, io};
use super::format::FORMAT;

/// The longest line that is read: more than the largest object that a watcher takes, and the most memory that a file can
/// make an import take for a line.
pub(super) const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// What a zstd frame may ask us to keep of what lies before, as a power of two; `zstd -19` stays below.
const WINDOW_LOG_MAX: u32 = 26;

const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads a file line by line; nothing of it is kept but the present line.
pub(super) struct Lines {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    line: Vec<u8>,
    /// The present line, from 1.
    number: u64,
    /// Where it begins, in the unpacked text.
    start: u64,
    /// Where the next one begins.
    next: u64,
}

impl Lines {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let mut file = File::open(path).map_err(io(path))?;
        let mut first = [0; 4];
        let known = file.read(&mut first).map_err(io(path))?;
        file.rewind().map_err(io(path))?;
        let wrong =
            |why: &str| TransferError::Wrong { path: path.to_owned(), line: 1, byte: 0, why: why.into() };
        let reader: Box<dyn BufRead> = if first == ZSTD {
            let mut decoder = zstd::stream::read::Decoder::new(file).map_err(io(path))?;
            decoder.window_log_max(WINDOW_LOG_MAX).map_err(io(path))?;
            Box::new(BufReader::with_capacity(64 * 1024, decoder))
        } else if known >= 2 && first[..2] == GZIP {
            return Err(wrong(
                "the file is compressed with gzip, which is not supported; decompress it first",
            ));
        } else {
            Box::new(BufReader::with_capacity(64 * 1024, file))
        };
        Ok(Lines { path: path.to_owned(), reader, line: Vec::new(), number: 0, start: 0, next: 0 })
    }

    /// A file that is not packed, so that its lines can be found again by their places.
    pub(super) fn open_plain(path: &Path) -> Result<Self> {
        let mut first = [0; 4];
        let read = File::open(path).and_then(|mut file| file.read(&mut first)).map_err(io(path))?;
        let lines = Lines::open(path)?;
        if read == first.len() && first == ZSTD {
            return Err(lines.wrong("the file is compressed with zstd; decompress it first"));
        }
        Ok(lines)
    }

    /// The next line without its end; none at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<&str>> {
        self.line.clear();
        self.number += 1;
        self.start = self.next;
        loop {
            let part = match self.reader.fill_buf() {
                Ok(part) => part,
                Err(error) => return Err(self.wrong(format!("reading failed: {error}"))),
            };
            let end = part.iter().position(|&byte| byte == b'\n');
            let taken = end.map_or(part.len(), |end| end + 1);
            if taken == 0 {
                break;
            }
            self.line.extend_from_slice(&part[..taken]);
            self.reader.consume(taken);
            self.next += taken as u64;
            if self.line.len() > LINE_BYTES_MAX {
                return Err(self.wrong(format!("the line has more than {LINE_BYTES_MAX} bytes")));
            }
            if end.is_some() {
                break;
            }
        }
        if self.line.is_empty() {
            return Ok(None);
        }
        match std::str::from_utf8(&self.line) {
            Ok(text) => Ok(Some(text.trim_end_matches(['\n', '\r']))),
            Err(_) => Err(self.wrong("the line is not UTF-8")),
        }
    }

    /// The present line with its end.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.line
    }

    /// Where the present line begins.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// How many lines were begun.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Says what is wrong with the present line.
    pub(super) fn wrong(&self, why: impl Into<String>) -> TransferError {
        TransferError::Wrong { path: self.path.clone(), line: self.number, byte: self.start, why: why.into() }
    }
}

/// The content of a file, by its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// An export of a log.
    Log,
    /// Lines of an audit log.
    Audit,
    /// Objects.
    Objects,
}

/// Detects the content of a file by its beginning.
///
/// # Errors
/// When it cannot be read.
pub fn content_of(path: &Path) -> Result<Content> {
    const BEGINNING: u64 = 4096;
    let mut lines = Lines::open(path)?;
    let mut text = Vec::new();
    let read = (&mut lines.reader).take(BEGINNING).read_to_end(&mut text);
    read.map_err(|error| lines.wrong(format!("it cannot be read: {error}")))?;
    let text = String::from_utf8_lossy(&text);
    let first = text.trim_start().lines().next().unwrap_or_default();
    Ok(match first {
        _ if first.starts_with(&format!("{{\"format\":\"{FORMAT}\"")) => Content::Log,
        _ if is_audit(&text, first) => Content::Audit,
        _ => Content::Objects,
    })
}

/// Whether a file begins as an audit log does, by itself or within records of a provider's logging service.
fn is_audit(text: &str, first: &str) -> bool {
    const GOOGLE: [&str; 2] = ["google.cloud.audit.AuditLog", "cloudaudit.googleapis.com"];
    let version = "\"audit.k8s.io/";
    if first.trim().len() > 1 && first.contains('{') {
        // One record a line. Within a text its quotes are escaped, which leaves them where they are.
        return first.contains(version) || GOOGLE.iter().any(|name| first.contains(name));
    }
    if first.starts_with(['{', '[']) {
        let event = text.contains(version)
            && ["\"kind\": \"Event", "\\\"audit.k8s.io/"].iter().any(|of| text.contains(of));
        return event || GOOGLE.iter().any(|name| text.contains(name));
    }
    let line = |begin: &str| text.lines().any(|line| line.trim_start_matches("- ").starts_with(begin));
    let google = line("protoPayload:") && GOOGLE.iter().any(|name| text.contains(name));
    google || (line("apiVersion: audit.k8s.io/") && line("kind: Event"))
}
