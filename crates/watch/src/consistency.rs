//! Compares what is recorded as alive with what the cluster has, which finds what no event reported.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use std::borrow::Cow;
use tokio::sync::{Notify, Semaphore};
use tokio::time::{Duration, Instant, sleep_until};

use super::document::Page;
use super::metadata::metadata;
use super::request::{Failure, collect, get};
use super::settings::ClusterSettings;
use strandline_clock::Clock;
use strandline_log::{LiveObject, Observed, Phase};
use strandline_model::{ResourceVersion, Timestamp};
use strandline_syntax::percent_encode;

/// Metadata alone, where the server can leave the rest away.
const METADATA_ONLY: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json";

/// For how long events are waited for that happened before the list.
const EVENTS_DUE: Duration = Duration::from_secs(120);

/// Objects read before other tasks get their turn.
const TURN: usize = 64;

/// Names an object in few bytes, so that many of them fit into memory.
pub(super) fn key_of(namespace: &str, name: &str, uid: &str) -> u128 {
    let mut hasher = blake3::Hasher::new();
    for part in [namespace, "\0", name, "\0", uid] {
        hasher.update(part.as_bytes());
    }
    u128::from_le_bytes(hasher.finalize().as_bytes().first_chunk().copied().unwrap_or_default())
}

/// The number that a token is, where it is one.
pub(super) fn number(version: &ResourceVersion) -> Option<u64> {
    version.as_str().parse().ok()
}

/// What a consistency list showed.
pub(super) struct Listed {
    /// The state of the cluster that it shows.
    pub(super) version: u64,
    /// The cursor of the watch when it was requested.
    cursor: Option<u64>,
    pub(super) began: Timestamp,
    objects: HashMap<u128, u64>,
}

impl Listed {
    /// Whether the cluster is at an older state than the watch had reached before.
    pub(super) fn is_behind(&self) -> bool {
        self.cursor.is_some_and(|cursor| self.version < cursor)
    }
}

/// How the record differs from the cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Differences {
    /// Objects of the cluster that are not recorded as alive.
    pub(super) missing: u64,
    /// Objects recorded as alive that the cluster does not have.
    pub(super) extra: u64,
    /// Objects of which a newer state was never recorded.
    pub(super) outdated: u64,
    /// Objects that are in an older state than was recorded.
    pub(super) older: u64,
}

impl Differences {
    pub(super) fn count(self) -> u64 {
        self.missing + self.extra + self.outdated + self.older
    }
}

impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Differences { missing, extra, outdated, older } = self;
        write!(
            f,
            "{missing} not recorded, {extra} no longer there, {outdated} newer, {older} older than recorded"
        )
    }
}

/// A comparison under way.
pub(super) struct Comparison {
    listed: Listed,
    differences: Differences,
}

impl Comparison {
    pub(super) fn new(listed: Listed) -> Self {
        Comparison { listed, differences: Differences::default() }
    }

    /// Takes an object that is recorded as alive; `ignored` ones changed since the list or cannot be read.
    pub(super) fn take(&mut self, live: &LiveObject, ignored: impl Fn(u128) -> bool) {
        let key = key_of(&live.namespace, &live.name, live.uid.as_str());
        let shown = self.listed.objects.remove(&key);
        let Some(recorded) = number(&live.resource_version) else { return };
        if recorded > self.listed.version && shown.is_none() || ignored(key) {
            return;
        }
        match shown {
            None => self.differences.extra += 1,
            Some(shown) if shown > recorded => self.differences.outdated += 1,
            // A state after the list was reported by an event.
            Some(shown) if shown < recorded && recorded <= self.listed.version => self.differences.older += 1,
            Some(_) => {}
        }
    }

    /// What differs once all living objects were taken, and when the list began.
    pub(super) fn finish(mut self, ignored: impl Fn(u128) -> bool) -> (Differences, Timestamp) {
        self.differences.missing += self.listed.objects.keys().filter(|key| !ignored(**key)).count() as u64;
        (self.differences, self.listed.began)
    }
}

/// What is due of a check.
pub(super) enum Due {
    /// To ask for a list.
    List,
    /// To take what the list shows.
    Listed(Result<Listed, Failure>),
    /// To compare.
    Compare,
}

