//! Strandline records what runs in every environment of an organization's Kubernetes clusters and shows it
//! as it is now and as it was at any past moment.
//!
//! ```text
//!  clusters ──► cluster ──►  LOG  ──► projection ──►  VIEW  ──► query ──► api  (REST)
//!  config,  ──► catalog    log.db                    view.db             web  (pages)
//!  CI jobs                 the record                the cache           cli  (command line)
//!                  └── pure: access · redact · digest · delta · diff · health · edges · images · inventory · kube_event ──┘
//! ```
//!
//! The parts that know nothing of the server are crates of their own, in `crates/`. Modules stand below in the order in
//! which data flows through them. The rules of the house, held by `tests/it/tidy.rs`:
//!
//! 1. A module imports only what stands before it in this file.
//! 2. SQL is spoken only in the crates `sqlite`, `log`, `view` and `query`; Kubernetes only in the crate `watch`.
//! 3. Pure crates, the log and the view read no clock: time comes from the change, so that a replay gives
//!    the same view.
//! 4. A change, once in the log, is never altered, save that values can be erased from it, which the log tells.
//! 5. Async ends at `strandline_sqlite`: scans, diffs and writes run on threads of their own.
//! 6. Every query takes a [`strandline_query::Scope`] and puts it into its SQL.

pub mod build_info;

/// Of the program and of all that is measured or tested by linking this crate; decision 43 says why.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

pub mod backup;

pub mod catalog;

pub mod erasure;

pub mod transfer;

pub mod format;

pub mod http;

pub mod app;

pub mod api;
pub mod site;
pub mod web;

pub mod service;

pub mod config;

pub mod doctor;

pub mod cli;
