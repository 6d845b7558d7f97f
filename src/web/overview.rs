//! `/`: environments by region, those that need attention first.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use http::StatusCode;

use super::places::{Place, places};
use super::shell::{Badge, Shell, Time, reference};
use super::{html, sentence};
use crate::api::params::Parameter;
use crate::api::params::{HEALTH, PROJECT, REGION, TIER};
use crate::api::problem::Problem;
use crate::api::request::{Request, encode};
use crate::api::respond::Response;
use crate::api::{ApiState, auth};
use crate::model::{At, Glob, Health, HealthCounts, Tier, Timestamp, attention};
use crate::present::visible;
use crate::query::{Environment, EnvironmentFilter, PageRequest, Scope, Snapshot};

/// The most environments one page shows; whoever has more narrows the selection.
const ENVIRONMENTS_MAX: usize = 5000;

/// Environments that a region names in its line at the top; the others stand in its table.
const TROUBLED_MAX: usize = 8;

/// An option of a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Choice {
    value: String,
    label: String,
    chosen: bool,
}

/// A count of environments in a state of health, with the address that shows them alone.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tally {
    badge: Badge,
    count: usize,
    href: String,
    chosen: bool,
}

/// A line of a region's table.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    name: String,
    project: String,
    tier: Tier,
    href: String,
    badge: Badge,
    last_known: Option<Badge>,
    since: Time,
    counts: Vec<(Badge, u64)>,
    places: Vec<Place>,
}

/// The environments of a region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Region {
    name: String,
    rows: Vec<Row>,
    troubled: usize,
}

/// A region in one line: what is how, and what is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Glance {
    name: String,
    href: Option<String>,
    tallies: Vec<Tally>,
    troubled: Vec<Row>,
    /// How many more are troubled.
    further: usize,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    shell: Shell,
    heading: String,
    tiers: Vec<Choice>,
    regions: Vec<Choice>,
    healths: Vec<Choice>,
    project: String,
    tallies: Vec<Tally>,
    /// None where there is but one region.
    glances: Vec<Glance>,
    everything: String,
    sections: Vec<Region>,
    shown: usize,
    cut: bool,
    several_tiers: bool,
}

/// What the address asks for.
struct Selection {
    at: At,
    all_tiers: bool,
    tiers: Vec<Tier>,
    regions: Vec<String>,
    healths: Vec<Health>,
    projects: Vec<Glob>,
}

impl Selection {
    /// Production is what people come for, so it is what a bare address shows.
    fn read(request: &Request) -> Result<Self, Problem> {
        let mut read = request.query.reader();
        let all_tiers = read.texts(TIER) == ["all"];
        let mut tiers = if all_tiers { Vec::new() } else { read.words(TIER) };
        if tiers.is_empty() && !all_tiers {
            tiers.push(Tier::Production);
        }
        let selection = Selection {
            at: read.at(),
            all_tiers,
            tiers,
            regions: read.texts(REGION),
            healths: read.words(HEALTH),
            projects: read.words(PROJECT),
        };
        read.finish()?;
        Ok(selection)
    }

    /// Whether an environment is in the regions asked for.
    fn in_region(&self, environment: &Environment) -> bool {
        self.regions.is_empty() || self.regions.contains(&environment.region)
    }

    /// Whether an environment of the tiers and projects asked for is in the regions and healths asked for.
    fn holds(&self, environment: &Environment) -> bool {
        let state = environment.health.state;
        self.in_region(environment)
            && (self.healths.is_empty() || state.is_some_and(|state| self.healths.contains(&state)))
    }
}

/// The page.
pub(super) async fn page(state: ApiState, request: Request) -> Result<Response, Problem> {
    let selection = Selection::read(&request)?;
    let scope = auth::scope(&request)?;
    let found = environments(&state, &scope, &selection).await?;
    let page = view(&request, &selection, &found, state.clock.now());
    html(&request, StatusCode::OK, &page)
}

/// What was found of the tiers and projects asked for: the counts speak of all of these.
struct Found {
    environments: Vec<Environment>,
    snapshot: Snapshot,
    cut: bool,
}

