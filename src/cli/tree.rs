//! An environment drawn as a tree.

use super::output::Paint;
use crate::model::{Health, Timestamp};
use crate::present::{Item, Places, Step, Tree, age, clock_time, count_of, sign, unwatched, visible, word};
use crate::query::{Answer, Gap, Graph, Group, Resource, Snapshot};

/// Levels that are indented; what lies deeper stays at the last one, so that long chains stay readable.
const DEPTH_MAX: usize = 40;

/// Draws an environment: what it is at which moment, then what owns what.
pub(super) fn draw(answer: &Answer<Graph>, all: bool, paint: Paint, now: Timestamp) -> String {
    let graph = &answer.value;
    let mut out = header(answer, paint, now);
    let (tree, places) = (Tree::new(graph, !all), Places::of(graph.nodes.iter().map(|node| &node.resource)));
    let mut gathered = false;
    // For each open item whether siblings follow it, which is what the lines to its left show.
    let mut open: Vec<Branch> = Vec::new();
    tree.walk(|step| match step {
        Step::Enter { item, parent, last } => {
            let hidden = open.iter().any(|branch| branch.gathered);
            if !hidden {
                let text = match item {
                    Item::Node(place) => {
                        let node = &graph.nodes[*place].resource;
                        let above = parent.map(|parent| &graph.nodes[parent].resource.key);
                        let said = places.say(&node.key, above);
                        resource(node, said, tree.further_owners(*place), paint, now)
                    }
                    Item::Counted(place) => counted(&graph.groups[*place], paint),
                    Item::Group { label, health, .. } => {
                        gathered = true;
                        format!("{}{}", visible(label), badge(*health, paint))
                    }
                };
                out.push_str(&format!("{}{text}\n", paint.dim(&lines(&open, last))));
            }
            open.push(Branch { last, gathered: matches!(item, Item::Group { .. }) });
        }
        Step::Leave => {
            open.pop();
        }
    });
    if gathered {
        out.push_str(&format!("{}\n", paint.dim("(--all draws each one)")));
    }
    if graph.nodes.is_empty() {
        out.push_str("No resources.\n");
    }
    if graph.truncated {
        let list = format!("get resources -e {} --order health", environment_word(answer));
        out.push_str(&format!("… not all resources are drawn one by one; `{list}` lists them\n"));
    }
    out
}

/// The environment as one would write it in a command.
fn environment_word(answer: &Answer<Graph>) -> String {
    visible(answer.value.environment.id.as_str()).into_owned()
}

/// Siblings that are only counted: how many, and how many of each health.
fn counted(group: &Group, paint: Paint) -> String {
    let many = count_of(usize::try_from(group.counts.total()).unwrap_or(usize::MAX), &group.kind);
    let mut out = format!("… {}", visible(&many));
    for health in Health::ALL.into_iter().rev() {
        let number = *group.counts.clone().slot(Some(health));
        if number > 0 {
            let text = format!("{} {number} {health}", sign(Some(health)));
            out.push_str(&format!("  {}", paint.health(Some(health), &text)));
        }
    }
    out
}

/// An open item.
struct Branch {
    last: bool,
    gathered: bool,
}

fn lines(open: &[Branch], last: bool) -> String {
    let mut out: String =
        open.iter().take(DEPTH_MAX).map(|branch| if branch.last { "   " } else { "│  " }).collect();
    out.push_str(if last { "└─ " } else { "├─ " });
    out
}

fn header(answer: &Answer<Graph>, paint: Paint, now: Timestamp) -> String {
    let (environment, snapshot) = (&answer.value.environment, &answer.metadata);
    let health = &environment.health;
    let known = health.last_known.map(|known| format!(" (was {known})")).unwrap_or_default();
    let mut out = format!(
        "{}{}{known} for {}   {}\n",
        paint.bold(&visible(environment.id.as_str())),
        badge(health.state, paint),
        age(health.since, now),
        moment(snapshot)
    );
    for line in gaps(&snapshot.coverage.gaps, now) {
        out.push_str(&paint.health(Some(Health::Unknown), &format!("! {line}")));
        out.push('\n');
    }
    out
}

/// The moment that an answer holds for.
pub(super) fn moment(snapshot: &Snapshot) -> String {
    let time = snapshot.at.or(snapshot.time).map(|time| format!(", {}", clock_time(time)));
    let lag = match snapshot.lag_changes {
        0 => String::new(),
        lag => format!(", {lag} changes behind"),
    };
    // An empty answer for such a moment does not mean that there was nothing.
    let unrecorded = if snapshot.offset.get() == 0 { ", before anything was recorded" } else { "" };
    format!("offset {}{}{lag}{unrecorded}", snapshot.offset, time.unwrap_or_default())
}

