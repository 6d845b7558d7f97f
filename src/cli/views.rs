//! Which columns each kind of thing has, and its name on a line.

use super::catalog::agents;
use super::table::{Cell, Table};
use crate::format::{age, clock_time, link_verb, resource_name};
use strandline_model::{Target, Timestamp, Uid};
use strandline_protocol::{
    Cluster, Environment, EnvironmentAccess, FoundResource, Resource, ResourceDetail, ResourceEdge, Version,
    VersionChange,
};

/// Something that tables show.
pub(super) trait Listed {
    /// Headers; those from the second list are for wide tables.
    const HEADERS: (&'static [&'static str], &'static [&'static str]);

    /// Cells for all headers, the wide ones included; ages count from `now`.
    fn cells(&self, now: Timestamp) -> Vec<Cell>;

    /// Its name, as `kind/name`.
    fn name(&self) -> String;

    /// What is odd about it, reported where it alone is asked for.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The table of a list.
pub(super) fn table<T: Listed>(items: &[T], wide: bool, now: Timestamp) -> Table {
    let (narrow, more) = T::HEADERS;
    let headers: Vec<_> = narrow.iter().chain(if wide { more } else { &[] }).copied().collect();
    let row = |item: &T| item.cells(now).into_iter().take(headers.len()).collect();
    let rows = items.iter().map(row).collect();
    Table::new(headers, rows)
}

/// The namespace of a target, or a star for all of them.
fn namespaces(target: &Target) -> &str {
    if target.namespace.is_empty() { "*" } else { &target.namespace }
}

impl Listed for Environment {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) = (
        &["NAME", "HEALTH", "SINCE", "TIER", "REGION", "RESOURCES"],
        &[
            "DEGRADED",
            "LAST-KNOWN",
            "PROJECT",
            "ENVIRONMENT",
            "STATE",
            "AGENT",
            "DEPLOYMENT",
            "DEPLOYED",
            "RUNS-IN",
        ],
    );

    fn cells(&self, now: Timestamp) -> Vec<Cell> {
        let places: Vec<_> =
            self.targets.iter().map(|target| format!("{}/{}", target.cluster, namespaces(target))).collect();
        let readable = self.access == EnvironmentAccess::Granted;
        let health = match readable {
            true => Cell::Health(self.health.state),
            false => Cell::Standing(None, "no access".into()),
        };
        let last = self.last_deployment.as_ref();
        let deployed = last.map(|last| age(last.spec.finished_at.unwrap_or(last.observed_at), now));
        vec![
            Cell::text(self.id.as_str()),
            health,
            Cell::text(if readable { age(self.health.since, now) } else { String::new() }),
            Cell::text(self.tier.as_str()),
            Cell::text(&self.region),
            Cell::text(if readable { self.health.counts.total().to_string() } else { String::new() }),
            Cell::text(self.health.counts.degraded.to_string()),
            Cell::Health(self.health.last_known),
            Cell::text(&self.project),
            Cell::text(&self.name),
            Cell::text(self.state.as_str()),
            Cell::text(agents(self)),
            Cell::text(last.map(|last| last.spec.id.to_string()).unwrap_or_default()),
            Cell::text(deployed.unwrap_or_default()),
            Cell::text(places.join(",")),
        ]
    }

    fn name(&self) -> String {
        format!("environment/{}", self.id)
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.iter().map(|warning| warning.message.clone()).collect()
    }
}

impl Listed for Cluster {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) =
        (&["NAME", "REGION", "WATCHED", "GAP-SINCE", "KINDS"], &["GAPS", "REASON"]);

    fn cells(&self, now: Timestamp) -> Vec<Cell> {
        let since = self.unwatched_since.map(|since| age(since, now));
        vec![
            Cell::text(&self.id),
            Cell::text(&self.region),
            Cell::text(if self.watched { "True" } else { "False" }),
            Cell::text(since.unwrap_or_default()),
            Cell::text(self.kinds_watched.to_string()),
            Cell::text(self.gaps.len().to_string()),
            Cell::text(self.gaps.first().map_or("", |gap| gap.reason.as_str())),
        ]
    }

    fn name(&self) -> String {
        format!("cluster/{}", self.id)
    }
}

