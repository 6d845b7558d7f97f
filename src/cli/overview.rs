//! Environments counted in groups.

use super::answers::{is_filled, parameters, print_answer, reference, tabular, typed};
use super::args::{DeclaredArgs, FilterArgs, OutputFormat, OverviewArgs};
use super::client::Client;
use super::error::CliError;
use super::line;
use super::output::write;
use super::query::{Add, Parameters};
use super::stderr::note;
use super::table::{Cell, Table};
use crate::format::{self, age, deployment_time, grouped, several, visible};
use strandline_model::{At, GroupBy, Timestamp};
use strandline_protocol::{Answer, EnvironmentSummary, Overview, OverviewGroup};

/// Columns after those of the keys, and those of wide tables.
const HEADERS: (&[&str], &[&str]) = (
    &["HEALTH", "ENVIRONMENTS", "HEALTHY", "DEGRADED", "UNKNOWN"],
    &["MISSING", "PROGRESSING", "SUSPENDED", "NONE", "DENIED", "RESOURCES", "ATTENTION"],
);

/// Columns of environments one by one.
const ENVIRONMENT_HEADERS: [&str; 8] =
    ["NAME", "HEALTH", "SINCE", "VERSION", "LAST-DEPLOYMENT", "LAST-CHANGE", "CAUSE", "CLUSTERS"];

/// Environments that wide tables list where nothing is said.
const ENVIRONMENTS_WIDE: u64 = 20;

/// Asks for an overview and prints it.
pub(super) async fn overview(args: &OverviewArgs) -> Result<(), CliError> {
    let what = "reading the overview";
    let query = filtered(parameters(&args.server), &args.filter)
        .add("group_by", &args.group_by)
        .add("view", args.view.as_slice())
        .add("limit", args.limit.as_slice())
        .add("environments", rows(args).as_slice())
        .add("order", args.order.as_slice());
    let value = Client::reading(&args.server)?.get(what, "/api/v1/overview", &query).await?;
    let found = is_filled(&value["groups"]);
    print_answer(what, &args.output, value, found, async |value| show(args, &typed(what, value)?)).await
}

/// Prints groups, and environments where they are asked for, for people and for programs that read lines.
fn show(args: &OverviewArgs, answer: &Answer<Overview>) -> Result<(), CliError> {
    let overview = &answer.value;
    if args.output.output == OutputFormat::Name {
        let names = overview.groups.iter().map(|group| name(&overview.group_by, group) + "\n");
        return write(&names.collect::<String>());
    }
    let now = reference(&args.server, &answer.metadata);
    for gap in line::gaps(&answer.metadata, now) {
        note!("warning: {gap}");
    }
    if args.server.at.is_some_and(|at| at != At::Now) {
        note!("as of {}", line::moment(&answer.metadata));
    }
    if overview.groups.is_empty() {
        note!("No environments found.");
        return Ok(());
    }
    let csv = args.output.output == OutputFormat::Csv;
    let wide = csv || args.output.output == OutputFormat::Wide;
    let environments = overview.environments.as_ref().map(|page| {
        let rows = page.items.iter().map(|one| environment(one, now)).collect();
        tabular(&Table::new(ENVIRONMENT_HEADERS, rows), &args.output)
    });
    let groups = tabular(&table(overview, wide), &args.output);
    match environments {
        // Values have one header.
        Some(environments) if csv => write(&environments)?,
        Some(environments) => write(&format!(
            "{groups}
{environments}"
        ))?,
        None => write(&groups)?,
    }
    note!("{}", summary(overview));
    Ok(())
}

/// How many environments are asked for one by one.
fn rows(args: &OverviewArgs) -> Option<u64> {
    args.environments.or((args.output.output == OutputFormat::Wide).then_some(ENVIRONMENTS_WIDE))
}

/// An environment in one line.
fn environment(one: &EnvironmentSummary, now: Timestamp) -> Vec<Cell> {
    let deployment = one.last_deployment.as_ref().map(|deployment| {
        let (spec, at) = (&deployment.spec, deployment_time(deployment));
        let who = if spec.user.is_empty() { "" } else { " by " };
        format!("{} {} ago{who}{}", spec.status, age(at, now), spec.user)
    });
    let cause = one.cause.as_ref().map(|cause| {
        let what = if cause.reason.is_empty() { format::word(cause.health) } else { &cause.reason };
        format!("{what} in {} of {} {}", cause.alike, cause.of, cause.key.kind.kind)
    });
    let change = one.last_change.as_ref().map(|change| {
        let (key, ago) = (&change.key, age(change.observed_at, now));
        format!("{} {ago} ago by {}", key.kind_and_name(), change.by)
    });
    let version = one.version.as_ref().map(|version| version.tags.join(","));
    let texts = [version, deployment, change, cause, Some(one.clusters.join(","))];
    let named = [Cell::text(one.id.as_str()), Cell::Health(one.health), Cell::text(age(one.since, now))];
    named.into_iter().chain(texts.map(|text| Cell::text(text.unwrap_or_default()))).collect()
}

/// What a filter adds to a query.
pub(super) fn filtered(query: Parameters, filter: &FilterArgs) -> Parameters {
    declared(query, &filter.declared).add("health", &filter.health)
}

