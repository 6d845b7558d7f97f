//! `/changes`: what people, pipelines and GitOps tools changed across environments, newest first.

use std::time::Duration;

use askama::Template;
use http::StatusCode;

use super::chip::{Chip, Choice};
use super::deployments;
use super::field::Field;
use super::live;
use super::rail::{self, Span};
use super::render::{html, sentence};
use super::shell::{Shell, Time, reference};
use crate::app::{AppState, changes};
use crate::format::{entry_subject, grouped, visible};
use crate::http::auth;
use crate::http::params::{
    AGENT, AT, BY, CLUSTERS, CONTINUE, CONTROLLERS, FORMAT, GROUP, LABELS, NAME, PROJECT, Parameter, REGION,
    SINCE, STATE, TIER, TYPE, UNTIL,
};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_model::{At, Tier, Timestamp};
use strandline_protocol::{FeedEntry, FeedKind, Page};
use strandline_query::{ListChanges, PageRequest};
use strandline_syntax::percent_encode;

/// The most rows of a page, and environments of a row.
const ROWS_MAX: usize = 50;
const ENVIRONMENTS_MAX: usize = 6;

/// The filters, in the order of their chips.
const FILTERS: [(&str, Parameter); 13] = [
    ("Tier", TIER),
    ("Region", REGION),
    ("Group", GROUP),
    ("Project", PROJECT),
    ("Name", NAME),
    ("Cluster", CLUSTERS),
    ("Agent", AGENT),
    ("Labels", LABELS),
    ("State", STATE),
    ("Type", TYPE),
    ("By", BY),
    ("Since", SINCE),
    ("Until", UNTIL),
];

/// A change, made in one or several places.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) subject: String,
    /// The resource as it was after the change, or before its end; the deployment as it was recorded.
    pub(super) href: Option<String>,
    pub(super) summary: String,
    /// How much controllers did about it.
    pub(super) followed: Option<String>,
    pub(super) time: Time,
    pub(super) kind: &'static str,
    pub(super) by: String,
    pub(super) environments: Vec<(String, String)>,
    pub(super) more_environments: usize,
    pub(super) clusters: String,
}

#[derive(Template)]
#[template(path = "changes.html")]
struct ChangesPage {
    shell: Shell,
    heading: String,
    since: Option<Time>,
    chips: Vec<Chip>,
    tiers: Vec<Choice>,
    types: Vec<Choice>,
    fields: Vec<Field>,
    hidden: Vec<(&'static str, String)>,
    /// Whether something in the form is wrong, so that it is to be seen.
    is_wrong: bool,
    controllers: Vec<(Choice, String)>,
    rows: Vec<Row>,
    next: Option<String>,
    atom: String,
    csv: String,
    json: String,
}

/// The page.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let (at, filter, span) = (read.at(), changes::filter(&mut read), Span::read(&mut read));
    let page = PageRequest { limit: ROWS_MAX, after: read.text(CONTINUE) };
    read.finish()?;
    let scope = auth::scope(&request)?;
    let found = state.queries.ask(&scope, at, ListChanges::new(&filter, &page)).await?;
    let of = (&filter.environments, None);
    let rail = rail::of_environments(&state, &scope, &request, of, span, &found.metadata.snapshot).await?;
    let mut page = view(&request, &found, state.clock.now());
    page.shell = page.shell.with_rail(rail);
    html(StatusCode::OK, &page)
}

