//! Differences as pages, the terminal and the API's text show them.

use std::collections::BTreeSet;

use super::{clock_time, grouped, number_of, sign, visible, word};
use strandline_model::{Health, Kind, Offset, ResourceKey, Timestamp};
use strandline_object_diff::{Line, Mark, NameMap, lines};
use strandline_protocol::{
    ChangeType, DiffCounts, EnvironmentAt, EnvironmentDiff, KindChanges, ResourceChange, ResourceDiff,
    StateAt,
};

/// A resource's differences in lines: its two states, then what differs.
pub fn resource_diff(diff: &ResourceDiff) -> Vec<Line> {
    let name = address(&diff.key);
    let mut out = vec![
        Line::new(Mark::From, format!("{name}  {}", state(&diff.from))),
        Line::new(Mark::To, format!("{name}  {}", state(&diff.to))),
    ];
    if diff.comparison.is_empty() {
        out.push(Line::new(Mark::Note, "no differences"));
    }
    out.extend(lines(&diff.comparison, &NameMap::default()));
    out
}

/// An environment's differences in lines: the two sides, how many there are, then each resource.
pub fn environment_diff(diff: &EnvironmentDiff) -> Vec<Line> {
    let (names, side) = (names(diff), |at| side(at, names_clusters(diff)));
    let mut out = vec![
        Line::new(Mark::From, side(&diff.from)),
        Line::new(Mark::To, side(&diff.to)),
        Line::new(Mark::Same, counted(&diff.counts)),
    ];
    if !diff.names.is_empty() {
        let left_out = renamed(&diff.counts).map(|said| format!("; {said} (`map=none` shows them)"));
        let names = format!("names: {}{}", diff.names.join(", "), left_out.unwrap_or_default());
        out.push(Line::new(Mark::Same, names));
    }
    for item in &diff.items {
        out.push(Line::new(Mark::Blank, ""));
        out.push(Line::new(Mark::Title, title(diff, item)));
        out.extend(lines(&item.comparison, &names));
        out.extend(item.children.iter().map(|kind| Line::new(Mark::Note, below(kind))));
    }
    out
}

/// Which names stand for each other.
pub fn names(diff: &EnvironmentDiff) -> NameMap {
    NameMap::new(diff.names.iter().filter_map(|name| name.parse().ok()))
}

/// Whether clusters are named: where there is more than one.
pub fn names_clusters(diff: &EnvironmentDiff) -> bool {
    let all: BTreeSet<&String> = diff.from.clusters.iter().chain(&diff.to.clusters).collect();
    all.len() > 1
}

/// Kind, place and name.
fn address(key: &ResourceKey) -> String {
    let place = if key.namespace.is_empty() { String::new() } else { format!("{}/", key.namespace) };
    format!("{} {place}{}", key.kind, key.name)
}

/// What became of a resource, with its sign, and in which clusters where there are several.
pub fn title(diff: &EnvironmentDiff, item: &ResourceChange) -> String {
    let apart = names_clusters(diff);
    let within = |clusters: &[String]| match apart && !clusters.is_empty() {
        true => format!(" in {}", clusters.join(", ")),
        false => String::new(),
    };
    let (before, after) = (item.before.as_ref(), item.after.as_ref());
    let own = [item.key.cluster.clone()];
    let (here, there) = match &item.clusters {
        Some(clusters) if after.is_some() => (&clusters.before[..], &clusters.after[..]),
        Some(clusters) => (&[][..], &clusters.before[..]),
        None => (&[][..], &own[..]),
    };
    let mut out = format!("{} {}{}", change_sign(item.change), address(&item.key), within(there));
    if let (ChangeType::Different, Some(one)) = (item.change, before) {
        let renamed = (&one.namespace, &one.name) != (&item.key.namespace, &item.key.name);
        let name = if renamed { format!(" {}/{}", one.namespace, one.name) } else { String::new() };
        let place = if here == there { String::new() } else { within(here) };
        if !name.is_empty() || !place.is_empty() {
            out.push_str(&format!(" (first:{name}{place})"));
        }
    }
    out.push_str(&format!("   {}", change_word(item.change)));
    if let Some((one, other)) = before.zip(after).filter(|(one, other)| one.health != other.health) {
        out.push_str(&format!(", {}", health_moved(one.health, other.health)));
    }
    out
}

/// A health that moved, such as `✔ Healthy → ✖ Degraded`.
pub fn health_moved(before: Option<Health>, after: Option<Health>) -> String {
    let one = |health| format!("{} {}", sign(health), word(health));
    format!("{} → {}", one(before), one(after))
}

/// A sign for what became of a resource.
pub const fn change_sign(change: ChangeType) -> char {
    match change {
        ChangeType::Added | ChangeType::Joined | ChangeType::OnlyThere => '+',
        ChangeType::Removed | ChangeType::Left | ChangeType::OnlyHere => '-',
        _ => '~',
    }
}