impl Listed for Resource {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) = (
        &["CLUSTER", "NAMESPACE", "KIND", "NAME", "HEALTH", "REASON", "AGE"],
        &["FOR", "GROUP", "UID", "MESSAGE", "TERMINATING"],
    );

    fn cells(&self, now: Timestamp) -> Vec<Cell> {
        vec![
            Cell::text(&self.key.cluster),
            Cell::text(&self.key.namespace),
            Cell::text(&self.key.kind.kind),
            Cell::text(&self.key.name),
            standing(self),
            Cell::text(&self.reason),
            Cell::text(self.created_at.map(|created| age(created, now)).unwrap_or_default()),
            Cell::text(self.health.map(|_| age(self.health_since, now)).unwrap_or_default()),
            Cell::text(&self.key.kind.group),
            Cell::text(self.id.as_str()),
            Cell::text(&self.message),
            Cell::text(self.terminating_since.map(|since| age(since, now)).unwrap_or_default()),
        ]
    }

    fn name(&self) -> String {
        resource_name(&self.key)
    }
}

impl Listed for ResourceDetail {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) = Resource::HEADERS;

    fn cells(&self, now: Timestamp) -> Vec<Cell> {
        self.resource.cells(now)
    }

    fn name(&self) -> String {
        self.resource.name()
    }
}

impl Listed for FoundResource {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) = (
        &["CLUSTER", "NAMESPACE", "KIND", "NAME", "HEALTH", "AGE", "DELETED"],
        &["GROUP", "UID", "LAST-OFFSET"],
    );

    fn cells(&self, now: Timestamp) -> Vec<Cell> {
        let (one, gone) = (&self.resource, self.gone.as_ref());
        let went = gone.map(|gone| gone.at.map_or_else(|| "yes".into(), clock_time));
        vec![
            Cell::text(&one.key.cluster),
            Cell::text(&one.key.namespace),
            Cell::text(&one.key.kind.kind),
            Cell::text(&one.key.name),
            standing(one),
            Cell::text(one.created_at.map(|created| age(created, now)).unwrap_or_default()),
            Cell::text(went.unwrap_or_default()),
            Cell::text(&one.key.kind.group),
            Cell::text(one.id.as_str()),
            Cell::text(gone.map(|gone| gone.last_offset.to_string()).unwrap_or_default()),
        ]
    }

    fn name(&self) -> String {
        self.resource.name()
    }
}

/// The health, with the word that matters more while the resource is being deleted.
fn standing(resource: &Resource) -> Cell {
    let text = match (resource.health, resource.terminating_since) {
        (health, None) => return Cell::Health(health),
        (Some(health), Some(_)) => format!("{health},Terminating"),
        (None, Some(_)) => "Terminating".into(),
    };
    Cell::Standing(resource.health, text)
}

impl Listed for Version {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) = (
        &["OFFSET", "OBSERVED", "AGE", "TYPE", "HEALTH", "REASON", "CHANGED-BY"],
        &["OPERATION", "RESOURCE-VERSION", "RULE", "RULES", "MESSAGE"],
    );

    fn cells(&self, now: Timestamp) -> Vec<Cell> {
        let by = self.changed_by.as_ref();
        let kind = match self.change {
            VersionChange::Applied => "applied",
            VersionChange::Deleted => "deleted",
        };
        vec![
            Cell::text(self.offset.to_string()),
            Cell::text(clock_time(self.observed_at)),
            Cell::text(age(self.observed_at, now)),
            Cell::text(kind),
            Cell::Health(self.health),
            Cell::text(&self.reason),
            Cell::text(by.map_or("", |by| by.manager.as_str())),
            Cell::text(by.map_or("", |by| by.operation.as_str())),
            Cell::text(self.resource_version.as_str()),
            Cell::text(&self.rule),
            Cell::text(&self.rule_set),
            Cell::text(&self.message),
        ]
    }

    fn name(&self) -> String {
        format!("version/{}", self.id)
    }
}

