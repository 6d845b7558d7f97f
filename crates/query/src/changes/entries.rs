//! Entries of the feed, made of its rows: with what changed, where it is the same in several clusters as one, and with how
//! much followed.

use rusqlite::named_params;

use crate::alike;
use crate::changes::environments::Selection;
use crate::changes::rows::FeedRow;
use crate::error::Result;
use crate::question::Context;
use crate::same_change::{Made, differences, is_same, place};
use crate::timeline::{self, What};
use std::time::Duration;
use strandline_model::{Happening, Hour, Timestamp};
use strandline_object_diff::{Comparison, one_line};
use strandline_protocol::{Deployment, Entry, FeedEntry, FeedEnvironment, FeedKind};

/// How long after each other what is one change is made in several clusters.
const ROLLOUT: Duration = Duration::from_secs(3600);

/// An entry with the rows that it is made of.
struct Member {
    entry: FeedEntry,
    /// Of each: the environment, the offset and the time.
    places: Vec<(i64, i64, Timestamp)>,
}

/// The entries of these rows, in their order.
pub(super) fn of(
    q: &mut Context<'_>,
    rows: Vec<FeedRow>,
    selection: &mut Selection<'_>,
    controllers: bool,
) -> Result<Vec<FeedEntry>> {
    let mut members = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(environment) = selection.get(row.environment)?.cloned() else { continue };
        members.extend(member(q, &row, environment)?);
    }
    let mut folded = alike::folded(members, key, is_one, take_in);
    for Member { entry, places } in &mut folded {
        if FeedKind::REQUESTED.contains(&entry.kind) {
            for place in places.iter() {
                entry.follow_ups += follow_ups(q, *place, controllers)?;
            }
        }
    }
    Ok(folded.into_iter().map(|member| member.entry).collect())
}

/// An entry of one row; none where nothing showed.
fn member(q: &mut Context<'_>, row: &FeedRow, environment: FeedEnvironment) -> Result<Option<Member>> {
    let FeedRow { environment: number, place, manager, health } = row;
    let mut entry = match place.what {
        What::Happened(what) => timeline::entry(q, place, what)?,
        What::Health | What::Gap => {
            let Some(health) = health.clone() else { return Ok(None) };
            timeline::health_entry(place, health)
        }
    };
    // One change can be of several environments.
    entry.id = format!("{}.{}", entry.id, environment.id);
    let is_change = place.what == What::Happened(Happening::Changed);
    let Comparison { differences, left_out, .. } = match is_change {
        true => differences(q, entry.resource.as_ref(), place.offset, place.subject)?,
        false => Comparison::default(),
    };
    let kind = match place.what {
        What::Happened(Happening::Created) => FeedKind::Created,
        What::Happened(Happening::Deleted) => FeedKind::Deleted,
        What::Happened(Happening::Deployed | Happening::Progressed) => FeedKind::Deployment,
        What::Happened(Happening::Said | Happening::Warned) => FeedKind::Warning,
        What::Happened(_) => FeedKind::Spec,
        What::Health | What::Gap => FeedKind::Health,
    };
    let by = entry.deployment.as_ref().map_or_else(|| manager.clone(), |one| one.spec.user.clone());
    let cluster = entry.resource.as_ref().map(|one| &one.key).or(entry.event.as_ref().map(|one| &one.key));
    let clusters = cluster.map(|key| key.cluster.clone()).into_iter().collect();
    let summary = match kind {
        FeedKind::Spec if differences.is_empty() => "updated".to_owned(),
        FeedKind::Spec => one_line(&differences, left_out, 1),
        _ => summary(&entry),
    };
    let entry = FeedEntry {
        kind,
        summary,
        by,
        environments: vec![environment],
        clusters,
        entry,
        also: Vec::new(),
        differences,
        differences_left_out: left_out,
        follow_ups: 0,
    };
    Ok(Some(Member { entry, places: vec![(*number, place.offset, place.time)] }))
}

/// What an entry says beside its subject, where that is not what differs.
fn summary(entry: &Entry) -> String {
    if let Some(event) = &entry.event {
        return format!("{}: {}", event.reason, event.note);
    }
    if let Some(Deployment { spec, .. }) = &entry.deployment {
        let commit = spec.sha.get(..8).map(|sha| format!(" ({sha})")).unwrap_or_default();
        return format!("{}{commit} {}", spec.reference, spec.status).trim_start().to_owned();
    }
    if let Some(health) = &entry.health {
        let word = |health: Option<strandline_model::Health>| {
            health.map_or_else(|| "none".to_owned(), |health| health.to_string())
        };
        return format!("{} → {}", word(health.before), word(health.after));
    }
    entry.what.clone()
}

