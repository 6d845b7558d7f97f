//! Examines a cluster without following it: whether it answers, what it has, and what of it we may see.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use thiserror::Error;
use tokio::time::{Instant, timeout_at};

use super::connect::{ClusterConnection, ConnectSettings, connect};
use super::connect_error::ConnectError;
use super::discovery::{KindList, Selection, ServedKind, list_kinds};
use super::document::Page;
use super::limits::Limits;
use super::request::{Failure, collect, get, get_text, get_with_head};
use strandline_clock::Clock;
use strandline_model::Timestamp;

/// Requests sent to a cluster at the same time.
const CONCURRENT: usize = 8;

/// How a cluster is examined.
#[derive(Clone, Debug)]
pub struct ExamineSettings {
    /// Which kinds would be followed.
    pub selection: Selection,
    /// Sizes and times of single answers.
    pub limits: Limits,
    /// How long all of it may take.
    pub total: Duration,
}

impl ExamineSettings {
    /// A minute for all, ten seconds for each answer.
    pub fn new(selection: Selection) -> Self {
        let short = Duration::from_secs(10);
        let limits = Limits { response: short, idle: short, ..Limits::default() };
        ExamineSettings { selection, limits, total: Duration::from_secs(60) }
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Examination {
    /// The server's address.
    pub url: String,
    /// What the server reports about itself.
    pub server: Server,
    /// What it has.
    pub kinds: Result<KindList, Trouble>,
    /// How many followed kinds, counted in each namespace, were asked for.
    pub asked: usize,
    /// How many there was no time for.
    pub unasked: usize,
    /// Those that were not given, in the order of their kinds.
    pub refusals: Vec<Refusal>,
}

/// What a server reports about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Server {
    /// Its version, where known.
    pub version: Option<String>,
    /// By how many microseconds its clock is ahead of ours; negative when behind, none where unknown.
    pub ahead_micros: Option<i64>,
}

/// A followed kind that cannot be listed or watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The kind.
    pub served: ServedKind,
    /// The namespace asked about; empty for the whole cluster.
    pub namespace: String,
    /// `list` or `watch`.
    pub verb: &'static str,
    /// Why.
    pub trouble: Trouble,
}

/// Why a cluster did not answer as it should.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Trouble {
    /// The configuration shows no way to it.
    #[error("{0}")]
    NoWay(String),
    /// There is no answer.
    #[error("{0}")]
    Unreachable(String),
    /// One of the certificates is not accepted.
    #[error("{0}")]
    Certificate(String),
    /// The credentials are not accepted.
    #[error("{0}")]
    Unauthorized(String),
    /// We are known and may not see it.
    #[error("{0}")]
    Forbidden(String),
    /// There is no such thing.
    #[error("{0}")]
    NotServed(String),
    /// The answer is an error or makes no sense.
    #[error("{0}")]
    Failing(String),
}

impl From<ConnectError> for Trouble {
    fn from(error: ConnectError) -> Self {
        Trouble::NoWay(error.to_string())
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        let text = failure.to_string();
        match failure {
            // What TLS libraries complain about has no type of its own by the time it gets here.
            Failure::Unreachable(_) if speaks_of_certificates(&text) => Trouble::Certificate(text),
            Failure::Unreachable(_) => Trouble::Unreachable(text),
            Failure::Unauthorized(_) => Trouble::Unauthorized(text),
            Failure::Credentials(_) => Trouble::NoWay(text),
            Failure::Forbidden(_) => Trouble::Forbidden(text),
            Failure::NotServed(_) => Trouble::NotServed(text),
            Failure::Gone
            | Failure::Busy { .. }
            | Failure::Rejected(_)
            | Failure::Invalid(_)
            | Failure::TooLarge(_) => Trouble::Failing(text),
        }
    }
}

