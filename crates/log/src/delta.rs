//! How bodies are kept small: keyframes with a shared dictionary, and deltas against a keyframe.
//!
//! Both are single zstd frames. A delta uses the keyframe's text as its dictionary, so one keyframe and one
//! frame are all that is needed to read any version.

use std::fmt;

use thiserror::Error;
use zstd::zstd_safe::{CCtx, CDict, DCtx, DDict, get_error_name, get_frame_content_size};

/// The largest body that is read back; a frame that claims more is damaged.
pub const BODY_BYTES_MAX: usize = 256 * 1024 * 1024;

const KEYFRAME_LEVEL: i32 = 3;
const DELTA_LEVEL: i32 = 1;
const DICTIONARY_BYTES: usize = 112 * 1024;

/// Why a body could not be packed or unpacked.
#[derive(Debug, Error)]
pub enum DeltaError {
    /// The compressor refused.
    #[error("compressing a body failed: {0}")]
    Compress(&'static str),
    /// The frame is damaged, or does not fit its base or dictionary.
    #[error("a stored body cannot be read: {0}")]
    Decompress(&'static str),
}

/// Texts that many bodies share, learnt from samples.
pub struct Dictionary {
    bytes: Vec<u8>,
    encoder: CDict<'static>,
    decoder: DDict<'static>,
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dictionary({} bytes)", self.bytes.len())
    }
}

impl Dictionary {
    /// Learns from samples; none when they are too few or too much alike to learn from.
    pub fn train(samples: &[Vec<u8>]) -> Option<Self> {
        let bytes = zstd::dict::from_samples(samples, DICTIONARY_BYTES).ok()?;
        Some(Self::from_bytes(bytes))
    }

    /// A dictionary as it was stored.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        let encoder = CDict::create(&bytes, KEYFRAME_LEVEL);
        let decoder = DDict::create(&bytes);
        Dictionary { bytes, encoder, decoder }
    }

    /// The bytes to store.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Packs and unpacks bodies; holds the compressor's working memory, so keep one per thread.
pub struct Codec {
    compress: CCtx<'static>,
    decompress: DCtx<'static>,
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Codec")
    }
}

impl Default for Codec {
    fn default() -> Self {
        Codec { compress: CCtx::create(), decompress: DCtx::create() }
    }
}

impl Codec {
    /// Packs a body without a base.
    pub fn keyframe(&mut self, body: &str, dictionary: Option<&Dictionary>) -> Result<Vec<u8>, DeltaError> {
        self.pack(body.as_bytes(), dictionary)
    }

    /// Packs bytes without a base.
    pub fn pack(&mut self, bytes: &[u8], dictionary: Option<&Dictionary>) -> Result<Vec<u8>, DeltaError> {
        let mut frame = Vec::with_capacity(zstd::zstd_safe::compress_bound(bytes.len()));
        match dictionary {
            Some(dictionary) => self.compress.compress_using_cdict(&mut frame, bytes, &dictionary.encoder),
            None => self.compress.compress(&mut frame, bytes, KEYFRAME_LEVEL),
        }
        .map_err(|code| DeltaError::Compress(get_error_name(code)))?;
        Ok(frame)
    }

    /// Packs a body by what differs from `base`.
    pub fn delta(&mut self, body: &str, base: &str) -> Result<Vec<u8>, DeltaError> {
        let mut frame = Vec::with_capacity(zstd::zstd_safe::compress_bound(body.len()));
        self.compress
            .compress_using_dict(&mut frame, body.as_bytes(), base.as_bytes(), DELTA_LEVEL)
            .map_err(|code| DeltaError::Compress(get_error_name(code)))?;
        Ok(frame)
    }

    /// Unpacks what [`Codec::keyframe`] packed with the same dictionary.
    pub fn read_keyframe(
        &mut self,
        frame: &[u8],
        dictionary: Option<&Dictionary>,
    ) -> Result<String, DeltaError> {
        into_text(self.unpack(frame, dictionary)?)
    }

