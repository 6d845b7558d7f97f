//! What somebody may read in clusters, as these say (SubjectAccessReview): their answers, kept for a short time, and how seldom
//! they are asked.
//!
//! A cluster is asked about all of itself first, and where that is refused about each namespace where environments look, so many
//! at most. Who is asked about is proved before: by an issuer, or by the cluster. All answers about somebody are found together,
//! by a task of its own, so that who hangs up begins nothing anew, and whoever asks at the same time waits for the same.
//!
//! Why: docs/decisions/0041-clusters-are-asked-who-may-read.md.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use futures_util::{StreamExt, TryStreamExt, stream};
use lru::LruCache;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use crate::http::subject::{Permission, Subject};
use strandline_clock::Clock;
use strandline_model::{Namespaces, Places, Timestamp};

/// After so long a cluster is asked again what somebody may read.
const RENEW: Duration = Duration::from_secs(30);

/// For so long they may read what it said.
const LASTS: Duration = Duration::from_secs(60);

/// How much longer that lasts for a request that began before.
const SLACK: Duration = Duration::from_secs(5);

/// The longest that finding all answers about somebody may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a cluster that did not answer is left alone.
const PAUSE: Duration = Duration::from_secs(5);

/// Questions to a cluster at a time.
const AT_A_TIME: usize = 8;

/// Namespaces of a cluster that it is asked about, for each person.
pub const NAMESPACES_MAX: usize = 500;

/// How many people are remembered for each cluster; the one who came least recently makes room.
const KEPT: NonZeroUsize = NonZeroUsize::new(4096).expect("it is not zero");

/// What a cluster is asked about somebody.
#[derive(Clone, Debug)]
pub struct AccessQuestion {
    /// The cluster.
    pub cluster: String,
    /// About whom.
    pub subject: Arc<Subject>,
    /// Where; empty for all of the cluster.
    pub namespace: String,
}

/// Asks a cluster whether somebody may do something; an error where it did not decide.
pub type ReviewAccess = Arc<dyn Fn(AccessQuestion) -> BoxFuture<'static, Result<bool, String>> + Send + Sync>;

/// The namespaces of a cluster where environments look or looked, the present ones first, so many at most.
pub type ListNamespaces =
    Arc<dyn Fn(String, usize) -> BoxFuture<'static, Result<Vec<String>, String>> + Send + Sync>;

/// How many questions a cluster was asked, by its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessReviewCounts {
    /// It is allowed.
    pub allowed: u64,
    /// It is not.
    pub denied: u64,
    /// The cluster did not decide.
    pub failed: u64,
}

/// How clusters are asked.
#[derive(Clone)]
pub(super) struct Ways {
    pub(super) review: ReviewAccess,
    pub(super) list: ListNamespaces,
    pub(super) clock: Arc<dyn Clock>,
}

/// What clusters said.
#[derive(Debug, Default)]
pub(super) struct AccessReviews(Mutex<BTreeMap<String, Arc<Cluster>>>);

#[derive(Debug)]
struct Cluster {
    name: String,
    /// By the digest of whom it was asked about.
    known: Mutex<LruCache<[u8; 32], Arc<Entry>>>,
    turns: Semaphore,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    problem: Option<String>,
    /// Until when it is left alone.
    pause: Option<Timestamp>,
    /// Whether there are more namespaces than it is asked about.
    cut: bool,
    counts: AccessReviewCounts,
}

/// What is known of somebody in a cluster.
#[derive(Debug, Default)]
struct Entry {
    /// Held by the task that asks; others wait for what comes of it.
    asking: Arc<tokio::sync::Mutex<()>>,
    found: Mutex<Option<Found>>,
}

#[derive(Clone, Debug)]
struct Found {
    asked: Timestamp,
    /// All of the cluster, or these.
    namespaces: Namespaces,
}

/// What is locked is only read and replaced, and nothing that can panic runs meanwhile.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl AccessReviews {
    fn cluster(&self, name: &str) -> Arc<Cluster> {
        let mut clusters = lock(&self.0);
        let new = || Arc::new(Cluster::new(name));
        Arc::clone(clusters.entry(name.to_owned()).or_insert_with(new))
    }

    /// Forgets the clusters that are not asked any more.
    pub(super) fn keep(&self, asked: &BTreeSet<&str>) {
        lock(&self.0).retain(|name, _| asked.contains(name.as_str()));
    }

    /// Whether a cluster answered the last time, and how often it was asked what.
    pub(super) fn report(&self, cluster: &str) -> (bool, AccessReviewCounts) {
        let clusters = lock(&self.0);
        let Some(cluster) = clusters.get(cluster) else { return (true, AccessReviewCounts::default()) };
        let state = lock(&cluster.state);
        (state.problem.is_none(), state.counts)
    }

    /// What somebody may read. The clusters say so unless it is known; one that cannot be asked keeps nobody waiting for long, and
    /// the others go on.
    pub(super) async fn places(&self, subject: &Arc<Subject>, ways: &Ways) -> Places {
        let digest = subject.digest();
        let clusters = subject.clusters.iter().map(|name| {
            let cluster = self.cluster(name);
            let entry = Arc::clone(lock(&cluster.known).get_or_insert(digest, Arc::default));
            async move {
                cluster.renew(&entry, subject, ways).await;
                entry.namespaces(ways.clock.now()).map(|namespaces| (name.clone(), namespaces))
            }
        });
        Places::of_clusters(join_all(clusters).await.into_iter().flatten())
    }
}

