//! What a script may use up while it judges one object.
//!
//! Nothing here is a time: a slow machine would then judge otherwise than a fast one, and a view built anew
//! otherwise than the one before.

use std::cell::Cell;
use std::fmt;

/// Instructions that a script may run; some ten milliseconds.
pub(super) const INSTRUCTIONS: u64 = 1_000_000;
/// Bytes that a script may take beside the object. Nothing is given back while it runs, so this bounds what it
/// copies too.
pub(super) const MEMORY_BYTES: usize = 8 << 20;
/// Size of an object's text beyond which it is not handed to scripts.
pub(super) const OBJECT_BYTES: usize = 4 << 20;
/// Bytes that an object may take as Lua tables.
pub(super) const OBJECT_MEMORY_BYTES: usize = 64 << 20;
/// After how many instructions a script is looked at.
pub(super) const SLICE: u32 = 64;

/// Bytes of a text that are worked on for nothing; most texts are shorter.
const FREE_BYTES: usize = 4 << 10;
/// How many bytes beyond that make a slice dearer by one instruction.
const BYTES_PER_INSTRUCTION: usize = 32;

/// What was used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Instructions,
    Memory,
    Object,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Instructions => write!(f, "the script ran for more than {INSTRUCTIONS} instructions"),
            Limit::Memory => write!(f, "the script took more than {} MiB of memory", MEMORY_BYTES >> 20),
            Limit::Object => write!(
                f,
                "the object is too large for scripts: more than {} MiB of text, or {} MiB as tables",
                OBJECT_BYTES >> 20,
                OBJECT_MEMORY_BYTES >> 20
            ),
        }
    }
}

/// A budget has been used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Spent(pub(super) Limit);

/// The budget of one run, shared by what looks at the script and what works for it.
#[derive(Debug, Default)]
pub(super) struct Budget {
    left: Cell<u64>,
    hit: Cell<Option<Limit>>,
    used_bytes: Cell<usize>,
    longest_bytes: Cell<usize>,
}

impl Budget {
    /// Begins a run: what the machine holds at its start, and the longest text of the object.
    pub(super) fn begin(&self, used_bytes: usize, longest_bytes: usize) {
        self.left.set(INSTRUCTIONS);
        self.hit.set(None);
        self.used_bytes.set(used_bytes);
        self.longest_bytes.set(longest_bytes);
    }

    /// Takes instructions; once they are used up, always an error.
    pub(super) fn spend(&self, instructions: u64) -> Result<(), Spent> {
        if let Some(limit) = self.hit.get() {
            return Err(Spent(limit));
        }
        match self.left.get().checked_sub(instructions) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(self.exceeded(Limit::Instructions)),
        }
    }

    /// Takes one slice, at whose end the machine holds so much. Lua compares and converts a text within one
    /// instruction, however long it is, so the longest text makes each slice dearer. No text is longer than what
    /// the machine grew by while it was made.
    pub(super) fn spend_slice(&self, used_bytes: usize) -> Result<(), Spent> {
        let grown = used_bytes.saturating_sub(self.used_bytes.replace(used_bytes));
        let longest = self.longest_bytes.get().max(grown);
        self.longest_bytes.set(longest);
        let surcharge = longest.saturating_sub(FREE_BYTES) / BYTES_PER_INSTRUCTION;
        self.spend(u64::from(SLICE).saturating_add(surcharge as u64))
    }

    /// Notes that a limit was hit; the first one stays.
    pub(super) fn exceeded(&self, limit: Limit) -> Spent {
        let first = self.hit.get().unwrap_or(limit);
        self.hit.set(Some(first));
        Spent(first)
    }

    /// Which limit was hit, if any.
    pub(super) fn hit(&self) -> Option<Limit> {
        self.hit.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_up_stays_used_up() {
        let budget = Budget::default();
        budget.begin(0, 0);
        assert_eq!(budget.spend(INSTRUCTIONS), Ok(()));
        assert_eq!(budget.spend(0), Ok(()));
        assert_eq!(budget.spend(1), Err(Spent(Limit::Instructions)));
        assert_eq!(budget.spend(0), Err(Spent(Limit::Instructions)));
        assert_eq!(budget.exceeded(Limit::Memory), Spent(Limit::Instructions), "the first one is told");
        budget.begin(0, 0);
        assert_eq!((budget.spend(1), budget.hit()), (Ok(()), None));
    }

    #[test]
    fn who_holds_a_long_text_runs_for_less() {
        let slices = |longest: usize, made: usize, growth: usize| {
            let budget = Budget::default();
            budget.begin(1000, longest);
            let used = |slice: usize| 1000 + made + slice * growth;
            (0..).take_while(|slice| budget.spend_slice(used(*slice)).is_ok()).count()
        };
        let usual = (INSTRUCTIONS / u64::from(SLICE)) as usize;
        assert_eq!(slices(0, 0, 0), usual);
        assert_eq!(slices(FREE_BYTES, FREE_BYTES, FREE_BYTES), usual, "many short texts are no long one");
        assert_eq!(slices(OBJECT_BYTES, 0, 0), 7, "the object has it");
        assert_eq!(slices(0, MEMORY_BYTES, 0), 3, "the script made it");
    }
}
