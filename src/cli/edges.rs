//! `strandline edges`: which links objects report, without a server; or what a server knows a resource is linked to.

use serde::Serialize;

use super::address::below;
use super::answers::{parameters, print_list};
use super::args::{EdgesArgs, ObjectsArgs};
use super::error::{CliError, Exit};
use super::objects::{Shown, look};
use super::query::Add;
use super::runtime::runtime;
use super::table::{Cell, Table};
use crate::config::{self, ConfigError};
use strandline_model::Kind;
use strandline_object::Object;
use strandline_protocol::ResourceEdge;
use strandline_relations::{Direction, EdgeKind, EdgeRef, Far, Relations, edges};

/// Reports the edges of the objects of a file, or asks a server.
pub(super) fn run(args: &EdgesArgs) -> Result<(), CliError> {
    let objects = args.objects();
    match objects.map_err(|why| CliError::new("printing relations", why).exit(Exit::Usage))? {
        Some(objects) => of_file(&objects, args),
        None => of_server(args),
    }
}

/// Lists what a resource is linked to.
fn of_server(args: &EdgesArgs) -> Result<(), CliError> {
    runtime()?.block_on(async {
        let Some(subject) = &args.resource else {
            return Err(CliError::new("reading edges", "no resource given").exit(Exit::Usage));
        };
        let (path, cluster) = below(subject, &args.place, &args.list.server, "edges").await?;
        let query = parameters(&args.list.server).add("cluster", cluster.as_slice());
        print_list::<ResourceEdge>("edges", &path, query, &args.list).await
    })
}

fn of_file(objects: &ObjectsArgs, args: &EdgesArgs) -> Result<(), CliError> {
    let relations = match &args.relations {
        Some(path) => config::read_relations(path).map_err(|error| failure(&error))?,
        None => Relations::default(),
    };
    look(objects, |object| Linked::of(object, &relations))
}

fn failure(error: &ConfigError) -> CliError {
    let failure = CliError::new("reading the relations", error).exit(Exit::Usage);
    error.hint().into_iter().fold(failure, CliError::hint)
}

/// An object with its edges.
struct Linked {
    /// The object as tables show it.
    object: String,
    edges: Vec<EdgeRef>,
}

impl Linked {
    fn of(object: &Object<'_>, relations: &Relations) -> Self {
        let metadata = &object.metadata;
        Linked {
            object: address(&object.group_kind(), &metadata.namespace, &metadata.name),
            edges: edges(object, relations),
        }
    }

    fn row(&self, edge: &EdgeRef) -> Vec<Cell> {
        let far = shown(&edge.far);
        let (cause, dependent) = match edge.direction {
            Direction::ToFar => (&self.object, &far),
            Direction::FromFar => (&far, &self.object),
        };
        [cause, edge.kind.as_str(), dependent].map(Cell::text).to_vec()
    }
}

impl Shown for Linked {
    fn line(&self) -> serde_json::Result<String> {
        serde_json::to_string(&Line { edges: self.edges.iter().map(Edge::of).collect() })
    }

    fn table(all: &[Self]) -> Table {
        let none = |one: &Self| vec![Cell::text(&one.object), Cell::text(""), Cell::text("")];
        let rows = all.iter().flat_map(|one| {
            let mut rows: Vec<_> = one.edges.iter().map(|edge| one.row(edge)).collect();
            if rows.is_empty() {
                rows.push(none(one));
            }
            rows
        });
        Table::new(["CAUSE", "EDGE", "DEPENDENT"], rows.collect())
    }
}

/// The line of an object.
#[derive(Serialize)]
struct Line<'a> {
    edges: Vec<Edge<'a>>,
}

#[derive(Serialize)]
struct Edge<'a> {
    kind: EdgeKind,
    direction: &'static str,
    far: End<'a>,
}

/// The far end, by what it is found.
#[derive(Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
enum End<'a> {
    Uid {
        #[serde(flatten)]
        kind: &'a Kind,
        name: &'a str,
        uid: &'a str,
    },
    Name {
        #[serde(flatten)]
        kind: &'a Kind,
        namespace: &'a str,
        name: &'a str,
    },
    Labels {
        #[serde(flatten)]
        kind: &'a Kind,
        namespace: &'a str,
        selector: String,
    },
    /// All of a series of names: the stem, a dash and a number.
    Series {
        #[serde(flatten)]
        kind: &'a Kind,
        namespace: &'a str,
        stem: &'a str,
    },
    Kind {
        #[serde(flatten)]
        kind: &'a Kind,
    },
}

