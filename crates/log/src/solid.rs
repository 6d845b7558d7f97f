//! A solid frame: the bodies of several changes packed as one, and the few that were unpacked last.

use std::sync::Arc;

use lru::LruCache;

/// Bodies one after the other, each after its length.
#[derive(Debug, Default)]
pub(super) struct Solid {
    bytes: Vec<u8>,
}

impl Solid {
    /// Adds a body and returns its position; none where it is too long for a length.
    pub(super) fn add(&mut self, body: &str) -> Option<i64> {
        let at = i64::try_from(self.bytes.len()).ok()?;
        self.bytes.extend_from_slice(&u32::try_from(body.len()).ok()?.to_le_bytes());
        self.bytes.extend_from_slice(body.as_bytes());
        Some(at)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The body that lies at a place of an unpacked frame; none where no body lies.
pub(super) fn body_at(unpacked: &[u8], at: i64) -> Option<&str> {
    let rest = unpacked.get(usize::try_from(at).ok()?..)?;
    let (length, rest) = rest.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    std::str::from_utf8(rest.get(..length)?).ok()
}

/// Frames that were unpacked last, the least recently used given up first. They stay where they were unpacked: to copy one takes
/// nearly as long.
pub(super) struct Unpacked {
    frames: LruCache<i64, Arc<Vec<u8>>>,
    bytes: usize,
    bytes_max: usize,
}

impl Unpacked {
    pub(super) fn new(bytes_max: usize) -> Self {
        Unpacked { frames: LruCache::unbounded(), bytes: 0, bytes_max }
    }

    pub(super) fn get(&mut self, frame: i64) -> Option<Arc<Vec<u8>>> {
        self.frames.get(&frame).cloned()
    }

    pub(super) fn put(&mut self, frame: i64, unpacked: Arc<Vec<u8>>) {
        self.bytes += unpacked.len();
        if let Some((_, old)) = self.frames.push(frame, unpacked) {
            self.bytes -= old.len();
        }
        while self.bytes > self.bytes_max {
            let Some((_, old)) = self.frames.pop_lru() else { break };
            self.bytes -= old.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_found_where_they_were_put_and_nowhere_else() {
        let mut solid = Solid::default();
        let places: Vec<i64> = ["one", "", "dréi"].iter().filter_map(|body| solid.add(body)).collect();
        let read: Vec<_> = places.iter().map(|at| body_at(solid.bytes(), *at)).collect();
        assert_eq!(read, [Some("one"), Some(""), Some("dréi")]);
        for at in [-1, 1, 1000, i64::MAX] {
            assert_eq!(body_at(solid.bytes(), at), None, "{at}");
        }
    }

    #[test]
    fn unpacked_frames_are_bounded() {
        const ROOM: usize = 4096;
        let mut unpacked = Unpacked::new(ROOM);
        for frame in 0..10 {
            unpacked.put(frame, Arc::new(vec![0; ROOM / 4]));
        }
        assert!(unpacked.get(0).is_none() && unpacked.get(9).is_some());
        assert_eq!(unpacked.bytes, ROOM);
    }
}
