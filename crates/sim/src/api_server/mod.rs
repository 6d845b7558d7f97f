//! A simulated Kubernetes API server: HTTP/1.1 on the loopback, objects and watch events in memory.
//!
//! It serves discovery, lists in pages of one snapshot, single objects and watches that resume from a bounded
//! window of events. Readers take what they need from shared state at their own pace, so that no reader ever
//! delays the simulation. It reads no clock but for the pace of bookmarks and time limits of watches:
//! the times in objects come from [`ApiServer::set_time`].

mod discovery;
mod faults;
mod in_process;
mod kinds;
mod list;
mod managed;
mod objects;
mod query;
mod reviews;
mod selector;
mod serve;
mod shared;
mod state;
mod status;
#[cfg(test)]
mod tests;
mod timestamps;
mod watch;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub use self::faults::{Fault, Faults};
pub use self::in_process::{Away, InProcess};
pub use self::kinds::{ServedKind, builtin_kinds};
pub use self::managed::Author;
pub use self::shared::Requests;
use self::shared::Shared;
pub use self::state::StoreCopy;
pub(crate) use self::timestamps::seconds;
use crate::port::Port;
use strandline_model::{Kind, Timestamp};

/// A simulated Kubernetes API server; dropping it closes its connections.
#[derive(Debug)]
pub struct ApiServer {
    shared: Arc<Shared>,
    /// Where it listens; kept from the first start on.
    port: OnceLock<Port>,
    listening: Mutex<Option<Listening>>,
}

/// The accepting task, and how it is stopped.
#[derive(Debug)]
struct Listening {
    end: oneshot::Sender<()>,
    accepting: JoinHandle<()>,
}

impl ApiServer {
    /// A server that has state and does not listen yet.
    pub fn new(name: &str, kinds: Vec<ServedKind>) -> Self {
        ApiServer {
            shared: Arc::new(Shared::new(name, kinds)),
            port: OnceLock::new(),
            listening: Mutex::default(),
        }
    }

    /// A server that listens on a free port of the loopback.
    pub async fn start(name: &str, kinds: Vec<ServedKind>) -> io::Result<Self> {
        let server = ApiServer::new(name, kinds);
        server.start_again().await?;
        Ok(server)
    }

    /// Listens, after [`ApiServer::stop`] on the same port as before; does nothing while it listens already.
    pub async fn start_again(&self) -> io::Result<()> {
        if self.listening().is_some() {
            return Ok(());
        }
        if self.port.get().is_none() {
            let _ = self.port.set(Port::free()?);
        }
        let listener = self.port.get().map(Port::listen).ok_or(io::ErrorKind::AddrNotAvailable)??;
        let (end, ended) = oneshot::channel();
        let accepting = tokio::spawn(serve::accept(Arc::clone(&self.shared), listener, ended));
        if let Some(other) = self.listening().replace(Listening { end, accepting }) {
            other.accepting.abort();
        }
        Ok(())
    }

    /// Closes every connection and refuses new ones; its objects stay.
    pub async fn stop(&self) {
        let listening = self.listening().take();
        if let Some(Listening { end, accepting }) = listening {
            drop(end);
            // Only once the task has ended is the port closed, however it ended.
            let _ = accepting.await;
        }
    }

    /// The name it was given.
    pub fn name(&self) -> String {
        self.shared.state().name.clone()
    }

    /// A way to it without a network, for simulations under a clock of their own; it leads there from now on, whether
    /// or not the server listens.
    pub fn in_process(&self) -> InProcess {
        InProcess::new(&self.shared)
    }

    /// Lets every way without a network break off and be refused until it is switched back.
    pub fn set_away(&self, away: bool) {
        self.shared.away.send_replace(away);
    }

