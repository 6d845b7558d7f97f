//! Opens the log to record, at once or as soon as there is room, or only to be read where it is damaged.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::error::ServiceError;
use strandline_clock::Clock;
use strandline_log::{Appender, LogError, LogReader, LogWriter, OpenLog, Queue, WriterHealth};
use strandline_query::Queries;
use strandline_sqlite::{FullDiskBackoff, Watermark};
use strandline_view::ViewState;

/// The log as far as it can be used.
pub(super) struct Recording {
    pub(super) appender: Appender,
    pub(super) head: Watermark,
    pub(super) health: WriterHealth,
    /// None where nothing may be written.
    pub(super) writer: Option<Writer>,
    pub(super) opened: LogOpened,
}

/// Whether the log is open to be written; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct LogOpened(Arc<AtomicBool>);

impl LogOpened {
    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Who writes the log.
pub(super) enum Writer {
    Open(Box<LogWriter>),
    Waiting(Waiting),
}

/// The writer of a log that cannot be opened as long as the disk is full.
pub(super) struct Waiting {
    queue: Queue,
    data: PathBuf,
    /// A new key, to be kept before anything is recorded by it.
    key: Option<[u8; 32]>,
    room: FullDiskBackoff,
    opened: LogOpened,
    cache: usize,
}

impl Recording {
    /// Opens the log of a data directory whose lock the caller holds, to be written with a cache of so many bytes; a key that
    /// could not be kept says that there is no
    /// room. A damaged log is only read, as long as there is a view from which to answer; nothing is added to it, since
    /// that would bury what is lost.
    pub(super) fn open(
        data: &Path,
        key: Option<[u8; 32]>,
        cache: usize,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, ServiceError> {
        if key.is_some() {
            return Ok(Self::waiting(data, (key, cache), &"the key cannot be kept", clock));
        }
        match OpenLog::open(data) {
            Ok(log) => {
                let (queue, appender) = Queue::new(clock);
                let (head, health, opened) = (queue.head(), queue.health(), LogOpened::default());
                opened.set();
                let writer = Some(Writer::Open(Box::new(set_up(LogWriter::new(queue, log), cache)?)));
                Ok(Recording { appender, head, health, writer, opened })
            }
            Err(error) if error.is_damage() => Self::read_only(data, error, &*clock),
            Err(error) if error.is_disk_full() => Ok(Self::waiting(data, (None, cache), &error, clock)),
            Err(error) => Err(error.into()),
        }
    }

    /// Of a log that is written as soon as there is room; until then what it holds can be asked for.
    fn waiting(
        data: &Path,
        (key, cache): (Option<[u8; 32]>, usize),
        error: &impl std::fmt::Display,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (queue, appender) = Queue::new(clock);
        let (head, health, opened) = (queue.head(), queue.health(), LogOpened::default());
        if let Ok(found) = LogReader::open_at_rest(data).and_then(|log| log.head()) {
            head.set(found);
        }
        let mut room = FullDiskBackoff::new("the log");
        room.next_wait(error);
        queue.report_no_room();
        let waiting = Waiting { queue, data: data.to_owned(), key, room, opened: opened.clone(), cache };
        Recording { appender, head, health, writer: Some(Writer::Waiting(waiting)), opened }
    }

    fn read_only(data: &Path, error: LogError, clock: &dyn Clock) -> Result<Self, ServiceError> {
        let ViewState::Current(checkpoint) = strandline_view::inspect(data) else { return Err(error.into()) };
        let newest = |log: LogReader| {
            let head = log.head()?;
            Ok((head, log.observed_at(head)?))
        };
        let Ok((found, last)) = LogReader::open(data).and_then(newest) else { return Err(error.into()) };
        let error = ServiceError::from(error);
        let why = format!("{error}; {}", error.hint().unwrap_or_default());
        tracing::error!(%error, hint = error.hint(), "recording is disabled: the log cannot be opened for writing; recorded history stays available");
        // The view may hold more than a log that lost its end.
        let head = Watermark::new(found.max(checkpoint));
        // What happened after the last change that is there is not recorded.
        let since = last.unwrap_or_else(|| clock.now());
        let (health, opened) = (WriterHealth::refusing(since, &why), LogOpened::default());
        Ok(Recording { appender: Appender::refusing(&why), head, health, writer: None, opened })
    }
}

/// How long after a commit of few changes the next begins at the earliest: several clusters send their changes one by one.
const COMMITS_APART: Duration = Duration::from_millis(5);

/// The writer of a service, with a cache of so many bytes.
fn set_up(writer: LogWriter, cache: usize) -> Result<LogWriter, LogError> {
    writer.with_commits_apart(COMMITS_APART).with_cache(cache)
}

impl Writer {
    /// Writes until nobody is left who could ask; the readers of `queries` are closed when the log is opened.
    pub(super) fn run(self, queries: &Queries) -> Result<(), LogError> {
        match self {
            Writer::Open(writer) => writer.run(),
            Writer::Waiting(waiting) => waiting.run(queries),
        }
    }
}

impl Waiting {
    fn run(mut self, queries: &Queries) -> Result<(), LogError> {
        while !self.queue.is_closed() {
            let error = match self.write_key() {
                Err(error) => error.to_string(),
                // Who reads it on a full disk would not see what is written from now on.
                Ok(()) => match queries.replace(|| OpenLog::open(&self.data)) {
                    Ok(log) => {
                        self.room.end();
                        self.opened.set();
                        return set_up(LogWriter::new(self.queue, log), self.cache)?.run();
                    }
                    Err(error) if error.is_disk_full() => error.to_string(),
                    Err(error) => return Err(error),
                },
            };
            self.queue.report_no_room();
            strandline_sqlite::sleep_unless(self.room.next_wait(&error), || self.queue.is_closed());
        }
        Ok(())
    }

    fn write_key(&mut self) -> std::io::Result<()> {
        if let Some(key) = &self.key {
            strandline_sqlite::write_key(&self.data, key)?;
        }
        self.key = None;
        Ok(())
    }
}
