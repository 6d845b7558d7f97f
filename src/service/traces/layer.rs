//! Turns spans of `tracing` into spans of OTLP.

use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::SpanCounts;
use super::document::FinishedSpan;
use strandline_clock::{Clock, SystemClock};

/// Fields that say to which trace a span belongs, and are none of its attributes.
const TRACE: &str = "trace_id";
const PARENT: &str = "parent_span_id";
const SAMPLED: &str = "sampled";

pub(super) struct SpanLayer {
    /// Traces whose number is below this are sent.
    below: u64,
    sender: Sender<FinishedSpan>,
    counts: SpanCounts,
}

impl SpanLayer {
    pub(super) fn new(sample: f64, sender: Sender<FinishedSpan>, counts: SpanCounts) -> Self {
        // The number of a trace has 63 bits, so that all of them are below.
        let below = (sample.clamp(0.0, 1.0) * (1u64 << 63) as f64) as u64;
        SpanLayer { below, sender, counts }
    }

    /// Whether a trace is sent: by its id, so that all servers that go by the same part choose the same traces.
    fn is_sampled(&self, trace: &str) -> bool {
        let number = trace.get(16..32).and_then(|half| u64::from_str_radix(half, 16).ok());
        number.is_some_and(|number| number >> 1 < self.below)
    }
}

/// The fields of a span.
#[derive(Default)]
struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    fn take(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(known, _)| *known == name)?;
        Some(self.0.swap_remove(at).1)
    }

    fn take_text(&mut self, name: &str) -> Option<String> {
        self.take(name).and_then(|value| value.as_str().map(str::to_owned)).filter(|text| !text.is_empty())
    }
}

impl Visit for Fields {
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.push((field.name(), json!(value)));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.push((field.name(), json!(value)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.push((field.name(), json!(value)));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.push((field.name(), json!(value)));
    }

    /// No field of ours is written in Rust's own words.
    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for SpanLayer {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let given = (fields.take_text(TRACE), fields.take_text(PARENT));
        let declined = fields.take(SAMPLED) == Some(json!(false));
        let (trace, parent) = match span.parent() {
            // One that is not sent has none that are.
            Some(parent) => match parent.extensions().get::<FinishedSpan>() {
                Some(parent) => (parent.trace.clone(), Some(parent.id.clone())),
                None => return,
            },
            None => match given {
                (Some(trace), parent) => (trace, parent),
                (None, _) => match random::<16>() {
                    Some(trace) => (trace, None),
                    None => return,
                },
            },
        };
        if declined || !self.is_sampled(&trace) {
            return;
        }
        let Some(id) = random::<8>() else { return };
        let begun = SystemClock.now();
        let name = attributes.metadata().name();
        let finished = FinishedSpan { trace, id, parent, name, begun, ended: begun, attributes: fields.0 };
        span.extensions_mut().insert(finished);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<FinishedSpan>() {
            let mut fields = Fields::default();
            values.record(&mut fields);
            open.attributes.extend(fields.0);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(mut finished) =
            context.span(&id).and_then(|span| span.extensions_mut().remove::<FinishedSpan>())
        else {
            return;
        };
        finished.ended = SystemClock.now();
        if self.sender.try_send(finished).is_err() {
            SpanCounts::add(&self.counts.0.dropped, 1);
        }
    }
}

/// Random bytes in hex; none where the machine has none.
fn random<const N: usize>() -> Option<String> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).ok()?;
    Some(data_encoding::HEXLOWER.encode(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;
    use tracing_subscriber::layer::SubscriberExt;

    fn spans(sample: f64, room: usize, emit: impl FnOnce()) -> (Vec<FinishedSpan>, SpanCounts) {
        let (sender, mut receiver) = mpsc::channel(room);
        let counts = SpanCounts::default();
        let layer = SpanLayer::new(sample, sender, counts.clone());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), emit);
        let mut found = Vec::new();
        while let Ok(span) = receiver.try_recv() {
            found.push(span);
        }
        (found, counts)
    }

    const ID: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

    #[test]
    fn a_span_belongs_to_the_trace_of_its_caller_and_those_inside_it_to_the_same() {
        let (found, _) = spans(1.0, 10, || {
            let outer = tracing::info_span!(
                "outer",
                trace_id = ID,
                parent_span_id = "00f067aa0ba902b7",
                n = 1,
                later = tracing::field::Empty
            );
            outer.record("later", "said");
            outer.in_scope(|| drop(tracing::info_span!("inner")));
        });
        let [inner, outer] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((outer.trace.as_str(), outer.parent.as_deref()), (ID, Some("00f067aa0ba902b7")));
        assert_eq!((inner.trace.as_str(), inner.parent.as_ref()), (ID, Some(&outer.id)));
        assert_eq!(outer.attributes, [("n", json!(1)), ("later", json!("said"))]);
        assert!(outer.begun <= inner.begun && inner.ended <= outer.ended);
    }

    #[test]
    fn what_is_not_sampled_is_not_sent_and_neither_is_what_is_inside_it() {
        let emit = |sampled: bool| {
            move || {
                let outer = tracing::info_span!("outer", trace_id = ID, sampled);
                outer.in_scope(|| drop(tracing::info_span!("inner")));
            }
        };
        assert_eq!(spans(1.0, 10, emit(false)).0, []);
        assert_eq!(spans(0.0, 10, emit(true)).0, []);
        // Its number is 0.64 of the largest one.
        assert_eq!(spans(0.5, 10, emit(true)).0.len(), 0);
        assert_eq!(spans(0.7, 10, emit(true)).0.len(), 2);
    }

    #[test]
    fn a_span_without_room_is_dropped_and_counted() {
        let (found, counts) = spans(1.0, 1, || {
            for _ in 0..3 {
                drop(tracing::info_span!("one"));
            }
        });
        assert_eq!((found.len(), counts.0.dropped.load(std::sync::atomic::Ordering::Relaxed)), (1, 2));
    }
}
