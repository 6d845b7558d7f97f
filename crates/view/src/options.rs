//! How a view is made: by which rules, and in which steps.

use std::time::Duration;

use super::ruleset::RuleSet;

const MIB: usize = 1024 * 1024;

/// How much is done at once, and kept in memory. What a view answers is the same for all sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Batches that are applied in one transaction while the log has more: the more, the fewer times a page is written that
    /// many of them change. Who asks meanwhile sees the view as it was before them.
    pub batches: usize,
    /// Rows that are looked at in one transaction of pruning, which questions never wait for and changes only that long.
    pub pruned_rows: usize,
    /// Rows that a segment of an owner takes at least, so that most owners need but one.
    pub segment_rows: i64,
    /// By how many names of labels a kind is filed one by one: where selectors look by more, it is filed by all.
    pub label_names: usize,
    /// How long after a transaction of few changes the next begins at the earliest, while changes come one after the other.
    pub apart: Duration,
    /// Bytes of the view's pages that its writer keeps in memory.
    pub view_cache: usize,
    /// Bytes of the log that are kept in memory by who reads it for the view.
    pub log_cache: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes {
            batches: 8,
            pruned_rows: 2000,
            segment_rows: 32,
            label_names: 16,
            apart: Duration::from_millis(5),
            view_cache: 32 * MIB,
            log_cache: 16 * MIB,
        }
    }
}

/// How a view is made.
#[derive(Clone, Debug, Default)]
pub struct ProjectorOptions {
    /// By what is judged.
    pub rules: RuleSet,
    /// How much at once.
    pub sizes: Sizes,
}

impl ProjectorOptions {
    /// In small steps, so that the short histories of tests meet the ends of many.
    pub fn small(rules: RuleSet) -> Self {
        ProjectorOptions {
            rules,
            sizes: Sizes {
                batches: 1,
                pruned_rows: 7,
                segment_rows: 3,
                label_names: 1,
                apart: Duration::ZERO,
                view_cache: MIB,
                log_cache: MIB,
            },
        }
    }
}

impl From<RuleSet> for ProjectorOptions {
    fn from(rules: RuleSet) -> Self {
        ProjectorOptions { rules, ..ProjectorOptions::default() }
    }
}
