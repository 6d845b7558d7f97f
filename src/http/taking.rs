//! Whether callers send what they began and take what they are answered: who does not is cut, and what an answer takes counts
//! until then.
//!
//! hyper never gives up writing, so the stream watches its own progress. It reads no request ahead of an answer that is not
//! flushed, so that a connection holds one answer at most; a test holds it to that. Its one time-out for heads runs between two
//! requests as well, where silence is what a kept connection is for; so the stream times the heads too.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::load::Account;
use super::places::Rest;

/// A caller that takes less than this within the time that it has does not take its answer.
const STEP: usize = 32 * 1024;

/// What the stream of a connection and the service behind it know of each other; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Taking(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// What the answer under way takes.
    account: Option<Account>,
    /// Requests whose heads were read.
    heads: u64,
    /// Whether a request is under way: from when its head was read until its answer is taken.
    asked: bool,
    /// Whether all of the answer was given to hyper.
    whole: bool,
    /// Tells that the connection does nothing.
    rest: Rest,
}

impl Taking {
    /// That of a connection which tells so when it does nothing.
    pub(super) fn new(rest: Rest) -> Self {
        Taking(Arc::new(Mutex::new(State { rest, ..State::default() })))
    }

    /// The head of a request was read.
    pub(super) fn asked(&self) {
        let mut state = self.lock();
        state.heads += 1;
        state.asked = true;
        state.rest.end();
    }

    fn heads(&self) -> (u64, bool) {
        let state = self.lock();
        (state.heads, state.asked)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An answer is given to hyper; what it takes is taken until the caller has it.
    pub(super) fn answer<B>(&self, body: B, account: Account) -> Answer<B> {
        let mut state = self.lock();
        (state.whole, state.account) = (false, Some(account));
        Answer { body, _end: End(self.clone()) }
    }

    fn flushed(&self) {
        let mut state = self.lock();
        let account = if state.whole { state.account.take() } else { None };
        // What is flushed before the whole answer is there is a part of it, or an interim answer.
        if state.asked && state.whole {
            (state.asked, state.whole) = (false, false);
            state.rest.begin();
        }
        drop(state);
        drop(account);
    }
}

/// A body that tells when hyper has all of it.
#[derive(Debug)]
pub(super) struct Answer<B> {
    body: B,
    _end: End,
}

#[derive(Debug)]
struct End(Taking);

impl Drop for End {
    fn drop(&mut self) {
        self.0.lock().whole = true;
    }
}

impl<B: Body + Unpin> Body for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// How long the other end of a stream may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// For the head of a request, from its first byte; the first request of a connection, from when the connection began.
    pub(super) head: Duration,
    /// For each step of an answer.
    pub(super) step: Duration,
}

/// A stream that fails when its other end does not go on with the head of a request, or does not take what is written.
#[derive(Debug)]
pub(super) struct Watched<S> {
    stream: S,
    taking: Taking,
    patience: Patience,
    /// Heads that were read.
    heads: u64,
    /// Runs while one is being read.
    head: Option<Pin<Box<Sleep>>>,
    /// What was taken since the last step.
    taken: usize,
    /// Runs while something waits to be taken.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<S> Watched<S> {
    /// One whose other end has so long.
    pub(super) fn new(stream: S, taking: Taking, patience: Patience) -> Self {
        let head = Some(Box::pin(sleep(patience.head)));
        Watched { stream, taking, patience, heads: 0, head, taken: 0, deadline: None }
    }

    fn rest(&mut self) {
        (self.taken, self.deadline) = (0, None);
    }