/// What entries have in common that may be one.
fn key(member: &Member) -> Option<(FeedKind, String, String)> {
    let Entry { resource, event, deployment, .. } = &member.entry.entry;
    let (of, name) = match (resource, event, deployment) {
        (Some(resource), ..) => (resource.key.kind.kind.clone(), resource.key.name.clone()),
        (_, Some(event), _) => (event.key.kind.kind.clone(), event.reason.clone()),
        (.., Some(deployment)) => (deployment.spec.project.clone(), deployment.spec.sha.clone()),
        _ => return None,
    };
    Some((member.entry.kind, of, name))
}

/// Whether two entries are one: the same done in several clusters or environments of a project, soon after each other.
fn is_one(one: &Member, other: &Member) -> bool {
    let (first, second) = (&one.entry, &other.entry);
    let project = |entry: &FeedEntry| entry.environments.first().map(|one| one.project.clone());
    let soon = first.entry.observed_at.since(second.entry.observed_at) <= ROLLOUT;
    if !soon || project(first) != project(second) {
        return false;
    }
    match first.kind {
        FeedKind::Warning => first.environments.first() == second.environments.first(),
        FeedKind::Deployment => {
            let new = |environment: &FeedEnvironment| !first.environments.contains(environment);
            let spec = |entry: &FeedEntry| {
                entry.entry.deployment.as_ref().map(|one| (one.spec.reference.clone(), one.spec.status))
            };
            first.by == second.by && spec(first) == spec(second) && second.environments.iter().all(new)
        }
        // What is in several environments at once.
        _ if first.entry.offset == second.entry.offset && first.clusters == second.clusters => true,
        _ => is_same(&as_made(first), &as_made(second)),
    }
}

fn as_made(entry: &FeedEntry) -> Made<'_> {
    let FeedEntry { entry, also, differences, differences_left_out: left_out, .. } = entry;
    Made { entry, also, differences, left_out: *left_out }
}

/// Takes an entry into the one that it is.
fn take_in(one: &mut Member, other: &Member) {
    let is_elsewhere = one.entry.entry.offset != other.entry.entry.offset;
    one.entry.also.extend(place(&other.entry.entry).filter(|_| is_elsewhere));
    for environment in &other.entry.environments {
        if !one.entry.environments.contains(environment) {
            one.entry.environments.push(environment.clone());
        }
    }
    for cluster in &other.entry.clusters {
        if !one.entry.clusters.contains(cluster) {
            one.entry.clusters.push(cluster.clone());
        }
    }
    one.places.extend(&other.places);
}

/// The next change that somebody asked for in an environment.
const NEXT: &str = r#"SELECT min(f."offset") FROM feed f INDEXED BY feed_by_environment
    LEFT JOIN controller k ON k.environment_id = f.environment_id AND k.manager_id = f.manager_id AND k.since <= :at
    WHERE f.environment_id = :environment AND f."offset" > :offset AND f."offset" <= :at AND f.what IN (0, 1, 3, 7)
        AND (:controllers OR k.since IS NULL)"#;

/// Changes of resources of an environment after an offset and up to another.
const FOLLOWED: &str = r#"SELECT count(*) FROM (SELECT 1 FROM happening
    WHERE hour IN (:hour, :hour + 1) AND environment_id = :environment AND "offset" > :offset AND "offset" <= :to
        AND what <= 4 AND hour * 3600000000 + past <= :until
        AND "offset" < (SELECT to_offset FROM environment_audience
            WHERE environment_id = :environment AND from_offset <= :offset ORDER BY from_offset DESC LIMIT 1)
    LIMIT :limit)"#;

/// How many changes followed that nobody asked for, as long as those may read the environment who might when it was made.
fn follow_ups(
    q: &Context<'_>,
    (environment, offset, time): (i64, i64, Timestamp),
    controllers: bool,
) -> Result<u64> {
    let at = q.moment.offset.as_i64();
    let params = named_params! {
        ":environment": environment, ":offset": offset, ":at": at, ":controllers": controllers,
    };
    let next: Option<i64> = q.view.prepare_cached(NEXT)?.query_row(params, |row| row.get(0))?;
    let until = time.plus(Duration::from_secs(FeedEntry::FOLLOW_UP_SECONDS));
    let params = named_params! {
        ":hour": Hour::of(time).0, ":environment": environment, ":offset": offset,
        ":to": next.map_or(at, |next| next - 1), ":until": until.as_micros(),
        ":limit": FeedEntry::FOLLOW_UPS.cast_signed(),
    };
    let count: i64 = q.view.prepare_cached(FOLLOWED)?.query_row(params, |row| row.get(0))?;
    Ok(count.cast_unsigned())
}
