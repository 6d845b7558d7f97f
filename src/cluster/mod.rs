//! Watches clusters.
