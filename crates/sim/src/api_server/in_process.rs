//! A way to a server without sockets: requests are answered by a call, so that a simulation needs no real time.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::header::DATE;
use hyper::{Request, Response};
use thiserror::Error;

use super::serve::{answer, date};
use super::shared::Shared;

/// The server is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("connection refused")]
pub struct Away;

/// A client's connection; clones share the server.
#[derive(Clone, Debug)]
pub struct InProcess {
    shared: Arc<Shared>,
}

impl InProcess {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        InProcess { shared: Arc::clone(shared) }
    }
}

type Body = UnsyncBoxBody<Bytes, Away>;

impl<B: Send + 'static> tower_service::Service<Request<B>> for InProcess {
    type Response = Response<Body>;
    type Error = Away;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Away>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Away>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let shared = Arc::clone(&self.shared);
        let (parts, _) = request.into_parts();
        Box::pin(async move {
            let mut gone = shared.away.subscribe();
            if *gone.borrow_and_update() {
                return Err(Away);
            }
            let answered = answer(Arc::clone(&shared), Request::from_parts(parts, ()));
            let answer = tokio::select! {
                biased;
                answer = answered => answer,
                _ = gone.wait_for(|away| *away) => return Err(Away),
            };
            let mut answer = answer.map(|body| breaking(body, gone));
            // Over a network the dates of answers are by the machine's own clock, as those of every server on it.
            if let Some(date) = date(&shared) {
                answer.headers_mut().insert(DATE, date);
            }
            Ok(answer)
        })
    }
}

/// A body that breaks off when the server is away.
fn breaking(
    body: UnsyncBoxBody<Bytes, std::convert::Infallible>,
    gone: tokio::sync::watch::Receiver<bool>,
) -> Body {
    let frames = stream::unfold(Some((body.into_data_stream(), gone)), |state| async {
        let (mut body, mut gone) = state?;
        let piece = tokio::select! {
            biased;
            _ = gone.wait_for(|away| *away) => None,
            piece = body.next() => Some(piece),
        };
        let Some(piece) = piece else { return Some((Err(Away), None)) };
        let Ok(piece) = piece?;
        Some((Ok(Frame::data(piece)), Some((body, gone))))
    });
    StreamBody::new(frames).boxed_unsync()
}
