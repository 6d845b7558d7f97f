//! The lists that can be watched, as they are at one offset, and what of them has to be kept to see what changes.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::http::problem::{ParameterError, Problem, ProblemCode};
use strandline_model::{At, EnvironmentFilter, EnvironmentId, Health, Uid};
use strandline_protocol::{Environment, Page, Resource};
use strandline_query::{
    ListEnvironmentResources, ListEnvironments, PageRequest, Queries, ResourceFilter, Scope,
};

/// The most that a list may hold that is watched.
pub const ITEMS_MAX: usize = 10_000;

/// A list that can be watched. Whoever asks for the same with the same rights shares it.
#[derive(Clone, Debug, Serialize)]
pub enum WatchedList {
    /// As `/api/v1/environments` answers it.
    Environments(EnvironmentFilter),
    /// As `/api/v1/environments/{id}/resources` answers it.
    Resources(EnvironmentId, ResourceFilter),
}

/// By what an item is known in its list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// An environment.
    Environment(EnvironmentId),
    /// A resource: its uid and its cluster, as what was restored from a backup can be in two of them.
    Resource(Uid, String),
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Key::Environment(id) => id.fmt(f),
            Key::Resource(uid, cluster) => write!(f, "{uid}@{cluster}"),
        }
    }
}

/// Something that a list holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Item {
    Environment(Box<Environment>),
    Resource(Box<Resource>),
}

impl Item {
    fn health(&self) -> Option<Health> {
        match self {
            Item::Environment(environment) => environment.health.state,
            Item::Resource(resource) => resource.health,
        }
    }

    pub(super) fn environment(&self) -> Option<&Environment> {
        match self {
            Item::Environment(environment) => Some(environment),
            Item::Resource(_) => None,
        }
    }

    pub(super) fn resource(&self) -> Option<&Resource> {
        match self {
            Item::Resource(resource) => Some(resource),
            Item::Environment(_) => None,
        }
    }

    fn key(&self) -> Key {
        match self {
            Item::Environment(environment) => Key::Environment(environment.id.clone()),
            Item::Resource(resource) => Key::Resource(resource.id.clone(), resource.key.cluster.clone()),
        }
    }
}

/// By what an item is known to be as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) health: Option<Health>,
    hash: blake3::Hash,
}

/// What is kept of a list.
pub(super) type Digest = BTreeMap<Key, Known>;

/// A list, by the keys of its items.
pub(super) type Listing = BTreeMap<Key, (Known, Item)>;

pub(super) fn digest(listing: &Listing) -> Digest {
    listing.iter().map(|(key, (known, _))| (key.clone(), *known)).collect()
}

/// The whole list, as the API answers it.
pub(super) async fn read(
    queries: &Queries,
    scope: &Scope,
    list: &WatchedList,
    at: At,
) -> Result<Listing, Problem> {
    let (mut listing, mut after) = (Listing::new(), None);
    loop {
        let page = PageRequest { limit: PageRequest::MAX, after };
        let (items, next) = match list {
            WatchedList::Environments(filter) => {
                let found = queries.ask(scope, at, ListEnvironments::new(filter, &page)).await?;
                parts(found, |environment| Item::Environment(Box::new(environment)))
            }
            WatchedList::Resources(id, filter) => {
                let question = ListEnvironmentResources::new(id, filter, &page);
                parts(queries.ask(scope, at, question).await?, |resource| Item::Resource(Box::new(resource)))
            }
        };
        for item in items {
            let bytes = serde_json::to_vec(&item).map_err(Problem::internal)?;
            let known = Known { health: item.health(), hash: blake3::hash(&bytes) };
            listing.insert(item.key(), (known, item));
        }
        if listing.len() > ITEMS_MAX {
            return Err(list.too_large());
        }
        after = next;
        if after.is_none() {
            return Ok(listing);
        }
    }
}

/// The same at an offset of the past, at which what the list is of may not have been there yet.
pub(super) async fn read_past(
    queries: &Queries,
    scope: &Scope,
    list: &WatchedList,
    at: At,
) -> Result<Listing, Problem> {
    match read(queries, scope, list, at).await {
        Err(problem) if problem.code == ProblemCode::NotFound => Ok(Listing::new()),
        read => read,
    }
}

fn parts<T>(page: Page<T>, item: impl Fn(T) -> Item) -> (Vec<Item>, Option<String>) {
    (page.items.into_iter().map(item).collect(), page.metadata.next)
}

impl WatchedList {
    /// The key of an item of it, as it is written.
    pub(super) fn key(&self, text: &str) -> Key {
        match self {
            WatchedList::Environments(_) => Key::Environment(EnvironmentId::new(text)),
            WatchedList::Resources(..) => {
                let (uid, cluster) = text.rsplit_once('@').unwrap_or((text, ""));
                Key::Resource(Uid::new(uid), cluster.to_owned())
            }
        }
    }

    fn too_large(&self) -> Problem {
        let (nouns, parameter) = match self {
            WatchedList::Environments(_) => ("environments", "project"),
            WatchedList::Resources(..) => ("resources", "kind"),
        };
        let detail = format!("more than {ITEMS_MAX} {nouns} match, too many to watch; narrow the filter");
        Problem::parameters(vec![ParameterError { parameter: parameter.into(), detail }])
    }
}
