//! What pages and the terminal share: ages, signs of health, text made visible, and graphs as trees.

mod age;
mod cut;
mod diff;
pub mod gaps;
mod links;
mod over_time;
mod place;
mod say;
#[cfg(test)]
pub(crate) mod summaries;
mod text;
mod timeline;
mod tree;

pub use age::{age, lasted, moment};
pub use cut::cut;
pub use diff::{
    below as children_below, change_sign, change_word, counted, environment_diff, health_moved, names,
    names_clusters, printed, renamed, resource_diff, title,
};
pub use links::{link_verb, links};
pub use over_time::{Segment, Share, per_cent, segments, shares, worsened};
pub use place::Places;
pub use say::{below, missing_end, number_of, preface, why_so, workload_names};
pub use text::{clock_time, grouped, in_bytes, time_of_day, visible};
pub use timeline::{difference_line, entry_name, entry_subject, entry_words, level, no_cause};
pub use tree::{Item, Step, Tree};

#[cfg(test)]
pub(crate) use timeline::fixtures;

use strandline_model::{DeploymentSpec, Health, Kind, ResourceKey, Timestamp};
use strandline_protocol::{Deployment, Gap};

/// A sign for a health, told apart by shape and not only by colour; a dot for kinds that have none.
pub const fn sign(health: Option<Health>) -> &'static str {
    match health {
        Some(Health::Healthy) => "✔",
        Some(Health::Suspended) => "‖",
        Some(Health::Progressing) => "◔",
        Some(Health::Missing) => "○",
        Some(Health::Degraded) => "✖",
        Some(Health::Unknown) => "?",
        None => "·",
    }
}

/// The word for a health; a dash for kinds that have none.
pub const fn word(health: Option<Health>) -> &'static str {
    match health {
        Some(health) => health.as_str(),
        None => "–",
    }
}

/// What was not watched, where `count` gaps of a cluster are told by their oldest.
pub fn unwatched(oldest: &Gap, count: usize) -> String {
    match (oldest.group.as_str(), oldest.kind.as_str(), count) {
        ("", "", _) => "all kinds".into(),
        (group, "", 1) => format!("API group {group}"),
        (_, kind, 1) => kind.to_owned(),
        (.., count) => format!("{count} kinds"),
    }
}

/// The name of what a watch follows; a star stands for all kinds that a cluster or an API group may have.
pub fn kind_name(kind: &Kind) -> String {
    match (kind.kind.as_str(), kind.group.as_str()) {
        ("", "") => "*".into(),
        ("", group) => format!("*.{group}"),
        _ => kind.to_string(),
    }
}

/// A resource as commands take it, such as `deployment.apps/web`.
pub fn resource_name(key: &ResourceKey) -> String {
    format!("{}/{}", key.kind.to_string().to_lowercase(), key.name)
}

/// When a deployment ended or, where that is not known, when its status was last reported.
pub fn deployment_time(deployment: &Deployment) -> Timestamp {
    deployment.spec.finished_at.unwrap_or(deployment.observed_at)
}

/// The beginning of a commit, as GitLab shows it.
pub fn short_commit(sha: &str) -> String {
    sha.chars().take(8).collect()
}

