//! Decides when a dictionary is to be learnt, and from what: once there is enough to learn from, and again when it stops
//! fitting. What is decided follows from the bodies alone, so that the same bodies always lead to the same dictionaries.
//!
//! Why: docs/decisions/0009-closed-versions-move-into-solid-frames.md.

use std::collections::VecDeque;

use crate::delta::{Codec, Dictionary};

/// How much is learnt from, and how often it is tried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    /// Text to learn from: the newest of so many bytes …
    pub(super) sample_bytes: usize,
    /// … in at least so many bodies.
    pub(super) samples_min: usize,
    /// Text after which it is tried again at the earliest; twice as much after each time in vain …
    pub(super) again_bytes: usize,
    /// … up to this.
    pub(super) again_bytes_max: usize,
}

impl Default for Measure {
    fn default() -> Self {
        Measure {
            sample_bytes: 2 * 1024 * 1024,
            samples_min: 200,
            again_bytes: 16 * 1024 * 1024,
            again_bytes_max: 1024 * 1024 * 1024,
        }
    }
}

/// Larger bodies teach little and would crowd out the others.
const SAMPLE_BYTES_MAX: usize = 64 * 1024;

/// No log has more dictionaries than this; each takes 112 KiB.
const DICTIONARIES_MAX: usize = 64;

/// Text and what it was packed to.
#[derive(Clone, Copy, Debug, Default)]
struct Packing {
    text: usize,
    packed: usize,
}

impl Packing {
    /// Whether this packs worse than that by more than a quarter.
    fn is_worse_than(self, that: Packing) -> bool {
        self.packed as u128 * that.text as u128 * 4 > that.packed as u128 * self.text as u128 * 5
    }
}

/// The newest bodies, and how well they pack.
#[derive(Debug, Default)]
pub(super) struct Learning {
    measure: Measure,
    samples: VecDeque<Vec<u8>>,
    sample_bytes: usize,
    /// Text since the last try, and how much of it there has to be for the next.
    since: usize,
    again: usize,
    /// How the newest bodies pack, and how they did at the last try.
    recent: Packing,
    last: Packing,
}

impl Learning {
    pub(super) fn new(measure: Measure) -> Self {
        Learning { measure, again: measure.again_bytes, ..Learning::default() }
    }

    /// Takes note of a body that was packed whole.
    pub(super) fn note(&mut self, body: &str, packed: usize) {
        if body.len() > SAMPLE_BYTES_MAX {
            return;
        }
        self.since += body.len();
        self.recent.text += body.len();
        self.recent.packed += packed;
        if self.recent.text > 2 * self.measure.sample_bytes {
            // What lies further back counts half as much each time.
            self.recent = Packing { text: self.recent.text / 2, packed: self.recent.packed / 2 };
        }
        self.samples.push_back(body.as_bytes().to_vec());
        self.sample_bytes += body.len();
        while let Some(oldest) = self.samples.front()
            && self.sample_bytes - oldest.len() >= self.measure.sample_bytes
        {
            self.sample_bytes -= oldest.len();
            self.samples.pop_front();
        }
    }

    /// A dictionary that fits what came last better than the present one of so many, if it is time to look for one and
    /// there is one.
    pub(super) fn learn(
        &mut self,
        present: Option<&Dictionary>,
        known: usize,
        codec: &mut Codec,
    ) -> Option<Dictionary> {
        let enough =
            self.sample_bytes >= self.measure.sample_bytes && self.samples.len() >= self.measure.samples_min;
        if !enough || known >= DICTIONARIES_MAX {
            return None;
        }
        let Some(present) = present else {
            self.tried(true);
            let (first, second) = self.samples.as_slices();
            return Dictionary::train(&[first, second].concat());
        };
        let stopped_fitting = self.since >= self.measure.again_bytes
            && self.last.text > 0
            && self.recent.is_worse_than(self.last);
        if self.since < self.again && !stopped_fitting {
            return None;
        }
        // Learnt from one half and tried on the other: what fits its own samples need not fit anything else.
        let half = |odd: usize| self.samples.iter().skip(odd).step_by(2);
        let fresh = Dictionary::train(&half(0).cloned().collect::<Vec<_>>());
        // With a body that cannot be packed there is nothing to compare, and the present dictionary stays.
        let mut cost = |dictionary: &Dictionary| -> Option<usize> {
            half(1).map(|body| codec.pack(body, Some(dictionary)).ok().map(|frame| frame.len())).sum()
        };
        let better = fresh.filter(|fresh| match (cost(fresh), cost(present)) {
            // A fifth less, or it is not worth another 112 KiB and another dictionary to unpack with.
            (Some(fresh), Some(present)) => fresh * 5 <= present * 4,
            _ => false,
        });
        self.tried(better.is_some());
        better
    }

    fn tried(&mut self, in_vain_or_not: bool) {
        self.since = 0;
        self.again = match in_vain_or_not {
            true => self.measure.again_bytes,
            false => self.again.saturating_mul(2).min(self.measure.again_bytes_max),
        };
        // After a new dictionary later packing is compared with its own.
        self.last = if in_vain_or_not { Packing::default() } else { self.recent };
        if in_vain_or_not {
            self.recent = Packing::default();
        }
    }
}
