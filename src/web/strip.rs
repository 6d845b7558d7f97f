//! Health over time, as a bar with figures and the newest intervals.
//!
//! Bars are SVG with attributes: the policy of the pages allows no inline style, and no script.

use std::time::Duration;

use super::shell::{Badge, Time};
use super::timeline::Lanes;
use crate::format::{Segment, Share, lasted, segments, shares, visible, worsened};
use crate::http::params::AT;
use crate::http::request::Request;
use strandline_model::Timestamp;
use strandline_protocol::{HealthHistory, HealthInterval};

/// Intervals that are listed below the bar.
const LISTED: usize = 20;

/// A part of the bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) class: &'static str,
    pub(super) start: u64,
    pub(super) length: u64,
    /// What it says of itself.
    pub(super) title: String,
}

/// An interval as a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) badge: Badge,
    pub(super) from: Time,
    /// The same page as it was when this began.
    pub(super) href: String,
    pub(super) lasted: String,
    pub(super) reason: String,
}

/// Health over a span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Strip {
    /// How long the span is.
    pub(super) span: String,
    pub(super) since: Time,
    pub(super) until: Time,
    pub(super) parts: Vec<Part>,
    /// The badge, the part of the span and how long that is.
    pub(super) shares: Vec<(Badge, String, String)>,
    pub(super) worsened: String,
    pub(super) flapping: bool,
    pub(super) lines: Vec<Line>,
    /// Whether there are more intervals than lines.
    pub(super) more: bool,
    /// The same in the API.
    pub(super) json: String,
    /// What else happened in that time; none where that was not asked for.
    pub(super) lanes: Option<Lanes>,
    /// Whether the bar is drawn: the rail of a page may show the same.
    pub(super) is_drawn: bool,
}

impl Strip {
    /// The height of a lane.
    pub(super) const LANE: u64 = 24;
    /// The length of the bar.
    pub(super) const UNITS: u64 = Segment::UNITS;

    /// A history, with ages from `now`; `json` is its address in the API.
    pub(super) fn new(request: &Request, history: &HealthHistory, now: Timestamp, json: String) -> Self {
        let part = |segment: Segment| {
            let one = history.intervals.get(segment.interval)?;
            let badge = Badge::new(one.health);
            let title = format!("{} for {} from {}", badge.word, long(one), Time::new(one.from, now).clock);
            Some(Part { class: badge.class, start: segment.start, length: segment.length, title })
        };
        Strip {
            span: lasted(history.until.since(history.since)),
            since: Time::new(history.since, now),
            until: Time::new(history.until, now),
            parts: segments(history).into_iter().filter_map(part).collect(),
            shares: shares(history).into_iter().map(figure).collect(),
            worsened: worsened(history),
            flapping: history.flapping,
            lines: history.intervals.iter().take(LISTED).map(|one| line(request, one, now)).collect(),
            more: history.truncated || history.intervals.len() > LISTED,
            json,
            lanes: None,
            is_drawn: true,
        }
    }

    /// The same without the bar.
    #[must_use]
    pub(super) fn in_words(self) -> Self {
        Strip { is_drawn: false, ..self }
    }

    /// What the bar shows, in words.
    pub(super) fn words(&self) -> String {
        let shares: Vec<String> =
            self.shares.iter().map(|(badge, part, _)| format!("{} {part}", badge.word)).collect();
        format!("Over {}: {}", self.span, shares.join(", "))
    }

    /// Whether anything else happened.
    pub(super) fn happens(&self) -> bool {
        self.lanes
            .as_ref()
            .is_some_and(|lanes| lanes.lanes.iter().any(|lane| !lane.total.is_empty() && lane.total != "0"))
    }

    /// Whether there is any health to be shown, which many kinds never have.
    pub(super) fn tells(&self) -> bool {
        self.parts.iter().any(|part| part.class != Badge::new(None).class)
    }
}

fn figure(share: Share) -> (Badge, String, String) {
    (Badge { word: share.word, ..Badge::new(share.health) }, share.part, share.lasted)
}

fn long(one: &HealthInterval) -> String {
    lasted(Duration::from_millis(one.lasted_ms))
}

fn line(request: &Request, one: &HealthInterval, now: Timestamp) -> Line {
    let offset = one.offset.to_string();
    Line {
        badge: Badge::new(one.health),
        from: Time::new(one.from, now),
        href: format!("{}{}", request.context.path, request.query.with(&[(AT, Some(&offset))])),
        lasted: long(one),
        reason: visible(&one.reason).into_owned(),
    }
}
