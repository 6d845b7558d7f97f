//! Tests against a real control plane: what a simulated API server would forgive, this one does not.

pub(crate) mod harness;
