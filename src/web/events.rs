//! The newest Events of an environment or a resource, as its page shows them.

use super::shell::{Shell, Time};
use super::tree::resource_href;
use crate::format::visible;
use strandline_model::Timestamp;
use strandline_object::kube_event::EventType;
use strandline_protocol::FoldedEvent;
use strandline_query::PageRequest;

/// How many a page shows.
const NEWEST: usize = 10;

/// The newest ones.
pub(super) fn newest() -> PageRequest {
    PageRequest { limit: NEWEST, after: None }
}

/// What is said of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Whether it is more than a normal course of things; unknown types are.
    pub(super) warning: bool,
    pub(super) r#type: String,
    pub(super) reason: String,
    pub(super) note: String,
    pub(super) object: String,
    /// The object's page; none where the Event does not give its uid.
    pub(super) href: Option<String>,
    pub(super) count: u64,
    pub(super) last: Time,
    pub(super) component: String,
}

pub(super) fn lines(shell: &Shell, events: &[FoldedEvent], now: Timestamp) -> Vec<Line> {
    events.iter().map(|event| line(shell, event, now)).collect()
}

pub(super) fn line(shell: &Shell, event: &FoldedEvent, now: Timestamp) -> Line {
    let shown = |text: &str| visible(text).into_owned();
    let href = || resource_href(shell, &event.uid, &event.key.cluster);
    Line {
        warning: event.r#type != EventType::Normal.as_str(),
        r#type: shown(&event.r#type),
        reason: shown(&event.reason),
        note: shown(&event.note),
        object: shown(&format!("{} {}", event.key.kind.kind, event.key.name)),
        href: (!event.uid.as_str().is_empty()).then(href),
        count: event.count,
        last: Time::new(event.last_at, now),
        component: shown(&event.component),
    }
}
