//! Finds the resource that an address such as `deploy/web` means, and lists what a search finds.

use super::answers::{parameters, print_list, typed};
use super::args::{FindArgs, ListArgs, PlaceArgs, ServerArgs, Subject};
use super::client::Client;
use super::error::{CliError, Exit};
use super::query::{Add, Parameters};
use strandline_model::{EnvironmentId, Uid};
use strandline_protocol::{FoundResource, Page};
use strandline_query::Presence;
use strandline_syntax::{Glob, percent_encode};

/// A resource, as the server's routes name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) uid: Uid,
    pub(super) cluster: Option<String>,
}

/// The most candidates that are looked at and named.
const CANDIDATES: usize = 20;

/// Asks the server which resource is meant; a uid says so by itself.
pub(super) async fn find(
    client: &Client,
    server: &ServerArgs,
    subject: &Subject,
    place: &PlaceArgs,
) -> Result<Address, CliError> {
    let what = format!("finding {subject}");
    let PlaceArgs { cluster, namespace, within } = place;
    let (kind, name) = match subject {
        Subject::Uid(uid) if namespace.is_none() && within.is_none() => {
            return Ok(Address { uid: uid.clone(), cluster: cluster.clone() });
        }
        Subject::Uid(_) => {
            let why = "a UID cannot be combined with --namespace or --env; use KIND/NAME instead";
            return Err(CliError::new(what, why).exit(Exit::Usage));
        }
        Subject::Named { kind, name } => (kind, name),
    };
    let query = parameters(server)
        .add("kind", &[kind])
        .add("name", &[Glob::literal(name)])
        .add("namespace", namespace.as_slice())
        .add("cluster", cluster.as_slice())
        .add("environment", within.as_slice())
        .add("gone", &[Presence::Any])
        .add("limit", &[CANDIDATES]);
    let page: Page<FoundResource> = typed(&what, client.get(&what, "/api/v1/resources", &query).await?)?;
    choose(&what, page.items)
}

/// The address of what is below a resource, and the cluster to ask it with.
pub(super) async fn below(
    subject: &Subject,
    place: &PlaceArgs,
    server: &ServerArgs,
    what: &str,
) -> Result<(String, Option<String>), CliError> {
    let Address { uid, cluster } = find(&Client::reading(server)?, server, subject, place).await?;
    let slash = if what.is_empty() { "" } else { "/" };
    Ok((format!("/api/v1/resources/{}{slash}{what}", percent_encode(uid.as_str())), cluster))
}

/// An environment or a resource, and the route that answers about it.
pub(super) struct Whose {
    /// As people named it.
    pub(super) subject: String,
    pub(super) path: String,
    pub(super) cluster: Option<String>,
}

/// Finds the route of what a command is about: a resource, or else an environment.
pub(super) async fn whose_route(
    (resource, environment): (Option<&Subject>, Option<&EnvironmentId>),
    place: &PlaceArgs,
    server: &ServerArgs,
    route: &str,
) -> Result<Whose, CliError> {
    match (resource, environment) {
        (Some(resource), _) => {
            let (path, cluster) = below(resource, place, server, route).await?;
            Ok(Whose { subject: resource.to_string(), path, cluster })
        }
        (None, Some(id)) => {
            let path = format!("/api/v1/environments/{}/{route}", percent_encode(id.as_str()));
            Ok(Whose { subject: id.to_string(), path, cluster: None })
        }
        (None, None) => {
            let why = "no environment or resource given";
            Err(CliError::new(format!("reading the {route}"), why).exit(Exit::Usage))
        }
    }
}