/// The consistency lists of one watch.
pub(super) struct Check {
    due: Instant,
    last: Option<Instant>,
    listing: Option<BoxFuture<'static, Result<Listed, Failure>>>,
    listed: Option<(Listed, Instant)>,
    /// Objects of which events came since the list was requested.
    touched: HashSet<u128>,
    /// Objects that cannot be read, so that no state of theirs can be recorded.
    unreadable: HashSet<u128>,
    /// The last comparison found differences, which a second one is to confirm.
    pub(super) differed: bool,
    /// A check was requested.
    requested: Arc<Notify>,
}

impl Check {
    pub(super) fn new(requested: Arc<Notify>, first: Duration) -> Self {
        Check {
            due: Instant::now() + first,
            last: None,
            listing: None,
            listed: None,
            touched: HashSet::new(),
            unreadable: HashSet::new(),
            differed: false,
            requested,
        }
    }

    /// Makes the next list due after a while and forgets one that is under way.
    pub(super) fn postpone(&mut self, wait: Duration) {
        self.due = Instant::now() + wait;
        (self.listing, self.listed) = (None, None);
        self.touched = HashSet::new();
    }

    /// Forgets a list that is under way, so that others get their turn; it is asked for again some time later.
    pub(super) fn abandon(&mut self) {
        (self.listing, self.listed) = (None, None);
    }

    /// Makes the next list due soon, but not too soon after the last.
    pub(super) fn hasten(&mut self, wait: Duration, apart: Duration) {
        let now = Instant::now();
        let earliest = self.last.map_or(now, |last| last + apart);
        self.due = self.due.min(earliest.max(now + wait));
    }

    /// Waits for what is due next; may be dropped while it waits.
    pub(super) async fn next(&mut self, cursor: Option<u64>) -> Due {
        if let Some(listing) = &mut self.listing {
            let listed = listing.await;
            self.listing = None;
            return Due::Listed(listed);
        }
        if let Some((listed, until)) = &self.listed {
            if cursor.is_none_or(|cursor| cursor < listed.version) {
                sleep_until(*until).await;
            }
            return Due::Compare;
        }
        tokio::select! {
            () = self.requested.notified() => {}
            () = sleep_until(self.due) => {}
        }
        Due::List
    }

    pub(super) fn begin(&mut self, list: BoxFuture<'static, Result<Listed, Failure>>, again: Duration) {
        debug_assert!(self.listing.is_none() && self.listed.is_none(), "one consistency list at a time");
        let now = Instant::now();
        (self.last, self.due) = (Some(now), now + again);
        self.touched.clear();
        self.listing = Some(list);
    }

    pub(super) fn listed(&mut self, listed: Listed) {
        self.listed = Some((listed, Instant::now() + EVENTS_DUE));
    }

    pub(super) fn take_listed(&mut self) -> Option<Listed> {
        self.listed.take().map(|(listed, _)| listed)
    }

    /// Notes objects whose state in a consistency list proves nothing: an event reported a newer one, or they cannot be
    /// read.
    pub(super) fn note(&mut self, phase: Phase, observed: &[Observed]) {
        let is_list = matches!(phase, Phase::ListPage | Phase::ListEnd | Phase::PartialListEnd);
        let is_checking = self.listing.is_some() || self.listed.is_some();
        for seen in observed {
            match seen {
                Observed::Unreadable { namespace, name, uid } => {
                    self.unreadable.insert(key_of(namespace, name, uid.as_str()));
                }
                _ if is_list || !is_checking => {}
                Observed::Applied(seen) => {
                    self.touched.insert(key_of(&seen.namespace, &seen.name, seen.uid.as_str()));
                }
                Observed::Deleted { namespace, name, uid, .. } => {
                    self.touched.insert(key_of(namespace, name, uid.as_str()));
                }
            }
        }
    }

    pub(super) fn ignores(&self, key: u128) -> bool {
        self.touched.contains(&key) || self.unreadable.contains(&key)
    }
}

/// A consistency list that is due.
pub(super) struct ConsistencyList {
    pub(super) client: kube::Client,
    pub(super) path: String,
    pub(super) selector: String,
    pub(super) settings: Arc<ClusterSettings>,
    pub(super) clock: Arc<dyn Clock>,
    /// One list at a time for each cluster.
    pub(super) turns: Arc<Semaphore>,
    pub(super) cursor: Option<u64>,
}

