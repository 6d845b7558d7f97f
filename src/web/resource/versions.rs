//! The versions of a resource: what each of them changed, those that changed nothing that people ask about together, and what
//! came after the moment shown apart.

use super::if_there;
use crate::app::AppState;
use crate::format::{age, clock_time, grouped, several, visible};
use crate::http::params::CLUSTER;
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::web::shell::{Badge, Time};
use strandline_model::{At, DeletionCause, Kind, Offset, Timestamp, Uid};
use strandline_object_diff::{Between, Class, Comparison, Difference, Lens, compare, one_line};
use strandline_protocol::{Version, VersionChange};
use strandline_query::{ListResourceVersions, PageRequest, Scope};
use strandline_syntax::percent_encode;

/// Versions that a page lists, and as many later ones.
const LISTED: usize = 40;

/// Differences that are named of a version.
const NAMED: usize = 3;

/// Versions of a resource as they were found, newest first, with their objects.
#[derive(Debug, Default)]
pub(super) struct Versions {
    /// Up to the moment, and one more than are listed, to compare with.
    pub(super) main: Vec<Version>,
    /// After the moment, likewise.
    pub(super) later: Vec<Version>,
}

impl Versions {
    /// Those up to an offset, and if that is of the past those after it.
    pub(super) async fn find(
        state: &AppState,
        scope: &Scope,
        (uid, cluster): (&Uid, Option<&str>),
        offset: Offset,
        past: bool,
    ) -> Result<Self, Problem> {
        let page = PageRequest { limit: LISTED + 1, after: None };
        let up_to = async |at| {
            let found =
                state.queries.ask(scope, at, ListResourceVersions::new(uid, cluster, true, &page)).await;
            if_there(found).map(|found| found.map(|page| page.items).unwrap_or_default())
        };
        let main = up_to(At::Offset(offset)).await?;
        let mut later = if past { up_to(At::Now).await? } else { Vec::new() };
        later.retain(|version| version.offset > offset);
        Ok(Versions { main, later })
    }

    /// The offset of some version that has a state.
    pub(super) fn some_state(&self) -> Option<Offset> {
        let mut all = self.main.iter().chain(&self.later);
        all.find(|version| version.change == VersionChange::Applied).map(|version| version.offset)
    }
}

/// A version as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) offset: Offset,
    /// The page of the resource as it was then.
    pub(super) href: String,
    /// Where all that it changed is told; none for the end.
    pub(super) changes: Option<String>,
    /// What it changed, in a few words.
    pub(super) said: String,
    pub(super) time: Time,
    /// How far from the moment shown, such as `5m ago` or `5m later`.
    pub(super) distance: String,
    /// None for the end.
    pub(super) badge: Option<Badge>,
    pub(super) reason: String,
    pub(super) by: String,
    pub(super) end: String,
    pub(super) shown: bool,
    /// The rule that judged, where another one judged the version before; empty where it is the same.
    pub(super) rule: String,
    /// Whether it changed nothing that people ask about.
    quiet: bool,
}

/// An item of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    One(Box<Line>),
    /// Versions in a row that changed nothing that people ask about, in words and one by one.
    Run(String, Vec<Line>),
}

/// The list of versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct History {
    /// From the moment shown on backwards.
    pub(super) entries: Vec<Entry>,
    /// Whether there are older ones.
    pub(super) more: bool,
    /// What came after the moment.
    pub(super) later: Vec<Entry>,
    /// How much that is, in words.
    pub(super) later_words: String,
    /// The two that are compared unless others are chosen, the earlier first; none where there are no two.
    pub(super) chosen: Option<(Offset, Offset)>,
    /// Where two of them are compared.
    pub(super) compare: String,
    /// The cluster that was asked for.
    pub(super) cluster: Option<String>,
}

impl History {
    /// The list; the newest version up to the moment is the one shown, if the resource is there at all.
    pub(super) fn new(
        request: &Request,
        found: &Versions,
        kind: &Kind,
        lens: &Lens,
        is_there: bool,
        now: Timestamp,
    ) -> Self {
        let cluster = request.query.one(CLUSTER).map(|name| format!("&cluster={}", percent_encode(name)));
        let drawing = Drawing { path: &request.context.path, cluster, kind, lens, now };
        let listed = found.later.len().min(LISTED);
        let more_later = if found.later.len() > LISTED { "the newest " } else { "" };
        // The newest first: whoever looks at the past compares it with what it became.
        let all: Vec<Offset> = found
            .later
            .iter()
            .take(LISTED)
            .chain(found.main.iter().take(LISTED))
            .map(|one| one.offset)
            .collect();
        let chosen = match (found.main.first(), found.later.is_empty()) {
            (Some(shown), false) => Some((shown.offset, all[0])),
            _ => all.get(1).map(|earlier| (*earlier, all[0])),
        };
        History {
            chosen,
            compare: format!("{}/diff", request.context.path),
            cluster: request.query.one(CLUSTER).map(str::to_owned),
            entries: drawing.entries(&found.main, None, is_there),
            more: found.main.len() > LISTED,
            later: drawing.entries(&found.later, found.main.first(), false),
            later_words: match listed {
                0 => String::new(),
                count => format!("{more_later}{}", several(count, "later version")),
            },
        }
    }
}

/// What all lines have in common.
struct Drawing<'a> {
    path: &'a str,
    cluster: Option<String>,
    kind: &'a Kind,
    lens: &'a Lens,
    now: Timestamp,
}

