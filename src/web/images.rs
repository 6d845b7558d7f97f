//! `/images`: which environments have which images, now or in a span of time.

use askama::Template;
use http::StatusCode;

use super::field::Field;
use super::live;
use super::rail::{self, Span};
use super::render::html;
use super::shell::{Shell, Time, reference};
use crate::app::AppState;
use crate::app::images::filter;
use crate::app::span::in_order;
use crate::format::{grouped, several, visible, workload_names};
use crate::http::auth;
use crate::http::params::{CONTINUE, ENVIRONMENT, FROM, IMAGE};
use crate::http::problem::Problem;
use crate::http::request::Request;
use crate::http::respond::Response;
use strandline_model::{EnvironmentFilter, Timestamp};
use strandline_object::Object;
use strandline_protocol::{ImageInterval, ImageUse, Page, Workload};
use strandline_query::{ListImages, PageRequest};
use strandline_relations::container_images::{Running, images};
use strandline_syntax::{Image, familiar, percent_encode};

/// What may be asked for as an image.
const IMAGE_HELP: &str = "A Docker image name, optionally with a tag or digest; * matches within a path segment, ** matches \
                          anything. Empty for all images.";

/// An image in an environment, as a row shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) image: String,
    /// The address of everything that has it.
    pub(super) image_href: String,
    pub(super) digests: Vec<String>,
    pub(super) environment: String,
    pub(super) environment_href: String,
    pub(super) tier: &'static str,
    pub(super) region: String,
    pub(super) pods: String,
    /// Name and address.
    pub(super) workloads: Vec<(String, String)>,
    pub(super) more_workloads: u64,
    pub(super) intervals: Vec<Interval>,
    pub(super) more_intervals: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) from: Time,
    /// None while it lasts.
    pub(super) until: Option<Time>,
}

#[derive(Template)]
#[template(path = "images.html")]
struct ImagesPage {
    shell: Shell,
    heading: String,
    image: Field,
    environment: Field,
    from: Field,
    rows: Vec<Row>,
    /// The address of the next page.
    next: Option<String>,
    json: String,
}

/// The page.
pub(super) async fn page(state: AppState, request: Request) -> Result<Response, Problem> {
    let request = in_order(&state, request).await;
    let mut read = request.query.reader();
    let (at, filter, span) = (read.at(), filter(&mut read), Span::read(&mut read));
    let page = PageRequest { after: read.text(CONTINUE), ..PageRequest::default() };
    read.finish()?;
    let scope = auth::scope(&request)?;
    let found = state.queries.ask(&scope, at, ListImages::new(&filter, &page)).await?;
    let of =
        EnvironmentFilter { tiers: filter.tiers, regions: filter.regions, ..EnvironmentFilter::default() };
    let snapshot = &found.metadata.snapshot;
    let rail = rail::of_environments(&state, &scope, &request, (&of, None), span, snapshot).await?;
    let mut page = view(&request, &found, state.clock.now());
    page.shell = page.shell.with_rail(rail);
    html(StatusCode::OK, &page)
}

fn view(request: &Request, found: &Page<ImageUse>, now: Timestamp) -> ImagesPage {
    let heading = match request.query.one(IMAGE) {
        Some(image) => format!("Images: {}", visible(image)),
        None => "Images".to_owned(),
    };
    let snapshot = &found.metadata.snapshot;
    let shell = Shell::new(&heading, request, snapshot, now).live(&live::rarely(), snapshot);
    let now = reference(request, snapshot, now);
    let next = found.metadata.next.as_deref();
    let next = next.map(|token| format!("/images{}", request.query.with(&[(CONTINUE, Some(token))])));
    ImagesPage {
        heading: match found.items.len() {
            0 => heading,
            _ => format!(
                "{heading} ({}{})",
                several(found.items.len(), "image use"),
                if next.is_some() { " on this page" } else { "" }
            ),
        },
        rows: found.items.iter().map(|one| row(one, &shell, now)).collect(),
        image: Field::new(request, IMAGE, "Image", "nginx, **/web:2.*, @sha256:9f8e").wide().help(IMAGE_HELP),
        environment: Field::new(request, ENVIRONMENT, "Environment", "shop.web.production").wide(),
        from: Field::new(request, FROM, "Also used since", "7d, 1234"),
        next,
        json: format!("/api/v1/images{}", request.query.with(&[])),
        shell,
    }
}

pub(super) fn row(one: &ImageUse, shell: &Shell, now: Timestamp) -> Row {
    let shown = |text: &str| visible(text).into_owned();
    // What had it may be gone with it, so what is no longer used leads to where it was last.
    let ended = one.intervals.iter().map(|interval| interval.until_offset).collect::<Option<Vec<_>>>();
    let last = ended.and_then(|ended| ended.into_iter().max()).map(|end| end.get().saturating_sub(1));
    let then = last.map(|offset| Shell { keep: format!("?at={offset}"), ..Shell::bare("") });
    let then = then.as_ref().unwrap_or(shell);
    let workload = |(of, name): (&Workload, String)| {
        let cluster = [(crate::http::params::CLUSTER, of.key.cluster.as_str())];
        (shown(&name), then.href(&format!("/resources/{}", percent_encode(of.id.as_str())), &cluster))
    };
    let interval = |of: &ImageInterval| Interval {
        from: Time::new(of.from, now),
        until: of.until.map(|until| Time::new(until, now)),
    };
    Row {
        image: shown(&one.short),
        image_href: shell.href("/images", &[(IMAGE, one.image.as_str())]),
        digests: one.digests.iter().map(|digest| shown(digest)).collect(),
        environment: shown(one.environment.as_str()),
        environment_href: then
            .href(&format!("/environments/{}", percent_encode(one.environment.as_str())), &[]),
        tier: one.tier.as_str(),
        region: shown(&one.region),
        pods: grouped(one.pods),
        workloads: one.workloads.iter().zip(workload_names(&one.workloads)).map(workload).collect(),
        more_workloads: one.workloads_total.saturating_sub(one.workloads.len() as u64),
        intervals: one.intervals.iter().map(interval).collect(),
        more_intervals: one.intervals_total.saturating_sub(one.intervals.len() as u64),
    }
}

/// The images of an object, each with the address of all that has it.
pub(super) fn of_object(object: &str, shell: &Shell) -> Vec<(String, String)> {
    let Ok(object) = Object::parse(object) else { return Vec::new() };
    let link = |image: Image| {
        let (name, short) = (image.name(), familiar(&image.repository));
        let shown = visible(&name.replacen(&image.repository, short, 1)).into_owned();
        (shown, shell.href("/images", &[(IMAGE, name.as_str())]))
    };
    images(&object, &Running::default()).into_iter().map(link).collect()
}

/// The page of fixed uses at noon, for tests.
#[cfg(test)]
pub(super) fn rendered(request: &Request, items: Vec<ImageUse>) -> String {
    use crate::format::tests::{NOON, snapshot};
    use strandline_protocol::PageMetadata;
    let metadata = PageMetadata::new(snapshot(), Some("token".into()));
    super::tests::text(&view(request, &Page { items, metadata }, NOON))
}
