//! Answers that were given, for callers who ask the same again before anything changes: dashboards that many people keep open.
//!
//! An answer is kept for its caller, path and query as long as the [`Stamp`] of the record stays the same, a second at most.
//! With another stamp all of them go at once, so nothing has to be taken out one by one. A read that is answered from here
//! was authenticated, audited and counted before, like any other.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

use super::caller::Caller;
use super::compress::Forms;
use super::context::Context;
use super::respond::{self, Chosen, Response, Tagged};
use strandline_query::Stamp;

/// The most bytes of answers that are kept unless another number is given, with their compressed forms and their addresses.
const BYTES_MAX: usize = 8 * 1024 * 1024;

/// The largest answer that is kept, so that a few do not take all the room. The graph of a thousand resources is smaller.
const ANSWER_BYTES_MAX: usize = 512 * 1024;

/// What an entry takes besides its answer and its address.
const ENTRY_BYTES: usize = 512;

/// The answers that are kept; clones share them.
#[derive(Clone)]
pub struct AnswerCache {
    kept: Arc<Mutex<Kept>>,
    bytes_max: usize,
}

impl Default for AnswerCache {
    fn default() -> Self {
        AnswerCache::new(BYTES_MAX)
    }
}

#[derive(Default)]
struct Kept {
    stamp: Option<Stamp>,
    /// By caller and address.
    answers: HashMap<(Arc<Caller>, String), Arc<Answer>>,
    bytes: usize,
}

struct Answer {
    headers: HeaderMap,
    body: Bytes,
    tag: HeaderValue,
    /// The answer as it was compressed; all forms together are no larger than it.
    forms: Forms,
    /// Whether a parameter of the address chose its media type, whatever is accepted.
    chosen: Option<Chosen>,
}

/// The place of an answer: to one question of one caller, under one stamp.
pub(super) struct Place {
    cache: AnswerCache,
    stamp: Stamp,
    key: (Arc<Caller>, String),
}

impl AnswerCache {
    /// Keeps so many bytes at most, with the compressed forms of answers and their addresses.
    pub fn new(bytes_max: usize) -> Self {
        AnswerCache { kept: Arc::default(), bytes_max }
    }

    /// The place of the answer to what this caller asks for, as it was sent.
    pub(super) fn place(self, stamp: Stamp, caller: &Arc<Caller>, context: &Context) -> Place {
        let address = format!("{}?{}", context.path, context.query);
        Place { cache: self, stamp, key: (Arc::clone(caller), address) }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // Nothing that can panic runs under this lock.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The answer, if it was given before.
    pub(super) fn get(&self, context: &Context) -> Option<Response> {
        let kept = self.cache.lock();
        let answer =
            kept.answers.get(&self.key).filter(|_| kept.stamp.as_ref() == Some(&self.stamp)).cloned()?;
        // Copying headers needs no lock.
        drop(kept);
        Some(answer.respond(context))
    }

    /// Keeps the answer, if it is one that can be kept and there is room.
    pub(super) fn put(self, response: &Response) {
        let Some(answer) = Answer::of(response).filter(|answer| answer.body.len() <= ANSWER_BYTES_MAX) else {
            return;
        };
        let Place { cache, stamp, key } = self;
        let bytes = 2 * answer.body.len() + key.1.len() + ENTRY_BYTES;
        let mut kept = cache.lock();
        if kept.stamp.as_ref() != Some(&stamp) {
            *kept = Kept { stamp: Some(stamp), ..Kept::default() };
        }
        if kept.bytes + bytes > cache.bytes_max {
            return;
        }
        if kept.answers.insert(key, Arc::new(answer)).is_none() {
            kept.bytes += bytes;
        }
    }
}

impl fmt::Debug for AnswerCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kept = self.lock();
        f.debug_struct("AnswerCache").field("answers", &kept.answers.len()).finish_non_exhaustive()
    }
}

impl Answer {
    /// Of a response with an entity tag, be it in full or "not modified".
    fn of(response: &Response) -> Option<Self> {
        if !matches!(response.status(), StatusCode::OK | StatusCode::NOT_MODIFIED) {
            return None;
        }
        let Tagged { content_type, body, tag, forms } = response.extensions().get()?;
        let mut headers = response.headers().clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        let chosen = response.extensions().get().copied();
        Some(Answer { headers, body: body.clone(), tag: tag.clone(), forms: forms.clone(), chosen })
    }

