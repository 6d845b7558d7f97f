//! What is around every page: the time shown, how much of it was recorded, and how to ask for another.

use std::collections::BTreeSet;

use super::field::{Field, moment_field, unplaced};
use super::live;
use super::prose::Prose;
use super::rail::{self, Rail};
use crate::format;
use crate::format::gaps::{ClusterGaps, by_cluster, is_over};
use crate::http::params::{AT, CONTINUE, Parameter, Q, TIER, TZ};
use crate::http::request::Request;
use strandline_model::{EnvironmentFilter, Health, HealthCounts, Timestamp, attention};
use strandline_protocol::{Gap, Snapshot};
use strandline_syntax::percent_encode;

/// A moment for people, with its exact form for programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Time {
    pub(super) exact: String,
    pub(super) clock: String,
    pub(super) age: String,
}

impl Time {
    pub(super) fn new(time: Timestamp, now: Timestamp) -> Self {
        Time { exact: time.to_string(), clock: format::clock_time(time), age: format::age(time, now) }
    }
}

/// A health as it is shown: by shape, word and colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Badge {
    pub(super) class: &'static str,
    pub(super) sign: &'static str,
    pub(super) word: &'static str,
}

impl Badge {
    pub(super) fn new(health: Option<Health>) -> Self {
        let class = match health {
            Some(Health::Healthy) => "healthy",
            Some(Health::Suspended) => "suspended",
            Some(Health::Progressing) => "progressing",
            Some(Health::Missing) => "missing",
            Some(Health::Degraded) => "degraded",
            Some(Health::Unknown) => "unknown",
            None => "none",
        };
        let word = if health.is_none() { "No health" } else { format::word(health) };
        Badge { class, sign: format::sign(health), word }
    }
}

/// Why part of what is shown may be out of date.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Blind {
    pub(super) cluster: String,
    pub(super) since: Time,
    /// None while it is not over.
    pub(super) until: Option<Time>,
    pub(super) what: String,
    pub(super) why: Prose,
}

/// The moment that a page shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) time: Option<Time>,
    /// The time as people read it: of day where the page is live, with its date where it shows the past.
    pub(super) clock: String,
    /// The position in the log, for a tooltip.
    pub(super) position: String,
    /// How much of the page's clusters is recorded.
    pub(super) recorded: String,
    /// The same page for now.
    pub(super) now: String,
    /// The same page as it is now, for ever.
    pub(super) link: String,
    /// Whether it lies before the first change that was recorded.
    pub(super) unrecorded: bool,
    pub(super) lag: Option<String>,
    pub(super) not_recording: bool,
    pub(super) blind: Vec<Blind>,
}

impl Moment {
    /// Whether something is not recorded at the moment itself.
    pub(super) fn is_blind(&self) -> bool {
        self.blind.iter().any(|gaps| gaps.until.is_none())
    }
}

/// A link of the main navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MainLink {
    pub(super) label: &'static str,
    pub(super) path: &'static str,
    pub(super) is_current: bool,
}

/// The pages that the header of every page links to.
const LINKS: [(&str, &str); 8] = [
    ("Overview", "/"),
    ("Changes", "/changes"),
    ("Deployments", "/deployments"),
    ("Events", "/events"),
    ("Images", "/images"),
    ("Clusters", "/clusters"),
    ("Agents", "/agents"),
    ("Coverage", "/coverage"),
];

