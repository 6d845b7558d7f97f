//! A server with a script, and a log that only remembers.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, future, stream};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::{ClusterAccess, ClusterConnection, ClusterSettings, ConnectSettings, Limits, Sink, connect};
use strandline_log::{
    Agreement, AppendError, Appended, Batch, Begin, Epoch, Identified, LiveObject, LivePage, LivePosition,
    Observed, Phase, Session,
};
use strandline_model::{CoverageMark, CoverageState, Offset, ResourceVersion, Timestamp, Uid, WatchKey};
use strandline_redact::Rules;

/// What the server answers.
pub(super) enum Reply {
    /// A whole answer.
    Whole(u16, String),
    /// A whole answer whose text is kept back until this is cancelled.
    Gated(CancellationToken, String),
    /// A watch that sends this and ends.
    Closing(Vec<String>),
    /// A watch that sends this and stays open.
    Open(Vec<String>),
    /// A watch that sends this and breaks off.
    Breaking(Vec<String>),
}

/// Why a stream broke off.
#[derive(Debug, thiserror::Error)]
#[error("broken off")]
struct Broken;

type Body = UnsyncBoxBody<Bytes, Broken>;

fn answer(reply: Reply) -> Response<Body> {
    let (status, texts) = match &reply {
        Reply::Whole(status, text) => (*status, vec![text.clone()]),
        Reply::Gated(_, text) => (200, vec![text.clone()]),
        Reply::Closing(texts) | Reply::Open(texts) | Reply::Breaking(texts) => (200, texts.clone()),
    };
    let pieces = stream::iter(texts).map(|text| Ok(Frame::data(Bytes::from(text))));
    let body = match reply {
        Reply::Open(_) => StreamBody::new(pieces.chain(stream::pending())).boxed_unsync(),
        Reply::Gated(gate, _) => {
            let opened = gate.cancelled_owned().map(|()| stream::empty());
            StreamBody::new(opened.flatten_stream().chain(pieces)).boxed_unsync()
        }
        // What was sent before must arrive, so the break waits for its turn.
        Reply::Breaking(_) => {
            let broken = stream::once(async {
                tokio::time::sleep(Duration::from_millis(50)).await;
                Err(Broken)
            });
            StreamBody::new(pieces.chain(broken)).boxed_unsync()
        }
        Reply::Whole(..) | Reply::Closing(_) => StreamBody::new(pieces).boxed_unsync(),
    };
    Response::builder().status(status).body(body).unwrap()
}

/// A server that answers each request as its script says; the number counts requests from zero.
pub(super) struct Server {
    pub(super) connection: ClusterConnection,
    requests: Arc<Mutex<Vec<String>>>,
    _accepting: AbortOnDropHandle<()>,
}

impl Server {
    pub(super) async fn start(script: impl Fn(&str, usize) -> Reply + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let (seen, script) = (Arc::clone(&requests), Arc::new(script));
        let accepting = AbortOnDropHandle::new(tokio::spawn(async move {
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, script) = (Arc::clone(&seen), Arc::clone(&script));
                let service = service_fn(move |request: Request<_>| {
                    let _: &hyper::body::Incoming = request.body();
                    let path = request.uri().to_string();
                    let number = {
                        let mut seen = seen.lock().unwrap();
                        seen.push(path.clone());
                        seen.len() - 1
                    };
                    future::ready(Ok::<_, Infallible>(answer(script(&path, number))))
                });
                connections.spawn(
                    hyper::server::conn::http1::Builder::new()
                        // Clocks are moved by hand here, so that a real date would be one that is wrong.
                        .auto_date_header(false)
                        .serve_connection(TokioIo::new(stream), service),
                );
            }
        }));
        let settings = ConnectSettings::new(ClusterAccess::Url(format!("http://{address}")));
        Server { connection: connect(&settings).await.unwrap(), requests, _accepting: accepting }
    }

    /// The requests so far, without their host.
    pub(super) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }

    pub(super) fn lists(&self) -> usize {
        self.requests().iter().filter(|path| path.contains("limit=")).count()
    }

    pub(super) fn watches(&self) -> Vec<String> {
        self.requests().into_iter().filter(|path| path.contains("watch=1")).collect()
    }
}

