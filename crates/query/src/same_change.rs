//! What one change did to a resource, and when two changes are one, made in several clusters.

use crate::error::Result;
use crate::question::Context;
use crate::timeline;
use strandline_object_diff::{Between, Class, Comparison, Difference, Lens, compare};
use strandline_protocol::{Entry, EntryResource, OnsetPlace};

/// Differences that are shown of one change, and bytes of their values.
const DIFFERENCES: (usize, usize) = (6, 1500);

/// A change with what it did.
pub(super) struct Made<'a> {
    pub(super) entry: &'a Entry,
    /// Where else the same was done.
    pub(super) also: &'a [OnsetPlace],
    pub(super) differences: &'a [Difference],
    pub(super) left_out: u64,
}

/// Whether two changes are one, made in two clusters: to resources of one name, by the same, to the same values.
pub(super) fn is_same(one: &Made<'_>, other: &Made<'_>) -> bool {
    let clusters = |change: &Made<'_>| change.entry.resource.as_ref().map(|it| it.key.cluster.clone());
    let taken = |cluster: &String| one.also.iter().any(|place| place.cluster == *cluster);
    let is_elsewhere = clusters(one) != clusters(other) && !clusters(other).is_some_and(|it| taken(&it));
    let [made, remade] = [one, other].map(|change| {
        let resource = change.entry.resource.as_ref();
        let by = resource.and_then(|it| it.changed_by.as_ref()).map(|by| by.manager.as_str());
        (change.entry.what.as_str(), by, resource.map(|it| &it.parts))
    });
    let values = |change: &Made<'_>| {
        let one = |found: &Difference| (found.path.clone(), found.before.clone(), found.after.clone());
        change.differences.iter().map(one).collect::<Vec<_>>()
    };
    is_elsewhere && made == remade && one.left_out == other.left_out && values(one) == values(other)
}

/// Where an entry's resource or Event is.
pub(super) fn place(entry: &Entry) -> Option<OnsetPlace> {
    let (id, key) = match (&entry.resource, &entry.event) {
        (Some(resource), _) => (&resource.id, &resource.key),
        (None, Some(event)) => (&event.uid, &event.key),
        (None, None) => return None,
    };
    Some(OnsetPlace {
        id: id.clone(),
        cluster: key.cluster.clone(),
        namespace: key.namespace.clone(),
        offset: entry.offset,
        observed_at: entry.observed_at,
    })
}

/// What of a resource differs after a change from the state before.
pub(super) fn differences(
    q: &mut Context<'_>,
    resource: Option<&EntryResource>,
    offset: i64,
    number: i64,
) -> Result<Comparison> {
    let Some(resource) = resource else { return Ok(Comparison::default()) };
    let Some((before, after)) = timeline::states(q, number, offset)? else {
        return Ok(Comparison::default());
    };
    let lens = Lens::new(Between::Versions, &[Class::Metadata, Class::Status]);
    let mut found = compare(&resource.key.kind, Some(&before), Some(&after), &lens);
    let (most, bytes) = DIFFERENCES;
    found.keep(most, bytes);
    Ok(found)
}
