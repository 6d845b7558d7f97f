//! An environment drawn as a tree.

use super::line::{Beside, Style};
use crate::format::{Item, Places, Step, Tree, below, number_of, sign, visible};
use strandline_model::Health;
use strandline_protocol::{Answer, Graph, Group};

/// Levels that are indented; what lies deeper stays at the last one, so that long chains stay readable.
const DEPTH_MAX: usize = 40;

/// Draws an environment: what it is at which moment, then what owns what; with `all`, each sibling by itself.
pub(super) fn draw(answer: &Answer<Graph>, all: bool, style: Style) -> String {
    let graph = &answer.value;
    let mut out = style.header(&graph.environment, &answer.metadata);
    let drawing = Drawing { graph, style, tree: Tree::new(graph, !all), places: Places::of(graph) };
    let gathered = drawing.lines(&mut out);
    if gathered {
        out.push_str(&format!("{}\n", style.paint.dim("(--all shows each one)")));
    }
    if graph.nodes.is_empty() && graph.groups.is_empty() {
        out.push_str("No resources.\n");
    }
    // Where nothing is counted beside what is drawn, each line says itself what is below it.
    if graph.truncated && !graph.nodes.is_empty() && !graph.groups.is_empty() {
        let id = visible(graph.environment.id.as_str());
        let at = answer.metadata.offset;
        let list = format!("strandline get resources -e {id} --order health --at {at}");
        out.push_str(&format!("… not all resources are shown; list them with: {list}\n"));
    }
    out
}

/// A tree that is being drawn.
struct Drawing<'g> {
    graph: &'g Graph,
    style: Style,
    tree: Tree,
    places: Places,
}

impl Drawing<'_> {
    /// Writes a line for each item; returns whether some are not drawn because they are together.
    fn lines(&self, out: &mut String) -> bool {
        let mut gathered = false;
        // For each open item whether siblings follow it, which is what the lines to its left show.
        let mut open: Vec<Branch> = Vec::new();
        self.tree.walk(|step| match step {
            Step::Enter { item, parent, last } => {
                let group = matches!(item, Item::Group { .. });
                if !open.iter().any(|branch| branch.gathered) {
                    gathered |= group;
                    let text = self.item(item, parent);
                    out.push_str(&format!("{}{text}\n", self.style.paint.dim(&lines(&open, last))));
                }
                open.push(Branch { last, gathered: group });
            }
            Step::Leave => {
                open.pop();
            }
        });
        gathered
    }

    fn item(&self, item: &Item, parent: Option<usize>) -> String {
        match item {
            Item::Node(place) => {
                let node = &self.graph.nodes[*place];
                let above = parent.map(|parent| &self.graph.nodes[parent].resource.key);
                let hidden = node.below.as_ref().filter(|_| self.tree.hides(*place));
                let beside = Beside {
                    place: self.places.say(&node.resource.key, above),
                    further_owners: self.tree.further_owners(*place),
                    below: hidden.map(below),
                };
                self.style.resource(&node.resource, &beside)
            }
            Item::Counted(place) => self.counted(&self.graph.groups[*place], self.tree.is_rest(*place)),
            Item::Group { label, health, .. } => format!("{}{}", visible(label), self.style.badge(*health)),
        }
    }

    /// Siblings that are only counted: how many, how many of each health, and whether something below them is worse.
    fn counted(&self, group: &Group, rest: bool) -> String {
        let paint = self.style.paint;
        let many = number_of(group.counts.total(), &group.kind);
        let mut out = format!("{}{}", if rest { "… " } else { "" }, visible(&many));
        if let Some(cluster) = self.places.of_group(group) {
            out.push_str(&format!("  {}", paint.dim(&visible(&format!("in {cluster}")))));
        }
        for health in Health::ALL.into_iter().rev() {
            let number = *group.counts.clone().slot(Some(health));
            if number > 0 {
                let text = format!("{} {number} {health}", sign(Some(health)));
                out.push_str(&format!("  {}", paint.health(Some(health), &text)));
            }
        }
        if let Some(worst) = group.health.filter(|worst| group.counts.worst() != Some(*worst)) {
            let text = format!("{} {worst} below", sign(Some(worst)));
            out.push_str(&format!("  {}", paint.health(Some(worst), &text)));
        }
        out
    }
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

#[cfg(test)]
mod tests {
    use super::super::output::Paint;
    use super::*;
    use crate::format::tests::{NOON, counted, graph, owns, resource, snapshot};
    use strandline_model::HealthCounts;
    use strandline_protocol::Gap;

