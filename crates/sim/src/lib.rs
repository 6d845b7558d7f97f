//! The simulated fleet: Kubernetes API servers in this process, and workloads that live in them.
//!
//! [`api_server`] answers lists and watches over HTTP on the loopback, well enough for our own watchers,
//! kube-runtime and `kubectl get`; its [`api_server::Faults`] make it misbehave on demand. The fleet puts
//! four of them in two regions and moves workloads along a clock that it is given, so that one seed always
//! gives the same history. Nothing here writes to the log: what the demo shows came through real watches.

pub mod api_server;
pub mod fleet;
mod port;
mod random;
pub mod workloads;

pub use port::Port;
