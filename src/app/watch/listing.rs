//! A list of environments at one offset, and what of it has to be kept to see what changes.

use std::collections::BTreeMap;

use crate::http::problem::{ParameterError, Problem};
use strandline_model::{At, EnvironmentFilter, EnvironmentId, Health};
use strandline_protocol::Environment;
use strandline_query::{ListEnvironments, PageRequest, Queries, Scope};

/// Environments of a list that is watched.
const ENVIRONMENTS_MAX: usize = 10_000;

/// By what an environment is known to be as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) health: Option<Health>,
    hash: blake3::Hash,
}

/// What is kept of a list.
pub(super) type Digest = BTreeMap<EnvironmentId, Known>;

/// A list, by the ids of its environments.
pub(super) type Listing = BTreeMap<EnvironmentId, (Known, Environment)>;

pub(super) fn digest(listing: &Listing) -> Digest {
    listing.iter().map(|(id, (known, _))| (id.clone(), *known)).collect()
}

/// The whole list, as `/api/v1/environments` answers it.
pub(super) async fn read(
    queries: &Queries,
    scope: &Scope,
    filter: &EnvironmentFilter,
    at: At,
) -> Result<Listing, Problem> {
    let (mut listing, mut after) = (Listing::new(), None);
    loop {
        let page = PageRequest { limit: PageRequest::MAX, after };
        let found = queries.ask(scope, at, ListEnvironments::new(filter, &page)).await?;
        for environment in found.items {
            let bytes = serde_json::to_vec(&environment).map_err(Problem::internal)?;
            let known = Known { health: environment.health.state, hash: blake3::hash(&bytes) };
            listing.insert(environment.id.clone(), (known, environment));
        }
        if listing.len() > ENVIRONMENTS_MAX {
            let detail = format!("more than {ENVIRONMENTS_MAX} environments match; narrow the filter");
            return Err(Problem::parameters(vec![ParameterError { parameter: "project".into(), detail }]));
        }
        after = found.metadata.next;
        if after.is_none() {
            return Ok(listing);
        }
    }
}