/// What is around every page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shell {
    pub(super) title: String,
    pub(super) style: String,
    pub(super) script: String,
    /// The module of the search field.
    pub(super) suggest: String,
    /// What stands in that field.
    pub(super) search: String,
    pub(super) icon: String,
    /// The path of the page; empty where it does not matter.
    pub(super) path: String,
    /// Whether what it shows is of now; a later page of a list is of the time of the first.
    pub(super) is_of_now: bool,
    /// The stream that says when the page is to be loaded again; none for a page that shows the past, or no time.
    pub(super) stream: Option<String>,
    /// What the form for another time passes on.
    pub(super) others: Vec<(String, String)>,
    /// Earlier and later times, with the addresses of the page then.
    pub(super) steps: Vec<(&'static str, String)>,
    /// Health and changes around the time shown.
    pub(super) rail: Option<Rail>,
    /// What of the time other forms of the page pass on.
    pub(super) kept: Vec<(&'static str, String)>,
    /// Where another moment can be asked for; none on a page that shows none.
    pub(super) at: Option<Field>,
    /// Parameters without a field that are wrong, and why.
    pub(super) wrong: Vec<(String, Prose)>,
    /// Continues links within the moment shown, as `?at=…`; empty for now.
    pub(super) keep: String,
    pub(super) moment: Option<Moment>,
}

impl Shell {
    /// Around a page that shows no moment.
    pub(super) fn bare(title: &str) -> Self {
        Shell {
            title: title.into(),
            style: super::assets::STYLE.address(),
            script: super::assets::SCRIPT.address(),
            suggest: super::assets::SUGGEST.address(),
            search: String::new(),
            icon: super::assets::ICON.address(),
            path: String::new(),
            is_of_now: false,
            stream: None,
            others: Vec::new(),
            steps: Vec::new(),
            rail: None,
            kept: Vec::new(),
            at: None,
            wrong: Vec::new(),
            keep: String::new(),
            moment: None,
        }
    }

    /// Around a page that shows this moment.
    pub(super) fn new(title: &str, request: &Request, snapshot: &Snapshot, now: Timestamp) -> Self {
        let at = request.query.one(AT).filter(|at| *at != "now").unwrap_or_default();
        // A time stays a time: its pages name the gaps that hold it.
        let keep = match snapshot.at {
            _ if at.is_empty() => String::new(),
            Some(time) => format!("?at={}", percent_encode(&time.to_string())),
            None => format!("?at={}", snapshot.offset),
        };
        let lag = snapshot.lag_changes;
        let shown = (!at.is_empty())
            .then(|| snapshot.at.map_or_else(|| snapshot.offset.to_string(), |time| time.to_string()));
        let moment_shown = reference(request, snapshot, now);
        let pinned = shown.clone().unwrap_or_else(|| snapshot.offset.to_string());
        let moment = Moment {
            link: format!("{}{}", request.context.path, request.query.with(&[(AT, Some(&pinned))])),
            clock: clock(snapshot, !at.is_empty(), now),
            position: position(snapshot),
            recorded: recorded(&snapshot.coverage.gaps, moment_shown),
            now: format!("{}{}", request.context.path, request.query.with(&[(AT, None)])),
            unrecorded: snapshot.offset.get() == 0,
            time: match at.is_empty() && !snapshot.not_recording {
                true => Some(Time::new(now, now)),
                false => snapshot.at.or(snapshot.time).map(|time| Time::new(time, now)),
            },
            lag: (lag > 0).then(|| behind(lag)),
            not_recording: snapshot.not_recording,
            blind: blind(&snapshot.coverage.gaps, moment_shown, now),
        };
        let mut title = format::visible(title).into_owned();
        if let Some(time) = moment.time.as_ref().filter(|_| !at.is_empty()) {
            title.push_str(&format!(" at {}", time.clock));
        }
        let is_time = |name: &str| [AT, TZ, CONTINUE].iter().any(|parameter| parameter.name == name);
        let others = request.query.pairs().filter(|(name, _)| !is_time(name));
        Shell {
            path: request.context.path.clone(),
            search: format::visible(request.query.typed(Q).unwrap_or_default()).into_owned(),
            is_of_now: at.is_empty() && request.query.one(CONTINUE).is_none(),
            others: others.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            steps: steps(request, rail::shown(request, snapshot, now), now),
            kept: shown.into_iter().map(|at| (AT.name, at)).collect(),
            at: Some(moment_field(request)),
            wrong: unplaced(request),
            keep,
            moment: Some(moment),
            ..Shell::bare(&title)
        }
    }

    /// The page follows what changes in these environments, unless it shows the past.
    #[must_use]
    pub(super) fn live(self, filter: &EnvironmentFilter, snapshot: &Snapshot) -> Self {
        let stream = self.is_of_now.then(|| live::stream(filter, snapshot.offset));
        Shell { stream, ..self }
    }

    /// With a rail below the header.
    #[must_use]
    pub(super) fn with_rail(self, rail: Option<Rail>) -> Self {
        Shell { rail, ..self }
    }

    /// The main navigation.
    pub(super) fn links(&self) -> impl Iterator<Item = MainLink> {
        LINKS.iter().map(|(label, path)| MainLink { label, path, is_current: *path == self.path })
    }

    /// An address within the moment shown, with more parameters.
    pub(super) fn href(&self, path: &str, pairs: &[(Parameter, &str)]) -> String {
        let mut out = format!("{path}{}", self.keep);
        for (parameter, value) in pairs {
            out.push(if out.contains('?') { '&' } else { '?' });
            out.push_str(&format!("{}={}", parameter.name, percent_encode(value)));
        }
        out
    }

    /// Whether the page shows the past.
    pub(super) fn past(&self) -> bool {
        !self.keep.is_empty()
    }
}

/// The page a little earlier, and later where that is not yet to come.
fn steps(request: &Request, shown: Timestamp, now: Timestamp) -> Vec<(&'static str, String)> {
    const STEPS: [(&str, &str, u64); 3] =
        [("−24h", "+24h", 86_400), ("−1h", "+1h", 3600), ("−15m", "+15m", 900)];
    let at = |time: Timestamp| {
        let time = time.to_the_second().to_string();
        format!("{}{}", request.context.path, request.query.with(&[(AT, Some(&time))]))
    };
    let far = |seconds| std::time::Duration::from_secs(seconds);
    let earlier = STEPS.iter().map(|(label, _, by)| (*label, at(shown.minus(far(*by)))));
    let later = STEPS.iter().rev().filter(|(.., by)| shown.plus(far(*by)) < now);
    earlier.chain(later.map(|(_, label, by)| (*label, at(shown.plus(far(*by)))))).collect()
}

/// What the view still lacks; at a past time these are the changes after it, or the last before it.
fn behind(lag: u64) -> String {
    format!("{} change{} behind", format::grouped(lag), if lag == 1 { "" } else { "s" })
}

/// The time that a page shows: while recording goes on a live page shows now, whenever the last change was.
fn clock(snapshot: &Snapshot, past: bool, now: Timestamp) -> String {
    let shown = snapshot.at.or(snapshot.time);
    match shown.filter(|_| past || snapshot.not_recording) {
        Some(time) => format::clock_time(time),
        None if past || snapshot.not_recording => format!("offset {}", snapshot.offset),
        None => format::time_of_day(now),
    }
}

fn position(snapshot: &Snapshot) -> String {
    let offset = format::grouped(snapshot.offset.get());
    let last = snapshot.time.map(|time| format!(", last change {}", format::clock_time(time)));
    format!("offset {offset}{}", last.unwrap_or_default())
}

/// How many clusters are not recorded at the moment shown, or not all of their kinds.
fn recorded(gaps: &[Gap], shown: Timestamp) -> String {
    let gaps: Vec<&Gap> = gaps.iter().filter(|gap| !is_over(gap, shown)).collect();
    let clusters = |gaps: &mut dyn Iterator<Item = &Gap>| -> BTreeSet<String> {
        gaps.map(|gap| gap.cluster.clone()).collect()
    };
    let whole = clusters(&mut gaps.iter().copied().filter(|gap| gap.kind.is_empty() && gap.group.is_empty()));
    let partly = clusters(&mut gaps.iter().copied()).difference(&whole).count();
    match (whole.len(), partly) {
        (0, 0) => "all clusters recorded".to_owned(),
        (whole, 0) => format!("{} not recorded", format::several(whole, "cluster")),
        (0, partly) => format!("{} partly recorded", format::several(partly, "cluster")),
        (whole, partly) => format!("{} not recorded, {partly} partly", format::several(whole, "cluster")),
    }
}

/// The moment from which a page's ages count.
pub(super) fn reference(request: &Request, snapshot: &Snapshot, now: Timestamp) -> Timestamp {
    let asked_for_now = request.query.one(AT).is_none_or(|at| at == "now");
    format::moment(snapshot, asked_for_now, now)
}

/// A line for each cluster of what is not watched, and of what was not in the span shown.
fn blind(gaps: &[Gap], shown: Timestamp, now: Timestamp) -> Vec<Blind> {
    let line = |gaps: ClusterGaps| Blind {
        cluster: format::visible(&gaps.cluster).into_owned(),
        since: Time::new(gaps.since, now),
        until: gaps.until.map(|until| Time::new(until, now)),
        what: format::visible(&gaps.what).into_owned(),
        why: Prose::new(&gaps.why),
    };
    by_cluster(gaps, shown).into_iter().map(line).collect()
}

/// The overview narrowed to one value, at the moment shown.
pub(super) fn within(shell: &Shell, parameter: Parameter, value: &str) -> String {
    let at = if shell.past() { format!("{}&", shell.keep) } else { "?".into() };
    // A bare address shows production only, which the value need not be in.
    let tiers = if parameter == TIER { "" } else { "tier=all&" };
    format!("/{at}{tiers}{}={}", parameter.name, percent_encode(value))
}

/// The states that occur, those that need attention first.
pub(super) fn counts(mut counts: HealthCounts) -> Vec<(Badge, u64)> {
    let mut states: Vec<_> = Health::ALL.into_iter().map(Some).chain([None]).collect();
    states.sort_by_key(|health| attention(*health));
    let counted = states.into_iter().map(|health| (Badge::new(health), *counts.slot(health)));
    counted.filter(|(_, count)| *count > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{NOON, snapshot};
    use strandline_model::Offset;

    fn gap(cluster: &str, kind: &str, seconds: u64) -> Gap {
        Gap {
            cluster: cluster.into(),
            group: String::new(),
            kind: kind.into(),
            namespace: String::new(),
            since: NOON.minus(std::time::Duration::from_secs(seconds)),
            until: None,
            reason: "unreachable".into(),
            message: String::new(),
        }
    }

    #[test]
    fn a_page_names_its_time_and_how_much_of_its_clusters_is_recorded() {
        let cases: [(&[Gap], &str); 5] = [
            (&[], "all clusters recorded"),
            (&[gap("eu", "", 1)], "1 cluster not recorded"),
            (&[gap("eu", "Pod", 1), gap("eu", "Node", 1)], "1 cluster partly recorded"),
            (&[gap("eu", "", 1), gap("us", "", 1), gap("eu", "Pod", 1)], "2 clusters not recorded"),
            (&[gap("eu", "", 1), gap("us", "Pod", 1)], "1 cluster not recorded, 1 partly"),
        ];
        for (gaps, expected) in cases {
            assert_eq!(recorded(gaps, NOON), expected);
        }
        let over = Gap { until: Some(NOON), ..gap("eu", "Pod", 1) };
        assert_eq!(recorded(&[over], NOON), "all clusters recorded", "what is shown is whole again");
        let later = NOON.plus(std::time::Duration::from_secs(63));
        let mut shown = snapshot();
        assert_eq!(clock(&shown, false, later), "12:01:03 UTC", "live: now, whenever the last change was");
        assert_eq!(clock(&shown, true, later), "2026-11-20 12:00:00 UTC");
        assert_eq!(position(&shown), "offset 1,234, last change 2026-11-20 12:00:00 UTC");
        shown.not_recording = true;
        assert_eq!(clock(&shown, false, later), "2026-11-20 12:00:00 UTC", "what is shown may be old");
        (shown.time, shown.at) = (None, None);
        assert_eq!(clock(&shown, true, later), "offset 1234");
        shown.offset = Offset::new(0);
        assert_eq!(position(&shown), "offset 0");
        assert_eq!(
            (behind(1), behind(1200)),
            ("1 change behind".to_owned(), "1,200 changes behind".to_owned())
        );
    }
}
