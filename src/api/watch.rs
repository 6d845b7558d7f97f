//! `/api/v1/watch`, and lists with `watch=true`: what changes in a list, as Server-Sent Events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::poll_fn;
use http::Method;
use http::header::{CACHE_CONTROL, HeaderName, HeaderValue};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};
use warp::Reply;
use warp::sse::Event;

use crate::app::watch::{Ended, Position, WatchEvent, WatchedList, Watching};
use crate::app::{AppState, selection};
use crate::http::auth::{self, Gate};
use crate::http::caller::Caller;
use crate::http::context::Context;
use crate::http::params::{AT, CONTINUE, FROM, LIMIT, ORDER, ParameterReader, TIMEOUT, WATCH};
use crate::http::problem::{ParameterError, Problem, ProblemCode};
use crate::http::request::Request;
use crate::http::respond::{self, Response};
use strandline_model::{At, EnvironmentFilter, Offset};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Keeps proxies from gathering what is sent.
const X_ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// How often a stream says where it is, and whether its caller may still see it is looked at.
const BOOKMARK: Duration = Duration::from_secs(10);

/// The longest time after which a stream can be asked to end.
const TIMEOUT_MAX: Duration = Duration::from_secs(7 * 86_400);

/// Events that wait for the connection to take them; more wait in the feed.
const WAITING: usize = 1;

/// How a stream is asked for.
pub(super) struct Opening {
    from: Option<At>,
    timeout: Option<Duration>,
}

impl Opening {
    fn read(read: &mut ParameterReader<'_>) -> Self {
        Opening { from: read.moment(FROM), timeout: read.duration(TIMEOUT, TIMEOUT_MAX) }
    }
}

/// What changes in the list of environments.
pub(super) async fn watch(state: AppState, request: Request) -> Result<Response, Problem> {
    let mut read = request.query.reader();
    let filter = selection::filter(&mut read, &EnvironmentFilter::default()).in_use_by_default();
    let opening = Opening::read(&mut read);
    read.finish()?;
    open(state, request, WatchedList::Environments(filter), opening).await
}

/// How the stream of a list is asked for; none where the list itself is.
pub(super) fn asked(read: &mut ParameterReader<'_>) -> Option<Opening> {
    if !read.flag(WATCH) {
        for parameter in [FROM, TIMEOUT] {
            if read.text(parameter).is_some() {
                read.refuse(parameter, "only a stream takes it; add `watch=true`".to_owned());
            }
        }
        return None;
    }
    for (parameter, why) in [
        (AT, "a stream has no single point in time; say with `from` where it begins"),
        (LIMIT, "a stream has no pages; narrow the filter"),
        (CONTINUE, "a stream has no pages; send its last `id` as `Last-Event-ID` to go on with it"),
        (ORDER, "a stream sends changes as they happen, in no other order"),
    ] {
        if read.text(parameter).is_some() {
            read.refuse(parameter, format!("cannot be combined with `watch=true`: {why}"));
        }
    }
    Some(Opening::read(read))
}

/// Opens the stream of a list.
pub(super) async fn open(
    state: AppState,
    request: Request,
    list: WatchedList,
    Opening { from, timeout }: Opening,
) -> Result<Response, Problem> {
    let scope = auth::scope(&request)?;
    let from = match last_event_id(&request.context)? {
        Some(position) => Some(position),
        None => begin(&state, from).await?,
    };
    let watching = state.watch.join(&state.queries, &scope, &list, from.as_ref()).await?;
    request.context.account.become_stream()?;
    let (sender, mut receiver) = mpsc::channel::<Event>(WAITING);
    if request.context.method != Method::HEAD {
        let (context, caller) = (request.context, request.caller);
        let stream = Stream { state, context, caller, watching, sender };
        tokio::spawn(stream.run(timeout));
    }
    let events = poll_fn(move |cx| receiver.poll_recv(cx).map(|event| event.map(Ok::<_, Infallible>)));
    let mut response = warp::sse::reply(events).into_response();
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_ACCEL_BUFFERING, HeaderValue::from_static("no"));
    Ok(response)
}

