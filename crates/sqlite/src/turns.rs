//! Decides whose query is next where many wait and few run at a time.
//!
//! Next is whoever has the least under way, and of these whose last turn is longest ago. So one that asks for much waits for
//! itself, and who comes with one question waits for one turn and not for a thousand.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Names who asks. Those of one name share what one of them may have.
pub type Asker = Arc<str>;

/// Hands out turns; clones share them.
#[derive(Clone, Debug)]
pub(super) struct Turns(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// Turns there are.
    all: usize,
    /// Turns that one asker may have.
    share: usize,
    under_way: usize,
    /// Everyone who has a turn or waits for one.
    queues: HashMap<Asker, AskerQueue>,
    /// Counts arrivals and turns, to order them.
    count: u64,
}

#[derive(Debug, Default)]
struct AskerQueue {
    under_way: usize,
    last_turn: u64,
    /// By arrival.
    waiting: BTreeMap<u64, oneshot::Sender<Turn>>,
}

/// The right to work, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    turns: Turns,
    asker: Asker,
}

/// How many have a turn, and how many wait for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crowd {
    /// Have a turn.
    pub under_way: usize,
    /// Wait.
    pub waiting: usize,
}

/// A place in a queue, which is left when nobody waits there any more.
struct QueuePlace<'a> {
    turns: &'a Turns,
    asker: &'a Asker,
    arrival: u64,
}

