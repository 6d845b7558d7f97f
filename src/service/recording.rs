//! Opens the log to record, or only to be read where it is damaged.

use std::path::Path;
use std::sync::Arc;

use super::ServiceError;
use crate::clock::Clock;
use crate::log::{Appender, LogError, LogReader, LogWriter, WriterHealth};
use crate::projection::{self, ViewState};
use crate::store::Watermark;

/// The log as far as it can be used.
pub(super) struct Recording {
    pub(super) appender: Appender,
    pub(super) head: Watermark,
    pub(super) health: WriterHealth,
    /// None where nothing may be written.
    pub(super) writer: Option<LogWriter>,
}

impl Recording {
    /// Opens the log of a data directory whose lock the caller holds. A damaged one is only read, as long as there is a
    /// view from which to answer; nothing is added to it, since that would bury what is lost.
    pub(super) fn open(data: &Path, clock: Arc<dyn Clock>) -> Result<Self, ServiceError> {
        match LogWriter::open(data, Arc::clone(&clock)) {
            Ok((writer, appender)) => {
                let (head, health) = (writer.head(), writer.health());
                Ok(Recording { appender, head, health, writer: Some(writer) })
            }
            Err(error) if error.is_damage() => Self::read_only(data, error, &*clock),
            Err(error) => Err(error.into()),
        }
    }

    fn read_only(data: &Path, error: LogError, clock: &dyn Clock) -> Result<Self, ServiceError> {
        let ViewState::Current(checkpoint) = projection::inspect(data) else { return Err(error.into()) };
        let Ok(found) = LogReader::open(data).and_then(|log| log.head()) else { return Err(error.into()) };
        let error = ServiceError::from(error);
        let why = format!("{error}; {}", error.hint().unwrap_or_default());
        tracing::error!(%error, hint = error.hint(), "nothing is recorded; what was recorded can be asked for");
        // The view may hold more than a log that lost its end.
        let head = Watermark::new(found.max(checkpoint));
        let health = WriterHealth::refusing(clock.now(), &why);
        Ok(Recording { appender: Appender::refusing(&why), head, health, writer: None })
    }
}