/// The same of a filter by what is declared.
pub(super) fn declared(query: Parameters, filter: &DeclaredArgs) -> Parameters {
    query
        .add("tier", &filter.tier)
        .add("region", &filter.region)
        .add("project", &filter.project)
        .add("group", &filter.group)
        .add("cluster", &filter.cluster)
        .add("agent", &filter.agent)
        .add("state", &filter.state)
        .add("name", &filter.name)
        .add("labels", filter.labels.as_slice())
}

/// The keys of a group, as `region=eu,tier=production`.
fn name(by: &[GroupBy], group: &OverviewGroup) -> String {
    let pairs: Vec<_> = by.iter().zip(&group.keys).map(|(by, key)| format!("{by}={key}")).collect();
    visible(&pairs.join(",")).into_owned()
}

fn header(by: &GroupBy) -> &'static str {
    match by {
        GroupBy::Tier => "TIER",
        GroupBy::Region => "REGION",
        GroupBy::Project => "PROJECT",
        GroupBy::Group => "GROUP",
        GroupBy::Cluster => "CLUSTER",
        GroupBy::Agent => "AGENT",
        // HEALTH is the column of what is worst in a group.
        GroupBy::Health => "BY-HEALTH",
        GroupBy::State => "STATE",
        GroupBy::Label(_) => "LABEL",
    }
}

fn table(overview: &Overview, wide: bool) -> Table {
    let (narrow, more) = HEADERS;
    let keys = overview.group_by.iter().map(header);
    let headers: Vec<_> = keys.chain(narrow.iter().chain(if wide { more } else { &[] }).copied()).collect();
    let row = |group: &OverviewGroup| cells(group).into_iter().take(headers.len()).collect();
    let rows = overview.groups.iter().map(row).collect();
    Table::new(headers, rows)
}

fn cells(group: &OverviewGroup) -> Vec<Cell> {
    let counts = &group.counts;
    let number = |count: u64| Cell::text(count.to_string());
    let mut cells: Vec<_> = group.keys.iter().map(Cell::text).collect();
    cells.push(Cell::Health(counts.health));
    let by = counts.environments;
    cells.extend([counts.total, by.healthy, by.degraded, by.unknown].map(number));
    cells.extend([by.missing, by.progressing, by.suspended, by.none, counts.denied].map(number));
    cells.push(number(counts.resources.total()));
    let urgent: Vec<_> = group.attention.iter().map(|one| one.id.as_str()).collect();
    cells.push(Cell::text(urgent.join(",")));
    cells
}

/// All of it in one line.
fn summary(overview: &Overview) -> String {
    let totals = &overview.totals;
    let environments = several(usize::try_from(totals.total).unwrap_or(usize::MAX), "environment");
    let mut out = format!("{environments}, {} Degraded", grouped(totals.environments.degraded));
    if totals.denied > 0 {
        out.push_str(&format!(", {} without access", grouped(totals.denied)));
    }
    if overview.groups_left_out > 0 {
        let left_out = grouped(overview.groups_left_out);
        out.push_str(&format!("; {left_out} more groups not shown; add filters to see them"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::Paint;
    use crate::format::summaries::degraded;
    use crate::format::tests::NOON;
    use strandline_model::{EnvironmentId, Health, HealthCounts};
    use strandline_protocol::{OverviewCounts, OverviewEnvironment};

    #[test]
    fn an_environment_is_told_in_one_line() {
        let rows = vec![environment(&degraded(), NOON)];
        assert_eq!(
            Table::new(ENVIRONMENT_HEADERS, rows).render(Paint(false), false),
            "shop.web.production   Degraded   5d3h   2.40.0,2.33.0   failed 14m ago by chiyo   \
             Deployment/web 120m ago by kubectl-edit   CrashLoopBackOff in 12 of 36 Pod   eu-west\n"
        );
    }

    #[test]
    fn groups_are_listed_as_kubectl_would() {
        let environments = HealthCounts { degraded: 1, healthy: 2, ..HealthCounts::default() };
        let resources = HealthCounts { healthy: 70, ..HealthCounts::default() };
        let counts =
            OverviewCounts { total: 4, denied: 1, environments, resources, health: Some(Health::Degraded) };
        let one = OverviewEnvironment {
            id: EnvironmentId::new("shop.web.production"),
            project: "shop/web".into(),
            name: "production".into(),
            health: Health::Degraded,
            since: NOON,
        };
        let group =
            |key: &str| OverviewGroup { keys: vec![key.into()], counts, attention: vec![one.clone()] };
        let groups = vec![group("eu"), group("")];
        let overview = Overview {
            group_by: vec![GroupBy::Region],
            groups,
            groups_left_out: 1200,
            totals: counts,
            trend: None,
            environments: None,
            warnings: Vec::new(),
        };
        assert_eq!(
            table(&overview, false).render(Paint(false), true),
            "\
REGION   HEALTH     ENVIRONMENTS   HEALTHY   DEGRADED   UNKNOWN
eu       Degraded   4              2         1          0
<none>   Degraded   4              2         1          0
"
        );
        let wide = table(&overview, true).render(Paint(false), false);
        assert!(wide.ends_with("1   70   shop.web.production\n"), "{wide}");
        assert_eq!(name(&overview.group_by, &overview.groups[0]), "region=eu");
        assert_eq!(
            summary(&overview),
            "4 environments, 1 Degraded, 1 without access; 1,200 more groups not shown; add filters to \
             see them"
        );
    }
}