impl<'a> Edge<'a> {
    fn of(edge: &'a EdgeRef) -> Self {
        let direction = match edge.direction {
            Direction::ToFar => "to_far",
            Direction::FromFar => "from_far",
        };
        let far = match &edge.far {
            Far::Uid { uid, kind, name } => End::Uid { kind, name, uid: uid.as_str() },
            Far::Key { kind, namespace, name } => End::Name { kind, namespace, name },
            Far::Matching { kind, namespace, selector } => {
                End::Labels { kind, namespace, selector: selector.to_string() }
            }
            Far::Numbered { kind, namespace, stem } => End::Series { kind, namespace, stem },
            Far::Every { kind } => End::Kind { kind },
        };
        Edge { kind: edge.kind, direction, far }
    }
}

/// Kind, namespace and name as one word; what is not there is left out.
fn address(kind: &Kind, namespace: &str, name: &str) -> String {
    let parts = [kind.to_string(), namespace.to_owned(), name.to_owned()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
}

fn shown(far: &Far) -> String {
    match far {
        Far::Uid { kind, name, .. } => address(kind, "", name),
        Far::Key { kind, namespace, name } => address(kind, namespace, name),
        Far::Matching { kind, namespace, selector } if selector.is_empty() => {
            format!("{}/*", address(kind, namespace, ""))
        }
        Far::Matching { kind, namespace, selector } => {
            format!("{} -l {selector}", address(kind, namespace, ""))
        }
        Far::Numbered { kind, namespace, stem } => format!("{}-*", address(kind, namespace, stem)),
        Far::Every { kind } => format!("{kind}/*"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::args::{ColorChoice, LineFormat, ObjectsArgs};
    use super::super::objects::{all, shown};
    use super::*;

    const OBJECTS: &str = "
{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: web-0, uid: p, ownerReferences: [
  {apiVersion: apps/v1, kind: StatefulSet, name: web, uid: s}]}, spec: {volumes: [{configMap: {name: settings}}]}}
---
{apiVersion: v1, kind: Service, metadata: {namespace: shop, name: web}, spec: {selector: {app: web}}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {namespace: shop, name: all}, spec: {}}
---
{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.x.io},
 spec: {group: x.io, names: {kind: Widget}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {namespace: shop, name: settings}}
";

    fn printed(output: LineFormat) -> String {
        let args = ObjectsArgs { file: "-".into(), output, no_headers: false, color: ColorChoice::Never };
        let linked = all(OBJECTS, |object| Linked::of(object, &Relations::default())).0;
        shown(&linked, &args).unwrap_or_default()
    }

    #[test]
    fn edges_are_lines_of_json() {
        let expected = [
            r#"{"edges":[{"kind":"owns","direction":"from_far","far":{"by":"uid","group":"apps","kind":"StatefulSet","name":"web","uid":"s"}},{"kind":"mounts","direction":"from_far","far":{"by":"name","group":"","kind":"ConfigMap","namespace":"shop","name":"settings"}}]}"#,
            r#"{"edges":[{"kind":"selects","direction":"to_far","far":{"by":"labels","group":"","kind":"Pod","namespace":"shop","selector":"app=web"}}]}"#,
            r#"{"edges":[{"kind":"selects","direction":"to_far","far":{"by":"labels","group":"","kind":"Pod","namespace":"shop","selector":""}}]}"#,
            r#"{"edges":[{"kind":"references","direction":"to_far","far":{"by":"kind","group":"x.io","kind":"Widget"}}]}"#,
            r#"{"edges":[]}"#,
        ];
        assert_eq!(printed(LineFormat::Json).lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn edges_are_a_table_from_cause_to_dependent() {
        let table = printed(LineFormat::Table);
        let lines: Vec<Vec<&str>> = table
            .lines()
            .map(|line| line.split("   ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
            .collect();
        assert_eq!(
            lines,
            [
                ["CAUSE", "EDGE", "DEPENDENT"],
                ["StatefulSet.apps/web", "owns", "Pod/shop/web-0"],
                ["ConfigMap/shop/settings", "mounts", "Pod/shop/web-0"],
                ["Service/shop/web", "selects", "Pod/shop -l app=web"],
                ["NetworkPolicy.networking.k8s.io/shop/all", "selects", "Pod/shop/*"],
                ["CustomResourceDefinition.apiextensions.k8s.io/widgets.x.io", "references", "Widget.x.io/*"],
                ["ConfigMap/shop/settings", "<none>", "<none>"],
            ]
        );
    }
}