async fn environments(state: &ApiState, scope: &Scope, selection: &Selection) -> Result<Found, Problem> {
    let filter = EnvironmentFilter {
        tiers: selection.tiers.clone(),
        projects: selection.projects.clone(),
        ..EnvironmentFilter::default()
    };
    let mut request = PageRequest { limit: PageRequest::MAX, after: None };
    let mut page = state.queries.environments(scope, selection.at, &filter, &request).await?;
    let mut environments = page.items;
    while let Some(token) = page.metadata.next.take() {
        if environments.len() >= ENVIRONMENTS_MAX {
            return Ok(Found { environments, snapshot: page.metadata.snapshot, cut: true });
        }
        request.after = Some(token);
        // The token pins the moment, which a relative one would have left by now.
        page = state.queries.environments(scope, At::Now, &filter, &request).await?;
        environments.append(&mut page.items);
    }
    Ok(Found { environments, snapshot: page.metadata.snapshot, cut: false })
}

fn view(request: &Request, selection: &Selection, found: &Found, now: Timestamp) -> Overview {
    let mut counted: Vec<_> = found.environments.iter().filter(|one| selection.in_region(one)).collect();
    counted.sort_by_key(|one| (one.region.is_empty(), &one.region, attention(one.health.state)));
    let chosen: Vec<_> = counted.iter().copied().filter(|one| selection.holds(one)).collect();
    let heading = match selection.tiers.as_slice() {
        [] => "All environments".into(),
        tiers => sentence(&tiers.iter().map(|tier| tier.as_str()).collect::<Vec<_>>().join(", ")),
    };
    let title = match counted.iter().filter(|one| troubled(one)).count() {
        0 => heading.clone(),
        troubled => format!("{} · {heading}", need_attention(troubled)),
    };
    let shell = Shell::new(&title, request, &found.snapshot, now);
    let now = reference(request, &found.snapshot, now);
    Overview {
        heading,
        tiers: tier_choices(selection),
        regions: region_choices(selection, &found.environments),
        healths: health_choices(selection),
        project: visible(&selection.projects.iter().map(Glob::as_str).collect::<Vec<_>>().join(","))
            .into_owned(),
        tallies: tallies(request, selection, &counted, None),
        glances: glances(request, selection, &shell, &counted, now),
        everything: within(&shell, TIER, "all"),
        shown: chosen.len(),
        sections: sections(&shell, &chosen, now),
        cut: found.cut,
        several_tiers: selection.all_tiers || selection.tiers.len() > 1,
        shell,
    }
}

fn tier_choices(selection: &Selection) -> Vec<Choice> {
    let tier = |tier: Tier| Choice {
        value: tier.as_str().into(),
        label: sentence(tier.as_str()),
        chosen: !selection.all_tiers && selection.tiers.contains(&tier),
    };
    let all = Choice { value: "all".into(), label: "All tiers".into(), chosen: selection.all_tiers };
    Tier::ALL.into_iter().map(tier).chain([all]).collect()
}

fn region_choices(selection: &Selection, environments: &[Environment]) -> Vec<Choice> {
    let seen = environments.iter().map(|one| one.region.as_str());
    let names: BTreeSet<_> = seen.chain(selection.regions.iter().map(String::as_str)).collect();
    let choice = |name: &str| Choice {
        value: name.into(),
        label: visible(name).into_owned(),
        chosen: selection.regions.iter().any(|chosen| chosen == name),
    };
    // A name with something hidden in it could not be told apart in a list, so it is not offered.
    let offered = |name: &&str| !name.is_empty() && visible(name) == **name;
    names.into_iter().filter(offered).map(choice).collect()
}

fn health_choices(selection: &Selection) -> Vec<Choice> {
    let choice = |health: Health| Choice {
        value: health.as_str().into(),
        label: health.as_str().into(),
        chosen: selection.healths.contains(&health),
    };
    Health::ALL.into_iter().map(choice).collect()
}

/// Whether something is wrong with an environment, or nobody knows.
fn troubled(environment: &Environment) -> bool {
    attention(environment.health.state) <= attention(Some(Health::Missing))
}

fn need_attention(number: usize) -> String {
    format!("{number} need{} attention", if number == 1 { "s" } else { "" })
}

