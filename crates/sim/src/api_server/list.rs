//! Lists in pages of one consistent snapshot, and single objects.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::json;

use super::faults::Fault;
use super::kinds::ServedKind;
use super::objects::Stored;
use super::query::Query;
use super::selector::Filter;
use super::shared::Shared;
use super::state::{Snapshot, State};
use super::status::Status;

/// Snapshots kept for lists that are being read; an older one expires, as after compaction.
const SNAPSHOTS: usize = 64;

/// Answers one page.
pub(super) fn page(
    shared: &Shared,
    kind: &ServedKind,
    namespace: Option<&str>,
    query: &Query,
    only_metadata: bool,
) -> Result<Bytes, Status> {
    let limit = match query.number("limit")? {
        None | Some(0) => usize::MAX,
        Some(limit) => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    let filter = Filter::parse(namespace, query.text("labelSelector"), query.text("fieldSelector"))?;
    let token = query.text("continue");
    let expired = !token.is_empty() && shared.faults.strikes(Fault::ExpiredPage, kind.lane());
    if expired {
        return Err(Status::expired_page());
    }
    let mut state = shared.state();
    let page = if token.is_empty() {
        first(&mut state, kind, &filter, query, limit)?
    } else {
        following(&state, token, limit)?
    };
    drop(state);
    Ok(page.render(kind, filter.selects(), only_metadata))
}

/// A page before it is written.
struct Page {
    version: u64,
    items: Arc<Vec<Arc<Stored>>>,
    from: usize,
    to: usize,
    /// The snapshot of the pages that follow; none after the last.
    snapshot: Option<u64>,
}

fn first(
    state: &mut State,
    kind: &ServedKind,
    filter: &Filter,
    query: &Query,
    limit: usize,
) -> Result<Page, Status> {
    if let Some(asked) = query.number("resourceVersion")?.filter(|&asked| asked > state.version) {
        return Err(Status::too_large(asked, state.version));
    }
    let items = state.objects(&kind.kind).filter(|stored| filter.matches(stored));
    let items: Arc<Vec<_>> = Arc::new(items.cloned().collect());
    let (version, to) = (state.version, items.len().min(limit));
    let snapshot = (to < items.len()).then(|| {
        let id = state.next_snapshot;
        state.next_snapshot += 1;
        state.snapshots.push_back(Snapshot { id, version, items: Arc::clone(&items) });
        if state.snapshots.len() > SNAPSHOTS {
            state.snapshots.pop_front();
        }
        id
    });
    Ok(Page { version, items, from: 0, to, snapshot })
}

fn following(state: &State, token: &str, limit: usize) -> Result<Page, Status> {
    let invalid = || Status::bad_request("continue key is not valid");
    let (id, from) = token.strip_prefix('p').and_then(|rest| rest.split_once('-')).ok_or_else(invalid)?;
    let id: u64 = id.parse().map_err(|_| invalid())?;
    let from: usize = from.parse().map_err(|_| invalid())?;
    let snapshot = state.snapshots.iter().find(|snapshot| snapshot.id == id);
    let snapshot = snapshot.filter(|snapshot| snapshot.version >= state.forgotten);
    let Snapshot { version, items, .. } = snapshot.ok_or_else(Status::expired_page)?;
    let from = from.min(items.len());
    let to = items.len().min(from.saturating_add(limit));
    let snapshot = (to < items.len()).then_some(id);
    Ok(Page { version: *version, items: Arc::clone(items), from, to, snapshot })
}

impl Page {
    fn render(&self, kind: &ServedKind, selects: bool, only_metadata: bool) -> Bytes {
        let mut metadata = json!({"resourceVersion": self.version.to_string()});
        if let Some(id) = self.snapshot {
            metadata["continue"] = format!("p{id}-{}", self.to).into();
            // As the real server: with a selector it does not know how many will match.
            if !selects {
                metadata["remainingItemCount"] = (self.items.len() - self.to).into();
            }
        }
        let head = json!({"kind": format!("{}List", kind.kind.kind), "apiVersion": kind.api_version()});
        let items = &self.items[self.from..self.to];
        if only_metadata {
            let metadata_of = |item: &Arc<Stored>| json!({"metadata": item.value(kind)["metadata"]});
            let list = json!({
                "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                "items": items.iter().map(metadata_of).collect::<Vec<_>>(),
            });
            return Bytes::from(format!("{list}\n"));
        }
        let mut out =
            BytesMut::with_capacity(256 + items.iter().map(|item| item.body.len() + 1).sum::<usize>());
        out.put_slice(head.to_string().trim_end_matches('}').as_bytes());
        out.put_slice(b",\"metadata\":");
        out.put_slice(metadata.to_string().as_bytes());
        out.put_slice(b",\"items\":[");
        let prefix = typed_prefix(kind);
        for (position, item) in items.iter().enumerate() {
            if position > 0 {
                out.put_u8(b',');
            }
            if kind.custom {
                put_typed(&mut out, &prefix, item);
            } else {
                out.put_slice(&item.body);
            }
        }
        out.put_slice(b"]}\n");
        out.freeze()
    }
}

/// Answers one object.
pub(super) fn single(
    shared: &Shared,
    kind: &ServedKind,
    namespace: &str,
    name: &str,
) -> Result<Bytes, Status> {
    let stored = shared.state().get(&kind.kind, namespace, name).cloned();
    let stored = stored.ok_or_else(|| Status::not_found(kind, name))?;
    let mut out = BytesMut::with_capacity(stored.body.len() + 64);
    put_typed(&mut out, &typed_prefix(kind), &stored);
    out.put_u8(b'\n');
    Ok(out.freeze())
}

/// How the JSON of an object begins with its type.
pub(super) fn typed_prefix(kind: &ServedKind) -> String {
    let head = json!({"kind": kind.kind.kind, "apiVersion": kind.api_version()}).to_string();
    format!("{},", head.trim_end_matches('}'))
}

/// Writes an object with its type; stored bodies are never empty objects, so a comma always fits.
pub(super) fn put_typed(out: &mut BytesMut, prefix: &str, stored: &Stored) {
    out.put_slice(prefix.as_bytes());
    out.put_slice(stored.body.get(1..).unwrap_or(b"}"));
}
