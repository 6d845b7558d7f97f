//! Which environments changed lately, for whoever keeps in memory what holds of all of them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::context::Touched;
use strandline_model::Offset;

/// The last transactions of the view with the environments that each of them touched; clones share them.
#[derive(Clone, Debug, Default)]
pub struct RecentChanges(Arc<Mutex<Transactions>>);

#[derive(Debug, Default)]
struct Transactions {
    /// Each begins where the one before ended.
    all: VecDeque<Transaction>,
    environments: usize,
}

/// What one transaction of the view did.
#[derive(Debug)]
struct Transaction {
    from: Offset,
    to: Offset,
    environments: Vec<(i64, Changed)>,
}

/// What changed of an environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Changed {
    /// What it shows or holds, and nothing that is declared of it.
    Health,
    /// Anything: it may have begun or ended.
    Declared,
}

impl RecentChanges {
    /// The most environments that are remembered, each as often as it changed.
    pub const ENVIRONMENTS: usize = 16_384;

    /// The most transactions that are remembered, as most of them touch few environments or none.
    pub const TRANSACTIONS: usize = 4096;

    /// Adds a transaction that took the view from one offset to another.
    pub(super) fn add(&self, from: Offset, to: Offset, Touched { environments, declared, .. }: &Touched) {
        let of = |number: &i64| if declared.contains(number) { Changed::Declared } else { Changed::Health };
        let environments: Vec<_> = environments.iter().map(|number| (*number, of(number))).collect();
        let mut kept = self.lock();
        if kept.all.back().is_some_and(|last| last.to != from) {
            kept.clear();
        }
        kept.environments += environments.len();
        kept.all.push_back(Transaction { from, to, environments });
        while kept.environments > Self::ENVIRONMENTS || kept.all.len() > Self::TRANSACTIONS {
            let Some(first) = kept.all.pop_front() else { break };
            kept.environments -= first.environments.len();
        }
    }

    /// All environments of which something may hold at one offset that does not hold at another, both of them ends of
    /// transactions; none where that is not remembered.
    pub fn between(&self, from: Offset, to: Offset) -> Option<BTreeMap<i64, Changed>> {
        let mut all = BTreeMap::new();
        if from == to {
            return Some(all);
        }
        let kept = self.lock();
        let first = kept.all.binary_search_by_key(&from, |one| one.from).ok()?;
        let last = kept.all.binary_search_by_key(&to, |one| one.to).ok()?;
        if first > last {
            return None;
        }
        for (number, changed) in kept.all.range(first..=last).flat_map(|one| &one.environments) {
            let known = all.entry(*number).or_insert(*changed);
            *known = (*known).max(*changed);
        }
        Some(all)
    }

    /// Forgets all: another view has taken the place of the one that changed, and has other numbers.
    pub fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, Transactions> {
        // Nothing that can panic runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transactions {
    fn clear(&mut self) {
        *self = Transactions::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(recent: &RecentChanges, from: u64, to: u64, environments: impl IntoIterator<Item = i64>) {
        let touched = Touched { environments: environments.into_iter().collect(), ..Touched::default() };
        recent.add(Offset::new(from), Offset::new(to), &touched);
    }

    fn between(recent: &RecentChanges, from: u64, to: u64) -> Option<Vec<i64>> {
        recent.between(Offset::new(from), Offset::new(to)).map(|found| found.into_keys().collect())
    }

    #[test]
    fn what_is_declared_counts_for_more_than_what_is_shown() {
        let recent = RecentChanges::default();
        for (to, declared) in [(1, vec![]), (2, vec![7]), (3, vec![])] {
            let touched = Touched {
                environments: [7, 8].into(),
                declared: declared.into_iter().collect(),
                ..Touched::default()
            };
            recent.add(Offset::new(to - 1), Offset::new(to), &touched);
        }
        let between =
            |from: u64, to: u64| recent.between(Offset::new(from), Offset::new(to)).unwrap_or_default();
        assert_eq!(between(0, 3), [(7, Changed::Declared), (8, Changed::Health)].into());
        assert_eq!(between(2, 3), [(7, Changed::Health), (8, Changed::Health)].into());
    }

    #[test]
    fn what_changed_is_known_between_ends_of_transactions_that_follow_each_other() {
        let recent = RecentChanges::default();
        assert_eq!(between(&recent, 4, 4), Some(vec![]), "nothing happened");
        assert_eq!(between(&recent, 0, 4), None, "nothing is remembered");
        add(&recent, 4, 7, [1, 2]);
        add(&recent, 7, 9, []);
        add(&recent, 9, 12, [2, 3]);
        assert_eq!(between(&recent, 4, 12), Some(vec![1, 2, 3]));
        assert_eq!(between(&recent, 7, 12), Some(vec![2, 3]));
        assert_eq!(between(&recent, 7, 9), Some(vec![]));
        assert_eq!(between(&recent, 12, 12), Some(vec![]));
        for (from, to) in [(5, 12), (4, 8), (12, 4), (9, 7), (3, 12), (4, 13)] {
            assert_eq!(between(&recent, from, to), None, "{from} to {to}");
        }
        add(&recent, 20, 21, [5]);
        assert_eq!(between(&recent, 4, 12), None, "another view, or one that was moved by somebody else");
        assert_eq!(between(&recent, 4, 21), None);
        assert_eq!(between(&recent, 20, 21), Some(vec![5]));
        recent.clear();
        assert_eq!(between(&recent, 20, 21), None);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let recent = RecentChanges::default();
        let half = i64::try_from(RecentChanges::ENVIRONMENTS / 2).unwrap_or(0);
        add(&recent, 0, 1, 0..half);
        add(&recent, 1, 2, 0..half);
        assert!(between(&recent, 0, 2).is_some());
        add(&recent, 2, 3, [7]);
        assert_eq!(between(&recent, 0, 3), None);
        assert_eq!(between(&recent, 1, 3).map(|all| all.len()), RecentChanges::ENVIRONMENTS.checked_div(2));
        for offset in 3..3 + RecentChanges::TRANSACTIONS as u64 {
            add(&recent, offset, offset + 1, []);
        }
        assert_eq!(between(&recent, 2, 4), None);
        assert!(between(&recent, 3, 4).is_some());
        add(&recent, 8000, 8001, 0..4 * half);
        assert_eq!(between(&recent, 8000, 8001), None, "one that is too large is not kept at all");
    }
}