/// Of several that have the name the one that is there; of those that are gone the last life, where all were in one
/// place.
fn choose(what: &str, found: Vec<FoundResource>) -> Result<Address, CliError> {
    let (present, gone): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| one.gone.is_none());
    let mut candidates = if present.is_empty() { gone } else { present };
    if candidates.first().is_some_and(|one| one.gone.is_some()) {
        candidates.dedup_by(|next, one| next.resource.key == one.resource.key);
    }
    match candidates.as_slice() {
        [] => Err(CliError::new(what, "no such resource, now or in the past, that you have access to")
            .hint("list existing and deleted resources with `strandline find KIND --gone any`")
            .exit(Exit::NotFound)),
        [one] => {
            let cluster = Some(one.resource.key.cluster.clone());
            Ok(Address { uid: one.resource.id.clone(), cluster })
        }
        several => {
            let line = |one: &FoundResource| {
                let went = if one.gone.is_some() { "  (gone)" } else { "" };
                format!("\n  {}  {}{went}", one.resource.id, one.resource.key)
            };
            let lines: String = several.iter().map(line).collect();
            Err(CliError::new(what, format!("{} resources match", several.len()))
                .hint(format!("add --cluster, --namespace or --env, or use the UID:{lines}"))
                .exit(Exit::Usage))
        }
    }
}

/// Lists what a search finds.
pub(super) async fn list(args: &FindArgs) -> Result<(), CliError> {
    let (kind, name) = match args.what.as_deref().map(|what| what.split_once('/').unwrap_or((what, ""))) {
        Some((kind, name)) => (Some(kind), Some(name).filter(|name| !name.is_empty())),
        None => (None, None),
    };
    let query =
        placed(&args.place, args.gone, &args.list).add("kind", kind.as_slice()).add("name", name.as_slice());
    print_list::<FoundResource>("resources", "/api/v1/resources", query, &args.list).await
}

/// Lists the resources of these kinds, or of all, wherever they are.
pub(super) async fn list_kinds(
    kinds: &[String],
    place: &PlaceArgs,
    gone: Presence,
    list: &ListArgs,
) -> Result<(), CliError> {
    let query = placed(place, gone, list).add("kind", kinds);
    print_list::<FoundResource>("resources", "/api/v1/resources", query, list).await
}

/// What searches in a place ask.
fn placed(place: &PlaceArgs, gone: Presence, list: &ListArgs) -> Parameters {
    let PlaceArgs { cluster, namespace, within } = place;
    parameters(&list.server)
        .add("namespace", namespace.as_slice())
        .add("cluster", cluster.as_slice())
        .add("environment", within.as_slice())
        .add("gone", &[gone])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{NOON, resource};
    use strandline_model::Offset;
    use strandline_protocol::Gone;

    fn one(cluster: &str, uid: &str, gone: bool) -> FoundResource {
        let mut resource = resource("Deployment", "web", None);
        (resource.id, resource.key.cluster) = (Uid::new(uid), cluster.into());
        let gone = gone.then(|| Gone { at: Some(NOON), last_offset: Offset::new(7) });
        FoundResource { resource, gone }
    }

    #[test]
    fn what_is_there_goes_before_what_is_gone_and_the_last_life_before_earlier_ones() {
        for (found, expected) in [
            (vec![one("eu", "a", false)], "a"),
            (vec![one("eu", "old", true), one("us", "a", false)], "a"),
            (vec![one("eu", "newer", true), one("eu", "older", true)], "newer"),
        ] {
            let chosen = choose("finding deploy/web", found).map(|address| address.uid);
            assert_eq!(chosen.as_ref().map(Uid::as_str).ok(), Some(expected));
        }
    }

    #[test]
    fn what_is_ambiguous_is_told_with_its_candidates() {
        for found in [
            vec![one("eu", "a", false), one("us", "b", false)],
            vec![one("eu", "a", true), one("us", "b", true)],
        ] {
            let error = choose("finding deploy/web", found).expect_err("two");
            let lines = error.lines();
            assert_eq!(error.exit, Exit::Usage);
            assert!(lines.contains("a  eu/Deployment.apps/shop/web") && lines.contains("b  us/"), "{lines}");
        }
        let nothing = choose("finding deploy/web", vec![]).expect_err("nothing");
        assert_eq!(nothing.exit, Exit::NotFound);
    }
}
