//! Digests that tell a change from noise.

/// The first 16 bytes of BLAKE3 over what counts as a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 16]);