fn speaks_of_certificates(text: &str) -> bool {
    let text = text.to_lowercase();
    ["certificate", "unknownca", "unknown ca"].iter().any(|word| text.contains(word))
}

/// What comes of some work, unless it takes too long.
async fn in_time<T, E: Into<Trouble>>(
    deadline: Instant,
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, Trouble> {
    match timeout_at(deadline, work).await {
        Ok(done) => done.map_err(Into::into),
        Err(_) => Err(Trouble::Unreachable("no answer in time".to_owned())),
    }
}

/// Opens a way to a cluster.
async fn reach(way: &ConnectSettings, deadline: Instant) -> Result<ClusterConnection, Trouble> {
    in_time(deadline, connect(way)).await
}

/// Asks for all kinds.
async fn list_all(
    client: &kube::Client,
    settings: &ExamineSettings,
    whole: bool,
    deadline: Instant,
) -> Result<KindList, Trouble> {
    in_time(deadline, list_kinds(client, &settings.selection, whole, &settings.limits)).await
}

/// Asks a cluster for all its kinds; `whole` where more is watched than some namespaces.
///
/// # Errors
/// When discovery fails.
pub async fn kinds(
    way: &ConnectSettings,
    settings: &ExamineSettings,
    whole: bool,
) -> Result<KindList, Trouble> {
    let deadline = Instant::now() + settings.total;
    let connection = reach(way, deadline).await?;
    list_all(&connection.client(), settings, whole, deadline).await
}

/// Examines a cluster through one connection, by which these namespaces are watched, or all where there are none;
/// changes nothing there.
///
/// # Errors
/// When there is no way to it or no answer from it.
pub async fn examine(
    way: &ConnectSettings,
    namespaces: &[String],
    settings: &ExamineSettings,
    clock: &dyn Clock,
) -> Result<Examination, Trouble> {
    let deadline = Instant::now() + settings.total;
    let connection = reach(way, deadline).await?;
    let client = connection.client();
    let server = in_time(deadline, greet(&client, &settings.limits, clock)).await?;
    let kinds = list_all(&client, settings, namespaces.is_empty(), deadline).await;
    let questions = kinds.as_ref().map(|kinds| questions(kinds, namespaces)).unwrap_or_default();
    let wanted = questions.len();
    let (asked, refusals) = ask_all(&client, questions, &settings.limits, deadline).await;
    let url = connection.url().to_owned();
    Ok(Examination { url, server, kinds, asked, unasked: wanted - asked, refusals })
}

/// Asks the server for its version; one that keeps it to itself is there nonetheless.
async fn greet(client: &kube::Client, limits: &Limits, clock: &dyn Clock) -> Result<Server, Trouble> {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Version {
        git_version: String,
    }
    let before = clock.now();
    let (head, body) = match get_with_head(client, "/version", "application/json", limits).await {
        Ok(answer) => answer,
        Err(Failure::Forbidden(_) | Failure::NotServed(_)) => return Ok(Server::default()),
        Err(failure) => return Err(failure.into()),
    };
    let after = clock.now();
    let date = head.get(http::header::DATE).and_then(|date| date.to_str().ok());
    let text = collect(body, limits.page_bytes, limits.idle).await?;
    let version = serde_json::from_str::<Version>(&text).ok();
    Ok(Server {
        version: version.map(|version| version.git_version),
        ahead_micros: date.and_then(|date| ahead(before, after, date)),
    })
}

/// By how much a server's clock is ahead at least, when it wrote `date` between two moments of ours.
fn ahead(before: Timestamp, after: Timestamp, date: &str) -> Option<i64> {
    // Headers carry whole seconds, so the server's time lies in the second that begins there.
    let begins = chrono::DateTime::parse_from_rfc2822(date).ok()?.timestamp_micros();
    let ends = begins.saturating_add(1_000_000);
    let (before, after) = (before.as_micros(), after.as_micros());
    Some(begins.saturating_sub(after).max(0) + ends.saturating_sub(before).min(0))
}

/// Each followed kind with each place in which it is followed.
fn questions(kinds: &KindList, namespaces: &[String]) -> Vec<(ServedKind, String)> {
    let everywhere = [String::new()];
    let places = if namespaces.is_empty() { &everywhere[..] } else { namespaces };
    let followed = kinds.kinds.iter().filter(|kind| kind.unfollowed.is_none()).map(|kind| &kind.served);
    followed.flat_map(|served| places.iter().map(|place| (served.clone(), place.clone()))).collect()
}

/// Asks until the deadline; returns how many were asked and what was refused.
async fn ask_all(
    client: &kube::Client,
    questions: Vec<(ServedKind, String)>,
    limits: &Limits,
    deadline: Instant,
) -> (usize, Vec<Refusal>) {
    let ask = |(served, namespace): (ServedKind, String)| async move {
        let refused = ask(client, &served.path(&namespace), limits).await.err();
        refused.map(|(verb, failure)| Refusal { served, namespace, verb, trouble: failure.into() })
    };
    let mut answers = stream::iter(questions).map(ask).buffer_unordered(CONCURRENT);
    let (mut asked, mut refusals) = (0, Vec::new());
    while let Ok(Some(answer)) = timeout_at(deadline, answers.next()).await {
        asked += 1;
        refusals.extend(answer);
    }
    let place = |refusal: &Refusal| (refusal.served.kind.clone(), refusal.namespace.clone());
    refusals.sort_by_key(place);
    (asked, refusals)
}

/// Lists one object and, where that is allowed, opens a watch that ends at once.
async fn ask(client: &kube::Client, path: &str, limits: &Limits) -> Result<(), (&'static str, Failure)> {
    let text =
        get_text(client, &format!("{path}?limit=1"), limits).await.map_err(|failure| ("list", failure))?;
    let page = Page::parse(&text).map_err(|failure| ("list", failure))?;
    let version = &page.metadata.resource_version;
    // An odd version is left out rather than escaped: the question is only whether we may ask.
    let plain = version.bytes().all(|b| b.is_ascii_alphanumeric());
    let from = if plain { &**version } else { "" };
    let watch = format!("{path}?watch=1&timeoutSeconds=1&resourceVersion={from}");
    match get(client, &watch, "application/json", limits).await {
        // The objects changed in between: we may watch.
        Ok(_) | Err(Failure::Gone) => Ok(()),
        Err(failure) => Err(("watch", failure)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_compared_to_the_second() {
        const NOON: i64 = 1_763_726_400_000_000;
        let at = |seconds: f64| Timestamp::from_micros(NOON + (seconds * 1e6) as i64);
        let date = "Fri, 21 Nov 2025 12:00:00 GMT";
        let cases = [
            (0.2, 0.3, 0),
            (-1.0, 0.1, 0),
            (0.9, 7.0, 0),
            (-9.0, -8.0, 8_000_000),
            (-0.5, -0.25, 250_000),
            (11.0, 12.0, -10_000_000),
        ];
        for (before, after, expected) in cases {
            assert_eq!(ahead(at(before), at(after), date), Some(expected), "{before} {after}");
        }
        assert_eq!(ahead(at(0.0), at(0.0), "noon"), None);
    }

    #[test]
    fn failures_become_troubles_that_can_be_told_apart() {
        let text = "client error (Connect): invalid peer certificate: UnknownIssuer";
        assert_eq!(
            Trouble::from(Failure::Unreachable(text.to_owned())),
            Trouble::Certificate(text.to_owned())
        );
        let refused = || "connection refused".to_owned();
        assert_eq!(Trouble::from(Failure::Unreachable(refused())), Trouble::Unreachable(refused()));
        let busy = Failure::Busy { message: "500".to_owned(), after: None };
        assert_eq!(Trouble::from(busy), Trouble::Failing("500".to_owned()));
    }
}
