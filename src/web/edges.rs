//! What a resource is linked to, as its page shows it.

use super::shell::{Badge, Shell};
use super::tree::resource_href;
use crate::format::{link_verb, visible};
use strandline_protocol::ResourceEdge;
use strandline_query::PageRequest;

/// How many a page shows.
const SHOWN: usize = 50;

/// The first ones.
pub(super) fn first() -> PageRequest {
    PageRequest { limit: SHOWN, after: None }
}

/// A link of the resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) verb: &'static str,
    pub(super) kind: String,
    pub(super) name: String,
    /// The far end's page; none where it is not there.
    pub(super) href: Option<String>,
    pub(super) badge: Badge,
    /// Whether it is known not to be there.
    pub(super) missing: bool,
}

/// The links of a resource of this cluster; what is missing comes first, for it may be what is wrong.
pub(super) fn lines(shell: &Shell, edges: &[ResourceEdge], cluster: &str) -> Vec<Line> {
    let shown = |text: &str| visible(text).into_owned();
    let line = |edge: &ResourceEdge| Line {
        verb: link_verb(edge),
        kind: shown(&edge.kind.kind),
        name: if edge.name.is_empty() { "all".into() } else { shown(&edge.name) },
        href: edge.id.as_ref().map(|uid| resource_href(shell, uid, cluster)),
        badge: Badge::new(edge.health),
        missing: edge.exists == Some(false),
    };
    let mut lines: Vec<Line> = edges.iter().map(line).collect();
    lines.sort_by_key(|line| !line.missing);
    lines
}
