//! Traces by OTLP: spans of requests, of commits to the log and of the projector's transactions, sent to a collector where the
//! configuration names one.
//!
//! The spans are those of `tracing` with the target `traces`, which nothing else subscribes to. Why no library of
//! OpenTelemetry: docs/decisions/0037-traces-are-written-as-otlp-json.md.

mod document;
mod layer;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio_util::sync::CancellationToken;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::registry::LookupSpan;

use self::document::FinishedSpan;
use self::layer::SpanLayer;
use super::metric_writer::MetricWriter;
use crate::http::outgoing;

/// The target of all spans.
const TARGET: &str = "traces";

/// The most spans that wait to be sent; more are dropped.
const WAITING_MAX: usize = 4096;

/// The most spans of one request to the collector.
const BATCH_MAX: usize = 512;

/// How long spans are gathered.
const GATHER: Duration = Duration::from_secs(1);

/// How long spans are still sent after the end.
const LAST: Duration = Duration::from_secs(2);

/// Where spans are sent, and how many of them.
#[derive(Clone, Debug, PartialEq)]
pub struct TracesConfig {
    /// The URL to which they are posted.
    pub endpoint: String,
    /// Which part of the traces, from 0 to 1.
    pub sample: f64,
    /// What each request carries besides.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// How many spans were sent and how many were not; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct SpanCounts(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    exported: AtomicU64,
    dropped: AtomicU64,
}

impl SpanCounts {
    /// Writes the numbers.
    pub(super) fn encode(&self, out: &mut MetricWriter<'_, '_>) -> fmt::Result {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let results = [("exported", count(&self.0.exported)), ("dropped", count(&self.0.dropped))];
        let results = results.map(|(result, count)| ([("result", result)], count));
        out.counters("trace_spans", "Spans for the collector of traces, by result", results)
    }

    fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }
}

/// Takes finished spans to a collector; clones share it.
#[derive(Clone, Debug)]
pub struct TraceExporter {
    config: TracesConfig,
    sender: Sender<FinishedSpan>,
    receiver: Arc<Mutex<Option<Receiver<FinishedSpan>>>>,
    counts: SpanCounts,
}

impl TraceExporter {
    /// Nothing is sent before the service runs.
    pub fn new(config: TracesConfig) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        let receiver = Arc::new(Mutex::new(Some(receiver)));
        TraceExporter { config, sender, receiver, counts: SpanCounts::default() }
    }

    /// What subscribes to the spans. It never blocks: a span for which there is no room is dropped.
    pub fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self) -> impl Layer<S> + use<S> {
        let layer = SpanLayer::new(self.config.sample, self.sender.clone(), self.counts.clone());
        layer.with_filter(Targets::new().with_target(TARGET, LevelFilter::INFO))
    }

    pub(super) fn counts(&self) -> SpanCounts {
        self.counts.clone()
    }

    /// Sends what is finished, until `stop`.
    pub(super) async fn follow(self, stop: CancellationToken) {
        // One that failed before has left it there.
        let taken = self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut receiver) = taken else { return stop.cancelled().await };
        let mut reported = false;
        loop {
            let mut batch = Vec::new();
            if stop.run_until_cancelled(receiver.recv_many(&mut batch, BATCH_MAX)).await.is_none() {
                break;
            }
            if batch.len() < BATCH_MAX {
                stop.run_until_cancelled(tokio::time::sleep(GATHER)).await;
                while batch.len() < BATCH_MAX
                    && let Ok(span) = receiver.try_recv()
                {
                    batch.push(span);
                }
            }
            reported = self.export(&batch, reported).await;
        }
        let mut batch = Vec::new();
        while batch.len() < BATCH_MAX
            && let Ok(span) = receiver.try_recv()
        {
            batch.push(span);
        }
        if !batch.is_empty() {
            let _ = tokio::time::timeout(LAST, self.export(&batch, true)).await;
        }
    }

    /// Sends spans; whether that failed. What a collector does not take is dropped.
    async fn export(&self, batch: &[FinishedSpan], reported: bool) -> bool {
        let sent =
            outgoing::post_json(&self.config.endpoint, &self.config.headers, document::write(batch)).await;
        let failed = match sent {
            Ok(status) if status.is_success() => None,
            Ok(status) => Some(format!("the collector answered {status}")),
            Err(error) => Some(error),
        };
        match &failed {
            None => SpanCounts::add(&self.counts.0.exported, batch.len()),
            Some(error) => {
                SpanCounts::add(&self.counts.0.dropped, batch.len());
                if !reported {
                    tracing::warn!(error, "sending traces failed; these spans are dropped");
                }
            }
        }
        failed.is_some()
    }
}