    const PLAIN: Style = Style { paint: Paint(false), now: NOON, wide: false };

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
            draw(&sample(), false, PLAIN),
            "\
shop.web.production  ✖ Degraded for 5d3h   offset 1234, 2026-11-20 12:00:00 UTC
├─ Deployment/web  ✖ Degraded  5d3h
│  └─ ReplicaSet/web-1  ◔ Progressing  5d3h
│     ├─ Pod/web-bad  ✖ Degraded  CrashLoopBackOff: back-off 5m\\u{1b}[2J  5d3h
│     └─ 12 Pods  ✔ Healthy
└─ ConfigMap/settings  5d3h
(--all shows each one)
"
        );
        assert_eq!(draw(&sample(), true, PLAIN).lines().count(), 17);
        let mut spread = sample();
        spread.value.nodes[0].resource.key.cluster = "us-east".into();
        let text = draw(&spread, false, PLAIN);
        assert!(
            text.contains("Deployment/web  in eu-west  ✖") && text.contains("settings  in us-east"),
            "{text}"
        );
        assert!(text.contains("Pod/web-bad  ✖"), "what stands above says where: {text}");
    }

    #[test]
    fn why_an_environment_shows_less_stands_before_the_tree() {
        let mut answer = sample();
        let (code, message) = ("no_resources".to_owned(), "There are no\nresources.".to_owned());
        let warning = strandline_protocol::EnvironmentWarning { code, message, labels: Default::default() };
        answer.value.environment.warnings = vec![warning];
        let text = draw(&answer, false, PLAIN);
        assert_eq!(text.lines().nth(1), Some("! There are no\\nresources."));
    }

    #[test]
    fn what_is_being_deleted_says_so() {
        let mut answer = sample();
        answer.value.nodes[0].resource.terminating_since =
            Some(NOON.minus(std::time::Duration::from_secs(300)));
        let text = draw(&answer, false, PLAIN);
        assert!(text.contains("ConfigMap/settings  Terminating for 5m  5d3h"), "{text}");
    }

    #[test]
    fn what_is_not_drawn_is_told_where_it_would_stand() {
        let mut answer = sample();
        let pods = HealthCounts { healthy: 60, degraded: 1, ..HealthCounts::default() };
        answer.value.truncated = true;
        // As with `--collapse owner`.
        answer.value.nodes.truncate(2);
        let text = draw(&answer, false, PLAIN);
        assert!(
            text.contains(
                "├─ Deployment/web  ✖ Degraded  (below: 1 ReplicaSet (Progressing), 13 Pods (Degraded))  5d3h"
            ),
            "{text}"
        );
        // As with `--collapse kind`.
        answer.value.nodes.clear();
        let sets = Group { health: Some(Health::Degraded), ..counted("ReplicaSet", None, 2) };
        answer.value.groups = vec![Group { counts: pods, ..counted("Pod", None, 0) }, sets];
        answer.value.groups[0].health = Some(Health::Degraded);
        let text = draw(&answer, false, PLAIN);
        assert!(text.contains("├─ 61 Pods  ✖ 1 Degraded  ✔ 60 Healthy\n"), "{text}");
        assert!(text.contains("└─ 2 ReplicaSets  ✔ 2 Healthy  ✖ Degraded below\n"), "{text}");
    }

    #[test]
    fn the_rest_of_many_siblings_is_counted_after_them() {
        let mut answer = sample();
        answer.value.groups = vec![counted("Pod", Some("web-1"), 40)];
        answer.value.truncated = true;
        let text = draw(&answer, false, PLAIN);
        assert!(text.contains("│     └─ … 40 Pods  ✔ 40 Healthy\n"), "{text}");
        assert!(
            text.ends_with("strandline get resources -e shop.web.production --order health --at 1234\n"),
            "{text}"
        );
    }

    #[test]
    fn wide_lines_say_since_when_and_the_uid() {
        let text = draw(&sample(), false, Style { wide: true, ..PLAIN });
        assert!(text.contains("Deployment/web  ✖ Degraded for 10m  5d3h  web\n"), "{text}");
        assert!(text.contains("ConfigMap/settings  5d3h  settings\n"), "{text}");
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
            until: None,
            reason: "unreachable".into(),
            message: "connection refused".into(),
        }];
        let text = draw(&answer, false, PLAIN);
        let mut lines = text.lines();
        assert!(lines.next().is_some_and(|line| line.ends_with(", 3 changes behind")));
        let gap =
            "! cluster eu-west: Pod not watched since 2026-11-20 11:55:00 UTC (5m ago): connection refused";
        assert_eq!(lines.next(), Some(gap));
    }
}