impl Listed for ResourceEdge {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) =
        (&["RELATION", "KIND", "NAME", "HEALTH"], &["NAMESPACE", "GROUP", "UID"]);

    fn cells(&self, _: Timestamp) -> Vec<Cell> {
        let name = if self.name.is_empty() { "<all>" } else { &self.name };
        let health = match (self.exists, self.health) {
            (Some(false), _) => Cell::text("not found"),
            (None, _) => Cell::text("not watched"),
            (Some(true), health) => Cell::Health(health),
        };
        vec![
            Cell::text(link_verb(self)),
            Cell::text(&self.kind.kind),
            Cell::text(name),
            health,
            Cell::text(&self.namespace),
            Cell::text(&self.kind.group),
            Cell::text(self.id.as_ref().map_or("", Uid::as_str)),
        ]
    }

    fn name(&self) -> String {
        format!("{}/{}", self.kind.kind.to_lowercase(), self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::Paint;
    use crate::format::tests::{NOON, environment, folded_event, resource};
    use strandline_model::{Health, Kind, Offset};
    use strandline_protocol::{FarEnd, Gone};

    #[test]
    fn edges_say_what_is_there_and_what_is_not() {
        let edge = |edge: &str, name: &str, exists, health| ResourceEdge {
            edge: edge.into(),
            far: if edge == "owns" { FarEnd::Dependent } else { FarEnd::Cause },
            kind: Kind::new("", "ConfigMap"),
            namespace: "shop".into(),
            name: name.into(),
            id: None,
            health,
            exists,
        };
        let items = [
            edge("mounts", "gone", Some(false), None),
            edge("owns", "here", Some(true), Some(Health::Healthy)),
            edge("references", "", None, None),
        ];
        assert_eq!(
            table(&items, false, NOON).render(Paint(false), true),
            "\
RELATION     KIND        NAME    HEALTH
mounts       ConfigMap   gone    not found
owns         ConfigMap   here    Healthy
references   ConfigMap   <all>   not watched
"
        );
    }

    #[test]
    fn environments_are_listed_as_kubectl_would() {
        let mut blind = environment("shop/db", "", Some(Health::Unknown));
        blind.health.last_known = Some(Health::Healthy);
        let items = [environment("shop/web", "eu", Some(Health::Degraded)), blind];
        assert_eq!(
            table(&items, false, NOON).render(Paint(false), true),
            "\
NAME                  HEALTH     SINCE   TIER         REGION   RESOURCES
shop.web.production   Degraded   5d3h    production   eu       6
shop.db.production    Unknown    5d3h    production   <none>   6
"
        );
        let wide = table(&items, true, NOON).render(Paint(false), true);
        assert!(wide.ends_with("Healthy      shop/db    production    available   <none>   <none>       <none>     eu-west/shop\n"), "{wide}");
        assert_eq!(items[0].name(), "environment/shop.web.production");
        let mut closed = environment("shop/web", "eu", None);
        closed.access = EnvironmentAccess::Denied;
        let text = table(&[closed], false, NOON).render(Paint(false), false);
        assert_eq!(text, "shop.web.production   no access   <none>   production   eu   <none>\n");
        let mut everywhere = environment("shop/web", "eu", None);
        everywhere.targets[0].namespace.clear();
        let wide = table(&[everywhere], true, NOON).render(Paint(false), true);
        assert!(wide.ends_with(" eu-west/*\n"), "{wide}");
    }

    #[test]
    fn resources_are_listed_as_kubectl_would() {
        let mut pod = resource("Pod", "web-a", Some(Health::Degraded));
        pod.reason = "CrashLoopBackOff".into();
        let mut leaving = resource("Pod", "web-b", Some(Health::Progressing));
        leaving.terminating_since = Some(NOON.minus(std::time::Duration::from_secs(7200)));
        let items = [resource("Deployment", "web", None), pod, leaving];
        assert_eq!(
            table(&items, false, NOON).render(Paint(false), true),
            "\
CLUSTER   NAMESPACE   KIND         NAME    HEALTH                    REASON             AGE
eu-west   shop        Deployment   web     <none>                    <none>             5d3h
eu-west   shop        Pod          web-a   Degraded                  CrashLoopBackOff   5d3h
eu-west   shop        Pod          web-b   Progressing,Terminating   <none>             5d3h
"
        );
        let wide = table(&items, true, NOON).render(Paint(false), true);
        assert!(wide.ends_with("120m\n"), "for how long: {wide}");
        let columns: Vec<Vec<&str>> = wide.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!((columns[0][7], columns[1][7], columns[2][7]), ("FOR", "<none>", "10m"), "in its health");
        assert_eq!(items[0].name(), "deployment.apps/web");
    }

    #[test]
    fn what_was_found_says_when_it_went() {
        let one =
            |gone| FoundResource { resource: resource("Deployment", "web", Some(Health::Healthy)), gone };
        let went = Gone { at: Some(NOON), last_offset: Offset::new(1234) };
        assert_eq!(
            table(&[one(None), one(Some(went))], false, NOON).render(Paint(false), true),
            "\
CLUSTER   NAMESPACE   KIND         NAME   HEALTH    AGE    DELETED
eu-west   shop        Deployment   web    Healthy   5d3h   <none>
eu-west   shop        Deployment   web    Healthy   5d3h   2026-11-20 12:00:00 UTC
"
        );
    }

    #[test]
    fn events_are_listed_as_kubectl_would() {
        let mut long = folded_event("Normal", "");
        long.note = "two\nlines".into();
        assert_eq!(
            table(&[folded_event("Warning", "BackOff"), long], false, NOON).render(Paint(false), true),
            "\
LAST SEEN   TYPE      REASON    OBJECT      COUNT   MESSAGE
60s         Warning   BackOff   pod/web-0   5       Back-off restarting failed container
60s         Normal    <none>    pod/web-0   5       two\\nlines
"
        );
    }
}