impl Turns {
    /// So many turns at a time. A part of them is never one asker's alone, so that another finds one at once.
    pub(super) fn new(all: usize) -> Self {
        let all = all.max(1);
        let share = (all - all.div_ceil(4)).max(1);
        Turns(Arc::new(Mutex::new(State { all, share, under_way: 0, queues: HashMap::new(), count: 0 })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic runs under this lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn; none is never the case while this lives.
    pub(super) async fn take(&self, asker: &Asker) -> Option<Turn> {
        let (sender, receiver) = oneshot::channel();
        let place = self.lock().wait(asker, sender);
        let _place = QueuePlace { turns: self, asker, arrival: place };
        self.serve();
        receiver.await.ok()
    }

    /// A turn that nobody else is to have first, if there is one now.
    pub(super) fn take_free(&self, asker: &Asker) -> Option<Turn> {
        let mut state = self.lock();
        let has_its_share = |queue: &AskerQueue| queue.under_way >= state.share || !queue.waiting.is_empty();
        if state.under_way == state.all || state.queues.get(asker).is_some_and(has_its_share) {
            return None;
        }
        state.begin(asker);
        Some(Turn { turns: self.clone(), asker: Arc::clone(asker) })
    }

    /// Hands out what is free.
    fn serve(&self) {
        loop {
            let next = self.lock().next();
            let Some((asker, sender)) = next else { return };
            // Who no longer waits drops the turn, which is then handed to the next.
            let _ = sender.send(Turn { turns: self.clone(), asker });
        }
    }

    pub(super) fn crowd(&self) -> Crowd {
        let state = self.lock();
        let waiting = state.queues.values().map(|queue| queue.waiting.len()).sum();
        Crowd { under_way: state.under_way, waiting }
    }
}

impl State {
    fn wait(&mut self, asker: &Asker, sender: oneshot::Sender<Turn>) -> u64 {
        self.count += 1;
        self.queues.entry(Arc::clone(asker)).or_default().waiting.insert(self.count, sender);
        self.count
    }

    fn next(&mut self) -> Option<(Asker, oneshot::Sender<Turn>)> {
        if self.under_way == self.all {
            return None;
        }
        let due = self.queues.iter().filter(|(_, queue)| queue.under_way < self.share);
        let due = due.filter_map(|(asker, queue)| {
            let (arrival, _) = queue.waiting.first_key_value()?;
            Some(((queue.under_way, queue.last_turn, *arrival), asker))
        });
        let asker = Arc::clone(due.min()?.1);
        let (_, sender) = self.queues.get_mut(&asker)?.waiting.pop_first()?;
        self.begin(&asker);
        Some((asker, sender))
    }

    /// Counts a turn of an asker.
    fn begin(&mut self, asker: &Asker) {
        self.count += 1;
        let queue = self.queues.entry(Arc::clone(asker)).or_default();
        (queue.under_way, queue.last_turn) = (queue.under_way + 1, self.count);
        self.under_way += 1;
    }

    /// Changes the queue of an asker, and removes it when it is empty.
    fn change(&mut self, asker: &Asker, change: impl FnOnce(&mut AskerQueue)) {
        let Some(queue) = self.queues.get_mut(asker) else { return };
        change(queue);
        if queue.under_way == 0 && queue.waiting.is_empty() {
            self.queues.remove(asker);
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut state = self.turns.lock();
        state.under_way -= 1;
        state.change(&self.asker, |queue| queue.under_way -= 1);
        drop(state);
        self.turns.serve();
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        self.turns.lock().change(self.asker, |queue| _ = queue.waiting.remove(&self.arrival));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn asker(name: &str) -> Asker {
        Arc::from(name)
    }

    #[tokio::test]
    async fn one_that_asks_for_much_leaves_a_part_to_others() {
        let turns = Turns::new(8);
        let (much, other) = (asker("much"), asker("other"));
        let mut turns_taken = Vec::new();
        while let Some(turn) = turns.take(&much).now_or_never() {
            turns_taken.push(turn);
        }
        assert_eq!(turns_taken.len(), 6);
        let others: Vec<_> = (0..2).map(|_| turns.take(&other).now_or_never()).collect();
        assert!(others.iter().all(Option::is_some), "they wait for nobody");
        assert!(turns.take(&asker("third")).now_or_never().is_none(), "there are eight");
        assert_eq!(turns.crowd(), Crowd { under_way: 8, waiting: 0 }, "who went away waits no more");
    }

    #[tokio::test]
    async fn a_free_turn_is_no_more_than_the_share_of_one_and_passes_nobody() {
        let turns = Turns::new(4);
        let (much, other) = (asker("much"), asker("other"));
        let mut taken: Vec<_> = std::iter::from_fn(|| turns.take_free(&much)).collect();
        assert_eq!(taken.len(), 3);
        let mut first = Box::pin(turns.take(&much));
        assert!((&mut first).now_or_never().is_none());
        let others = turns.take_free(&other);
        assert!(others.is_some(), "who waits for their own share delays nobody");
        assert!(turns.take_free(&other).is_none(), "there are four");
        taken.pop();
        assert!(turns.take_free(&much).is_none(), "their first question is before their next");
        assert!((&mut first).now_or_never().is_some());
        drop((first, taken, others));
        assert_eq!(turns.crowd(), Crowd::default());
        assert!(turns.lock().queues.is_empty(), "nothing is kept of who is gone");
    }

    #[tokio::test]
    async fn who_has_the_least_is_next_however_many_came_before() {
        let turns = Turns::new(1);
        let (much, other) = (asker("much"), asker("other"));
        let first = turns.take(&much).await;
        let waiting: Vec<_> = (0..100).map(|_| Box::pin(turns.take(&much))).collect();
        let mut waiting: Vec<_> = waiting
            .into_iter()
            .map(|mut one| {
                assert!((&mut one).now_or_never().is_none());
                one
            })
            .collect();
        let mut late = Box::pin(turns.take(&other));
        assert!((&mut late).now_or_never().is_none());
        drop(first);
        let turn = late.now_or_never();
        assert!(turn.is_some(), "one question waits for one turn");
        drop(turn);
        assert!((&mut waiting[0]).now_or_never().is_some(), "and then they go by arrival");
        drop(waiting);
        assert_eq!(turns.crowd(), Crowd::default());
        assert!(turns.lock().queues.is_empty(), "nothing is kept of who is gone");
    }
}