    fn judge(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match written {
            Poll::Ready(Ok(bytes)) => {
                self.taken += bytes;
                if self.taken >= STEP {
                    self.rest();
                }
                Poll::Ready(Ok(bytes))
            }
            Poll::Pending => {
                let patience = self.patience.step;
                let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(patience)));
                ready!(deadline.as_mut().poll(cx));
                Poll::Ready(Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the client does not read the response",
                )))
            }
            error @ Poll::Ready(Err(_)) => error,
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.judge(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.judge(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// hyper flushes when nothing is left in its own buffer.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        self.rest();
        self.taking.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let there = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        let (heads, asked) = self.taking.heads();
        if self.heads != heads {
            (self.heads, self.head) = (heads, None);
        }
        if asked {
            return read;
        }
        let came = buffer.filled().len() > there;
        if came && self.head.is_none() {
            self.head = Some(Box::pin(sleep(self.patience.head)));
        }
        if let (Poll::Pending, Some(head)) = (&read, &mut self.head) {
            ready!(head.as_mut().poll(cx));
            let error = io::Error::new(io::ErrorKind::TimedOut, "the client does not go on with its request");
            return Poll::Ready(Err(error));
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicU32, Ordering};

    use bytes::Bytes;
    use http_body_util::Full;
    use hyper::server::conn::http1;
    use hyper::service::service_fn;
    use hyper_util::rt::{TokioIo, TokioTimer};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const PATIENCE: Patience = Patience { head: Duration::from_secs(5), step: Duration::from_secs(10) };

    #[tokio::test(start_paused = true)]
    async fn who_takes_nothing_is_cut_and_who_takes_slowly_is_not() {
        for (taken, seconds, cut) in [(0, 1, true), (1, 9, true), (STEP, 9, false), (STEP / 2, 4, false)] {
            let (ours, mut theirs) = tokio::io::duplex(STEP);
            let mut stream = Watched::new(ours, Taking::default(), PATIENCE);
            let reads = tokio::spawn(async move {
                let mut buffer = vec![0; taken];
                loop {
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    if taken > 0 && theirs.read_exact(&mut buffer).await.is_err() {
                        return;
                    }
                }
            });
            let written = stream.write_all(&vec![0; 10 * STEP]).await;
            assert_eq!(
                written.map_err(|error| error.kind()).err(),
                cut.then_some(io::ErrorKind::TimedOut),
                "{taken}"
            );
            reads.abort();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_answered_ahead_of_an_answer_that_is_not_taken() {
        let (ours, mut theirs) = tokio::io::duplex(STEP);
        let (taking, answered) = (Taking::default(), AtomicU32::new(0));
        let stream = Watched::new(ours, taking.clone(), PATIENCE);
        let service = service_fn(|_| async {
            taking.asked();
            answered.fetch_add(1, Ordering::Relaxed);
            let body = Full::new(Bytes::from(vec![0; 2 * STEP]));
            Ok::<_, Infallible>(http::Response::new(taking.answer(body, Account::default())))
        });
        let request = "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
        theirs.write_all(request.repeat(20).as_bytes()).await.expect("sent");
        let ended = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        assert!(ended.is_err(), "who takes nothing is cut");
        assert_eq!(answered.load(Ordering::Relaxed), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_has_its_time_from_its_first_byte_and_silence_between_two_has_more() {
        let (half, whole) = ("GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
        let minute = Duration::from_secs(60);
        // What is sent after so much silence, and how long the connection lasts after that.
        let cases: [(&[(Duration, &str)], Duration); 5] = [
            (&[], PATIENCE.head),
            (&[(Duration::ZERO, half)], PATIENCE.head),
            (&[(Duration::ZERO, whole), (minute, half)], PATIENCE.head),
            (&[(Duration::ZERO, whole), (minute, "G"), (PATIENCE.head / 2, "E")], PATIENCE.head / 2),
            (&[(Duration::ZERO, whole), (minute, whole), (minute, whole)], 2 * minute),
        ];
        for (sent, lasts) in cases {
            let (ours, mut theirs) = tokio::io::duplex(STEP);
            let taking = Taking::default();
            let stream = Watched::new(ours, taking.clone(), PATIENCE);
            let connection = tokio::spawn(async move {
                let service = service_fn(|_| async {
                    taking.asked();
                    let body = Full::new(Bytes::from_static(b"ok"));
                    Ok::<_, Infallible>(http::Response::new(taking.answer(body, Account::default())))
                });
                let mut http = http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(2 * minute);
                let _ = http.serve_connection(TokioIo::new(stream), service).await;
            });
            for (silence, text) in sent {
                tokio::time::sleep(*silence).await;
                theirs.write_all(text.as_bytes()).await.expect("it is still open");
            }
            let quiet = tokio::time::Instant::now();
            let mut answers = String::new();
            theirs.read_to_string(&mut answers).await.expect("read until it is closed");
            assert_eq!(quiet.elapsed().as_secs(), lasts.as_secs(), "{sent:?}");
            let heads = sent.iter().filter(|(_, text)| *text == whole).count();
            assert_eq!(answers.matches("200 OK").count(), heads, "{answers}");
            connection.await.expect("it ends");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_between_two_answers_does_not_count() {
        let (ours, mut theirs) = tokio::io::duplex(STEP);
        let mut stream = Watched::new(ours, Taking::default(), PATIENCE);
        let reads = tokio::spawn(async move {
            let mut buffer = [0; 1024];
            loop {
                tokio::time::sleep(Duration::from_millis(100)).await;
                if theirs.read(&mut buffer).await.is_ok_and(|read| read == 0) {
                    return;
                }
            }
        });
        for _ in 0..5 {
            stream.write_all(&vec![0; STEP + 1]).await.expect("taken");
            stream.flush().await.expect("flushed");
            tokio::time::sleep(3 * PATIENCE.step).await;
        }
        drop(stream);
        reads.await.expect("it ends");
    }
}
