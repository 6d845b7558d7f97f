//! Seeded randomness: small, fast and the same on every machine.

/// SplitMix64, a generator whose whole state is one number.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// A generator that always gives the same sequence for the same seed.
    pub(crate) const fn new(seed: u64) -> Self {
        Random { state: seed }
    }

    /// The next 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high.saturating_sub(low) + 1)
    }

    /// An index into something of this length.
    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.bits() % (length.max(1) as u64)).unwrap_or(0)
    }

    /// Whether something happens that happens this often in a thousand.
    pub(crate) fn per_mille(&mut self, chance: u64) -> bool {
        self.bits() % 1000 < chance
    }

    /// A version 4 UUID.
    pub(crate) fn uuid(&mut self) -> String {
        uuid(self.bits(), self.bits())
    }

    /// Letters and digits as Kubernetes appends them to generated names: without vowels and look-alikes.
    pub(crate) fn suffix(&mut self, length: usize) -> String {
        const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        (0..length).map(|_| char::from(ALPHABET[self.index(ALPHABET.len())])).collect()
    }
}

/// Spreads the bits of a number over all 64.
pub(crate) const fn mix(number: u64) -> u64 {
    let mut bits = number;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Writes 128 bits as a version 4 UUID.
pub(crate) fn uuid(high: u64, low: u64) -> String {
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | (low >> 48) & 0x3fff,
        low & 0xffff_ffff_ffff
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_tells_one_sequence() {
        let sequence = |seed| {
            let mut random = Random::new(seed);
            (random.uuid(), random.suffix(5), random.between(3, 9))
        };
        assert_eq!(sequence(7), sequence(7));
        assert_ne!(sequence(7), sequence(8));
    }

    #[test]
    fn uuids_carry_their_version_and_variant() {
        let id = uuid(u64::MAX, u64::MAX);
        assert_eq!(id, "ffffffff-ffff-4fff-bfff-ffffffffffff");
    }
}
