//! The objects of the simulated fleet: what they are made of, and how they look in JSON.
//!
//! Plain data and pure functions, a file per family. Which of them exist at what time is decided by
//! [`super::fleet`]; functions from a state to an object, so that the same state always looks the same.

pub(crate) mod autoscale;
pub(crate) mod catalog;
pub(crate) mod config;
pub(crate) mod containers;
pub(crate) mod deployments;
pub(crate) mod events;
pub(crate) mod metadata;
pub(crate) mod network;
pub(crate) mod nodes;
pub(crate) mod pods;
pub(crate) mod stateful;

pub use self::config::{SECRET_CANARY, SECRET_CANARY_BASE64};