#[derive(Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uid: Cow<'a, str>,
    #[serde(borrow, rename = "resourceVersion")]
    version: Cow<'a, str>,
}

impl ConsistencyList {
    /// Lists the newest state in pages and keeps of each object what identifies it and its state.
    pub(super) async fn read(self) -> Result<Listed, Failure> {
        let _turn = self.turns.acquire().await;
        let began = self.clock.now();
        let limits = &self.settings.limits;
        let (mut token, mut version, mut objects) = (String::new(), None, HashMap::new());
        loop {
            let mut path = format!("{}?limit={}{}", self.path, limits.page_objects, self.selector);
            if !token.is_empty() {
                path.push_str("&continue=");
                path.push_str(&percent_encode(&token));
            }
            self.settings.stats.request();
            let body = get(&self.client, &path, METADATA_ONLY, limits).await?;
            let text = collect(body, limits.page_bytes, limits.idle).await?;
            let page = Page::parse(&text)?;
            if version.is_none() {
                let shown = page.metadata.resource_version.parse::<u64>();
                let shown =
                    shown.map_err(|_| Failure::Invalid("resourceVersion is not a number".to_owned()))?;
                version = Some(shown);
            }
            for turn in page.items.as_deref().unwrap_or_default().chunks(TURN) {
                for item in turn {
                    let Some(named) = metadata::<Named<'_>>(item.get()) else { continue };
                    let Ok(version) = named.version.parse::<u64>() else { continue };
                    let namespace = named.namespace.as_deref().unwrap_or_default();
                    objects.insert(key_of(namespace, &named.name, &named.uid), version);
                }
                tokio::task::yield_now().await;
            }
            let next = page.metadata.token.into_owned();
            if !next.is_empty() && next == token {
                return Err(Failure::Invalid("the pages of the list do not advance".to_owned()));
            }
            if objects.len() > limits.list_objects {
                return Err(Failure::TooLarge("a consistency list of too many objects".to_owned()));
            }
            token = next;
            if token.is_empty() {
                let version = version.unwrap_or_default();
                return Ok(Listed { version, cursor: self.cursor, began, objects });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strandline_model::Uid;

    fn differences(listed: &[(&str, u64)], live: &[(&str, u64)], ignored: &str) -> Differences {
        let key = |uid: &str| key_of("n", "a", uid);
        let objects = listed.iter().map(|(uid, version)| (key(uid), *version)).collect();
        let (began, ignored) = (Timestamp::from_micros(0), key(ignored));
        let mut comparison = Comparison::new(Listed { version: 100, cursor: None, began, objects });
        for (uid, version) in live {
            let live = LiveObject {
                namespace: "n".into(),
                name: "a".into(),
                uid: Uid::new(*uid),
                resource_version: ResourceVersion::new(version.to_string()),
            };
            comparison.take(&live, |key| key == ignored);
        }
        comparison.finish(|key| key == ignored).0
    }

    #[test]
    fn a_record_differs_where_no_event_after_the_list_explains_it() {
        let none = Differences::default();
        let cases = [
            (vec![("u", 5)], vec![("u", 5)], none),
            // Reported by an event after the list: changed, or created.
            (vec![("u", 5)], vec![("u", 101)], none),
            (vec![], vec![("u", 101)], none),
            (vec![("u", 5)], vec![], Differences { missing: 1, ..none }),
            (vec![], vec![("u", 5)], Differences { extra: 1, ..none }),
            (vec![("u", 9)], vec![("u", 5)], Differences { outdated: 1, ..none }),
            (vec![("u", 5)], vec![("u", 9)], Differences { older: 1, ..none }),
            // The same name with another identity.
            (vec![("v", 9)], vec![("u", 5)], Differences { missing: 1, extra: 1, ..none }),
        ];
        for (listed, live, expected) in cases {
            assert_eq!(differences(&listed, &live, ""), expected, "{listed:?} {live:?}");
            assert_eq!(
                differences(&listed, &live, "u").count(),
                u64::from(expected.count() == 2),
                "{listed:?}"
            );
        }
    }
}