/// What was not watched, a line for each cluster.
pub(super) fn gaps(gaps: &[Gap], now: Timestamp) -> Vec<String> {
    let mut clusters: Vec<&str> = gaps.iter().map(|gap| gap.cluster.as_str()).collect();
    clusters.sort_unstable();
    clusters.dedup();
    let line = |cluster: &str| {
        let of_it: Vec<_> = gaps.iter().filter(|gap| gap.cluster == cluster).collect();
        let oldest = of_it.iter().min_by_key(|gap| gap.since)?;
        let what = unwatched(oldest, of_it.len());
        let why = if oldest.message.is_empty() { &oldest.reason } else { &oldest.message };
        let (since, ago) = (clock_time(oldest.since), age(oldest.since, now));
        Some(
            visible(&format!("cluster {cluster}: {what} not watched since {since} ({ago} ago): {why}"))
                .into(),
        )
    };
    clusters.into_iter().filter_map(line).collect()
}

fn badge(health: Option<Health>, paint: Paint) -> String {
    match health {
        Some(_) => format!("  {}", paint.health(health, &format!("{} {}", sign(health), word(health)))),
        None => String::new(),
    }
}

fn resource(
    resource: &Resource,
    place: Option<String>,
    further_owners: usize,
    paint: Paint,
    now: Timestamp,
) -> String {
    let mut out = format!("{}/", visible(&resource.key.kind.kind));
    out.push_str(&paint.bold(&visible(&resource.key.name)));
    if let Some(place) = place {
        out.push_str(&format!("  {}", paint.dim(&visible(&format!("in {place}")))));
    }
    out.push_str(&badge(resource.health, paint));
    if let Some(since) = resource.terminating_since {
        out.push_str(&format!("  Terminating for {}", age(since, now)));
    }
    let why = match (resource.reason.as_str(), resource.message.as_str()) {
        ("", message) => message.to_owned(),
        (reason, "") => reason.to_owned(),
        (reason, message) => format!("{reason}: {message}"),
    };
    if !why.is_empty() {
        out.push_str(&format!("  {}", visible(&why)));
    }
    if further_owners > 0 {
        out.push_str(&format!("  (+{further_owners} owners)"));
    }
    if let Some(created) = resource.created_at {
        out.push_str(&format!("  {}", paint.dim(&age(created, now))));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::present::tests::{NOON, graph, owns, resource, snapshot};

    fn sample() -> Answer<Graph> {
        let mut nodes = vec![
            resource("ConfigMap", "settings", None),
            resource("Deployment", "web", Some(Health::Degraded)),
            resource("ReplicaSet", "web-1", Some(Health::Progressing)),
            resource("Pod", "web-bad", Some(Health::Degraded)),
        ];
        nodes[3].reason = "CrashLoopBackOff".into();
        nodes[3].message = "back-off 5m\u{1b}[2J".into();
        nodes.extend((0..12).map(|n| resource("Pod", &format!("web-1-{n}"), Some(Health::Healthy))));
        let mut edges = vec![owns("web", "web-1"), owns("web-1", "web-bad")];
        edges.extend((0..12).map(|n| owns("web-1", &format!("web-1-{n}"))));
        Answer { value: graph(nodes, edges), metadata: snapshot() }
    }

    #[test]
    fn a_tree_shows_the_worst_first_and_gathers_many() {
        assert_eq!(
            draw(&sample(), false, Paint(false), NOON),
            "\
shop.web.production  ✖ Degraded for 5d3h   offset 1234, 2026-11-20 12:00:00 UTC
├─ Deployment/web  ✖ Degraded  5d3h
│  └─ ReplicaSet/web-1  ◔ Progressing  5d3h
│     ├─ Pod/web-bad  ✖ Degraded  CrashLoopBackOff: back-off 5m\\u{1b}[2J  5d3h
│     └─ 12 Pods  ✔ Healthy
└─ ConfigMap/settings  5d3h
(--all draws each one)
"
        );
        assert_eq!(draw(&sample(), true, Paint(false), NOON).lines().count(), 17);
        let mut spread = sample();
        spread.value.nodes[0].resource.key.cluster = "us-east".into();
        let text = draw(&spread, false, Paint(false), NOON);
        assert!(
            text.contains("Deployment/web  in eu-west  ✖") && text.contains("settings  in us-east"),
            "{text}"
        );
        assert!(text.contains("Pod/web-bad  ✖"), "what stands above says where: {text}");
    }

    #[test]
    fn what_is_being_deleted_says_so() {
        let mut answer = sample();
        answer.value.nodes[0].resource.terminating_since =
            Some(NOON.minus(std::time::Duration::from_secs(300)));
        let text = draw(&answer, false, Paint(false), NOON);
        assert!(text.contains("ConfigMap/settings  Terminating for 5m  5d3h"), "{text}");
    }

    #[test]
    fn gaps_stand_before_the_tree() {
        let mut answer = sample();
        answer.metadata.lag_changes = 3;
        answer.metadata.coverage.gaps = vec![Gap {
            cluster: "eu-west".into(),
            group: String::new(),
            kind: "Pod".into(),
            namespace: String::new(),
            since: NOON.minus(std::time::Duration::from_secs(300)),
            reason: "unreachable".into(),
            message: "connection refused".into(),
        }];
        let text = draw(&answer, false, Paint(false), NOON);
        let mut lines = text.lines();
        assert!(lines.next().is_some_and(|line| line.ends_with(", 3 changes behind")));
        let gap =
            "! cluster eu-west: Pod not watched since 2026-11-20 11:55:00 UTC (5m ago): connection refused";
        assert_eq!(lines.next(), Some(gap));
    }
}
