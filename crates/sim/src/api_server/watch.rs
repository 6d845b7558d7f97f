//! Watches: streams of JSON lines that read the retained window at their reader's pace.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::faults::Fault;
use super::kinds::ServedKind;
use super::list::{put_typed, typed_prefix};
use super::objects::Stored;
use super::query::Query;
use super::selector::Filter;
use super::shared::Shared;
use super::state::WatchEvent;
use super::status::Status;

/// Events taken from the window at a time, so that a reader never keeps its lock for long.
const BATCH: usize = 256;
/// How long a watch lasts when its client sets no timeout.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// One watch being answered.
pub(super) struct Watch {
    shared: Arc<Shared>,
    kind: Arc<ServedKind>,
    filter: Filter,
    /// Everything up to here was sent or is in `lines`.
    position: u64,
    lines: VecDeque<Line>,
    /// An event that waits for another object's to go first, by [`Fault::SwappedEvents`].
    delayed: Option<DelayedEvent>,
    wake: watch::Receiver<u64>,
    prefix: String,
    deadline: Instant,
    next_bookmark: Option<Instant>,
    silent: bool,
    ended: bool,
}

/// A delayed event, and how often faults had been cleared by then: clearing them releases it.
struct DelayedEvent {
    uid: String,
    cleared: u64,
    line: Line,
}

/// A line before it is written.
enum Line {
    Event(&'static str, Arc<Stored>),
    Raw(Bytes),
}

impl Watch {
    /// Opens a watch, or returns why not.
    pub(super) fn open(
        shared: &Arc<Shared>,
        kind: &Arc<ServedKind>,
        namespace: Option<&str>,
        query: &Query,
    ) -> Result<Self, Status> {
        let filter = Filter::parse(namespace, query.text("labelSelector"), query.text("fieldSelector"))?;
        let streaming = query.flag("sendInitialEvents");
        check_streaming(shared, kind, streaming, query)?;
        let asked = query.number("resourceVersion")?.filter(|&version| version > 0);
        if shared.faults.strikes(Fault::GoneAtStart, kind.lane()) {
            return Err(Status::too_old(asked.unwrap_or(0), shared.state().version));
        }
        let bookmarks = query.flag("allowWatchBookmarks");
        let timeout = query.number("timeoutSeconds")?.filter(|&seconds| seconds > 0);
        let now = Instant::now();
        let mut watch = Watch {
            wake: shared.wake.subscribe(),
            prefix: typed_prefix(kind),
            deadline: now + timeout.map_or(DEFAULT_TIMEOUT, Duration::from_secs),
            next_bookmark: bookmarks.then(|| now + shared.bookmark_every()),
            silent: shared.faults.strikes(Fault::SilentWatch, kind.lane()),
            ended: shared.faults.strikes(Fault::ClosedWatch, kind.lane()),
            shared: Arc::clone(shared),
            kind: Arc::clone(kind),
            filter,
            position: 0,
            lines: VecDeque::new(),
            delayed: None,
        };
        match asked {
            Some(version) if !streaming => watch.resume(version),
            _ => watch.begin(streaming && bookmarks),
        }
        Ok(watch)
    }

    /// Starts with every object there is.
    fn begin(&mut self, mark_end: bool) {
        let state = self.shared.state();
        self.position = state.version;
        let present = state.objects(&self.kind.kind).filter(|stored| self.filter.matches(stored));
        self.lines = present.map(|stored| Line::Event("ADDED", Arc::clone(stored))).collect();
        drop(state);
        if mark_end {
            let bookmark = self.bookmark(true);
            self.lines.push_back(Line::Raw(bookmark));
        }
    }

    /// Starts after a resourceVersion. One that lies ahead is of another life of this server: the client must relist.
    fn resume(&mut self, version: u64) {
        let state = self.shared.state();
        let (oldest, newest) = (state.oldest_of(&self.kind.kind), state.version);
        drop(state);
        self.position = version;
        if version < oldest || version > newest {
            self.fail(&Status::too_old(version, oldest.max(1)));
        }
    }

