//! Files that were read before: the same text says the same, and reading it may take a while.

use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use lru::LruCache;
use sha2::{Digest, Sha256};

use super::read::{AgentConfigError, ReadAgentConfig, read_agent_config};

/// The most files that are kept, and the most bytes that they take about.
const ENTRIES: NonZeroUsize = NonZeroUsize::new(256).expect("it must not be zero");
const BYTES: usize = 64 * 1024 * 1024;

/// A file that says anything takes some multiple of its text.
const BYTES_FOR_EACH: usize = 4;

type Read = Result<Arc<ReadAgentConfig>, AgentConfigError>;

/// What files say, by the digests of their texts.
struct Known {
    files: LruCache<[u8; 32], (usize, Read)>,
    bytes: usize,
}

static KNOWN: LazyLock<Mutex<Known>> =
    LazyLock::new(|| Mutex::new(Known { files: LruCache::new(ENTRIES), bytes: 0 }));

impl Known {
    fn put(&mut self, digest: [u8; 32], size: usize, read: Read) {
        if let Some((_, (before, _))) = self.files.push(digest, (size, read)) {
            self.bytes = self.bytes.saturating_sub(before);
        }
        self.bytes += size;
        while self.bytes > BYTES
            && let Some((_, (size, _))) = self.files.pop_lru()
        {
            self.bytes = self.bytes.saturating_sub(size);
        }
    }
}

/// As [`read_agent_config`], once for each text as long as it is asked for now and then.
///
/// # Errors
/// As [`read_agent_config`].
pub fn known_agent_config(yaml: &str) -> Read {
    let digest: [u8; 32] = Sha256::digest(yaml.as_bytes()).into();
    let known = || KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, read)) = known().files.get(&digest) {
        return read.clone();
    }
    // Not under the lock: others need not wait for what this says.
    let read = read_agent_config(yaml).map(Arc::new);
    let compiled = read.as_ref().map_or(0, |read| read.compiled_bytes);
    known().put(digest, yaml.len() * BYTES_FOR_EACH + compiled, read.clone());
    read
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_once() {
        let text = "ci_access: {projects: [{id: once/read, rules: [{if: '$A =~ /once/'}]}]}";
        let (one, two) = (known_agent_config(text).unwrap(), known_agent_config(text).unwrap());
        assert!(Arc::ptr_eq(&one, &two));
        assert_eq!(*one, read_agent_config(text).unwrap());
        assert_eq!(known_agent_config("once: 1"), read_agent_config("once: 1").map(Arc::new));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut known = Known { files: LruCache::new(ENTRIES), bytes: 0 };
        let digest = |n: usize| [(n % 251) as u8, (n / 251) as u8].repeat(16).try_into().unwrap();
        for n in 0..1000 {
            known.put(digest(n), 1000, Ok(Arc::default()));
        }
        assert_eq!((known.files.len(), known.bytes), (256, 256_000));
        for n in 0..1000 {
            known.put(digest(n), BYTES / 10, Ok(Arc::default()));
        }
        assert!(known.files.len() == 10 && known.bytes <= BYTES, "{}", known.bytes);
        known.put(digest(0), BYTES + 1, Ok(Arc::default()));
        assert_eq!((known.files.len(), known.bytes), (0, 0));
    }
}