/// What was deployed: the branch or tag and the commit, as far as they are known.
pub fn revision(spec: &DeploymentSpec) -> String {
    let parts = [spec.reference.clone(), short_commit(&spec.sha)];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A number of things, such as `1 gap` or `2 gaps`.
pub fn several(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// A kind and a number of it, such as `21 Pods`.
pub fn count_of(number: usize, kind: &Kind) -> String {
    let name = &kind.kind;
    let plural = match name.as_bytes().last() {
        _ if number == 1 => name.clone(),
        Some(b's' | b'x') => format!("{name}es"),
        Some(b'y') => format!("{}ies", &name[..name.len() - 1]),
        _ => format!("{name}s"),
    };
    format!("{number} {plural}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use strandline_model::{
        CoverageState, EnvironmentId, HealthCounts, Offset, Target, Tier, Uid, WatchKey, more_urgent,
    };
    use strandline_protocol::{
        Below, Coverage, Edge, Environment, EnvironmentAccess, EnvironmentHealth, FoldedEvent, Graph,
        GraphNode, Group, HealthHistory, HealthInterval, HealthTime, ImageInterval, ImageUse, KindBelow,
        MissingEnd, Resource, Snapshot, WatchCoverage, Why, WhyPath, Workload,
    };

    pub(crate) use crate::format::diff::tests::{environment_changes, resource_changes};

    /// A fixed moment, 2026-11-20T12:00:00Z.
    pub(crate) const NOON: Timestamp = Timestamp::from_micros(1_795_176_000_000_000);

    pub(crate) fn snapshot() -> Snapshot {
        let coverage = Coverage { complete: true, gaps: vec![] };
        Snapshot {
            offset: Offset::new(1234),
            time: Some(NOON),
            at: None,
            lag_changes: 0,
            coverage,
            not_recording: false,
            confirmed_until: None,
            delay_ms: None,
        }
    }

    /// A resource whose uid is its name.
    pub(crate) fn resource(kind: &str, name: &str, health: Option<Health>) -> Resource {
        let group = if matches!(kind, "Deployment" | "ReplicaSet") { "apps" } else { "" };
        Resource {
            id: Uid::new(name),
            key: ResourceKey {
                cluster: "eu-west".into(),
                kind: Kind::new(group, kind),
                namespace: "shop".into(),
                name: name.into(),
            },
            health,
            health_since: NOON.minus(std::time::Duration::from_secs(600)),
            reason: String::new(),
            message: String::new(),
            created_at: Some(NOON.minus(std::time::Duration::from_secs(442_800))),
            offset: Offset::new(1200),
            observed_at: NOON.minus(std::time::Duration::from_secs(300)),
            terminating_since: None,
            later: None,
        }
    }

    /// An image of three Pods of a Deployment that has been in an environment for an hour.
    pub(crate) fn image_use(short: &str) -> ImageUse {
        let (name, tag) = short.split_once(':').unwrap_or((short, "latest"));
        let repository = format!("docker.io/library/{name}");
        let workload = Workload { id: Uid::new("web"), key: resource("Deployment", "web", None).key };
        let interval = ImageInterval {
            from: NOON.minus(std::time::Duration::from_secs(3600)),
            from_offset: Offset::new(1100),
            until: None,
            until_offset: None,
        };
        ImageUse {
            id: format!("{repository}:{tag} shop.web.production"),
            image: format!("{repository}:{tag}"),
            short: format!("{name}:{tag}"),
            repository,
            tag: tag.into(),
            digests: vec![],
            environment: EnvironmentId::of("shop/web", "production"),
            project: "shop/web".into(),
            name: "production".into(),
            tier: Tier::Production,
            region: "eu".into(),
            pods: 3,
            workloads: vec![workload],
            workloads_total: 1,
            intervals: vec![interval],
            intervals_total: 1,
        }
    }

    /// A kind that has been watched for an hour.
    pub(crate) fn watch(kind: &str, state: CoverageState) -> WatchCoverage {
        WatchCoverage {
            watch: WatchKey {
                cluster: "eu-west".into(),
                kind: Kind::new("apps", kind),
                namespace: String::new(),
            },
            state,
            since: NOON.minus(std::time::Duration::from_secs(3600)),
            reason: String::new(),
            message: String::new(),
            resources: 3,
            last_change: None,
            last_seen: None,
            lag_ms: None,
            last_error: None,
            gaps: vec![],
        }
    }

    /// Something said five times of a Pod `web-0`, a minute ago for the last time.
    pub(crate) fn folded_event(r#type: &str, reason: &str) -> FoldedEvent {
        FoldedEvent {
            id: "5d41402abc4b2a76b9719d911017c592".into(),
            key: resource("Pod", "web-0", None).key,
            uid: Uid::new("web-0-uid"),
            r#type: r#type.into(),
            reason: reason.into(),
            note: "Back-off restarting failed container".into(),
            component: "kubelet".into(),
            count: 5,
            first_at: NOON.minus(std::time::Duration::from_secs(3600)),
            last_at: NOON.minus(std::time::Duration::from_secs(60)),
        }
    }

    pub(crate) fn owns(from: &str, to: &str) -> Edge {
        Edge { from: from.into(), to: to.into(), kind: "owns".into(), count: 1 }
    }

    pub(crate) fn environment(project: &str, region: &str, state: Option<Health>) -> Environment {
        let name = "production";
        Environment {
            id: EnvironmentId::new(format!("{}.{name}", project.replace('/', "."))),
            project: project.into(),
            name: name.into(),
            slug: name.into(),
            tier: Tier::Production,
            region: region.into(),
            state: Default::default(),
            labels: Default::default(),
            settings: Default::default(),
            declared_by: Vec::new(),
            last_deployment: None,
            access: EnvironmentAccess::Granted,
            warnings: Vec::new(),
            targets: vec![Target {
                cluster: "eu-west".into(),
                namespace: "shop".into(),
                labels: Default::default(),
                agent: None,
                inventory: None,
            }],
            health: EnvironmentHealth {
                state,
                since: NOON.minus(std::time::Duration::from_secs(442_800)),
                last_known: None,
                counts: HealthCounts { healthy: 3, degraded: 1, none: 2, ..HealthCounts::default() },
                rule_set: "4".into(),
            },
        }
    }

    /// A graph in which each node stands below the first that owns it.
    pub(crate) fn graph(nodes: Vec<Resource>, edges: Vec<Edge>) -> Graph {
        let environment = environment("shop/web", "eu", Some(Health::Degraded));
        let place = |uid: &str| nodes.iter().position(|node| node.id.as_str() == uid);
        let parent = |node: &Resource| {
            let mut owners = edges.iter().filter(|edge| edge.to == node.id.as_str() && edge.from != edge.to);
            owners.find_map(|edge| place(&edge.from))
        };
        let parents: Vec<Option<usize>> = nodes.iter().map(parent).collect();
        let mut below: Vec<Option<Below>> = vec![None; nodes.len()];
        for (child, parent) in parents.iter().enumerate() {
            // Longer ways up are of no use to tests, and can be circles.
            let above = std::iter::successors(*parent, |next| parents[*next]).take(8);
            for (way, owner) in above.enumerate() {
                let none = Below { children: 0, total: 0, health: None, kinds: Vec::new() };
                let below = below[owner].get_or_insert(none);
                below.children += u64::from(way == 0);
                below.total += 1;
                let kind = nodes[child].key.kind.clone();
                match below.kinds.iter_mut().find(|one| one.kind == kind) {
                    Some(one) => one.total += 1,
                    None => below.kinds.push(KindBelow { kind, total: 1, health: nodes[child].health }),
                }
                below.health = more_urgent(below.health, nodes[child].health);
            }
        }
        let uid = |parent: usize| nodes[parent].id.clone();
        let uids: Vec<Option<Uid>> = parents.iter().map(|parent| parent.map(uid)).collect();
        let joined = nodes.into_iter().zip(uids).zip(below);
        let nodes = joined.map(|((resource, parent), below)| GraphNode { resource, parent, below }).collect();
        Graph { environment, nodes, groups: Vec::new(), edges, missing: Vec::new(), truncated: false }
    }

    /// Healthy resources of a kind that a graph only counts.
    pub(crate) fn counted(kind: &str, parent: Option<&str>, healthy: u64) -> Group {
        let ResourceKey { cluster, kind, .. } = resource(kind, "", None).key;
        Group {
            id: format!("{cluster}/{}/{kind}", parent.unwrap_or_default()),
            cluster,
            kind,
            parent: parent.map(Uid::new),
            health: Some(Health::Healthy),
            counts: HealthCounts { healthy, ..HealthCounts::default() },
        }
    }

    /// A path from a Deployment over ReplicaSets to a Pod that crashes and lacks a ConfigMap; one name for each step.
    pub(crate) fn why_path(names: &[&str]) -> WhyPath {
        let step = |(place, name): (usize, &&str)| {
            let kind = match place {
                0 => "Deployment",
                _ if place + 1 == names.len() => "Pod",
                _ => "ReplicaSet",
            };
            resource(kind, name, Some(Health::Degraded))
        };
        let mut steps: Vec<Resource> = names.iter().enumerate().map(step).collect();
        if let Some(last) = steps.last_mut() {
            last.reason = "CrashLoopBackOff".into();
            last.message = "back-off 5m restarting failed container".into();
        }
        let missing = MissingEnd {
            edge: "mounts".into(),
            kind: Kind::new("", "ConfigMap"),
            namespace: "shop".into(),
            name: "web-config".into(),
        };
        WhyPath { steps, skipped: 0, missing: vec![missing] }
    }

    /// What these paths explain.
    pub(crate) fn why(paths: Vec<WhyPath>) -> Why {
        let state = if paths.is_empty() { Health::Healthy } else { Health::Degraded };
        Why { environment: environment("shop/web", "eu", Some(state)), roots: paths.len() as u64, paths }
    }

    /// Health over the day before noon: each health with the minutes for which it lasted, the newest first.
    pub(crate) fn health_history(intervals: &[(Option<Health>, u64)]) -> HealthHistory {
        let minutes = |number: u64| std::time::Duration::from_secs(60 * number);
        let mut until = None;
        let mut history = HealthHistory {
            since: NOON.minus(minutes(1440)),
            until: NOON,
            intervals: Vec::new(),
            truncated: false,
            times: Vec::new(),
            worsened: 0,
            flapping: false,
        };
        for &(health, lasted) in intervals {
            let end = until.unwrap_or(NOON);
            let from = end.minus(minutes(lasted));
            let inside = end.since(from.max(history.since));
            let total_ms = inside.as_millis() as u64;
            match history.times.iter_mut().find(|time| time.health == health) {
                Some(time) => {
                    time.total_ms += total_ms;
                    time.intervals += 1;
                }
                None => history.times.push(HealthTime { health, total_ms, intervals: 1 }),
            }
            history.intervals.push(HealthInterval {
                health,
                from,
                until,
                lasted_ms: lasted * 60_000,
                offset: Offset::new(1200),
                reason: if health == Some(Health::Degraded) {
                    "CrashLoopBackOff".into()
                } else {
                    String::new()
                },
                message: String::new(),
                rule_set: "4".into(),
            });
            until = Some(from);
        }
        history
    }

    #[test]
    fn kinds_are_counted_in_words() {
        for (number, kind, expected) in [
            (1, "Pod", "1 Pod"),
            (21, "Pod", "21 Pods"),
            (2, "Ingress", "2 Ingresses"),
            (2, "NetworkPolicy", "2 NetworkPolicies"),
        ] {
            assert_eq!(count_of(number, &Kind::new("", kind)), expected);
        }
    }
}