impl Subject {
    /// By what its answers are known again; clusters tell nobody else the same.
    fn digest(&self) -> [u8; 32] {
        let Subject { user, groups, permission: Permission { verb, group, resource }, clusters: _ } = self;
        let mut hasher = Sha256::new();
        for text in [verb, group, resource, user].into_iter().chain(groups) {
            // The length in front keeps neighbours from being read as one another.
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        }
        hasher.finalize().into()
    }
}

impl Entry {
    fn is_due(&self, now: Timestamp) -> bool {
        lock(&self.found).as_ref().is_none_or(|found| found.asked.plus(RENEW) <= now)
    }

    /// What is known and not too old.
    fn namespaces(&self, now: Timestamp) -> Option<Namespaces> {
        let found = lock(&self.found);
        let found = found.as_ref().filter(|found| found.asked.plus(LASTS + SLACK) > now)?;
        Some(Arc::clone(&found.namespaces))
    }
}

impl Cluster {
    fn new(name: &str) -> Self {
        Cluster {
            name: name.to_owned(),
            known: Mutex::new(LruCache::new(KEPT)),
            turns: Semaphore::new(AT_A_TIME),
            state: Mutex::default(),
        }
    }

    /// Asks about somebody, if it is time to.
    async fn renew(self: Arc<Self>, entry: &Arc<Entry>, subject: &Arc<Subject>, ways: &Ways) {
        if !entry.is_due(ways.clock.now()) {
            return;
        }
        let asking = Arc::clone(&entry.asking).lock_owned().await;
        let now = ways.clock.now();
        // Somebody else may have asked meanwhile, or found that nobody answers.
        if !entry.is_due(now) || self.is_left_alone(now) {
            return;
        }
        let (entry, subject, ways) = (Arc::clone(entry), Arc::clone(subject), ways.clone());
        let task = tokio::spawn(async move {
            let asked = tokio::time::timeout(PATIENCE, self.ask(&subject, &ways)).await;
            let answer = asked.unwrap_or_else(|_| Err("it took too long".to_owned()));
            self.take(&entry, answer, now, ways.clock.now());
            drop(asking);
        });
        let _ = task.await;
    }

    /// What somebody may read now.
    async fn ask(&self, subject: &Arc<Subject>, ways: &Ways) -> Result<Namespaces, String> {
        if self.may(subject, String::new(), ways).await? {
            return Ok(Arc::new([String::new()].into()));
        }
        let mut namespaces = (ways.list)(self.name.clone(), NAMESPACES_MAX + 1).await?;
        self.tell_of_cut(namespaces.len() > NAMESPACES_MAX);
        namespaces.truncate(NAMESPACES_MAX);
        let one = |namespace: String| async move {
            let allowed = self.may(subject, namespace.clone(), ways).await?;
            Ok::<_, String>(allowed.then_some(namespace))
        };
        let answers = stream::iter(namespaces).map(one).buffer_unordered(AT_A_TIME);
        let allowed: Vec<Option<String>> = answers.try_collect().await?;
        Ok(Arc::new(allowed.into_iter().flatten().collect()))
    }

    async fn may(&self, subject: &Arc<Subject>, namespace: String, ways: &Ways) -> Result<bool, String> {
        let _turn = self.turns.acquire().await.map_err(|_| "it is asked no more".to_owned())?;
        if self.is_left_alone(ways.clock.now()) {
            return Err("it failed just now".to_owned());
        }
        let question = AccessQuestion { cluster: self.name.clone(), subject: Arc::clone(subject), namespace };
        let answer = (ways.review)(question).await;
        let mut state = lock(&self.state);
        match &answer {
            Ok(true) => state.counts.allowed += 1,
            Ok(false) => state.counts.denied += 1,
            Err(error) => {
                state.counts.failed += 1;
                self.failed(&mut state, error, ways.clock.now());
            }
        }
        answer
    }

    fn is_left_alone(&self, now: Timestamp) -> bool {
        lock(&self.state).pause.is_some_and(|pause| pause > now)
    }

    /// Leaves the cluster alone for a while, and tells of it once.
    fn failed(&self, state: &mut State, error: &str, now: Timestamp) {
        state.pause = Some(now.plus(PAUSE));
        if state.problem.is_none() {
            let cluster = self.name.as_str();
            tracing::warn!(
                cluster,
                error,
                "asking who may read in the cluster failed; nobody reads there by its word"
            );
        }
        state.problem = Some(error.to_owned());
    }

    /// What came of asking about somebody, which is as old as the first question.
    fn take(&self, entry: &Entry, answer: Result<Namespaces, String>, asked: Timestamp, now: Timestamp) {
        let mut state = lock(&self.state);
        match answer {
            Ok(namespaces) => {
                if state.problem.take().is_some() {
                    tracing::info!(cluster = self.name, "the cluster says again who may read in it");
                }
                *lock(&entry.found) = Some(Found { asked, namespaces });
            }
            Err(_) if state.pause.is_some_and(|pause| pause > now) => {}
            Err(error) => self.failed(&mut state, &error, now),
        }
    }

    fn tell_of_cut(&self, cut: bool) {
        let before = std::mem::replace(&mut lock(&self.state).cut, cut);
        if cut && !before {
            tracing::warn!(
                cluster = self.name,
                limit = NAMESPACES_MAX,
                "environments look at more namespaces of the cluster than it is asked about; the others are read only by who may read all of it"
            );
        }
    }
}