/// What became of a resource, in words.
pub const fn change_word(change: ChangeType) -> &'static str {
    match change {
        ChangeType::Added => "added",
        ChangeType::Removed => "removed",
        ChangeType::Replaced => "recreated with the same name",
        ChangeType::Changed => "changed",
        ChangeType::Health => "only health changed",
        ChangeType::Joined => "joined the environment",
        ChangeType::Left => "left the environment",
        ChangeType::Children => "unchanged, children changed",
        ChangeType::OnlyHere => "only in the first",
        ChangeType::OnlyThere => "only in the second",
        ChangeType::Different => "different",
    }
}

/// What became of the resources of a kind below another, such as `below: ReplicaSet 1 added, 1 changed`.
pub fn below(kind: &KindChanges) -> String {
    let counts = [(kind.added, "added"), (kind.removed, "removed"), (kind.changed, "changed")];
    let said = counts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    let said: Vec<String> = said.collect();
    format!("children: {} {}", Kind::new(kind.group.clone(), kind.kind.clone()), said.join(", "))
}

/// All resources, counted: what differs, what does not, and what was not looked at.
pub fn counted(counts: &DiffCounts) -> String {
    let between = counts.only_here + counts.only_there + counts.different > 0;
    let all = [
        (counts.added, "added"),
        (counts.removed, "removed"),
        (counts.replaced, "replaced"),
        (counts.changed, "changed"),
        (counts.health, "health only"),
        (counts.joined, "joined"),
        (counts.left, "left"),
        (counts.only_here, "only in the first"),
        (counts.only_there, "only in the second"),
        (counts.different, "different"),
        (counts.children, if counts.children == 1 { "controller update" } else { "controller updates" }),
        (counts.left_out, "not compared (too many)"),
        (counts.hidden, "with hidden differences"),
        (counts.same, if between { "identical" } else { "unchanged" }),
    ];
    let said: Vec<String> =
        all.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    if said.is_empty() { "no resources".to_owned() } else { said.join(", ") }
}

/// What two environments have under another name each, and was left out therefore; none where nothing was.
pub fn renamed(counts: &DiffCounts) -> Option<String> {
    match counts.renamed {
        0 => None,
        1 => Some("1 text differs only in such names".to_owned()),
        count => Some(format!("{} texts differ only in such names", grouped(count))),
    }
}

fn moment(offset: Offset, time: Option<Timestamp>) -> String {
    let time = time.map(|time| format!(", {}", clock_time(time))).unwrap_or_default();
    format!("offset {offset}{time}")
}

fn state(state: &StateAt) -> String {
    let moment = moment(state.offset, state.time);
    match &state.version {
        None => format!("{moment}, does not exist"),
        Some(version) => {
            let by = version.changed_by.as_ref().map(|by| format!(" by {}", by.manager)).unwrap_or_default();
            format!("{moment}, version of {}{by}", clock_time(version.observed_at))
        }
    }
}

fn side(side: &EnvironmentAt, apart: bool) -> String {
    let health = match side.health {
        Some(health) => format!("  {} {health}", sign(Some(health))),
        None if side.exists => String::new(),
        None => ", does not exist".to_owned(),
    };
    let resources = number_of(side.resources, &Kind::new("", "resource"));
    let clusters = match apart && !side.clusters.is_empty() {
        true => format!(" in {}", side.clusters.join(", ")),
        false => String::new(),
    };
    format!("{}{clusters}  {}  {resources}{health}", side.id, moment(side.offset, side.time))
}