    /// Unpacks what [`Codec::pack`] packed with the same dictionary.
    pub fn unpack(&mut self, frame: &[u8], dictionary: Option<&Dictionary>) -> Result<Vec<u8>, DeltaError> {
        let mut bytes = room_for(frame)?;
        match dictionary {
            Some(dictionary) => {
                self.decompress.decompress_using_ddict(&mut bytes, frame, &dictionary.decoder)
            }
            None => self.decompress.decompress(&mut bytes, frame),
        }
        .map_err(|code| DeltaError::Decompress(get_error_name(code)))?;
        Ok(bytes)
    }

    /// Unpacks what [`Codec::delta`] packed against the same base.
    pub fn read_delta(&mut self, frame: &[u8], base: &str) -> Result<String, DeltaError> {
        let mut body = room_for(frame)?;
        self.decompress
            .decompress_using_dict(&mut body, frame, base.as_bytes())
            .map_err(|code| DeltaError::Decompress(get_error_name(code)))?;
        into_text(body)
    }
}

fn room_for(frame: &[u8]) -> Result<Vec<u8>, DeltaError> {
    let claimed = get_frame_content_size(frame).ok().flatten().and_then(|bytes| usize::try_from(bytes).ok());
    match claimed {
        Some(bytes) if bytes <= BODY_BYTES_MAX => Ok(Vec::with_capacity(bytes)),
        Some(_) => Err(DeltaError::Decompress("it is larger than the limit for bodies")),
        None => Err(DeltaError::Decompress("it is not a zstd frame")),
    }
}

fn into_text(body: Vec<u8>) -> Result<String, DeltaError> {
    String::from_utf8(body).map_err(|_| DeltaError::Decompress("it is not text"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pods(count: usize) -> Vec<Vec<u8>> {
        let pod = |n: usize| {
            format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"web-{n}","uid":"{:032x}"}},"status":{{"phase":"Running","podIP":"10.0.{}.{}"}}}}"#,
                n.wrapping_mul(0x9E37_79B9_7F4A_7C15),
                n / 256,
                n % 256
            )
        };
        (0..count).map(|n| pod(n).into_bytes()).collect()
    }

    #[test]
    fn a_dictionary_learnt_from_samples_makes_keyframes_smaller() {
        let samples = pods(2000);
        let dictionary = Dictionary::train(&samples).unwrap();
        let stored = Dictionary::from_bytes(dictionary.bytes().to_vec());
        let body = std::str::from_utf8(&samples[77]).unwrap();
        let mut codec = Codec::default();
        let plain = codec.keyframe(body, None).unwrap();
        let packed = codec.keyframe(body, Some(&dictionary)).unwrap();
        assert!(packed.len() * 2 < plain.len(), "{} against {}", packed.len(), plain.len());
        assert_eq!(codec.read_keyframe(&packed, Some(&stored)).unwrap(), body);
    }

    #[test]
    fn damaged_frames_are_errors() {
        let mut codec = Codec::default();
        let frame = codec.keyframe("some body, long enough to be packed, packed, packed", None).unwrap();
        assert!(codec.read_keyframe(&frame[..frame.len() - 3], None).is_err());
        assert!(codec.read_keyframe(b"", None).is_err());
        assert!(codec.read_keyframe(b"not a frame at all", None).is_err());
    }

    proptest! {
        #[test]
        fn what_was_packed_is_read_back(body in any::<String>(), base in any::<String>()) {
            let mut codec = Codec::default();
            let keyframe = codec.keyframe(&body, None).unwrap();
            prop_assert_eq!(&codec.read_keyframe(&keyframe, None).unwrap(), &body);
            let delta = codec.delta(&body, &base).unwrap();
            prop_assert_eq!(&codec.read_delta(&delta, &base).unwrap(), &body);
        }
    }
}