/// The overview narrowed to one value, at the moment shown.
pub(super) fn within(shell: &Shell, parameter: Parameter, value: &str) -> String {
    let at = if shell.past() { format!("{}&", shell.keep) } else { "?".into() };
    // A bare address shows production only, which the value need not be in.
    let tiers = if parameter == TIER { "" } else { "tier=all&" };
    format!("/{at}{tiers}{}={}", parameter.name, encode(value))
}

/// The regions of environments that are sorted by region, worst first.
fn glances(
    request: &Request,
    selection: &Selection,
    shell: &Shell,
    environments: &[&Environment],
    now: Timestamp,
) -> Vec<Glance> {
    let glance = |run: &[&Environment]| {
        let region = run.first().map(|one| one.region.as_str()).unwrap_or_default();
        let named = Some(region).filter(|region| !region.is_empty());
        let troubled: Vec<_> = run.iter().filter(|one| troubled(one)).collect();
        Glance {
            name: visible(region).into_owned(),
            // What has no region cannot be asked for by it.
            href: named.map(|_| format!("/{}", request.query.with(&[(REGION, named)]))),
            tallies: tallies(request, selection, run, named),
            troubled: troubled.iter().take(TROUBLED_MAX).map(|one| row(shell, one, now)).collect(),
            further: troubled.len().saturating_sub(TROUBLED_MAX),
        }
    };
    let glances: Vec<_> = environments.chunk_by(|a, b| a.region == b.region).map(glance).collect();
    if glances.len() > 1 { glances } else { Vec::new() }
}

/// How many environments are in each state, whatever health is chosen; with a region they lead to it.
fn tallies(
    request: &Request,
    selection: &Selection,
    environments: &[&Environment],
    region: Option<&str>,
) -> Vec<Tally> {
    let mut counts: BTreeMap<u8, (Option<Health>, usize)> = BTreeMap::new();
    for one in environments {
        counts.entry(attention(one.health.state)).or_insert((one.health.state, 0)).1 += 1;
    }
    let tally = |(health, count): (Option<Health>, usize)| {
        let chosen = health.is_some_and(|health| selection.healths == [health]);
        let value = health.filter(|_| !chosen).map(Health::as_str);
        let mut changes = vec![(HEALTH, value)];
        changes.extend(region.map(|region| (REGION, Some(region))));
        let href = format!("/{}", request.query.with(&changes));
        Tally { badge: Badge::new(health), count, href, chosen }
    };
    counts.into_values().map(tally).collect()
}

fn sections(shell: &Shell, environments: &[&Environment], now: Timestamp) -> Vec<Region> {
    let section = |run: &[&Environment]| Region {
        name: run.first().map(|one| visible(&one.region).into_owned()).unwrap_or_default(),
        troubled: run.iter().filter(|one| troubled(one)).count(),
        rows: run.iter().map(|one| row(shell, one, now)).collect(),
    };
    environments.chunk_by(|a, b| a.region == b.region).map(section).collect()
}

fn row(shell: &Shell, environment: &Environment, now: Timestamp) -> Row {
    Row {
        name: visible(&environment.name).into_owned(),
        project: visible(&environment.project).into_owned(),
        tier: environment.tier,
        href: format!("/environments/{}{}", encode(environment.id.as_str()), shell.keep),
        badge: Badge::new(environment.health.state),
        last_known: environment.health.last_known.map(|health| Badge::new(Some(health))),
        since: Time::new(environment.health.since, now),
        counts: counts(environment.health.counts),
        places: places(&environment.targets),
    }
}

/// The states that occur, those that need attention first.
pub(super) fn counts(mut counts: HealthCounts) -> Vec<(Badge, u64)> {
    let mut states: Vec<_> = Health::ALL.into_iter().map(Some).chain([None]).collect();
    states.sort_by_key(|health| attention(*health));
    let counted = states.into_iter().map(|health| (Badge::new(health), *counts.slot(health)));
    counted.filter(|(_, count)| *count > 0).collect()
}

/// The page of fixed environments at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(request: &Request, environments: Vec<Environment>, snapshot: Snapshot) -> String {
    let found = Found { environments, snapshot, cut: false };
    let selection = Selection::read(request).unwrap_or_else(|problem| panic!("{problem:?}"));
    super::tests::text(&view(request, &selection, &found, crate::present::tests::NOON))
}