    fn respond(&self, context: &Context) -> Response {
        let (headers, body) = (self.headers.clone(), self.body.clone());
        let mut response = respond::conditional(context, &self.tag, headers, body);
        response.extensions_mut().insert(self.forms.clone());
        if let Some(chosen) = self.chosen {
            response.extensions_mut().insert(chosen);
        }
        response
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;
    use http::Method;
    use http::header::{ETAG, IF_NONE_MATCH, LINK};
    use http_body_util::BodyExt;
    use strandline_model::Timestamp;

    fn stamp(second: i64) -> Stamp {
        let queries = crate::api::tests::state(true).queries;
        queries.stamp(Timestamp::from_micros(second * 1_000_000)).unwrap()
    }

    fn context(query: &str, headers: HeaderMap) -> Context {
        Context { query: query.to_owned(), ..Context::new(Method::GET, "/things", headers) }
    }

    fn asking(query: &str) -> Context {
        context(query, HeaderMap::new())
    }

    fn caller(name: &str) -> Arc<Caller> {
        Arc::new(Caller { name: name.to_owned(), ..Caller::local() })
    }

    impl AnswerCache {
        fn get(&self, stamp: &Stamp, caller: &Arc<Caller>, context: &Context) -> Option<Response> {
            self.clone().place(stamp.clone(), caller, context).get(context)
        }

        fn put(&self, stamp: &Stamp, caller: &Arc<Caller>, context: &Context, response: &Response) {
            self.clone().place(stamp.clone(), caller, context).put(response);
        }
    }

    async fn text(response: Response) -> String {
        String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().into()).unwrap()
    }

    #[test]
    fn what_a_parameter_chose_is_chosen_again() {
        let (cache, of, asked) = (AnswerCache::default(), caller("one"), asking("format=csv"));
        let plain = respond::tagged(&asked, "text/csv", b"a".to_vec());
        cache.put(&stamp(1), &of, &asked, &respond::chosen(plain));
        let again = cache.get(&stamp(1), &of, &asked).unwrap();
        assert_eq!(again.extensions().get::<Chosen>().copied(), Some(Chosen));
    }

    #[tokio::test]
    async fn an_answer_is_given_again_to_its_caller_for_its_address_under_its_stamp() {
        let (cache, of, asked) = (AnswerCache::default(), caller("one"), asking("a=1"));
        let mut given = respond::tagged(&asked, "application/json", b"[1]".to_vec());
        given.headers_mut().insert(LINK, HeaderValue::from_static("<next>"));
        cache.put(&stamp(1), &of, &asked, &given);
        // Another value that is the same caller, as the next request has it.
        let again = cache.get(&stamp(1), &caller("one"), &asking("a=1")).unwrap();
        assert_eq!((again.status(), again.headers()), (StatusCode::OK, given.headers()));
        assert_eq!(text(again).await, "[1]");
        for (stamp, of, asked) in [
            (stamp(2), caller("one"), asking("a=1")),
            (stamp(1), caller("two"), asking("a=1")),
            (stamp(1), caller("one"), asking("a=2")),
            (stamp(1), caller("one"), asking("")),
        ] {
            assert!(cache.get(&stamp, &of, &asked).is_none(), "{of:?} {asked:?}");
        }
        let other = respond::tagged(&asked, "application/json", b"[2]".to_vec());
        cache.put(&stamp(2), &of, &asked, &other);
        assert!(cache.get(&stamp(1), &of, &asked).is_none(), "what is over is let go of");
    }

    #[tokio::test]
    async fn who_holds_an_answer_is_told_so_and_what_was_not_modified_is_kept_in_full() {
        let (cache, of, asked) = (AnswerCache::default(), caller("one"), asking(""));
        let tag = respond::tagged(&asked, "application/json", b"[1]".to_vec()).headers()[ETAG].clone();
        let held = context("", HeaderMap::from_iter([(IF_NONE_MATCH, tag)]));
        let unmodified = respond::tagged(&held, "application/json", b"[1]".to_vec());
        assert_eq!(unmodified.status(), StatusCode::NOT_MODIFIED);
        cache.put(&stamp(1), &of, &held, &unmodified);
        let again = cache.get(&stamp(1), &of, &held).unwrap();
        assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
        assert!(again.headers().get(CONTENT_TYPE).is_none());
        assert_eq!(text(again).await, "");
        let whole = cache.get(&stamp(1), &of, &asked).unwrap();
        assert_eq!(
            (whole.headers()[CONTENT_TYPE].clone(), whole.status()),
            ("application/json".parse().unwrap(), StatusCode::OK)
        );
        assert_eq!(text(whole).await, "[1]");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let (cache, of) = (AnswerCache::default(), caller("one"));
        let large = |bytes: usize| respond::tagged(&asking(""), "application/json", vec![b'1'; bytes]);
        cache.put(&stamp(1), &of, &asking(""), &large(ANSWER_BYTES_MAX + 1));
        assert!(cache.get(&stamp(1), &of, &asking("")).is_none(), "too large");
        let untagged = respond::uncached(StatusCode::OK, "application/json", b"1".to_vec());
        cache.put(&stamp(1), &of, &asking(""), &untagged);
        assert!(cache.get(&stamp(1), &of, &asking("")).is_none(), "not for any cache");
        let most = BYTES_MAX / (2 * ANSWER_BYTES_MAX);
        for n in 0..=most {
            cache.put(&stamp(1), &of, &asking(&n.to_string()), &large(ANSWER_BYTES_MAX));
        }
        assert!(cache.get(&stamp(1), &of, &asking("0")).is_some());
        let last = asking(&most.to_string());
        assert!(cache.get(&stamp(1), &of, &last).is_none(), "no more room");
        cache.put(&stamp(2), &of, &last, &large(ANSWER_BYTES_MAX));
        assert!(cache.get(&stamp(2), &of, &last).is_some(), "room again under another stamp");
    }
}
