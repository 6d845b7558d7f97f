//! What happened, in words, and how much of it, as bars.

use super::cut::{cut, cut_pair};
use super::{clock_time, kind_name, lasted, resource_name, word};
use strandline_model::{ChangedBy, DeploymentStatus, Health, Kind};
use strandline_object_diff::{Difference, DifferenceType};
use strandline_protocol::{Deployment, Entry, EntryHealth, EntryResource, Onset, TimelineGap};

/// Letters that a value has on a line, however narrow that is.
const VALUE_MIN: usize = 24;

/// The subject of an entry, such as `Deployment/web` or `Deployment of v2.40.0 by chiyo`.
pub fn entry_subject(entry: &Entry) -> String {
    if let Some(resource) = &entry.resource {
        return resource.key.kind_and_name();
    }
    if let Some(event) = &entry.event {
        return event.key.kind_and_name();
    }
    match (&entry.deployment, &entry.gap) {
        (Some(deployment), _) => deployed(deployment),
        (None, Some(gap)) => format!("{} of {}", gap_kind(gap), gap.cluster),
        (None, None) => entry.lane.to_string(),
    }
}

/// The same by the name that commands take, such as `deployment/512`; none of the health of what the entries are about.
pub fn entry_name(entry: &Entry) -> Option<String> {
    let resource = entry.resource.as_ref().map(|resource| &resource.key);
    let key = resource.or(entry.event.as_ref().map(|event| &event.key));
    match (&entry.deployment, &entry.gap) {
        (Some(deployment), _) => Some(format!("deployment/{}", deployment.spec.id)),
        (None, Some(gap)) => Some(format!("cluster/{}", gap.cluster)),
        (None, None) => key.map(resource_name),
    }
}

/// What happened, such as `changed spec and metadata by kubectl`.
pub fn entry_words(entry: &Entry) -> String {
    if let Some(resource) = &entry.resource {
        return changed(&entry.what, resource);
    }
    if let Some(event) = &entry.event {
        let times = if event.count > 1 { format!(" ×{}", event.count) } else { String::new() };
        return format!("{}{times}: {}", event.reason, event.note);
    }
    if let Some(deployment) = &entry.deployment {
        return deployment_status(deployment);
    }
    match (&entry.health, &entry.gap) {
        (Some(health), _) => became(health),
        (None, Some(gap)) => unseen(gap),
        (None, None) => entry.what.clone(),
    }
}

/// What was deployed and by whom, such as `Deployment of v2.40.0 by chiyo`.
fn deployed(deployment: &Deployment) -> String {
    let spec = &deployment.spec;
    let mut words = vec!["Deployment".to_owned()];
    words.extend((!spec.reference.is_empty()).then(|| format!("of {}", spec.reference)));
    words.extend((!spec.user.is_empty()).then(|| format!("by {}", spec.user)));
    words.join(" ")
}

/// How far a deployment is, with its number and commit, such as `failed (#1795291154, e0df993b)`.
fn deployment_status(deployment: &Deployment) -> String {
    let spec = &deployment.spec;
    let status = match spec.status {
        DeploymentStatus::Success => "succeeded",
        status => status.as_str(),
    };
    let commit = spec.sha.get(..8).map(|sha| format!(", {sha}")).unwrap_or_default();
    format!("{status} (#{}{commit})", spec.id)
}

fn changed(what: &str, resource: &EntryResource) -> String {
    let mut words = match what {
        "changed" if resource.parts.is_empty() => "updated without visible differences".to_owned(),
        "changed" => {
            let parts: Vec<_> = resource.parts.iter().map(|part| part.as_str()).collect();
            format!("changed {}", listed(&parts))
        }
        "joined" => "joined".to_owned(),
        "parted" => "left".to_owned(),
        other => other.to_owned(),
    };
    words.extend(resource.changed_by.as_ref().map(|by| format!(" by {}", who(by))));
    if resource.health.is_some_and(Health::needs_attention) {
        words.push_str(&format!(", {}", word(resource.health)));
        if !resource.reason.is_empty() {
            words.push_str(&format!(": {}", resource.reason));
        }
    }
    words
}

/// Who changed something, as far as the object tells.
fn who(by: &ChangedBy) -> &str {
    &by.manager
}

/// Words in a row: `a`, `a and b`, `a, b and c`.
fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

fn became(health: &EntryHealth) -> String {
    let why = if health.reason.is_empty() { String::new() } else { format!(": {}", health.reason) };
    match health.before {
        Some(before) => format!("{before} → {}{why}", word(health.after)),
        None => format!("{}{why}", word(health.after)),
    }
}

fn gap_kind(gap: &TimelineGap) -> String {
    let kind = Kind::new(gap.group.clone(), gap.kind.clone());
    if gap.kind.is_empty() { "all kinds".into() } else { kind_name(&kind) }
}

