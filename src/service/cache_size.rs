//! How the memory for caches is shared out among the parts of the service.

use strandline_view::Sizes;

/// How much of the log, the view and answers the process keeps in memory at most, in bytes. A view that is built beside the one
/// that answers takes as much again as who writes that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheSize(usize);

const MIB: usize = 1024 * 1024;

impl CacheSize {
    /// The least that is of use.
    pub const MIN: CacheSize = CacheSize(16 * MIB);

    /// So many bytes; none where that is too few.
    pub fn new(bytes: u64) -> Option<Self> {
        usize::try_from(bytes).ok().map(CacheSize).filter(|size| size.0 >= Self::MIN.0)
    }

    /// All of it, in whole MiB.
    pub const fn mib(self) -> usize {
        self.0 / MIB
    }

    /// A fifth for who writes the log.
    pub(super) const fn log_writer(self) -> usize {
        self.0 / 5
    }

    /// A fifth for who writes the view, and a twentieth for who reads the log for that.
    pub(super) fn projector(self) -> Sizes {
        Sizes { view_cache: self.0 / 5, log_cache: self.0 / 20, ..Sizes::default() }
    }

    /// The same while no question can be answered, and the view is built: with the shares of all who would answer.
    pub(super) fn unread(self) -> Sizes {
        let of_writer = self.projector();
        let idle = self.readers() + self.lines() + self.answers();
        Sizes { view_cache: of_writer.view_cache + idle, ..of_writer }
    }

    /// The same where no service runs.
    pub(super) fn alone(self) -> Sizes {
        let of_writer = self.unread();
        Sizes { view_cache: of_writer.view_cache + self.log_writer(), ..of_writer }
    }

    /// Three tenths for all who answer questions …
    pub(super) const fn readers(self) -> usize {
        self.0 / 10 * 3
    }

    /// … a fifth for the lines through which they search …
    pub(super) const fn lines(self) -> usize {
        self.0 / 5
    }

    /// … and a twentieth for answers that are given again.
    pub(super) const fn answers(self) -> usize {
        self.0 / 20
    }
}

impl Default for CacheSize {
    fn default() -> Self {
        CacheSize(160 * MIB)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_parts_together_are_the_whole() {
        for bytes in [16 * MIB, 17 * MIB + 5, 160 * MIB, 3000 * MIB] {
            let size = CacheSize(bytes);
            let Sizes { view_cache, log_cache, .. } = size.projector();
            let parts =
                size.log_writer() + view_cache + log_cache + size.readers() + size.lines() + size.answers();
            assert!(parts <= bytes && bytes - parts < 64, "{parts} of {bytes}");
            let of_build = |sizes: Sizes| sizes.view_cache + sizes.log_cache;
            assert_eq!(of_build(size.unread()) + size.log_writer(), parts);
            assert_eq!(of_build(size.alone()), parts);
        }
    }

    #[test]
    fn too_little_is_no_size() {
        assert_eq!(CacheSize::new(16 * 1024 * 1024 - 1), None);
        assert_eq!(CacheSize::new(16 * 1024 * 1024), Some(CacheSize::MIN));
    }
}
