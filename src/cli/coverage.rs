//! What is watched of every cluster, and what is not.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::answers::{arranged, is_filled, listing, parameters, print_answer, print_time, reference, typed};
use super::args::{CoverageArgs, OutputFormat};
use super::client::Client;
use super::error::CliError;
use super::output::write;
use super::query::{Add, Parameters};
use super::stderr::note;
use super::table::Cell;
use super::views::Listed;
use crate::format::{age, kind_name, several, visible};
use strandline_model::{CoverageState, Health, Timestamp};
use strandline_protocol::{Page, WatchCoverage, WatchGap};

/// Lists the gaps, then all else, and sums it up on standard error.
pub(super) async fn list(args: &CoverageArgs) -> Result<(), CliError> {
    let (what, list) = ("reading coverage", &args.list);
    let query = parameters(&list.server)
        .add("cluster", &args.cluster)
        .add("kind", &args.kind)
        .add("state", &args.state);
    let client = Client::reading(&list.server)?;
    let mut all = Vec::new();
    // Hundreds of kinds are watched; what is not must not be lost among them, nor cut off with them.
    let gaps_first = |items: &mut Vec<Value>| {
        items.sort_by_key(|item| item["state"] != "gap");
        all.clone_from(items);
    };
    let value = arranged(&client, what, "/api/v1/coverage", query, list, gaps_first).await?;
    let found = is_filled(&value["items"]);
    print_answer(what, &list.output, value, found, async |value| {
        let page: Page<WatchCoverage> = typed(what, value)?;
        let now = reference(&list.server, &page.metadata.snapshot);
        print_time(list, &page.metadata.snapshot);
        if found {
            write(&listing(&page.items, &list.output, now))?;
        }
        if list.output.output == OutputFormat::Name {
            return Ok(());
        }
        // What is listed may be a part; the sum is of everything that these clusters and kinds are.
        if !args.state.is_empty() {
            let at = [page.metadata.snapshot.offset];
            let query =
                Parameters::new().add("at", &at).add("cluster", &args.cluster).add("kind", &args.kind);
            let mut value = client.list(what, "/api/v1/coverage", query, None).await?;
            all = typed(what, value["items"].take())?;
        }
        note!("{}", summary(&typed::<Vec<WatchCoverage>>(what, all.into())?));
        Ok(())
    })
    .await
}

/// How much is watched, in one line.
fn summary(items: &[WatchCoverage]) -> String {
    let of =
        |state: CoverageState| items.iter().filter(move |item| item.state == state).map(|item| &item.watch);
    let kinds = |state| -> BTreeSet<_> {
        of(state).filter(|key| !key.kind.kind.is_empty()).map(|key| (&key.cluster, &key.kind)).collect()
    };
    let (watched, gaps) = (kinds(CoverageState::Watched), kinds(CoverageState::Gap));
    // Of a kind that is followed by namespaces, one in a gap is enough.
    let whole = watched.difference(&gaps).count();
    let clusters: BTreeSet<_> = items.iter().map(|item| &item.watch.cluster).collect();
    let recorded: BTreeSet<_> = watched.iter().map(|(cluster, _)| *cluster).collect();
    let away: Vec<String> = items
        .iter()
        .filter(|item| item.watch.is_discovery() && item.state == CoverageState::Gap)
        .map(|item| format!("; cluster {} is not recorded: {}", item.watch.cluster, item.reason))
        .collect();
    let all = watched.union(&gaps).count();
    // Which kinds a cluster has is not known before it was reached.
    let kinds_known = match all {
        0 => format!("no kinds discovered in {}", several(clusters.len(), "cluster")),
        all => format!(
            "{whole} of {} watched in {} of {}",
            several(all, "kind"),
            recorded.len(),
            several(clusters.len(), "cluster")
        ),
    };
    format!(
        "{}; {kinds_known}, {} excluded{}",
        several(of(CoverageState::Gap).count(), "gap"),
        kinds(CoverageState::Excluded).len(),
        visible(&away.concat())
    )
}

