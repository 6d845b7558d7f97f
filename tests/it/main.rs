//! Everything that needs more than one part: the rules of the house, the program as its user runs it against
//! simulated clusters, and the same against a real control plane.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod access;
mod backup;
mod bad_input;
mod browser;
mod chart;
mod checkout;
mod cluster_folders;
mod control_plane;
mod credentials;
mod damage;
mod doctor;
mod documents;
mod faults;
mod files;
mod fleet;
mod flood;
mod gitlab_example;
mod gitops;
mod graph;
mod histories;
mod hostile;
mod https;
mod kept_log;
mod monitoring;
mod namespaces;
mod old_logs;
mod package;
mod past;
mod probe;
mod random;
mod rebuild;
mod redact;
mod relist;
mod reload;
mod rules;
mod secrets;
mod server;
mod shell;
mod simulation;
mod spine;
mod storage;
mod storm;
mod supply_chain;
mod systemd;
mod tidy;
mod timeline;
mod tokens;
mod topologies;
mod transfer;
mod vanished;
mod waits;
mod watch;