/// An object as a cluster writes it.
pub(super) fn object(name: &str, version: u64) -> String {
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"n","uid":"u-{name}","resourceVersion":"{version}"}}}}"#
    )
}

/// A page of a list.
pub(super) fn page(version: u64, token: &str, names: &[&str]) -> Reply {
    let items: Vec<String> = names.iter().map(|name| object(name, version)).collect();
    let text = format!(
        r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"{version}","continue":"{token}"}},"items":[{}]}}"#,
        items.join(",")
    );
    Reply::Whole(200, text)
}

/// A line of a watch.
pub(super) fn event(kind: &str, object: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"object\":{object}}}\n")
}

pub(super) fn bookmark(version: u64) -> String {
    event("BOOKMARK", &format!(r#"{{"kind":"Pod","metadata":{{"resourceVersion":"{version}"}}}}"#))
}

pub(super) fn status(code: u16) -> String {
    format!(r#"{{"kind":"Status","status":"Failure","code":{code},"message":"scripted"}}"#)
}

/// Remembers what it is given.
#[derive(Clone, Default)]
pub(super) struct Recorder(Arc<Mutex<Recorded>>);

#[derive(Default)]
pub(super) struct Recorded {
    /// One word for each thing given, in order.
    pub(super) story: Vec<String>,
    pub(super) marks: Vec<CoverageMark>,
    /// The same with those of first lists that are not complete.
    pub(super) all_marks: Vec<CoverageMark>,
    pub(super) bodies: Vec<String>,
    /// Where every watch resumes when it begins.
    pub(super) stored: Option<String>,
    /// The cursor that was appended last.
    pub(super) cursor: Option<String>,
    pub(super) last_seen: Option<Timestamp>,
    /// What earlier runs left.
    pub(super) left: Vec<(WatchKey, Option<Timestamp>)>,
    identity: Option<String>,
    /// What is alive: name, with its resourceVersion.
    pub(super) live: Vec<(&'static str, u64)>,
    pub(super) verified_at: Option<Timestamp>,
    pub(super) unverified_since: Option<Timestamp>,
    /// How often a doubt was recorded.
    pub(super) doubts: u32,
    /// What the last run was to know of missing changes.
    pub(super) since: Option<Timestamp>,
    epochs: BTreeMap<WatchKey, i64>,
    /// The served version and the definition under which each watch last began.
    pub(super) shapes: BTreeMap<WatchKey, (Option<String>, Option<String>)>,
    /// What the next append answers.
    pub(super) refuse: Option<AppendError>,
    /// What the next run that forgets its cursor answers.
    pub(super) refuse_fresh: Option<AppendError>,
    /// What panics once: `append` or `identify`.
    pub(super) breaks: Option<&'static str>,
    /// No mark is ever answered, as while there is no room on the disk.
    pub(super) full: bool,
}

impl Recorder {
    pub(super) fn with<T>(&self, read: impl FnOnce(&mut Recorded) -> T) -> T {
        read(&mut self.0.lock().unwrap())
    }

    pub(super) fn story(&self) -> Vec<String> {
        self.with(|recorded| recorded.story.clone())
    }

    /// What was said of the discovery of kinds.
    pub(super) fn discovery(&self) -> Vec<String> {
        self.story().into_iter().filter(|said| said.starts_with("discovery ")).collect()
    }

    /// Waits until something is so.
    pub(super) async fn until(&self, what: &str, so: impl Fn(&Recorded) -> bool) {
        for _ in 0..24_000 {
            if self.with(|recorded| so(recorded)) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        panic!("never: {what}; {:?}", self.story());
    }

    pub(super) async fn until_recorded(&self, word: &str) {
        self.until(word, |recorded| recorded.story.iter().any(|entry| entry == word)).await;
    }

    fn break_down(&self, at: &str) {
        let breaks = self.with(|recorded| recorded.breaks.take_if(|breaks| *breaks == at).is_some());
        assert!(!breaks, "scripted");
    }

    fn done() -> Appended {
        Appended { head: Offset::new(1), written: 1, ..Appended::default() }
    }
}

impl Sink for Recorder {
    async fn begin(&self, begin: Begin) -> Result<Session, AppendError> {
        let Begin { watch, fresh, since, served_version, definition, .. } = begin;
        self.with(|recorded| {
            if let Some(error) = recorded.refuse_fresh.take_if(|_| fresh) {
                recorded.story.push("refused".to_owned());
                return Err(error);
            }
            let shape = recorded.shapes.entry(watch.clone()).or_default();
            let changed =
                |was: &Option<String>, is: &Option<String>| was.is_some() && is.is_some() && was != is;
            let reshaped = changed(&shape.0, &served_version) || changed(&shape.1, &definition);
            let (served, defined) = (served_version.or(shape.0.take()), definition.or(shape.1.take()));
            *shape = (served, defined);
            let fresh = fresh || reshaped;
            recorded.story.push(if fresh { "begin fresh".to_owned() } else { "begin".to_owned() });
            recorded.since = since;
            let epoch = recorded.epochs.entry(watch).or_default();
            *epoch += 1;
            let epoch = Epoch(*epoch);
            let cursor = recorded.cursor.as_ref().or(recorded.stored.as_ref()).filter(|_| !fresh);
            Ok(Session {
                epoch,
                cursor: cursor.map(ResourceVersion::new),
                newest: None,
                last_seen: recorded.last_seen,
                verified_at: recorded.verified_at,
                unverified_since: recorded.unverified_since,
            })
        })
    }

    async fn append(&self, batch: Batch) -> Result<Appended, AppendError> {
        // A real log answers after a commit, so that others get their turn.
        tokio::task::yield_now().await;
        self.break_down("append");
        self.with(|recorded| {
            if let Some(error) = recorded.refuse.take() {
                return Err(error);
            }
            assert_eq!(Some(&batch.epoch.0), recorded.epochs.get(&batch.watch), "written into the right run");
            for observed in batch.observed {
                recorded.story.push(match observed {
                    Observed::Applied(object) => {
                        recorded.bodies.push(object.body);
                        format!("{}@{}", object.name, object.resource_version)
                    }
                    Observed::Unreadable { name, .. } => format!("?{name}"),
                    Observed::Deleted { name, resource_version, .. } => format!("-{name}@{resource_version}"),
                });
            }
            let phase = match batch.phase {
                Phase::ListPage => "page".to_owned(),
                Phase::PartialListEnd => format!("partial end {}", batch.cursor.as_ref().unwrap()),
                Phase::ListEnd => format!("end {}", batch.cursor.as_ref().unwrap()),
                Phase::Watch | Phase::UpToDate | Phase::Confirmed(_) => {
                    format!("to {}", batch.cursor.as_ref().unwrap())
                }
            };
            recorded.story.push(phase);
            if let Some(cursor) = batch.cursor {
                recorded.cursor = Some(cursor.to_string());
            }
            // What a list shows the log is taken to hold.
            let written = if batch.phase == Phase::ListPage { 0 } else { Recorder::done().written };
            Ok(Appended { written, ..Recorder::done() })
        })
    }

    async fn mark(&self, mark: CoverageMark) -> Result<Appended, AppendError> {
        if self.with(|recorded| recorded.full) {
            self.with(|recorded| recorded.story.push("waits".to_owned()));
            return future::pending().await;
        }
        self.with(|recorded| recorded.all_marks.push(mark.clone()));
        // That a first list is not complete yet is how every story here begins.
        if mark.reason == "listing" {
            return Ok(Recorder::done());
        }
        self.with(|recorded| {
            let word = match mark.state {
                CoverageState::Watched if mark.nothing_missed => "watched, nothing missed".to_owned(),
                CoverageState::Watched => "watched".to_owned(),
                CoverageState::Gap if mark.until.is_some() => format!("closed gap {}", mark.reason),
                CoverageState::Gap => format!("gap {}", mark.reason),
                CoverageState::Excluded => format!("not followed {}", mark.reason),
            };
            recorded.story.push(if mark.watch.kind.kind.is_empty() {
                format!("discovery {word}")
            } else {
                word
            });
            recorded.marks.push(mark);
            Ok(Recorder::done())
        })
    }

    async fn dismiss(&self, mark: CoverageMark, unfollow: bool) -> Result<Appended, AppendError> {
        self.with(|recorded| {
            recorded.left.retain(|(watch, _)| *watch != mark.watch);
            let ended = if unfollow { " for good" } else { "" };
            recorded.story.push(format!("dismissed {}{ended}", mark.watch));
        });
        self.mark(mark).await
    }

    async fn identify(&self, _: &str, uid: &str) -> Result<Identified, AppendError> {
        self.break_down("identify");
        self.with(|recorded| {
            let known = recorded.identity.replace(uid.to_owned());
            let same = known.is_none_or(|known| known == uid);
            if !same {
                recorded.story.push("replaced".to_owned());
                recorded.cursor = None;
            }
            Ok(if same { Identified::Known } else { Identified::Replaced })
        })
    }

    async fn watches(&self, _: &str) -> Result<Vec<(WatchKey, Option<Timestamp>)>, AppendError> {
        self.with(|recorded| Ok(recorded.left.clone()))
    }

    async fn live_objects(&self, _: &WatchKey, _: LivePosition, _: usize) -> Result<LivePage, AppendError> {
        let live = |(name, version): &(&str, u64)| LiveObject {
            namespace: "n".into(),
            name: (*name).into(),
            uid: Uid::new(format!("u-{name}")),
            resource_version: ResourceVersion::new(version.to_string()),
        };
        let objects = self.with(|recorded| recorded.live.iter().map(live).collect());
        Ok(LivePage { objects, next: None })
    }

    async fn agreement(&self, _: &WatchKey, _: Epoch, agreement: Agreement) -> Result<(), AppendError> {
        self.with(|recorded| match agreement {
            Agreement::Verified(_) => recorded.story.push("verified".to_owned()),
            Agreement::InDoubt(_) => recorded.doubts += 1,
        });
        Ok(())
    }

    async fn define(&self, watch: WatchKey, definition: String) -> Result<bool, AppendError> {
        self.with(|recorded| {
            let kept = &mut recorded.shapes.entry(watch).or_default().1;
            let same = kept.as_ref().is_none_or(|kept| *kept == definition);
            if same {
                *kept = Some(definition);
            }
            Ok(same)
        })
    }
}

/// Settings with waits so short that no test waits for them.
pub(super) fn settings() -> ClusterSettings {
    let milli = Duration::from_millis;
    ClusterSettings {
        limits: Limits {
            page_objects: 2,
            backoff_least: milli(2),
            backoff_most: milli(20),
            pace: milli(2),
            linger: milli(1),
            retirement_delay: milli(30),
            removal: Duration::from_secs(3600),
            gather: milli(5),
            streaming_silence: milli(200),
            ..Limits::default()
        },
        rediscover: milli(20),
        // Most scripts here know pages only.
        streaming_lists: false,
        ..ClusterSettings::new("c", Arc::new(Rules::new([1; 32])))
    }
}

/// Cancels when the test is over.
pub(super) fn cancelled_at_the_end() -> (CancellationToken, tokio_util::sync::DropGuard) {
    let cancel = CancellationToken::new();
    (cancel.clone(), cancel.drop_guard())
}