/// How long a gap lasted, and why, such as `not watched until 2026-11-20 12:00:00 UTC: forbidden`.
fn unseen(gap: &TimelineGap) -> String {
    let until = gap.until.map(|until| format!(" until {}", clock_time(until))).unwrap_or_default();
    format!("not watched{until}: {}", if gap.message.is_empty() { &gap.reason } else { &gap.message })
}

/// What is said of an onset before which nothing is known that could have caused it.
pub fn no_cause(onset: &Onset) -> String {
    let window = lasted(onset.from.since(onset.looked_at_since));
    match onset.gaps.is_empty() && onset.not_before == onset.from {
        true => format!("No likely cause found in the {window} before."),
        false => {
            format!("The cause is unknown: the recording has a gap in the {window} before.")
        }
    }
}

/// A difference on one line, such as `spec.replicas: 3 → 5`, with values cut to what a line of so many letters holds, and
/// to no less than they need to be told apart.
pub fn difference_line(difference: &Difference, letters: usize) -> String {
    let text = |value: &Option<serde_json::Value>| match value {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let (path, before, after) = (&difference.path, text(&difference.before), text(&difference.after));
    let left = letters.saturating_sub(path.chars().count() + ": ".len());
    match difference.change {
        DifferenceType::Added => format!("{path}: + {}", cut(&after, left.saturating_sub(2).max(VALUE_MIN))),
        DifferenceType::Removed => {
            format!("{path}: − {}", cut(&before, left.saturating_sub(2).max(VALUE_MIN)))
        }
        DifferenceType::Changed => {
            let (before, after) = cut_pair(&before, &after, (left.saturating_sub(3) / 2).max(VALUE_MIN));
            format!("{path}: {before} → {after}")
        }
        DifferenceType::Moved => format!("{path}: position {before} → {after}"),
    }
}

/// A count as one of so many levels, 0 for nothing; what is there at all shows.
pub fn level(count: u64, most: u64, levels: u64) -> u64 {
    if count == 0 || most == 0 {
        return 0;
    }
    let scaled = u128::from(count) * u128::from(levels) / u128::from(most);
    u64::try_from(scaled).unwrap_or(levels).clamp(1, levels)
}

/// Timelines at noon, for tests.
#[cfg(test)]
pub(crate) mod fixtures {
    use std::time::Duration;

    use serde_json::json;

    use super::super::tests::{NOON, health_history, resource, snapshot};
    use strandline_model::{Health, Lane, Offset, Uid};
    use strandline_object_diff::{Class, Difference, DifferenceType};
    use strandline_protocol::{
        Bucket, Entry, EntryResource, Onset, OnsetChange, OnsetPlace, PageMetadata, Rank, Resource, Tally,
        Timeline, TimelinePage,
    };

    /// Something that happened at noon.
    pub(crate) fn entry(lane: Lane, what: &str) -> Entry {
        Entry {
            id: "1234.0.1".into(),
            offset: Offset::new(1234),
            observed_at: NOON,
            lane,
            what: what.into(),
            resource: None,
            event: None,
            deployment: None,
            health: None,
            gap: None,
        }
    }

    /// A resource as an entry tells of it.
    pub(crate) fn entry_resource(resource: &Resource) -> EntryResource {
        EntryResource {
            id: resource.id.clone(),
            key: resource.key.clone(),
            health: resource.health,
            reason: resource.reason.clone(),
            message: resource.message.clone(),
            changed_by: None,
            cause: None,
            parts: Vec::new(),
        }
    }

    /// A Deployment that became Degraded two minutes ago, a minute after its replicas were changed.
    pub(crate) fn onset() -> Onset {
        let ago = |seconds| NOON.minus(Duration::from_secs(seconds));
        let web = resource("Deployment", "web", Some(Health::Degraded));
        let mut changed = entry_resource(&web);
        (changed.health, changed.parts) = (None, vec![Class::Spec]);
        let cause = OnsetChange {
            rank: Rank::Cause,
            steps: Some(2),
            entry: Entry {
                observed_at: ago(180),
                resource: Some(changed),
                ..entry(Lane::Changes, "changed")
            },
            differences: vec![Difference {
                path: "spec.replicas".into(),
                pointer: "/spec/replicas".into(),
                change: DifferenceType::Changed,
                class: Class::Spec,
                before: Some(json!(3)),
                after: Some(json!(5)),
                excerpt: false,
            }],
            differences_left_out: 1,
            also: Vec::new(),
        };
        let effect = OnsetChange { rank: Rank::Symptom, ..cause.clone() };
        Onset {
            health: Health::Degraded,
            clusters: vec!["eu-west".into()],
            before: Some(Health::Healthy),
            from: ago(120),
            until: None,
            offset: Offset::new(1200),
            not_before: ago(120),
            looked_at_since: ago(1020),
            sick: vec![web],
            sick_left_out: 0,
            causes: vec![cause],
            causes_left_out: 0,
            effects: vec![effect],
            effects_left_out: 4,
            truncated: false,
            gaps: Vec::new(),
        }
    }

    /// Another cluster in which the same was changed.
    pub(crate) fn onset_place(cluster: &str, namespace: &str) -> OnsetPlace {
        OnsetPlace {
            id: Uid::new(format!("{cluster}-web")),
            cluster: cluster.into(),
            namespace: namespace.into(),
            offset: Offset::new(1190),
            observed_at: NOON.minus(Duration::from_secs(200)),
        }
    }

    /// So many minutes before noon: Healthy but for the last two, something changed in the first, and more in the last,
    /// and the second was not watched.
    pub(crate) fn timeline_page(minutes: u64) -> TimelinePage {
        let minute = |number: u64| NOON.minus(Duration::from_secs(60 * (minutes - number)));
        let bucket = |number: u64| {
            let mut tally = Tally::default();
            if number == 0 {
                tally.changes = 1;
            }
            if number + 1 == minutes {
                (tally.changes, tally.events, tally.warnings) = (8, 3, 2);
            }
            let health = if number + 2 < minutes { Health::Healthy } else { Health::Degraded };
            let (from, until) = (minute(number), minute(number + 1));
            Bucket { from, until, tally, health: Some(health), covered: number != 1 }
        };
        let timeline = Timeline {
            since: minute(0),
            until: NOON,
            buckets: (0..minutes).map(bucket).collect(),
            totals: Tally { changes: 9, events: 3, warnings: 2, ..Tally::default() },
            health: health_history(&[(Some(Health::Degraded), 2), (Some(Health::Healthy), minutes - 2)]),
            gaps: Vec::new(),
            gaps_truncated: false,
            below: None,
            truncated: false,
            entries: Vec::new(),
        };
        TimelinePage { timeline, metadata: PageMetadata::new(snapshot(), None) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::format::fixtures::{entry, entry_resource};
    use crate::format::tests::{folded_event, resource};
    use strandline_model::Lane;
    use strandline_object_diff::Class;

    #[test]
    fn entries_say_what_happened_to_what() {
        let told = |entry: &Entry| format!("{}  {}", entry_subject(entry), entry_words(entry));
        let named = |entry: &Entry| entry_name(entry).unwrap_or_default();
        let mut change = entry(Lane::Changes, "changed");
        let mut web = entry_resource(&resource("Deployment", "web", None));
        web.parts = vec![Class::Spec, Class::Metadata];
        web.changed_by = Some(ChangedBy {
            manager: "kubectl".into(),
            operation: "Update".into(),
            subresource: String::new(),
            time: None,
        });
        change.resource = Some(web.clone());
        assert_eq!(told(&change), "Deployment/web  changed spec and metadata by kubectl");
        assert_eq!(named(&change), "deployment.apps/web");
        (web.health, web.reason) = (Some(Health::Degraded), "Stuck".into());
        let created = Entry { resource: Some(web), ..entry(Lane::Changes, "created") };
        assert_eq!(told(&created), "Deployment/web  created by kubectl, Degraded: Stuck");
        let said = Entry { event: Some(folded_event("Warning", "BackOff")), ..entry(Lane::Events, "warned") };
        assert_eq!(told(&said), "Pod/web-0  BackOff ×5: Back-off restarting failed container");
        assert_eq!(named(&said), "pod/web-0");
        let health = EntryHealth {
            before: Some(Health::Healthy),
            after: Some(Health::Degraded),
            reason: String::new(),
            message: String::new(),
        };
        let became = Entry { health: Some(health), ..entry(Lane::Health, "became") };
        assert_eq!(told(&became), "health  Healthy → Degraded");
        assert_eq!(named(&became), "", "whose health it is the entry does not say");
    }

    #[test]
    fn differences_are_cut_to_what_a_line_holds() {
        let changed = |before, after| Difference {
            path: "spec.image".into(),
            pointer: "/spec/image".into(),
            change: DifferenceType::Changed,
            class: Class::Spec,
            before: Some(before),
            after: Some(after),
            excerpt: false,
        };
        let image =
            |version: &str| json!(format!("registry.example.com/notifications/notifications:{version}"));
        let moved = changed(image("2.4.0"), image("2.5.0"));
        assert_eq!(difference_line(&moved, 60), "spec.image: …notifications:2.4.0 → …notifications:2.5.0");
        assert_eq!(difference_line(&moved, 0), difference_line(&moved, 60), "told apart on any line");
        let whole = difference_line(&moved, 160);
        assert!(whole.contains("com/notifications/notifications:2.4.0 → registry.example.com/"), "{whole}");
        assert_eq!(difference_line(&changed(json!(3), json!(5)), 0), "spec.image: 3 → 5");
        let added =
            Difference { change: DifferenceType::Added, before: None, ..changed(json!(1), json!({"a": 1})) };
        assert_eq!(difference_line(&added, 40), r#"spec.image: + {"a":1}"#);
    }

    #[test]
    fn what_is_there_at_all_shows() {
        let levels = [(0, 100, 0), (1, 100_000, 1), (50, 100, 4), (100, 100, 8), (5, 0, 0)];
        for (count, most, expected) in levels {
            assert_eq!(level(count, most, 8), expected, "{count} of {most}");
        }
    }
}