/// Where a stream goes on that broke off.
fn last_event_id(context: &Context) -> Result<Option<Position>, Problem> {
    let Some(id) = context.headers.get(LAST_EVENT_ID) else { return Ok(None) };
    let read = id.to_str().map_err(|_| "is no text".to_owned()).and_then(str::parse);
    read.map(Some).map_err(|detail| {
        Problem::parameters(vec![ParameterError { parameter: "Last-Event-ID".to_owned(), detail }])
    })
}

/// Where a stream begins: at an offset, or at the one that a time stands for.
async fn begin(state: &AppState, from: Option<At>) -> Result<Option<Position>, Problem> {
    let offset = match from {
        None | Some(At::Now) => return Ok(None),
        Some(At::Offset(offset)) => offset,
        Some(time) => state.queries.offset_of(time).await?,
    };
    Ok(Some(Position::at(offset)))
}

/// A stream that somebody reads.
struct Stream {
    state: AppState,
    context: Arc<Context>,
    caller: Arc<Caller>,
    watching: Watching,
    sender: mpsc::Sender<Event>,
}

/// That a stream has ended.
struct Over;

impl Stream {
    /// Until the reader is gone, may not see it any more, or is too slow, the time is over, or the server stops.
    async fn run(mut self, timeout: Option<Duration>) {
        let stopping = self.state.watch.stopping().clone();
        let _ = stopping.run_until_cancelled(self.send_all(timeout)).await;
    }

    async fn send_all(&mut self, timeout: Option<Duration>) -> Result<(), Over> {
        let missed = Arc::clone(&self.watching.missed);
        self.send_round(&missed).await?;
        self.send_bookmark().await?;
        let end = sleep(timeout.unwrap_or(Duration::MAX));
        tokio::pin!(end);
        let mut bookmarks = interval_at(Instant::now() + BOOKMARK, BOOKMARK);
        bookmarks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.sender.closed() => return Err(Over),
                () = &mut end => return Ok(()),
                round = self.watching.next() => {
                    self.check_access().await?;
                    match round {
                        Ok(events) => self.send_round(&events).await?,
                        Err(ended) => return self.send_reset(ended).await,
                    }
                }
                _ = bookmarks.tick() => {
                    self.check_access().await?;
                    self.watching.catch_up();
                    self.send_bookmark().await?;
                }
            }
        }
    }

    /// Ends the stream where its token ended, or where its rights are others by now.
    async fn check_access(&self) -> Result<(), Over> {
        match self.state.access.caller(&self.context).await {
            Ok(caller) if caller == self.caller => Ok(()),
            _ => Err(Over),
        }
    }

    async fn send(&self, event: Event) -> Result<(), Over> {
        self.sender.send(event).await.map_err(|_| Over)
    }

    async fn send_round(&self, events: &[WatchEvent]) -> Result<(), Over> {
        for event in events {
            let id = event.position.to_string();
            let sent = Event::default().event(event.name).data(&*event.data);
            // An id that no header can hold is left out: the one before it goes on a little earlier.
            let plain = id.bytes().all(|b| b.is_ascii_graphic());
            self.send(if plain { sent.id(id) } else { sent }).await?;
        }
        Ok(())
    }

    async fn send_bookmark(&self) -> Result<(), Over> {
        let offset: Offset = self.watching.reached;
        let data = format!("{{\"offset\":{offset}}}");
        self.send(Event::default().event("bookmark").id(offset.to_string()).data(data)).await
    }

    async fn send_reset(&self, ended: Ended) -> Result<(), Over> {
        let detail = match ended {
            Ended::TooSlow => {
                "more happened than the stream took; list again, and watch from the offset of the list"
            }
            Ended::Closed => "the list cannot be watched any more; list again",
        };
        let problem = respond::document(Problem::new(ProblemCode::StreamReset, detail), &self.context);
        let data = serde_json::to_string(&problem).unwrap_or_default();
        self.send(Event::default().event("reset").data(data)).await
    }
}