fn view(request: &Request, found: &Page<FeedEntry>, now: Timestamp) -> ChangesPage {
    let snapshot = &found.metadata.snapshot;
    let shell = Shell::new("Changes", request, snapshot, now).live(&live::rarely(), snapshot);
    let now = reference(request, snapshot, now);
    let to = |path: &str, changes: &[(Parameter, Option<&str>)]| {
        let mut all = vec![(CONTINUE, None)];
        all.extend_from_slice(changes);
        format!("{path}{}", request.query.with(&all))
    };
    let field = |label, parameter, example| {
        let field = Field::new(request, parameter, label, example);
        Field { value: visible(&field.value).into_owned(), ..field }
    };
    let fields = vec![
        field("Group", GROUP, "shop"),
        field("Project", PROJECT, "shop/web or shop/**"),
        field("Region", REGION, "eu"),
        field("Cluster", CLUSTERS, "eu-west"),
        field("By", BY, "alice or argocd*"),
        field("Since", SINCE, "1h, yesterday 14:05"),
        field("Until", UNTIL, "now, 14:05"),
    ];
    let kept = [NAME, AGENT, LABELS, STATE, CONTROLLERS].into_iter();
    let kept =
        kept.flat_map(|one| request.query.all(one.name).map(move |value| (one.name, value.to_owned())));
    let all = request.query.one(CONTROLLERS) == Some("true");
    let way = |label: &str, chosen, value: Option<&str>| {
        let choice = Choice { value: String::new(), label: label.to_owned(), chosen };
        (choice, to("/changes", &[(CONTROLLERS, value)]))
    };
    let format = |form| to("/api/v1/changes", &[(FORMAT, form)]);
    let next = found.metadata.next.as_deref();
    ChangesPage {
        heading: "Changes".to_owned(),
        since: beginning(request, now),
        chips: FILTERS
            .into_iter()
            .filter_map(|(label, parameter)| Chip::given(request, "/changes", label, parameter))
            .collect(),
        tiers: choices(request, TIER, Tier::ALL.map(Tier::as_str)),
        types: choices(request, TYPE, FeedKind::ALL.map(FeedKind::as_str)),
        is_wrong: fields.iter().any(|field| field.wrong.is_some()),
        fields,
        hidden: kept.collect(),
        controllers: vec![way("counted", !all, None), way("listed", all, Some("true"))],
        rows: found.items.iter().map(|entry| row(entry, now)).collect(),
        next: next.map(|token| to("/changes", &[(CONTINUE, Some(token)), (AT, None)])),
        atom: format(Some("atom")),
        csv: format(Some("csv")),
        json: format(None),
        shell,
    }
}

/// When what is listed begins: a day ago where that is not said, and not told where an offset says it.
pub(super) fn beginning(request: &Request, now: Timestamp) -> Option<Time> {
    let since = match request.query.reader().moment(SINCE) {
        None => now.minus(Duration::from_secs(24 * 3600)),
        Some(At::Now) => now,
        Some(At::Ago(duration)) => now.minus(duration),
        Some(At::Time(time)) => time,
        Some(At::Offset(_)) => return None,
    };
    Some(Time::new(since, now))
}

/// What there is to choose from; several that are chosen together are a choice of their own.
pub(super) fn choices<const N: usize>(
    request: &Request,
    parameter: Parameter,
    words: [&'static str; N],
) -> Vec<Choice> {
    let chosen = request.query.reader().texts(parameter).join(",").to_lowercase();
    let several = (!chosen.is_empty() && !words.contains(&chosen.as_str())).then(|| chosen.clone());
    let all = words.into_iter().map(str::to_owned).chain(several);
    let choice = |value: String| Choice {
        label: sentence(&visible(&value).replace(',', ", ")),
        chosen: value == chosen,
        value,
    };
    all.map(choice).collect()
}

pub(super) fn row(entry: &FeedEntry, now: Timestamp) -> Row {
    let shown = |text: &str| visible(text).into_owned();
    let offset = entry.entry.offset;
    // Of what ended there is nothing to see but what it was.
    let as_of = offset.get().saturating_sub(u64::from(entry.kind == FeedKind::Deleted));
    let href = entry.entry.resource.as_ref().map(|resource| {
        let (id, cluster) = (percent_encode(resource.id.as_str()), percent_encode(&resource.key.cluster));
        format!("/resources/{id}?at={as_of}&cluster={cluster}")
    });
    let deployment = entry.entry.deployment.as_ref().map(|deployment| {
        let then = Shell { keep: format!("?at={as_of}"), ..Shell::bare("") };
        deployments::href(&then, &deployment.spec)
    });
    let environment = |one: &strandline_protocol::FeedEnvironment| {
        let href = format!("/environments/{}?at={offset}", percent_encode(one.id.as_str()));
        (shown(one.id.as_str()), href)
    };
    let followed = match entry.follow_ups {
        0 => None,
        1 => Some("1 change by controllers followed".to_owned()),
        many => Some(format!("{} changes by controllers followed", grouped(many))),
    };
    Row {
        id: entry.entry.id.clone(),
        subject: shown(&entry_subject(&entry.entry)),
        href: href.or(deployment),
        summary: shown(&entry.summary),
        followed,
        time: Time::new(entry.entry.observed_at, now),
        kind: entry.kind.as_str(),
        by: shown(&entry.by),
        environments: entry.environments.iter().take(ENVIRONMENTS_MAX).map(environment).collect(),
        more_environments: entry.environments.len().saturating_sub(ENVIRONMENTS_MAX),
        clusters: entry.clusters.iter().map(|cluster| shown(cluster)).collect::<Vec<_>>().join(", "),
    }
}

/// The page of fixed changes at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(request: &Request, items: Vec<FeedEntry>) -> String {
    use crate::format::tests::{NOON, snapshot};
    use strandline_protocol::PageMetadata;
    let metadata = PageMetadata::new(snapshot(), Some("token".into()));
    super::tests::text(&view(request, &Page { items, metadata }, NOON))
}
