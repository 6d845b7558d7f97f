//! The edges of what a graph shows.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, named_params};

use crate::error::Result;
use crate::resources::Held;
use crate::stretch::holds;
use strandline_model::Offset;
use strandline_protocol::Edge;
use strandline_relations::EdgeKind;
use strandline_sqlite::column::{PackedUid, VIEW};

/// Where the ends of edges stand: the names under which nodes and groups are known in the graph.
pub(super) struct Ends<'a> {
    by_number: HashMap<i64, &'a Held>,
    /// The groups of those that are not shown one by one, by their numbers.
    groups: Vec<(i64, &'a str)>,
    far: HashMap<Far<'a>, &'a str>,
    kinds: HashMap<(&'a str, &'a str, &'a str), Vec<&'a str>>,
}

/// The far end of an edge, within one cluster.
#[derive(PartialEq, Eq, Hash)]
enum Far<'a> {
    Uid(&'a str, &'a str),
    Address { cluster: &'a str, group: &'a str, kind: &'a str, namespace: &'a str, name: &'a str },
}

/// From cause to dependent with the kind of edge. Names are borrowed: twenty thousand selected Pods are one link, found twenty
/// thousand times.
type Link<'a> = (&'a str, &'a str, EdgeKind);

/// How many there are of each.
type Found<'a> = BTreeMap<Link<'a>, u64>;

impl<'a> Ends<'a> {
    pub(super) fn new(nodes: &'a [Held], mut groups: Vec<(i64, &'a str)>) -> Self {
        groups.sort_unstable();
        let mut ends = Ends { by_number: HashMap::new(), groups, far: HashMap::new(), kinds: HashMap::new() };
        for held in nodes {
            let (key, uid) = (&held.resource.key, held.resource.id.as_str());
            let (group, kind) = (&key.kind.group, &key.kind.kind);
            let (cluster, namespace, name) = (&key.cluster, &key.namespace, &key.name);
            ends.by_number.insert(held.id.0, held);
            ends.far.insert(Far::Uid(cluster, uid), uid);
            ends.far.insert(Far::Address { cluster, group, kind, namespace, name }, uid);
            ends.kinds.entry((cluster, group, kind)).or_default().push(uid);
        }
        ends
    }

    /// All edges of which both ends are shown, be it in a group.
    pub(super) fn edges(&self, view: &Connection, at: Offset) -> Result<Vec<Edge>> {
        let numbers: Vec<i64> = self.by_number.keys().copied().collect();
        let numbers = serde_json::json!(numbers).to_string();
        let mut found = Found::new();
        self.declared(view, at, &numbers, &mut found)?;
        self.selected(view, at, &numbers, &mut found)?;
        let edge = |((from, to, kind), count): ((&str, &str, EdgeKind), u64)| Edge {
            from: from.to_owned(),
            to: to.to_owned(),
            kind: kind.as_str().to_owned(),
            count,
        };
        Ok(found.into_iter().map(edge).collect())
    }

    fn declared<'s>(
        &'s self,
        view: &Connection,
        at: Offset,
        numbers: &str,
        found: &mut Found<'s>,
    ) -> Result<()> {
        let sql = concat!(
            r#"SELECT e.declared_by, e.kind, e.outward, f.uid, k."group", k.kind, f.namespace, f.name
            FROM json_each(:numbers) n JOIN edge e ON e.declared_by = n.value AND "#,
            holds!("edge" e, declared_by = "n.value"),
            " JOIN far f ON f.id = e.far_id JOIN kind k ON k.id = f.kind_id"
        );
        let mut statement = view.prepare_cached(sql)?;
        let mut rows = statement.query(named_params! { ":numbers": numbers, ":at": at.as_i64() })?;
        while let Some(row) = rows.next()? {
            let Some(near) = self.by_number.get(&row.get::<_, i64>(0)?) else { continue };
            let (PackedUid(uid), namespace, name): (PackedUid<String>, _, _) =
                (row.get(3)?, row.get_ref(6)?.as_str()?, row.get_ref(7)?.as_str()?);
            let (group, kind) = (row.get_ref(4)?.as_str()?, row.get_ref(5)?.as_str()?);
            let cluster = near.resource.key.cluster.as_str();
            let one = |far: Far<'_>| self.far.get(&far).copied().into_iter().collect::<Vec<_>>();
            let ends = match (uid.as_str(), name) {
                ("", "") => self.kinds.get(&(cluster, group, kind)).cloned().unwrap_or_default(),
                ("", _) => one(Far::Address { cluster, group, kind, namespace, name }),
                _ => one(Far::Uid(cluster, &uid)),
            };
            let kind = VIEW.get_at(row, 1, "edge.kind")?;
            for far in ends {
                let link = link(near.resource.id.as_str(), far, row.get(2)?, kind);
                link.map(|link| found.insert(link, 1));
            }
        }
        Ok(())
    }

    fn selected<'s>(
        &'s self,
        view: &Connection,
        at: Offset,
        numbers: &str,
        found: &mut Found<'s>,
    ) -> Result<()> {
        let sql = concat!(
            "SELECT s.declared_by, s.resource_id, s.kind, s.outward
            FROM json_each(:numbers) n JOIN selected s ON s.declared_by = n.value AND ",
            holds!("selected" s, declared_by = "n.value")
        );
        let mut statement = view.prepare_cached(sql)?;
        let mut rows = statement.query(named_params! { ":numbers": numbers, ":at": at.as_i64() })?;
        // What selects twenty thousand Pods that are not shown comes up so often in a row.
        let mut run: Option<(Link<'s>, u64)> = None;
        while let Some(row) = rows.next()? {
            let Some(near) = self.by_number.get(&row.get::<_, i64>(0)?) else { continue };
            let number: i64 = row.get(1)?;
            let (near, kind) = (near.resource.id.as_str(), VIEW.get_at(row, 2, "selected.kind")?);
            let outward = row.get(3)?;
            let to = |far| link(near, far, outward, kind);
            if let Some(far) = self.by_number.get(&number) {
                to(far.resource.id.as_str()).map(|link| found.insert(link, 1));
            } else if let Some(link) = self.group_of(number).and_then(to) {
                match &mut run {
                    Some((of, count)) if *of == link => *count += 1,
                    _ => run.replace((link, 1)).into_iter().for_each(|(of, count)| add(found, of, count)),
                }
            }
        }
        run.into_iter().for_each(|(of, count)| add(found, of, count));
        Ok(())
    }

    /// The group of what is not shown one by one.
    fn group_of(&self, number: i64) -> Option<&'a str> {
        let place = self.groups.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        Some(self.groups[place].1)
    }
}

fn add<'a>(found: &mut Found<'a>, link: Link<'a>, count: u64) {
    *found.entry(link).or_default() += count;
}

/// A link from cause to dependent, whichever of the two declared it, and be it both; nothing is linked to itself.
fn link<'a>(near: &'a str, far: &'a str, outward: bool, kind: EdgeKind) -> Option<Link<'a>> {
    let (from, to) = if outward { (near, far) } else { (far, near) };
    (from != to).then_some((from, to, kind))
}