/// A line as it may be printed: nothing in it steers the terminal.
pub fn printed(line: &Line) -> String {
    Line::new(line.mark, visible(&line.text)).to_string()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::format::tests::{NOON, resource, snapshot};
    use strandline_model::{ChangedBy, EnvironmentId, Uid};
    use strandline_object_diff::{Class, Comparison, Difference, DifferenceType, Hidden};
    use strandline_protocol::{DiffClusters, PageMetadata, Resource, ResourceAt, VersionAt};

    fn comparison() -> Comparison {
        let image = Difference {
            path: "spec.template.spec.containers[name=web].image".into(),
            pointer: "/spec/template/spec/containers/0/image".into(),
            change: DifferenceType::Changed,
            class: Class::Spec,
            before: Some("web:1".into()),
            after: Some("web:2".into()),
            excerpt: false,
        };
        let hidden = Hidden { status: 2, ..Hidden::default() };
        Comparison { differences: vec![image], left_out: 0, hidden }
    }

    fn at(resource: &Resource, health: Option<Health>) -> ResourceAt {
        ResourceAt {
            id: resource.id.clone(),
            name: resource.key.name.clone(),
            namespace: resource.key.namespace.clone(),
            cluster: resource.key.cluster.clone(),
            health,
            offset: resource.offset,
        }
    }

    fn side(offset: u64, minutes: u64, health: Health, resources: u64) -> EnvironmentAt {
        EnvironmentAt {
            id: EnvironmentId::new("shop.web.production"),
            offset: Offset::new(offset),
            time: Some(NOON.minus(Duration::from_secs(minutes * 60))),
            exists: true,
            health: Some(health),
            resources,
            clusters: vec!["eu-west".into()],
        }
    }

    /// A ConfigMap that came, and a Deployment of another image with its Pods.
    pub(crate) fn environment_changes() -> EnvironmentDiff {
        let (config, web) = (resource("ConfigMap", "web-config", None), resource("Deployment", "web", None));
        let pods = KindChanges { group: String::new(), kind: "Pod".into(), added: 1, removed: 1, changed: 1 };
        let added = ResourceChange {
            change: ChangeType::Added,
            key: config.key.clone(),
            before: None,
            after: Some(at(&config, None)),
            clusters: None,
            comparison: Comparison::default(),
            children: Vec::new(),
        };
        let changed = ResourceChange {
            change: ChangeType::Changed,
            key: web.key.clone(),
            before: Some(at(&web, Some(Health::Healthy))),
            after: Some(at(&web, Some(Health::Degraded))),
            clusters: None,
            comparison: comparison(),
            children: vec![pods],
        };
        EnvironmentDiff {
            from: side(1000, 60, Health::Healthy, 6),
            to: side(1234, 0, Health::Degraded, 7),
            names: Vec::new(),
            counts: DiffCounts {
                added: 1,
                changed: 1,
                children: 3,
                hidden: 2,
                same: 3,
                ..DiffCounts::default()
            },
            items: vec![added, changed],
            metadata: PageMetadata::new(snapshot(), None),
        }
    }

    /// A Deployment that was not there, and one whose image changed.
    pub(crate) fn resource_changes() -> ResourceDiff {
        let web = resource("Deployment", "web", None);
        let by = ChangedBy {
            manager: "kubectl".into(),
            operation: "Apply".into(),
            subresource: String::new(),
            time: None,
        };
        let version = VersionAt { offset: Offset::new(1200), observed_at: NOON, changed_by: Some(by) };
        let hour = Duration::from_secs(3600);
        ResourceDiff {
            id: Uid::new("web"),
            key: web.key,
            from: StateAt { offset: Offset::new(1000), time: Some(NOON.minus(hour)), version: None },
            to: StateAt { offset: Offset::new(1234), time: Some(NOON), version: Some(version) },
            comparison: comparison(),
        }
    }

    #[test]
    fn names_that_stand_for_each_other_are_told_where_they_differ() {
        let mut diff = environment_changes();
        diff.names = vec!["staging:production".into()];
        diff.counts = DiffCounts { different: 1, ..DiffCounts::default() };
        diff.items.remove(0);
        diff.items[0].change = ChangeType::Different;
        if let Some(here) = &mut diff.items[0].before {
            here.name = "web-staging".into();
        }
        let lines: Vec<String> = super::environment_diff(&diff).iter().map(printed).collect();
        assert!(lines.contains(&"    names: staging:production".to_owned()), "{lines:?}");
        let title =
            "~ Deployment.apps shop/web (first: shop/web-staging)   different, ✔ Healthy → ✖ Degraded";
        assert!(lines.contains(&title.to_owned()), "{lines:?}");
        assert_eq!(counted(&DiffCounts::default()), "no resources");
    }

    #[test]
    fn clusters_are_named_where_there_are_several() {
        let titles =
            |diff: &EnvironmentDiff| diff.items.iter().map(|item| title(diff, item)).collect::<Vec<_>>();
        let mut diff = environment_changes();
        assert_eq!(titles(&diff)[0], "+ ConfigMap shop/web-config   added");
        diff.from.clusters.push("us-east".into());
        let told: Vec<String> = super::environment_diff(&diff).iter().map(printed).collect();
        assert!(told[0].starts_with("--- shop.web.production in eu-west, us-east  offset 1000"), "{told:?}");
        assert_eq!(titles(&diff)[0], "+ ConfigMap shop/web-config in eu-west   added");
        let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        diff.items[1].change = ChangeType::Different;
        diff.items[1].clusters =
            Some(DiffClusters { before: all(&["eu-west"]), after: all(&["us-east", "us-west"]) });
        let title = &titles(&diff)[1];
        assert!(
            title.starts_with(
                "~ Deployment.apps shop/web in us-east, us-west (first: in eu-west)   different"
            ),
            "{title}"
        );
    }
}