impl Drawing<'_> {
    /// The first of the versions as they are listed; `before` is what stood before the last of them, if they are all.
    fn entries(&self, versions: &[Version], before: Option<&Version>, first_is_shown: bool) -> Vec<Entry> {
        let mut entries = Vec::new();
        let mut run = Vec::new();
        for (place, version) in versions.iter().take(LISTED).enumerate() {
            let older = versions.get(place + 1).or(before);
            let line = self.line(version, older, first_is_shown && place == 0);
            if line.quiet {
                run.push(line);
                continue;
            }
            gather(&mut entries, &mut run);
            entries.push(Entry::One(Box::new(line)));
        }
        gather(&mut entries, &mut run);
        entries
    }

    fn line(&self, version: &Version, older: Option<&Version>, shown: bool) -> Line {
        let at = format!("?at={}{}", version.offset, self.cluster.as_deref().unwrap_or_default());
        let applied = version.change == VersionChange::Applied;
        let rule = new_rule(version, older).unwrap_or_default();
        let comparison = older.and_then(|older| self.comparison(older, version));
        let health = |of: &Version| (of.health, of.reason.clone());
        let same_health = older.is_some_and(|older| health(older) == health(version));
        let silent = comparison.as_ref().is_some_and(|found| asked_about(found).next().is_none());
        Line {
            offset: version.offset,
            href: format!("{}{at}", self.path),
            changes: applied.then(|| format!("{}/diff{at}", self.path)),
            said: visible(&said(comparison.as_ref(), older)).into_owned(),
            time: Time::new(version.observed_at, self.now),
            distance: distance(version.observed_at, self.now),
            badge: applied.then(|| Badge::new(version.health)),
            reason: visible(&version.reason).into_owned(),
            by: version.changed_by.as_ref().map(|by| visible(&by.manager).into_owned()).unwrap_or_default(),
            end: version.cause.map(end).unwrap_or_default(),
            shown,
            quiet: silent && same_health && !shown && rule.is_empty(),
            rule,
        }
    }

    /// What differs; none where one of them is no state.
    fn comparison(&self, older: &Version, version: &Version) -> Option<Comparison> {
        let (before, after) = (older.object.as_ref()?.value(), version.object.as_ref()?.value());
        Some(compare(self.kind, Some(&before), Some(&after), self.lens))
    }
}

/// What the list compares: all that is no noise.
pub(super) fn lens() -> Lens {
    Lens::new(Between::Versions, &[Class::Metadata, Class::Status])
}

/// Ends a run of quiet versions, if there is one.
fn gather(entries: &mut Vec<Entry>, run: &mut Vec<Line>) {
    let lines = std::mem::take(run);
    match lines.as_slice() {
        [] => {}
        [only] => entries.push(Entry::One(Box::new(only.clone()))),
        several => {
            let words = format!("{} versions with status changes only", grouped(several.len() as u64));
            entries.push(Entry::Run(words, lines));
        }
    }
}

/// The differences that people ask about, which those in status are not: health tells what they mean.
fn asked_about(comparison: &Comparison) -> impl Iterator<Item = &Difference> {
    comparison.differences.iter().filter(|difference| difference.class != Class::Status)
}

/// What a version changed, in a few words.
fn said(comparison: Option<&Comparison>, older: Option<&Version>) -> String {
    let Some(comparison) = comparison else {
        return match older {
            None => "first version recorded".to_owned(),
            Some(older) if older.change == VersionChange::Deleted => "created again".to_owned(),
            Some(_) => String::new(),
        };
    };
    let asked_about: Vec<_> = asked_about(comparison).cloned().collect();
    let named = one_line(&asked_about, comparison.left_out, NAMED);
    let status = in_status(comparison);
    match (named.as_str(), status.as_slice()) {
        ("", []) if comparison.hidden.ignored > 0 => "only ignored fields".to_owned(),
        ("", []) => "no visible differences".to_owned(),
        ("", fields) => format!("status only: {}", fields.join(", ")),
        _ => named,
    }
}

/// The fields of the status that differ, the first of them by name.
fn in_status(comparison: &Comparison) -> Vec<String> {
    let mut fields: Vec<String> = Vec::new();
    for difference in comparison.differences.iter().filter(|one| one.class == Class::Status) {
        let path = difference.path.strip_prefix("status.").unwrap_or(&difference.path);
        let field = path.split(['.', '[']).next().unwrap_or_default().to_owned();
        if !fields.contains(&field) {
            fields.push(field);
        }
    }
    if fields.len() > NAMED {
        fields.truncate(NAMED);
        fields.push("…".to_owned());
    }
    fields
}

/// The rule that judged a version, where another one judged the version before.
fn new_rule(version: &Version, before: Option<&Version>) -> Option<String> {
    let judged = |version: &&Version| version.change == VersionChange::Applied;
    let (now, before) = (Some(version).filter(judged)?, before.filter(judged)?);
    let other = (&now.rule, &now.rule_set) != (&before.rule, &before.rule_set);
    other.then(|| visible(&format!("{}, rules {}", now.rule, now.rule_set)).into_owned())
}

/// How far a version is from the moment shown, which may lie before it.
fn distance(then: Timestamp, now: Timestamp) -> String {
    if then > now { format!("{} later", age(now, then)) } else { format!("{} ago", age(then, now)) }
}

fn end(cause: DeletionCause) -> String {
    match cause {
        DeletionCause::Watched => "deleted".into(),
        DeletionCause::Relist { last_seen } => {
            format!("deleted during a gap, after {}", clock_time(last_seen))
        }
        DeletionCause::Replaced { last_seen } => {
            format!("replaced during a gap, after {}", clock_time(last_seen))
        }
        DeletionCause::Unfollowed { last_seen } => {
            format!("no longer watched, after {}", clock_time(last_seen))
        }
        DeletionCause::KindRemoved { last_seen } => {
            format!("deleted with its kind, after {}", clock_time(last_seen))
        }
        DeletionCause::Forgotten { last_seen } => {
            format!("marked as deleted by a user, last seen {}", clock_time(last_seen))
        }
    }
}
