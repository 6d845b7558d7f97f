//! A bounded store of unpacked keyframes, the least recently used given up first.

use std::sync::Arc;

use lru::LruCache;

use strandline_model::Offset;

/// Unpacked keyframes by offset.
pub(super) struct Keyframes {
    texts: LruCache<Offset, Arc<str>>,
    bytes: usize,
    bytes_max: usize,
}

impl Keyframes {
    pub(super) fn new(bytes_max: usize) -> Self {
        Keyframes { texts: LruCache::unbounded(), bytes: 0, bytes_max }
    }

    pub(super) fn get(&mut self, offset: Offset) -> Option<Arc<str>> {
        self.texts.get(&offset).cloned()
    }

    pub(super) fn put(&mut self, offset: Offset, text: Arc<str>) {
        self.bytes += text.len();
        if let Some((_, old)) = self.texts.push(offset, text) {
            self.bytes -= old.len();
        }
        while self.bytes > self.bytes_max {
            let Some((_, old)) = self.texts.pop_lru() else { break };
            self.bytes -= old.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_is_given_up_first() {
        let mut keyframes = Keyframes::new(10);
        keyframes.put(Offset::new(1), "aaaa".into());
        keyframes.put(Offset::new(2), "bbbb".into());
        assert!(keyframes.get(Offset::new(1)).is_some());
        keyframes.put(Offset::new(3), "cccc".into());
        assert!(keyframes.get(Offset::new(2)).is_none());
        assert!(keyframes.get(Offset::new(1)).is_some());
        keyframes.put(Offset::new(3), "c".into());
        assert_eq!(keyframes.bytes, 5);
        keyframes.put(Offset::new(4), "larger than all".into());
        assert_eq!(keyframes.bytes, 0);
    }
}