    /// The next line, or none at the end.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.silent {
                std::future::pending::<()>().await;
            }
            if let Some(line) = self.lines.pop_front() {
                return Some(self.write(line));
            }
            if self.ended {
                return None;
            }
            self.wake.mark_unchanged();
            self.fill();
            if !self.lines.is_empty() || self.ended {
                continue;
            }
            let bookmark_at = self.next_bookmark.filter(|_| self.delayed.is_none()).unwrap_or(self.deadline);
            tokio::select! {
                // In a fixed order, so that a simulation can be repeated.
                biased;
                changed = self.wake.changed() => self.ended = changed.is_err(),
                () = sleep_until(bookmark_at.min(self.deadline)) => {
                    if Instant::now() >= self.deadline {
                        self.ended = true;
                    }
                    if let Some(at) = &mut self.next_bookmark && self.delayed.is_none() {
                        *at = Instant::now() + self.shared.bookmark_every();
                        return Some(self.bookmark(false));
                    }
                }
            }
        }
    }

    /// Takes the events of the window beyond the position.
    fn fill(&mut self) {
        let state = self.shared.state();
        let served = state.kind(&self.kind.kind).is_some_and(|kind| Arc::ptr_eq(kind, &self.kind));
        if !served {
            self.ended = true;
            return;
        }
        if self.position < state.forgotten {
            let status = Status::too_old(self.position, state.forgotten);
            drop(state);
            return self.fail(&status);
        }
        let from = state.events.partition_point(|event| event.version <= self.position);
        let mine = state.events.range(from..).filter(|event| event.kind.kind == self.kind.kind);
        let events: Vec<WatchEvent> = mine.take(BATCH).cloned().collect();
        let reached = if events.len() < BATCH { state.version } else { 0 };
        drop(state);
        for event in events {
            if self.ended {
                return;
            }
            self.position = event.version;
            self.send(&event);
        }
        self.position = self.position.max(reached);
        let cleared = self.shared.faults.cleared();
        let freed = self.delayed.take_if(|delayed| delayed.cleared != cleared);
        self.lines.extend(freed.map(|delayed| delayed.line));
    }

    /// Puts an event into the lines, as far as the fault script lets it.
    fn send(&mut self, event: &WatchEvent) {
        let Some(kind_of_event) = self.seen_as(event) else { return };
        let lane = self.kind.lane();
        let faults = &self.shared.faults;
        if faults.strikes(Fault::GoneInStream, lane) {
            let status = Status::too_old(event.version, event.version + 1);
            return self.fail(&status);
        }
        let line = || Line::Event(kind_of_event, Arc::clone(&event.after));
        if faults.strikes(Fault::TruncatedLine, lane) {
            let whole = self.write(line());
            self.lines.push_back(Line::Raw(whole.slice(..whole.len() / 2)));
            self.ended = true;
            return;
        }
        if faults.strikes(Fault::GarbageLine, lane) {
            self.lines
                .push_back(Line::Raw(Bytes::from_static(b"{\"type\":\"MODIFIED\",\"object\":\x01oops\n")));
        }
        let repeated = faults.strikes(Fault::RepeatedEvent, lane);
        let uid = &event.after.uid;
        if self.delayed.is_none() && faults.strikes(Fault::SwappedEvents, lane) {
            self.delayed = Some(DelayedEvent { uid: uid.clone(), cleared: faults.cleared(), line: line() });
            return;
        }
        // Events of one object stay in order: the delayed one then comes first after all.
        let same = self.delayed.take_if(|delayed| delayed.uid == *uid);
        self.lines.extend(same.map(|delayed| delayed.line));
        self.lines.push_back(line());
        if repeated {
            self.lines.push_back(line());
        }
        self.lines.extend(self.delayed.take().map(|delayed| delayed.line));
        self.ended |= faults.strikes(Fault::CutAfterEvent, lane);
    }

    /// What the event is to this watch: an object may enter or leave its selection.
    fn seen_as(&self, event: &WatchEvent) -> Option<&'static str> {
        let before = event.before.as_ref().is_some_and(|stored| self.filter.matches(stored));
        let after = !event.deleted && self.filter.matches(&event.after);
        match (before, after) {
            (false, true) => Some("ADDED"),
            (true, true) => Some("MODIFIED"),
            (true, false) => Some("DELETED"),
            (false, false) => None,
        }
    }

    /// Sends an error in the stream and ends it.
    fn fail(&mut self, status: &Status) {
        let line = json!({"type": "ERROR", "object": status.to_json()});
        self.lines.push_back(Line::Raw(Bytes::from(format!("{line}\n"))));
        self.ended = true;
    }

    fn bookmark(&self, initial_end: bool) -> Bytes {
        let mut metadata =
            json!({"resourceVersion": self.position.to_string(), "creationTimestamp": Value::Null});
        if initial_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let (kind, api_version) = (&self.kind.kind.kind, self.kind.api_version());
        let object = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        Bytes::from(format!("{}\n", json!({"type": "BOOKMARK", "object": object})))
    }

    fn write(&self, line: Line) -> Bytes {
        match line {
            Line::Raw(bytes) => bytes,
            Line::Event(kind_of_event, stored) => {
                let mut out = BytesMut::with_capacity(stored.body.len() + 128);
                out.put_slice(b"{\"type\":\"");
                out.put_slice(kind_of_event.as_bytes());
                out.put_slice(b"\",\"object\":");
                put_typed(&mut out, &self.prefix, &stored);
                out.put_slice(b"}\n");
                out.freeze()
            }
        }
    }
}

fn check_streaming(shared: &Shared, kind: &ServedKind, streaming: bool, query: &Query) -> Result<(), Status> {
    if streaming && shared.faults.strikes(Fault::NoStreamingList, kind.lane()) {
        return Err(Status::invalid(
            "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden \
             for watch unless the WatchList feature gate is enabled",
        ));
    }
    if streaming && query.text("resourceVersionMatch") != "NotOlderThan" {
        return Err(Status::invalid(
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires \
             setting resourceVersionMatch to NotOlderThan",
        ));
    }
    Ok(())
}