impl Listed for WatchCoverage {
    const HEADERS: (&'static [&'static str], &'static [&'static str]) = (
        &["CLUSTER", "KIND", "NAMESPACE", "STATE", "SINCE", "RESOURCES", "LAST-CHANGE", "LAG", "REASON"],
        &["MESSAGE", "LAST-ERROR"],
    );

    fn cells(&self, now: Timestamp) -> Vec<Cell> {
        let state = match self.state {
            CoverageState::Gap => Cell::Standing(Some(Health::Unknown), self.state.to_string()),
            state => Cell::text(state.as_str()),
        };
        let namespace = if self.watch.namespace.is_empty() { "<all>" } else { &self.watch.namespace };
        let last_change = self.last_change.map(|change| age(change.observed_at, now));
        // By the server's clock, which need not agree with the one here.
        let lag = self.lag_ms.map(|lag| age(now.minus(Duration::from_millis(lag)), now));
        let resources =
            if self.watch.kind.kind.is_empty() { String::new() } else { self.resources.to_string() };
        vec![
            Cell::text(&self.watch.cluster),
            Cell::text(kind_name(&self.watch.kind)),
            Cell::text(namespace),
            state,
            Cell::text(age(self.since, now)),
            Cell::text(resources),
            Cell::text(last_change.unwrap_or_default()),
            Cell::text(lag.unwrap_or_default()),
            Cell::text(&self.reason),
            Cell::text(&self.message),
            Cell::text(self.last_error.as_ref().map(|gap| describe(gap, now)).unwrap_or_default()),
        ]
    }

    fn name(&self) -> String {
        let namespace = Some(&self.watch.namespace).filter(|namespace| !namespace.is_empty());
        let place = namespace.map(|namespace| format!("/{namespace}")).unwrap_or_default();
        format!("coverage/{}/{}{place}", self.watch.cluster, kind_name(&self.watch.kind))
    }
}

/// A gap in a few words.
fn describe(gap: &WatchGap, now: Timestamp) -> String {
    match gap.until {
        None => format!("{} for {}", gap.reason, age(gap.since, now)),
        Some(until) => format!("{} for {}, {} ago", gap.reason, age(gap.since, until), age(until, now)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::Paint;
    use crate::cli::views::table;
    use crate::format::tests::{NOON, watch};
    use strandline_model::{Kind, Offset};
    use strandline_protocol::LastChange;

    fn ago(seconds: u64) -> Timestamp {
        NOON.minus(Duration::from_secs(seconds))
    }

    fn sample() -> [WatchCoverage; 3] {
        let mut gap = watch("Deployment", CoverageState::Gap);
        (gap.reason, gap.message) = ("forbidden".into(), "not allowed".into());
        let of =
            |until| WatchGap { since: ago(300), until, reason: "forbidden".into(), message: String::new() };
        gap.last_error = Some(of(None));
        let mut watched = watch("ReplicaSet", CoverageState::Watched);
        watched.last_change = Some(LastChange { offset: Offset::new(7), observed_at: ago(60) });
        (watched.last_seen, watched.lag_ms) = (Some(ago(7000)), Some(2000));
        watched.last_error = Some(of(Some(ago(180))));
        watched.watch.namespace = "shop".into();
        let mut excluded = watch("", CoverageState::Excluded);
        excluded.watch.kind = Kind::new("", "Lease");
        excluded.reason = "excluded".into();
        [gap, watched, excluded]
    }

    #[test]
    fn watches_are_listed_as_kubectl_would() {
        let items = sample();
        assert_eq!(
            table(&items, false, NOON).render(Paint(false), true),
            "\
CLUSTER   KIND              NAMESPACE   STATE      SINCE   RESOURCES   LAST-CHANGE   LAG      REASON
eu-west   Deployment.apps   <all>       gap        60m     3           <none>        <none>   forbidden
eu-west   ReplicaSet.apps   shop        watched    60m     3           60s           2s       <none>
eu-west   Lease             <all>       excluded   60m     3           <none>        <none>   excluded
"
        );
        let wide = table(&items, true, NOON).render(Paint(false), false);
        let ends = ["not allowed   forbidden for 5m", "<none>        forbidden for 2m, 3m ago"];
        for (line, end) in wide.lines().zip(ends) {
            assert!(line.ends_with(end), "{line}");
        }
        let names = items.each_ref().map(Listed::name);
        assert_eq!(names[..2], ["coverage/eu-west/Deployment.apps", "coverage/eu-west/ReplicaSet.apps/shop"]);
    }

    #[test]
    fn the_last_line_sums_up_what_is_listed() {
        assert_eq!(summary(&sample()), "1 gap; 1 of 2 kinds watched in 1 of 1 cluster, 1 excluded");
        let discovery = |state| {
            let mut discovery = watch("", state);
            discovery.watch.kind = Kind::new("", "");
            discovery
        };
        let reached = [discovery(CoverageState::Watched)];
        assert_eq!(summary(&reached), "0 gaps; no kinds discovered in 1 cluster, 0 excluded");
        let mut away = discovery(CoverageState::Gap);
        (away.reason, away.watch.cluster) = ("unreachable".into(), "us-east".into());
        let [_, watched, _] = sample();
        let mut elsewhere = watched.clone();
        (elsewhere.watch.namespace, elsewhere.state) = ("other".into(), CoverageState::Gap);
        assert_eq!(
            summary(&[away, watched, elsewhere]),
            "2 gaps; 0 of 1 kind watched in 1 of 2 clusters, 0 excluded; cluster us-east is not recorded: unreachable"
        );
    }
}