    /// Where it listens, such as `http://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        let port = self.port.get().and_then(|port| port.address().ok()).map_or(0, |address| address.port());
        format!("http://127.0.0.1:{port}")
    }

    /// A kubeconfig for it, without credentials.
    pub fn kubeconfig(&self) -> String {
        let (name, url) = (self.name(), self.url());
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {name}\nclusters:\n- name: {name}\n  cluster:\n    \
             server: {url}\ncontexts:\n- name: {name}\n  context:\n    cluster: {name}\n    user: {name}\nusers:\n\
             - name: {name}\n  user: {{}}\n"
        )
    }

    /// Sets the time that objects get from now on.
    pub fn set_time(&self, now: Timestamp) {
        self.shared.state().set_time(now, false);
    }

    /// Sets the clock, which runs from now on.
    pub fn start_clock(&self, now: Timestamp) {
        self.shared.state().set_time(now, true);
    }

    /// Stores an object in the name of a user with an editor; see [`ApiServer::apply_as`].
    pub fn apply(&self, object: Value) -> u64 {
        self.apply_as(object, Author::KUBECTL)
    }

    /// Stores an object whole, completes its metadata, and publishes the event; returns its resourceVersion.
    ///
    /// An object equal to the present one changes nothing. Another uid under the same name ends the present one
    /// first. Zero is returned for what has no name or is of no served kind.
    pub fn apply_as(&self, object: Value, author: Author) -> u64 {
        let mut state = self.shared.state();
        let version = state.apply(object, author);
        self.shared.publish(state);
        version
    }

    /// Removes an object and publishes the event; returns the resourceVersion, or zero when it was not there.
    pub fn delete(&self, group: &str, kind: &str, namespace: &str, name: &str) -> u64 {
        let kind = Kind::new(group, kind);
        let mut state = self.shared.state();
        let there = state.get(&kind, namespace, name).is_some();
        let lost = there && self.shared.faults.strikes(Fault::LostDelete, 0);
        let version = state.delete(&kind, namespace, name, lost);
        self.shared.publish(state);
        version
    }

    /// All objects of a kind as they are: the truth that a watcher must reach.
    pub fn objects(&self, group: &str, kind: &str) -> Vec<Value> {
        let kind = Kind::new(group, kind);
        let state = self.shared.state();
        let Some(served) = state.kind(&kind).cloned() else { return Vec::new() };
        let objects: Vec<_> = state.objects(&kind).cloned().collect();
        drop(state);
        objects.iter().map(|stored| stored.value(&served)).collect()
    }

    /// One object as it is.
    pub fn object(&self, group: &str, kind: &str, namespace: &str, name: &str) -> Option<Value> {
        let state = self.shared.state();
        let kind = Kind::new(group, kind);
        let stored = state.get(&kind, namespace, name)?;
        Some(stored.value(state.kind(&kind)?))
    }

    /// The names of a kind's objects in a namespace.
    pub fn names(&self, group: &str, kind: &str, namespace: &str) -> Vec<String> {
        let state = self.shared.state();
        let kind = Kind::new(group, kind);
        let objects = state.objects(&kind).filter(|stored| stored.namespace == namespace);
        objects.map(|stored| stored.name.clone()).collect()
    }

    /// How many objects of all kinds there are.
    pub fn object_count(&self) -> usize {
        let state = self.shared.state();
        state.kinds().map(|kind| state.objects(&kind.kind).count()).sum()
    }

    /// resourceVersion of the last event of a kind that watches get; zero when there was none.
    pub fn resource_version_of(&self, group: &str, kind: &str) -> u64 {
        self.shared.state().last_of(&Kind::new(group, kind))
    }

    /// The server's newest resourceVersion.
    pub fn resource_version(&self) -> u64 {
        self.shared.state().version
    }

    /// The kinds served.
    pub fn kinds(&self) -> Vec<ServedKind> {
        self.shared.state().kinds().map(|kind| ServedKind::clone(kind)).collect()
    }

    /// Serves another kind from now on.
    pub fn add_kind(&self, kind: ServedKind) {
        let mut state = self.shared.state();
        state.add_kind(kind);
        self.shared.publish(state);
    }

    /// Ceases to serve a kind: its objects are deleted, its watches end, its paths are unknown.
    pub fn remove_kind(&self, group: &str, kind: &str) {
        let mut state = self.shared.state();
        state.remove_kind(&Kind::new(group, kind));
        self.shared.publish(state);
    }

    /// Lets discovery show a group as stale, without its resources, as when an aggregated server is down.
    pub fn set_stale(&self, group: &str, stale: bool) {
        self.shared.set_stale(group, stale);
    }

    /// A copy of the store as it is now.
    pub fn copy_store(&self) -> StoreCopy {
        self.shared.state().copy()
    }

    /// Restores the store from a copy, as after a disaster: what happened since never was, and resourceVersions continue
    /// from there. Open watches continue, so the server is to be away meanwhile, as a real one is.
    pub fn restore_store(&self, copy: &StoreCopy) {
        let mut state = self.shared.state();
        state.restore(copy);
        self.shared.publish(state);
    }

    /// Retains this many watch events; a watch that starts before them must relist.
    pub fn set_window(&self, events: usize) {
        let mut state = self.shared.state();
        state.window = events;
        state.shrink();
    }

    /// Sends bookmarks to idle watches this often.
    pub fn set_bookmark_interval(&self, every: Duration) {
        self.shared.set_bookmark_every(every);
    }

    /// The fault script.
    pub fn faults(&self) -> &Faults {
        &self.shared.faults
    }

    /// Requests of all kinds so far.
    pub fn requests(&self) -> Requests {
        let requests = self.shared.requests();
        requests.values().fold(Requests::default(), |sum, one| Requests {
            lists: sum.lists + one.lists,
            pages: sum.pages + one.pages,
            watches: sum.watches + one.watches,
            streaming_lists: sum.streaming_lists + one.streaming_lists,
            gets: sum.gets + one.gets,
            discovery: sum.discovery + one.discovery,
            refused: sum.refused + one.refused,
        })
    }

    /// Requests for one kind so far.
    pub fn requests_of(&self, group: &str, kind: &str) -> Requests {
        self.shared.requests().get(&Some(Kind::new(group, kind))).copied().unwrap_or_default()
    }

    fn listening(&self) -> MutexGuard<'_, Option<Listening>> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        if let Some(listening) = self.listening().take() {
            listening.accepting.abort();
        }
    }
}
